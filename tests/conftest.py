"""What holds for every test: how cases are named, and how hypothesis runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import settings

from tests.timetravel import TimeTravel

settings.register_profile("focus", deadline=None)  # machines are shared, time tells nothing
settings.load_profile("focus")


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Bytes (often packed, with a time in them) are named by their parameter."""
    return argname if isinstance(val, bytes) else None


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Modules that ask for it have time of their own (see `timetravel`)."""
    is_own = item.get_closest_marker("own_time") and not item.get_closest_marker("real_time")
    return {"own": TimeTravel} if is_own else {"real": asyncio.new_event_loop}
