"""Relevance as in `cosine`, with a threshold and a topic that follow the crawl (P5 2.2.1)."""

from __future__ import annotations

import msgspec

from focus.score.relevance.base import Document, Judgement
from focus.score.relevance.cosine import Cosine
from focus.score.statistics.vector import strongest_words, unit_vector

MAX_TERMS = 50  # terms of a relevant page that are returned to the crawl


class Adaptive(Cosine):
    """relevance as `cosine`; the crawl moves threshold and topic vector, interval by interval.

    The rules and the parameters are described in score/statistics/adaptation.py.
    """

    name = "adaptive"
    source = "P5 2.2.1"
    adapts = True
    defaults = {
        **Cosine.defaults, "interval": 100.0, "expected": 85.0, "alpha": 1.05, "beta": 1.2,
        "gamma": 0.95, "mu": 0.3, "low": 0.5, "high": 2.0, "rate": 0.1, "features": 50.0,
    }  # fmt: skip
    published = Cosine.published

    def judge(self, page: Document) -> Judgement:
        vector = self.page_vector(page)
        judgement = self.judge_vector(vector)
        terms = strongest_words(unit_vector(vector), MAX_TERMS) if judgement.relevance else {}
        return msgspec.structs.replace(judgement, terms=terms)
