"""Builds an HTML page from the title, paragraphs, tables and links of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from html import escape

MAX_CHARS = 1_000_000
"""Characters read of one document; its beginning shows its topic."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'「」，。；、（）【】《》]{4,2000}")
_TRAILING = ".,;:!?)]}"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")

_FILE_NAME = re.compile(
    r"^(?:Microsoft (?:Office )?(?:Word|PowerPoint|Excel|Publisher|Visio)|(?:Adobe )?InDesign"
    r"|(?:Adobe )?PageMaker) - |^(?:file:|[a-z]:[\\/]|/|\\\\).*[\\/]"
    r"|\.(?:docx?|pptx?|xlsx?|rtf|odt|pdf|indd|wps|dvi|tex|html?|txt|jpe?g|png|tiff?|qxd|pages)$",
    re.I,
)
_NO_TITLE = re.compile(
    r"(?:(?:untitled|unbenannt|sans titre|sin título|senza titolo|无标题|未命名)(?:\W?\w+)?\W?\d*"
    r"|(?:no )?title|print|\(?anonymous\)?|powerpoint (?:presentation|演示文稿)|新建.{0,20}文档"
    r"|(?:document|book|slide|presentation|layout|文档|工作簿|演示文稿|幻灯片) ?\d*"
    r"|scan(?:ned document|_?\d+)|(?:img|dsc)_?\d+|[\d_-]{6,}|(?:pii|doi):\s?\S+)",
    re.I,
)
"""Titles that programs and scanners give to every document."""


class HtmlWriter:
    """Builder of one page; readers stop when it `is_full`."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._body: list[str] = []
        self._first_line = ""
        self._title = ""
        self._chars = 0

    @property
    def is_full(self) -> bool:
        """Whether the page has `MAX_CHARS` characters."""
        return self._chars >= MAX_CHARS

    @property
    def has_text(self) -> bool:
        """Whether a line of text was added."""
        return bool(self._first_line)

    def set_title(self, text: str | None) -> None:
        """Set the title; a document without a `clean_title` gets its first line as title."""
        self._title = clean_title(clean_text(text))[:300]

    def add_meta(self, name: str, content: str | datetime | None) -> None:
        """Add a `<meta>` element unless its content is empty."""
        text = content.isoformat() if isinstance(content, datetime) else clean_text(content)
        if text:
            self._head.append(f'<meta name="{name}" content="{escape(text[:1000])}">')

    def add_heading(self, text: str, level: int) -> None:
        """Add a heading of level 1 to 6."""
        self._add(text, f"<h{level}>{to_linked_html(text)}</h{level}>")

    def add_paragraph(self, text: str, links: Iterable[tuple[str, str]] = ()) -> None:
        """Add a paragraph; the words of `links` (words, URL) that occur in it become links."""
        self._add(text, f"<p>{to_linked_html(text, links)}</p>")

    def add_row(self, cells: Iterable[str]) -> None:
        """Add a row of a table."""
        texts = [clean_text(cell) for cell in cells]
        if any(texts):
            inner = "".join(f"<td>{to_linked_html(cell)}</td>" for cell in texts)
            self._add(" ".join(filter(None, texts)), f"<table><tr>{inner}</tr></table>")

    def add_markup(self, html: str) -> None:
        """Add text that is already HTML."""
        self._chars += len(html)
        self._body.append(html)

    def to_html(self) -> str:
        """Return the whole page."""
        title = escape(self._title or self._first_line)
        head = f'<meta charset="utf-8"><title>{title}</title>' + "".join(self._head)
        return f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(self._body)}</body></html>"

    def _add(self, text: str, html: str) -> None:
        if text := clean_text(text):
            self._first_line = self._first_line or text[:120]
            self._chars += len(text)
            self._body.append(html)


def clean_text(text: str | None) -> str:
    """Return a text without characters that HTML forbids, white space folded."""
    return " ".join(_UNPRINTABLE.sub("", text).split()) if text else ""


def clean_title(title: str) -> str:
    """Return a title without the program and the path of the file; "" for a default of a program.

    Example: `Microsoft Word - 2026 Report.docx` is `2026 Report`; `untitled` is none.
    """
    title = _FILE_NAME.sub("", title.strip())
    return "" if _NO_TITLE.fullmatch(title) else title


def to_linked_html(text: str, links: Iterable[tuple[str, str]] = ()) -> str:
    """Return a text as HTML in which the words of `links` and bare URLs are links.

    Example: `to_linked_html("see a", [("a", "https://x.cn/")])` is
    `see <a href="https://x.cn/">a</a>`.
    """
    text, at, pieces = clean_text(text), 0, []
    for start, end, url in sorted(_link_spans(text, links)):
        if start >= at:
            words = escape(text[start:end])
            pieces += [escape(text[at:start]), f'<a href="{escape(url)}">{words}</a>']
            at = end
    return "".join(pieces) + escape(text[at:])


def _link_spans(text: str, links: Iterable[tuple[str, str]]) -> Iterable[tuple[int, int, str]]:
    for words, url in links:
        start = text.find(words := clean_text(words)) if words else -1
        if start >= 0:
            yield start, start + len(words), url
    for match in _ADDRESS.finditer(text):
        url = match[0].rstrip(_TRAILING)
        yield match.start(), match.start() + len(url), url
