"""Relevance 1 if any keyword occurs in the page's text, else 0 (P1 3.1, Fish-Search)."""

from __future__ import annotations

from focus.score.matching import fold_body
from focus.score.relevance.base import Document, Judgement, Model


class Boolean(Model):
    """relevance = 1 if a keyword stands in title or visible text, else 0.

    Example: a page that contains 足球 once, anywhere, has relevance 1.0.
    """

    name = "boolean"
    source = "P1 3.1"

    def judge(self, page: Document) -> Judgement:
        matched = self.matched_keywords(title=fold_body(page.title), body=page.all_text)
        return Judgement(float(bool(matched)), dict.fromkeys(matched, 1.0), matched)
