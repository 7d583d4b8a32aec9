"""What a relevance model is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import msgspec

from focus.score.match import Matcher, fold_body


class Document:
    """The parts of a page that speak of its topic; the body is read only if asked for."""

    def __init__(
        self,
        *,
        title: str = "",
        keywords: str = "",
        description: str = "",
        headings: Sequence[str] = (),
        anchors: Sequence[str] = (),
        url_words: str = "",
        text: Callable[[], str] = str,
    ) -> None:
        self.title = title
        self.keywords = keywords
        self.description = description
        self.headings = headings
        self.anchors = anchors
        self.url_words = url_words
        self._text = text

    @cached_property
    def body(self) -> str:
        """Visible text, folded for matching."""
        return fold_body(self._text())


class Judgement(msgspec.Struct, frozen=True):
    """How relevant a page is, by which parts, and through which words."""

    relevance: float
    parts: dict[str, float]
    matched: dict[str, list[str]]


class Model:
    """A relevance model: page -> number, larger = more about the topic.

    threshold   a page over it counts as relevant
    defaults    tuned parameters; `published` the paper's where they differ
    """

    name: ClassVar[str]
    source: ClassVar[str]
    threshold: ClassVar[float] = 0.5
    defaults: ClassVar[Mapping[str, float]] = {}
    published: ClassVar[Mapping[str, float]] = {}

    def __init__(self, matcher: Matcher, params: Mapping[str, float]) -> None:
        self.matcher = matcher
        self.params = params

    def judge(self, page: Document) -> Judgement:
        """The page's relevance with its parts and matched words."""
        raise NotImplementedError

    def found(self, **texts: str) -> dict[str, list[str]]:
        """Which keywords stand in each named text: {"title": ["足球"]}; empty ones left out."""
        matched = {part: list(self.matcher.counts(text)) for part, text in texts.items() if text}
        return {part: words for part, words in matched.items() if words}
