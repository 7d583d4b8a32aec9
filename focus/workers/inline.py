"""Scores pages in this process, without workers."""

from __future__ import annotations

from typing import Self

from focus.config import AnalysisConfig
from focus.records import Page
from focus.workers.child import ANALYST, Analyst, analyse, make_analyst
from focus.workers.messages import Job


class InlineScorer:
    """Scores in this process, with the interface of `WorkerPool`.

    No wall limit and no shelter from crashes: for tests, comparisons and trusted pages.
    """

    def __init__(self, config: AnalysisConfig, *, analyst: str = ANALYST) -> None:
        self._config = config
        self._name = analyst
        self._analyst: Analyst | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Load the analyst."""
        self._loaded()

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The scored page; the loop stands still meanwhile."""
        return analyse(self._loaded(), Job(url, body, content_type, wording))

    async def update(self, payload: bytes) -> None:
        """Hand a changed topic or model to the analyst."""
        self._loaded().update(payload)

    async def close(self) -> None:
        """Let the analyst go."""
        self._analyst = None

    def _loaded(self) -> Analyst:
        if self._analyst is None:
            self._analyst = make_analyst(self._name, self._config)
        return self._analyst
