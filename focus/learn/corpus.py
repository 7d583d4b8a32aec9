"""Training pages of a classifier, from folders, files and crawls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from focus.errors import ConfigError, refuse_deep_nesting
from focus.html.blocks import Block
from focus.html.parser import parse
from focus.score.relevance import Document
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.text.charset import decode
from focus.text.formatting import printable

HTML_SUFFIXES = frozenset((".html", ".htm", ".xhtml", ".shtml"))
TEXT_SUFFIXES = frozenset((".txt", ".text", ".md"))
_CONTROLS = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
MAX_CONTROL_SHARE = 0.05  # of the characters of a text; random bytes have twice as many
SURE_ON, SURE_OFF = 0.9, 0.1
"""Relevance above and below which an unlabelled page counts as an example."""

ReportProblem = Callable[[str], None]


def read_pages(path: Path, report_problem: ReportProblem) -> Iterator[Document]:
    """Return the pages of `read_named_pages`, without their names."""
    return (page for _, page, _ in read_named_pages(path, report_problem))


def read_named_pages(
    path: Path, report_problem: ReportProblem
) -> Iterator[tuple[str, Document, str]]:
    """Yield the pages of a folder and its subfolders, of one file, or of a .jsonl file.

    They are returned as name, document and HTML source ("" for a text).

    A .html or .txt file is a page. A line of a .jsonl file is a page: an object with "html" or
    "text" (and "title"). The name of a page is its file, with the line number if there is one.
    Files and lines that cannot be read are passed to `report_problem` and skipped.

    Raises ConfigError if `path` does not exist, contains no page, or is neither text nor HTML.
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
) -> Iterator[tuple[str, Document, str]]:
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
        return
    text = decode(data, "text/plain" if suffix in TEXT_SUFFIXES else None)[0]
    if len(_CONTROLS.findall(text)) > MAX_CONTROL_SHARE * len(text):
        if is_named:
            raise ConfigError("{path}: is neither text nor HTML", path=file)
        report_problem(f"{file}: is neither text nor HTML")
    elif suffix in TEXT_SUFFIXES:
        yield str(file), text_document(text), ""
    else:
        yield str(file), html_document(text), text


class _JsonPage(msgspec.Struct, frozen=True):
    """A page in a .jsonl file; other keys are ignored."""

    html: str = ""
    text: str = ""
    title: str = ""


def _read_json_lines(
    file: Path, data: bytes, report_problem: ReportProblem
) -> Iterator[tuple[str, Document, str]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            with refuse_deep_nesting():
                page = msgspec.json.decode(line, type=_JsonPage)
        except ValueError as error:
            report_problem(f"{file}:{number}: is no page: {printable(str(error), 100)}")
            continue
        if page.html:
            yield f"{file}:{number}", html_document(page.html), page.html
        elif page.text or page.title:
            yield f"{file}:{number}", text_document(page.text, page.title), ""
        else:
            report_problem(f'{file}:{number}: is no page: neither "html" nor "text" in it')


def html_document(html: str) -> Document:
    """Return the document of an HTML source."""
    return Document.from_parsed(parse(html))


def text_document(text: str, title: str = "") -> Document:
    """Return a document of plain text; each line is a block."""
    blocks = [Block(line.strip(), 0, "p") for line in text.splitlines() if line.strip()]
    return Document(title=title, blocks=lambda: blocks)


def select_training_rows(reader: DatabaseReader, crawl: int, topic: str) -> dict[bool, list[int]]:
    """Return row ids of pages on and off topic: labelled by hand, or judged with certainty.

    Clear is a relevance over 0.9 for relevant pages and under 0.1 for others. At most three times
    as many pages off topic as on topic are returned, spread evenly over the crawl: a classifier
    trained with one relevant page in a hundred would always say no.
    """
    labelled = {
        v.page_row: v.is_relevant for v in reader.read(partial(labels.load_labels, topic=topic))
    }
    certain: dict[bool, list[int]] = {True: [], False: []}
    for row, relevance, relevant in reader.read(partial(labels.load_relevances, crawl=crawl)):
        if row not in labelled and (relevance > SURE_ON if relevant else relevance < SURE_OFF):
            certain[bool(relevant)].append(row)
    on = [row for row, relevant in labelled.items() if relevant] + certain[True]
    off = [row for row, relevant in labelled.items() if not relevant]
    off += sample_evenly(certain[False], max(0, 3 * len(on) - len(off)))
    return {True: on, False: off}


def sample_evenly(rows: Sequence[int], number: int) -> list[int]:
    """Return `number` rows at most, spread evenly."""
    step = max(1.0, len(rows) / max(1, number))
    return [rows[int(at * step)] for at in range(min(number, len(rows)))]


def read_stored_pages(reader: DatabaseReader, rows: Iterable[int]) -> Iterator[Document]:
    """Yield stored pages as documents, without those whose text was not stored."""
    for row in rows:
        page = reader.read(partial(labels.load_page, row=row))
        if page.html:
            yield html_document(page.html)
