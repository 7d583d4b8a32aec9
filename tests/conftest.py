"""Settings of every test: the names of cases, and how hypothesis runs."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from pytest import CaptureFixture, MonkeyPatch

from focus.text import tokenisation
from tests.support.timetravel import TimeTravel

if TYPE_CHECKING:
    from tests.support.command import Focus
    from tests.support.outbox import OutboxFixture

settings.register_profile("focus", deadline=None)  # machines are shared, time tells nothing
settings.load_profile("focus")

# Hundreds of processes are started, and each would compile some 300 modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A suite under nohup hands that on to what it starts, and nothing would end by a SIGHUP.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Bytes (often packed, with a time in them) are named by their parameter."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_finish() -> None:
    """Modules and items stay to the end: no look for garbage need pass over them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """What a module leaves behind (dictionaries, caches) stays to the end, too."""
    yield
    gc.collect()
    gc.freeze()


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Modules that ask for it have time of their own (see `timetravel`)."""
    is_own = item.get_closest_marker("own_time") and not item.get_closest_marker("real_time")
    return {"own": TimeTravel} if is_own else {"real": asyncio.new_event_loop}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped though it matters is said aloud at the end, whatever the options."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(item.longrepr[2]).removeprefix("Skipped: ") for item in skipped}
    for reason in sorted(item for item in reasons if re.match("[A-Z ]{12,}:", item)):
        terminalreporter.write_line(reason, yellow=True, bold=True)


# A segmenter loads its dictionary in 0.2 s and keeps two: enough for a crawl, not for a process
# in which tests of many topics take turns.
tokenisation._make_cached_cut = functools.lru_cache(maxsize=6)(
    tokenisation._make_cached_cut.__wrapped__
)


@pytest.fixture
def focus(tmp_path: Path, monkeypatch: MonkeyPatch, capfd: CaptureFixture[str]) -> Focus:
    """Runs a command in an empty home and working directory, without FOCUS_* variables."""
    from tests.support.command import runner, settle

    settle(tmp_path, monkeypatch)
    return runner(capfd)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[OutboxFixture]:
    """An empty database of alerts, and the relay that sends its messages."""
    from tests.support.outbox import outbox

    with outbox(tmp_path) as result:
        yield result


TIMING = set(
    "test_cluster test_delivery_process test_fetch test_mail test_outbox_relay test_progress "
    "test_serve test_serve_limits test_store test_throttling test_webhook "
    "test_workers".split()
)
"""Files in which things happen at once, or time out: a busy machine shows what depends on it."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """`-n auto`: one more than processors, as some wait for browsers and brokers."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0)) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--shuffle 7`: no test rests on what ran before it."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run in an order drawn by SEED")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those can be chosen by `-m timing`. Files are drawn, and tests within each: what the tests of
    a file share is made once."""
    if (seed := config.getoption("shuffle")) is not None:
        rng = random.Random(seed)
        place = {path: rng.random() for path in sorted({item.path for item in items})}
        rng.shuffle(items)
        items.sort(key=lambda item: place[item.path])
    for item in items:
        if item.path.stem in TIMING:
            item.add_marker(pytest.mark.timing)
