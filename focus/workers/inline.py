"""Scores pages in this process, without workers."""

from __future__ import annotations

from functools import cached_property, partial

from focus.config import AnalysisConfig
from focus.records import Page
from focus.workers.child import ANALYST, Analyst, analyse, make_analyst
from focus.workers.messages import Job


class InlineScorer:
    """Scores in this process, with the interface of `WorkerPool`.

    No wall limit and no shelter from crashes: for tests, comparisons and trusted pages.
    """

    def __init__(self, config: AnalysisConfig, *, analyst: str = ANALYST) -> None:
        self._make = partial(make_analyst, analyst, config)

    @cached_property
    def _analyst(self) -> Analyst:
        return self._make()

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The scored page; the loop stands still meanwhile."""
        return analyse(self._analyst, Job(url, body, content_type, wording))

    async def update(self, payload: bytes) -> None:
        """Hand a changed topic or model to the analyst."""
        self._analyst.update(payload)

    async def close(self) -> None:
        """Nothing is open here."""
