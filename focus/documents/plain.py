"""Reads text without markup: paragraphs, headings by their look, bare addresses as links."""

from __future__ import annotations

import re

from focus.documents.writing import HtmlWriter
from focus.text.charset import decode

_MARKED = re.compile(r"(#{1,6})[ \t]+(.+)")
_UNDERLINE = re.compile(r"[=\-]{3,}")
_GAP = re.compile(r"\n[ \t]*\n")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\((https?://[^\s()]{1,2000})[^()]*\)")


def read(body: bytes, content_type: str | None, page: HtmlWriter) -> None:
    """Write the paragraphs of a text; headings and links of Markdown count as such."""
    text = decode(body, content_type)[0].replace("\r\n", "\n").replace("\r", "\n")
    for paragraph in _GAP.split(text):
        if page.full:
            break
        _paragraph(paragraph.strip(), page)


def _paragraph(text: str, page: HtmlWriter) -> None:
    first, _, rest = text.partition("\n")
    under, _, below = rest.partition("\n")
    if marked := _MARKED.fullmatch(first.strip()):
        page.heading(marked[2].rstrip("# "), len(marked[1]))
        text = rest
    elif first and _UNDERLINE.fullmatch(under.strip()):
        page.heading(first, 1 if under.strip().startswith("=") else 2)
        text = below
    links = [(match[1], match[2]) for match in _LINK.finditer(text)]
    page.paragraph(_LINK.sub(r"\1", text), links)
