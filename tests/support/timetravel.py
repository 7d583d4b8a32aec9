"""An event loop whose time passes only when nothing else happens, and then at once.

Client and server of a test share it, so a time-out is over when there is nothing left to do before
it, and never because the machine was busy. A module asks for it by `pytestmark = OWN_TIME`; a test
that waits for another program leaves again by `REAL_TIME`.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

OWN_TIME = pytest.mark.own_time
REAL_TIME = pytest.mark.real_time
TURN_S = 0.01
SETTLE_S = 0.02  # that the kernel may take to hand a byte over on the loopback


class TimeTravel(asyncio.SelectorEventLoop):
    """A loop with a clock of its own. Work in threads is waited for."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._away = 0  # calls in threads
        super().__init__(_Patient(self))

    def time(self) -> float:
        return super().time() + self._ahead

    def travel(self, seconds: float) -> None:
        """Let so much time pass, as for a process that was stopped."""
        self._ahead += seconds

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> asyncio.Future[Any]:
        self._away += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._back)
        return future

    def _back(self, _: object) -> None:
        self._away -= 1


@contextmanager
def passing(most_s: float) -> Iterator[None]:
    """What is done in it takes no more than so much of the loop's own time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TimeTravel)
    begun = loop._ahead
    yield
    assert loop._ahead - begun <= most_s


class SteadyTime(asyncio.SelectorEventLoop):
    """A loop whose clock goes with the world's and stands still while the machine does.

    For what has to do with other processes, too. Waiting counts up to the next moment that somebody
    waits for, and what is done between two waits up to `TURN_S`: so however long this process got
    no processor, what has come in meanwhile is read before a time-out is over.
    """

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Steady(self))

    def time(self) -> float:
        return self.now


class _Steady(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Tells the loop how long it waited."""

    def __init__(self, loop: SteadyTime) -> None:
        super().__init__()
        self._loop = loop
        self._left_at = time.monotonic()

    def select(self, timeout: float | None = None) -> Any:
        began = time.monotonic()
        self._loop.now += min(TURN_S, began - self._left_at)
        events = super().select(timeout)
        self._left_at = time.monotonic()
        waited = self._left_at - began
        self._loop.now += waited if timeout is None else min(waited, max(0.0, timeout))
        return events


class _Patient(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Waits for sockets; where only time is waited for, it is let pass."""

    def __init__(self, loop: TimeTravel) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= SETTLE_S or self._loop._away:
            return super().select(timeout)
        events = super().select(SETTLE_S)
        if not events:
            self._loop.travel(timeout - SETTLE_S)
        return events
