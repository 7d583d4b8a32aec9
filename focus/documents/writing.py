"""Puts an HTML page together from the title, paragraphs, tables and links of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from html import escape

MAX_CHARS = 1_000_000
"""Characters of a document that are read; what it is about stands in its beginning."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'「」，。；、（）【】《》]{4,2000}")
_TRAILING = ".,;:!?)]}"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


class HtmlWriter:
    """Collects the parts of a page; `full` once it has as many characters as are wanted."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._body: list[str] = []
        self._first = ""
        self._title = ""
        self._chars = 0

    @property
    def full(self) -> bool:
        """Whether more would be of no use."""
        return self._chars >= MAX_CHARS

    def title(self, text: str | None) -> None:
        """Say what it is called; without any, its first line is its title."""
        self._title = clean(text)[:300]

    def meta(self, name: str, content: str | datetime | None) -> None:
        """Say something about the document; empty contents say nothing."""
        text = content.isoformat() if isinstance(content, datetime) else clean(content)
        if text:
            self._head.append(f'<meta name="{name}" content="{escape(text[:1000])}">')

    def heading(self, text: str, level: int) -> None:
        """Begin a section; levels from 1 to 6."""
        self._add(text, f"<h{level}>{linked(text)}</h{level}>")

    def paragraph(self, text: str, links: Iterable[tuple[str, str]] = ()) -> None:
        """Add a paragraph; the words of links (words, address) that it holds become links."""
        self._add(text, f"<p>{linked(text, links)}</p>")

    def row(self, cells: Iterable[str]) -> None:
        """Add a row of a table."""
        texts = [clean(cell) for cell in cells]
        if any(texts):
            inner = "".join(f"<td>{linked(cell)}</td>" for cell in texts)
            self._add(" ".join(filter(None, texts)), f"<table><tr>{inner}</tr></table>")

    def markup(self, html: str) -> None:
        """Add what is HTML already."""
        self._chars += len(html)
        self._body.append(html)

    def page(self) -> str:
        """The page as one text."""
        title = escape(self._title or self._first)
        head = f'<meta charset="utf-8"><title>{title}</title>' + "".join(self._head)
        return f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(self._body)}</body></html>"

    def _add(self, text: str, html: str) -> None:
        if text := clean(text):
            self._first = self._first or text[:120]
            self._chars += len(text)
            self._body.append(html)


def clean(text: str | None) -> str:
    """A text without characters that HTML may not hold, white space folded."""
    return " ".join(_UNPRINTABLE.sub("", text).split()) if text else ""


def linked(text: str, links: Iterable[tuple[str, str]] = ()) -> str:
    """A text as HTML: known links by their words, bare addresses by themselves.

    Worked: `linked("see a", [("a", "https://x.cn/")])` is `see <a href="https://x.cn/">a</a>`.
    """
    text, at, pieces = clean(text), 0, []
    for start, end, url in sorted(_spans(text, links)):
        if start >= at:
            words = escape(text[start:end])
            pieces += [escape(text[at:start]), f'<a href="{escape(url)}">{words}</a>']
            at = end
    return "".join(pieces) + escape(text[at:])


def _spans(text: str, links: Iterable[tuple[str, str]]) -> Iterable[tuple[int, int, str]]:
    for words, url in links:
        start = text.find(words := clean(words)) if words else -1
        if start >= 0:
            yield start, start + len(words), url
    for match in _ADDRESS.finditer(text):
        url = match[0].rstrip(_TRAILING)
        yield match.start(), match.start() + len(url), url
