"""Reads PDF by pdfium: text by pages, links with their words, title and dates."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from focus.documents.kinds import DocumentError
from focus.documents.writing import HtmlWriter

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGES = 100
"""Pages that are read: the limit on a document's time is that of a page (`--parse-limit`)."""

_MAX_LINKS = 2000
_MAX_ADDRESS = 2083
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?")
_SENTENCE_END = re.compile(r"[.!?。！？：:]$")
_SHORT = 60  # characters of a line after which a paragraph may end


def read(body: bytes, page: HtmlWriter) -> None:
    """Write what a PDF says; DocumentError for one that is encrypted or damaged."""
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        locked = pdfium.raw.FPDF_GetLastError() == pdfium.raw.FPDF_ERR_PASSWORD
        reason = "it asks for a password" if locked else "it is damaged"
        raise DocumentError(f"PDF: {reason}") from error
    try:
        _describe(document.get_metadata_dict(skip_empty=True), page)
        for number in range(min(len(document), MAX_PAGES)):
            if page.full:
                break
            _read_page(document, number, page)
    finally:
        document.close()


def moment(text: str) -> datetime | None:
    """A date of PDF (ISO 32000-2, 7.9.4): `D:20261121163000+08'00'`; None if it is none.

    One without a zone is taken as UTC.
    """
    match = _DATE.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = match.groups()[:6]
    offset = f"{match[8]}{match[9]}:{match[10] or '00'}" if match[8] else "+00:00"
    try:
        return datetime.fromisoformat(
            f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:"
            f"{second or '00'}{offset}"
        )
    except ValueError:
        return None


def _describe(said: dict[str, str], page: HtmlWriter) -> None:
    page.title(said.get("Title"))
    page.meta("author", said.get("Author"))
    page.meta("description", said.get("Subject"))
    page.meta("keywords", said.get("Keywords"))
    page.meta("dcterms.created", moment(said.get("CreationDate", "")))
    page.meta("dcterms.modified", moment(said.get("ModDate", "")))


def _read_page(document: pypdfium2.PdfDocument, number: int, page: HtmlWriter) -> None:
    import pypdfium2 as pdfium

    try:
        sheet = document[number]
    except pdfium.PdfiumError:  # one damaged page; the others are read
        return
    try:
        text = sheet.get_textpage()
        links = list(_links(document, sheet, text))
        for paragraph in _paragraphs(text.get_text_range()):
            page.paragraph(paragraph, links)
    except pdfium.PdfiumError:
        return
    finally:
        sheet.close()


def _paragraphs(text: str) -> Iterator[str]:
    """The lines of a page put together: a paragraph ends with a short line or a sentence's end."""
    lines: list[str] = []
    for line in text.replace("\ufffe", "").splitlines():
        line = line.strip()
        lines.append(line)
        if not line or (len(line) < _SHORT and _SENTENCE_END.search(line)):
            yield _joined(lines)
            lines = []
    yield _joined(lines)


def _joined(lines: list[str]) -> str:
    """Lines as one text: a blank between words, none between ideographs."""
    text = ""
    for line in filter(None, lines):
        if text and (text[-1].isascii() or line[0].isascii()):
            text += " "
        text += line
    return text


def _links(
    document: pypdfium2.PdfDocument, sheet: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage
) -> Iterator[tuple[str, str]]:
    """Words and address of the links that are drawn on a page (those spelt out find themselves)."""
    from pypdfium2 import raw

    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not raw.FPDFLink_Enumerate(sheet.raw, position, link):
            return
        action = raw.FPDFLink_GetAction(link)
        size = raw.FPDFAction_GetURIPath(document.raw, action, None, 0) if action else 0
        if not 8 < size <= _MAX_ADDRESS:
            continue
        buffer = ctypes.create_string_buffer(size)
        raw.FPDFAction_GetURIPath(document.raw, action, buffer, size)
        url = buffer.value.decode("utf-8", "replace")
        area = raw.FS_RECTF()
        if url.startswith(("http://", "https://")) and raw.FPDFLink_GetAnnotRect(link, area):
            words = text.get_text_bounded(area.left, area.bottom, area.right, area.top)
            yield words, url
