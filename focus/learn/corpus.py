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

HTML_SUFFIXES = frozenset((".html", ".htm", ".xhtml", ".shtml"))
TEXT_SUFFIXES = frozenset((".txt", ".text", ".md"))
SURE_ON, SURE_OFF = 0.9, 0.1
"""Relevance from which on a stored page counts as an example though nobody labelled it."""

ReportProblem = Callable[[str], None]


def read_pages(path: Path, report_problem: ReportProblem) -> Iterator[Document]:
    """The pages of `read_named`, without their names."""
    return (page for _, page in read_named_pages(path, report_problem))


def read_named_pages(path: Path, report_problem: ReportProblem) -> Iterator[tuple[str, Document]]:
    """The pages of a folder (with all below), of one file, or of a .jsonl file, one by one.

    .html and .txt files are a page each; a line of .jsonl is one, an object with "html" or
    "text" (and "title"). Each comes with the name of its file, and its line there. What
    cannot be read is complained of, the rest is kept.
    ConfigError when `path` is not there or no page is in it.
    """
    if not path.exists():
        raise ConfigError("{path}: there is no such file or folder", path=path)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    is_empty = True
    for file in files:
        for page in _read_file(file, report_problem, is_named=file == path):
            is_empty = False
            yield page
    if is_empty:
        suffixes = ", ".join(sorted(HTML_SUFFIXES | TEXT_SUFFIXES | {".jsonl"}))
        raise ConfigError(
            "{path}: there is no page in it (files that count: {kinds})", path=path, kinds=suffixes
        )


def _read_file(
    file: Path, report_problem: ReportProblem, *, is_named: bool
) -> Iterator[tuple[str, Document]]:
    suffix = file.suffix.lower()
    if not file.is_file() or not (is_named or suffix in HTML_SUFFIXES | TEXT_SUFFIXES | {".jsonl"}):
        return
    try:
        data = file.read_bytes()
    except OSError as error:
        report_problem(f"{file}: cannot be read: {error.strerror}")
        return
    if suffix == ".jsonl":
        yield from _read_json_lines(file, data, report_problem)
    elif suffix in TEXT_SUFFIXES:
        yield str(file), text_document(decode(data, "text/plain")[0])
    else:
        yield str(file), html_document(decode(data, None)[0])


class _JsonPage(msgspec.Struct, frozen=True):
    """A page in a .jsonl file; other keys are left alone."""

    html: str = ""
    text: str = ""
    title: str = ""


def _read_json_lines(
    file: Path, data: bytes, report_problem: ReportProblem
) -> Iterator[tuple[str, Document]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            page = msgspec.json.decode(line, type=_JsonPage)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            report_problem(f"{file}:{number}: is no page: {printable(str(error), 100)}")
            continue
        if page.html:
            yield f"{file}:{number}", html_document(page.html)
        elif page.text or page.title:
            yield f"{file}:{number}", text_document(page.text, page.title)
        else:
            report_problem(f'{file}:{number}: is no page: neither "html" nor "text" in it')


def html_document(html: str) -> Document:
    """A page out of its source."""
    return Document.from_parsed(parse(html), html.encode("utf-8", "replace"))


def text_document(text: str, title: str = "") -> Document:
    """A page out of plain text, a block a line."""
    blocks = [Block(line.strip(), 0, "p") for line in text.splitlines() if line.strip()]
    return Document(title=title, blocks=lambda: blocks)


class TrainingRows(msgspec.Struct):
    """The stored pages of a crawl that are training pages, by row id."""

    on: list[int] = []
    off: list[int] = []


def select_training_rows(reader: DatabaseReader, crawl: int, topic: str) -> TrainingRows:
    """The pages labelled by hand, and those that the crawl's judge was sure of.

    Sure: relevance over 0.9 and relevant, or under 0.1 and not. Of the off-topic ones at
    most three times as many as on-topic ones, evenly over the crawl: a classifier trained
    on one relevant page in a hundred has nothing to lose by always saying no.
    """
    labelled = {v.page: v.relevant for v in reader.run(partial(labels.labelled, topic=topic))}
    certain: dict[bool, list[int]] = {True: [], False: []}
    for row, relevance, relevant in reader.run(partial(labels.judged, crawl=crawl)):
        if row not in labelled and (relevance > SURE_ON if relevant else relevance < SURE_OFF):
            certain[bool(relevant)].append(row)
    on = [row for row, relevant in labelled.items() if relevant] + certain[True]
    off = [row for row, relevant in labelled.items() if not relevant]
    max_off = max(0, 3 * len(on) - len(off))
    step = max(1.0, len(certain[False]) / max_off) if max_off else math.inf
    off += [certain[False][int(at * step)] for at in range(min(max_off, len(certain[False])))]
    return TrainingRows(on, off)


def read_stored_pages(reader: DatabaseReader, rows: Iterable[int]) -> Iterator[Document]:
    """Stored pages as documents; those whose text was not kept are left out."""
    for row in rows:
        page = reader.run(partial(labels.page, row=row))
        if page.html:
            yield html_document(page.html)
