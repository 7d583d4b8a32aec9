"""Measures the CPU time of each stage in one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import GeneratorType
from typing import Any

Watched = tuple[Any, str, str]
"""A class, object or module, the name of a function in it, and the stage it belongs to."""


class Stopwatch:
    """CPU seconds by stage, of one thread: a stage that calls another stands still meanwhile.

    clock   CPU seconds of that thread
    """

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self.spent: dict[str, float] = {}
        self._clock = clock
        self._stack: list[str] = []
        self._since = 0.0

    def take(self) -> dict[str, float]:
        """What was spent since the last time."""
        spent, self.spent = self.spent, {}
        return spent

    def enter(self, stage: str) -> None:
        """A stage begins."""
        self._count()
        self._stack.append(stage)

    def leave(self) -> None:
        """The stage that began last ends."""
        self._count()
        self._stack.pop()

    def _count(self) -> None:
        now = self._clock()
        if self._stack:
            stage = self._stack[-1]
            self.spent[stage] = self.spent.get(stage, 0.0) + now - self._since
        self._since = now

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The same function, its time counted. A generator runs to its end at once."""

        @wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            self.enter(stage)
            try:
                result = function(*args, **named)
                return list(result) if isinstance(result, GeneratorType) else result
            finally:
                self.leave()

        return run


@contextmanager
def replaced(owner: Any, name: str, function: Any) -> Iterator[None]:
    """Another function in the place of one, for a while."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def watching(stopwatch: Stopwatch, watched: Iterable[Watched]) -> list[Any]:
    """Context managers that count the functions named."""
    return [
        replaced(owner, name, stopwatch.timed(getattr(owner, name), stage))
        for owner, name, stage in watched
    ]
