"""Recent harvest: how many of a crawl's last requests found a relevant page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

WINDOW = 500  # requests that `--stop-harvest` looks back at
MINIMUM = 200  # requests before it may end a crawl


class RecentHarvest:
    """Record of which of the last `WINDOW` requests found a relevant page.

    Every request counts, failures and robots.txt included; revisits do not.
    """

    def __init__(self) -> None:
        self._flags: deque[bool] = deque(maxlen=WINDOW)

    def add(self, flags: Iterable[bool]) -> None:
        """Count finished requests, in their order; True: a relevant page was found."""
        self._flags.extend(flags)

    def rate(self, last: int = WINDOW) -> float:
        """Return the share of the last requests that found a relevant page.

        Example: 9 of the last 100 requests: 0.09. Returns 0.0 before the first request.
        """
        flags = list(self._flags)[-last:]
        return sum(flags) / len(flags) if flags else 0.0

    def is_below(self, share: float) -> bool:
        """Return whether fewer requests than this share found a relevant page.

        Always False before `MINIMUM` requests.
        """
        return len(self._flags) >= MINIMUM and self.rate() < share
