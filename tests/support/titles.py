"""Makes pages as sub-topics count them."""

from __future__ import annotations

from focus.score.subtopics import Titled
from focus.text.tokenisation import Segmenter

_SEGMENTER = Segmenter()


def titled(title: str, relevant: bool, hub: int, url: str = "http://h/x") -> Titled:
    """A page of that title."""
    return Titled.cut(url, title, relevant, hub, _SEGMENTER)
