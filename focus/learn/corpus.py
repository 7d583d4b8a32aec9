"""Collects the pages that a classifier is trained on, from folders, files and crawls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from focus.errors import ConfigError
from focus.html.parser import Block, parse
from focus.score.relevance import Document
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.text.charset import decode
from focus.text.formatting import printable

HTML = frozenset((".html", ".htm", ".xhtml", ".shtml"))
TEXT = frozenset((".txt", ".text", ".md"))
SURE_ON, SURE_OFF = 0.9, 0.1
"""Relevance from which on a stored page counts as an example though nobody labelled it."""

Complain = Callable[[str], None]


def read_pages(path: Path, complain: Complain) -> Iterator[Document]:
    """The pages of `read_named`, without their names."""
    return (page for _, page in read_named(path, complain))


def read_named(path: Path, complain: Complain) -> Iterator[tuple[str, Document]]:
    """The pages of a folder (with all below), of one file, or of a .jsonl file, one by one.

    .html and .txt files are a page each; a line of .jsonl is one, an object with "html" or
    "text" (and "title"). Each comes with the name of its file, and its line there. What
    cannot be read is complained of, the rest is kept.
    ConfigError when `path` is not there or no page is in it.
    """
    if not path.exists():
        raise ConfigError("{path}: there is no such file or folder", path=path)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    empty = True
    for file in files:
        for page in _of_file(file, complain, sole=file == path):
            empty = False
            yield page
    if empty:
        kinds = ", ".join(sorted(HTML | TEXT | {".jsonl"}))
        raise ConfigError(
            "{path}: there is no page in it (files that count: {kinds})", path=path, kinds=kinds
        )


def _of_file(file: Path, complain: Complain, *, sole: bool) -> Iterator[tuple[str, Document]]:
    kind = file.suffix.lower()
    if not file.is_file() or not (sole or kind in HTML | TEXT | {".jsonl"}):
        return
    try:
        data = file.read_bytes()
    except OSError as error:
        complain(f"{file}: cannot be read: {error.strerror}")
        return
    if kind == ".jsonl":
        yield from _of_lines(file, data, complain)
    elif kind in TEXT:
        yield str(file), of_text(decode(data, "text/plain")[0])
    else:
        yield str(file), of_html(decode(data, None)[0])


class _Line(msgspec.Struct, frozen=True):
    """A page in a .jsonl file; other keys are left alone."""

    html: str = ""
    text: str = ""
    title: str = ""


def _of_lines(file: Path, data: bytes, complain: Complain) -> Iterator[tuple[str, Document]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            page = msgspec.json.decode(line, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            complain(f"{file}:{number}: is no page: {printable(str(error), 100)}")
            continue
        if page.html:
            yield f"{file}:{number}", of_html(page.html)
        elif page.text or page.title:
            yield f"{file}:{number}", of_text(page.text, page.title)
        else:
            complain(f'{file}:{number}: is no page: neither "html" nor "text" in it')


def of_html(html: str) -> Document:
    """A page out of its source."""
    return Document.from_parsed(parse(html), html.encode("utf-8", "replace"))


def of_text(text: str, title: str = "") -> Document:
    """A page out of plain text, a block a line."""
    blocks = [Block(line.strip(), 0, "p") for line in text.splitlines() if line.strip()]
    return Document(title=title, blocks=lambda: blocks)


class OfCrawl(msgspec.Struct):
    """The stored pages of a crawl that are training pages, by row id."""

    on: list[int] = []
    off: list[int] = []


def of_crawl(reader: DatabaseReader, crawl: int, topic: str) -> OfCrawl:
    """The pages labelled by hand, and those that the crawl's judge was sure of.

    Sure: relevance over 0.9 and relevant, or under 0.1 and not. Of the off-topic ones at
    most three times as many as on-topic ones, evenly over the crawl: a classifier trained
    on one relevant page in a hundred has nothing to lose by always saying no.
    """
    said = {v.page: v.relevant for v in reader.run(partial(labels.labelled, topic=topic))}
    sure: dict[bool, list[int]] = {True: [], False: []}
    for row, relevance, relevant in reader.run(partial(labels.judged, crawl=crawl)):
        if row not in said and (relevance > SURE_ON if relevant else relevance < SURE_OFF):
            sure[bool(relevant)].append(row)
    on = [row for row, relevant in said.items() if relevant] + sure[True]
    off = [row for row, relevant in said.items() if not relevant]
    room = max(0, 3 * len(on) - len(off))
    step = max(1.0, len(sure[False]) / room) if room else math.inf
    off += [sure[False][int(at * step)] for at in range(min(room, len(sure[False])))]
    return OfCrawl(on, off)


def stored_pages(reader: DatabaseReader, rows: Iterable[int]) -> Iterator[Document]:
    """Stored pages as documents; those whose text was not kept are left out."""
    for row in rows:
        page = reader.run(partial(labels.page, row=row))
        if page.html:
            yield of_html(page.html)
