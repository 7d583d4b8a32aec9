"""Profiles a scorer worker: CPU time per page and stage."""

from __future__ import annotations

import time
from contextlib import ExitStack

import msgspec

from focus.config import AnalysisConfig
from focus.profiling.stages import HANDOVER, PACK, PARSE, RELEVANCE, SEGMENT, URLS
from focus.profiling.stopwatch import Stopwatch, watching
from focus.records import Page
from focus.score import analysis
from focus.text.tokenisation import Segmenter


class ProfiledAnalyst:
    """An `Analyst` that writes into every page what it took (`Page.stages`, CPU seconds).

    Between two pages a worker does nothing but read requests and write answers: that CPU
    time is the hand-over, of the page that follows. What it took to start counts for none.
    """

    def __init__(self, config: AnalysisConfig) -> None:
        self._watch = Stopwatch()
        self._patches, self._of_model = ExitStack(), ExitStack()
        places = [
            (analysis, "in_utf8", PARSE),
            (analysis, "parse", PARSE),
            (analysis.PageAnalyst, "_links", URLS),
            (analysis.PageAnalyst, "analyse", PACK),
            (Segmenter, "_tokens", SEGMENT),
        ]
        for patch in watching(self._watch, places):
            self._patches.enter_context(patch)
        self._analyst = analysis.PageAnalyst(config)
        self._watch_model()
        self._left = time.thread_time()

    def _watch_model(self) -> None:
        self._of_model.close()
        for patch in watching(self._watch, [(self._analyst.model, "judge", RELEVANCE)]):
            self._of_model.enter_context(patch)

    def update(self, payload: bytes) -> None:
        """Take over a changed topic or model."""
        self._analyst.update(payload)
        self._watch_model()

    def analyse(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """The page with its stages."""
        between = time.thread_time() - self._left
        try:
            page = self._analyst.analyse(url, body, content_type, wording=wording)
        finally:
            stages = self._watch.take()
            self._left = time.thread_time()
        return msgspec.structs.replace(page, stages={HANDOVER: between, **stages})

    def close(self) -> None:
        """Put back what was replaced (a worker process just ends)."""
        self._of_model.close()
        self._patches.close()
