"""Makes pages as sub-topics count them."""

from __future__ import annotations

from focus.score.subtopics import TitledPage
from focus.text.tokenisation import Segmenter

_SEGMENTER = Segmenter()


def titled(title: str, relevant: bool, hub: int, url: str = "http://h/x") -> TitledPage:
    """A page of that title."""
    return TitledPage.from_title(url, title, relevant, hub, _SEGMENTER)
