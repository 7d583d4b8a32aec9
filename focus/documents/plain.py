"""Reads text without markup: paragraphs, underlined or Markdown headings, URLs as links."""

from __future__ import annotations

import re

from focus.documents.html_writer import HtmlWriter
from focus.text.charset import decode

_MARKDOWN_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)")
_UNDERLINE = re.compile(r"[=\-]{3,}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\((https?://[^\s()]{1,2000})[^()]*\)")


def read_text(body: bytes, content_type: str | None, writer: HtmlWriter) -> None:
    """Write the paragraphs of a text; headings and links in Markdown are recognised."""
    text = decode(body, content_type)[0].replace("\r\n", "\n").replace("\r", "\n")
    for paragraph in _BLANK_LINE.split(text):
        if writer.is_full:
            break
        _write_paragraph(paragraph.strip(), writer)


def _write_paragraph(text: str, writer: HtmlWriter) -> None:
    first, _, rest = text.partition("\n")
    under, _, below = rest.partition("\n")
    if marked := _MARKDOWN_HEADING.fullmatch(first.strip()):
        writer.add_heading(marked[2].rstrip("# "), len(marked[1]))
        text = rest
    elif first and _UNDERLINE.fullmatch(under.strip()):
        writer.add_heading(first, 1 if under.strip().startswith("=") else 2)
        text = below
    links = [(match[1], match[2]) for match in _MARKDOWN_LINK.finditer(text)]
    writer.add_paragraph(_MARKDOWN_LINK.sub(r"\1", text), links)
