"""Reads PDF with pdfium: text by pages, links with their words, title and dates."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from focus.documents import ocr
from focus.documents.html_writer import HtmlWriter
from focus.documents.kinds import DocumentError

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGES = 100
"""Pages read of one document: the time limit of a web page (`--parse-limit`) applies to it."""

_MAX_LINKS = 2000
_MAX_ADDRESS = 2083
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?")
_SENTENCE_END = re.compile(r"[.!?。！？：:]$")
_SHORT_LINE = 60  # characters; a shorter line may end a paragraph


def read_pdf(body: bytes, writer: HtmlWriter, languages: str = "") -> None:
    """Write the text, links and metadata; raise DocumentError if encrypted or damaged.

    languages  read a document without text with tesseract in these languages; "" does not
    """
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        is_encrypted = pdfium.raw.FPDF_GetLastError() == pdfium.raw.FPDF_ERR_PASSWORD
        reason = "it asks for a password" if is_encrypted else "it is damaged"
        raise DocumentError(f"PDF: {reason}") from error
    try:
        _write_metadata(document.get_metadata_dict(skip_empty=True), writer)
        for number in range(min(len(document), MAX_PAGES)):
            if writer.is_full:
                break
            _read_page(document, number, writer)
        if languages and not writer.has_text:
            for text in ocr.read_pages(body, len(document), languages):
                for paragraph in _join_paragraphs(text):
                    writer.add_paragraph(paragraph)
        if not writer.has_text and len(document):
            raise DocumentError("PDF: it has no text, like a scan")
    finally:
        document.close()


def parse_pdf_date(text: str) -> datetime | None:
    """Return the time of a PDF date (ISO 32000-2, 7.9.4) such as `D:20261121163000+08'00'`.

    A date without a time zone is read as UTC. Returns None if the text is not a date.
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


def _write_metadata(metadata: dict[str, str], writer: HtmlWriter) -> None:
    writer.set_title(metadata.get("Title"))
    writer.add_meta("author", metadata.get("Author"))
    writer.add_meta("description", metadata.get("Subject"))
    writer.add_meta("keywords", metadata.get("Keywords"))
    writer.add_meta("dcterms.created", parse_pdf_date(metadata.get("CreationDate", "")))
    writer.add_meta("dcterms.modified", parse_pdf_date(metadata.get("ModDate", "")))


def _read_page(document: pypdfium2.PdfDocument, number: int, writer: HtmlWriter) -> None:
    import pypdfium2 as pdfium

    try:
        sheet = document[number]
    except pdfium.PdfiumError:  # skip a damaged page, read the others
        return
    try:
        text = sheet.get_textpage()
        links = list(_drawn_links(document, sheet, text))
        for paragraph in _join_paragraphs(text.get_text_range()):
            writer.add_paragraph(paragraph, links)
    except pdfium.PdfiumError:
        return
    finally:
        sheet.close()


def _join_paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs: a blank line, or a short line that ends a sentence, ends a paragraph."""
    lines: list[str] = []
    for line in text.replace("\ufffe", "").splitlines():
        line = line.strip()
        lines.append(line)
        if not line or (len(line) < _SHORT_LINE and _SENTENCE_END.search(line)):
            yield _join_lines(lines)
            lines = []
    yield _join_lines(lines)


def _join_lines(lines: list[str]) -> str:
    """Join lines with a space between words and none between ideographs."""
    text = ""
    for line in filter(None, lines):
        if text and (text[-1].isascii() or line[0].isascii()):
            text += " "
        text += line
    return text


def _drawn_links(
    document: pypdfium2.PdfDocument, sheet: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage
) -> Iterator[tuple[str, str]]:
    """Yield words and URL of the link areas on a page; `HtmlWriter` links URLs in the text."""
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
