"""Scores pages in this process, without workers."""

from __future__ import annotations

from functools import cached_property, partial

from focus.config import AnalysisConfig
from focus.records import Page
from focus.workers.child import SCORER, Scorer, make_scorer, score_page
from focus.workers.messages import Job


class InlineScorer:
    """Scorer in this process with the interface of `WorkerPool`.

    It has no time limit and no protection from crashes: for tests, comparisons and trusted pages.
    """

    def __init__(self, config: AnalysisConfig, *, scorer: str = SCORER) -> None:
        self._make_scorer = partial(make_scorer, scorer, config)

    @cached_property
    def _scorer(self) -> Scorer:
        return self._make_scorer()

    async def score(self, job: Job) -> Page:
        """Return the scored page; the event loop is blocked meanwhile."""
        return score_page(self._scorer, job)

    async def update(self, payload: bytes) -> None:
        """Replace topic or model of the scorer."""
        self._scorer.reconfigure(payload)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
