"""Meters a running crawl: CPU and memory of its processes, its pages, its wires.

meter = Meter({"frontier": [pid], "worker": [pid, …]}, databases)
meter.watch(until)         samples until `until()` says that it is over
meter.between(0.1)         per page, from a tenth of the pages to the last
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.resources import cpu_s
from tests.support.processes import count, descendants, present_mib

LOOK_S = 0.25


class Sample(NamedTuple):
    """A moment. CPU seconds and MiB by part: NAME of its processes, "NAME's children" of theirs."""

    at: float
    pages: int
    urls: int
    cpu_s: dict[str, float]
    mib: dict[str, float]
    wires: Counter[str]


class Meter:
    """Watches processes. `wires` gives what went over the wires so far."""

    def __init__(
        self,
        parts: Mapping[str, Sequence[int]],
        databases: Sequence[Path],
        wires: Callable[[], Counter[str]] = Counter,
    ) -> None:
        self._parts, self._databases, self._wires = parts, databases, wires
        self._part_of: dict[int, str] = {}
        self._cpu: dict[int, float] = {}
        self._mib: dict[int, float] = {}
        self.samples: list[Sample] = []

    def watch(self, until: Callable[[], bool]) -> None:
        """Sample until it is over."""
        while not until():
            self.look()
            time.sleep(LOOK_S)

    def look(self) -> None:
        """Take a sample; what has ended counts as it was last seen."""
        for name, pids in self._parts.items():
            for pid in pids:
                self._look_at(pid, name)
                for child in descendants(pid):
                    self._look_at(child, f"{name}'s children")
        pages = sum(count(db, "page") for db in self._databases)
        urls = sum(count(db, "url") for db in self._databases)
        self.samples.append(
            Sample(
                at=time.monotonic(),
                pages=pages,
                urls=urls,
                cpu_s=self._by_part(self._cpu),
                mib=self._by_part(self._mib),
                wires=Counter(self._wires()),
            )
        )

    def _look_at(self, pid: int, part: str) -> None:
        with suppress(OSError, IndexError):
            used, mib = cpu_s(pid), present_mib(pid)
            self._part_of[pid] = part
            self._cpu[pid] = max(used, self._cpu.get(pid, 0.0))
            self._mib[pid] = mib or self._mib.get(pid, 0.0)  # none is left of one that ends

    def _by_part(self, values: Mapping[int, float]) -> dict[str, float]:
        found: dict[str, float] = dict.fromkeys(self._parts, 0.0)
        for pid, value in values.items():
            part = self._part_of[pid]
            found[part] = found.get(part, 0.0) + value
        return found

    def between(self, share: float) -> tuple[Sample, Sample]:
        """The first moment with that share of the pages, and the last moment."""
        last = self.samples[-1]
        first = next(each for each in self.samples if each.pages >= share * last.pages)
        return first, last
