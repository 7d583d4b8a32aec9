"""Imports a module when something of it is used first, where that is later than the start.

    from focus.late import np

`np` is numpy and `mail` is `email.utils`; others are made where they are used. A crawl's first
request goes out before numpy is needed, and a sixth of its start was importing it.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Late", "begin", "mail", "np"]


def begin(*names: str) -> None:
    """Import modules in a thread, for a loop that would stand still when they are used first.

    Worked: numpy takes 110 ms of the loop, or 3 ms at a time so. One that is missing is left.
    """
    import asyncio  # scorer workers have no loop

    asyncio.get_running_loop().run_in_executor(None, _import, names)


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        with suppress(ImportError):
            import_module(name)


class Late:
    """A module that stands for itself until then; what was used once is found without detour."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    from email import utils as mail

    import numpy as np
else:
    mail, np = Late("email.utils"), Late("numpy")
