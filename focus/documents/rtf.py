"""Reads Rich Text Format (.rtf): paragraphs, title and author."""

from __future__ import annotations

import re

from focus.documents.html_writer import HtmlWriter

_TOKEN = re.compile(
    rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|([^\\{}\r\n]+)"
)
_HIDDEN_GROUPS = frozenset(
    b"fonttbl colortbl stylesheet pict object themedata datastore listtable listoverridetable"
    b" rsidtbl xmlnstbl latentstyles header footer generator fldinst info".split()
)
_BREAKS = {b"par": b"\n", b"line": b" ", b"tab": b" ", b"cell": b" ", b"row": b"\n", b"page": b"\n"}
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
_TITLE, _AUTHOR = (re.compile(rb"\{\\%s ([^{}]{1,500})" % name) for name in (b"title", b"author"))


def read_rtf(body: bytes, writer: HtmlWriter) -> None:
    """Write the paragraphs of a document; control words without text are skipped."""
    page = _CODE_PAGE.search(body)
    encoding = "cp" + (page[1].decode() if page else "1252")
    try:
        b"".decode(encoding)
    except LookupError:
        encoding = "cp1252"
    if title := _TITLE.search(body):
        writer.set_title(_read_text(title[1], encoding))
    if author := _AUTHOR.search(body):
        writer.add_meta("author", _read_text(author[1], encoding))
    for paragraph in _read_text(body, encoding).split("\n"):
        if writer.is_full:
            break
        writer.add_paragraph(paragraph)


def _read_text(body: bytes, encoding: str) -> str:
    """Return the visible text, with a line break after each paragraph."""
    pieces: list[str] = []
    raw = bytearray()  # bytes of characters, which may be split among escapes
    hidden, skip = [False], 0
    for match in _TOKEN.finditer(body):
        word, number, escape, symbol, brace, plain = match.groups()
        if brace == b"{":
            hidden.append(hidden[-1])
        elif brace == b"}" and len(hidden) > 1:
            hidden.pop()
        elif word in _HIDDEN_GROUPS or symbol == b"*":
            hidden[-1] = True
        elif not hidden[-1]:
            data = bytes.fromhex(escape.decode()) if escape else plain or _BREAKS.get(word, b"")
            if symbol in (b"\\", b"{", b"}", b"~"):
                data = symbol.replace(b"~", b" ")
            if word == b"u" and number:
                pieces += [raw.decode(encoding, "replace"), chr(int(number) % 65536)]
                raw.clear()
                skip = 1  # a character for readers without Unicode follows
            elif data:
                raw += data[skip:]
                skip = 0
    return "".join((*pieces, raw.decode(encoding, "replace")))
