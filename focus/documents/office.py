"""Reads Word, Excel and PowerPoint files (Office Open XML)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from focus.documents.writing import HtmlWriter

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

MAX_ROWS = 20_000
"""Rows that are read of a table."""

MAX_SLIDES = 500
"""Slides that are read of a presentation."""


def read_docx(body: bytes, page: HtmlWriter) -> None:
    """Write headings, paragraphs, tables and links of a Word file."""
    import docx
    from docx.table import Table

    document = docx.Document(io.BytesIO(body))
    _describe(document.core_properties, page)
    for item in document.iter_inner_content():
        if page.full:
            break
        if isinstance(item, Table):
            for row in islice(item.rows, MAX_ROWS):
                page.row(cell.text for cell in row.cells)
            continue
        level = _level(item)
        if level:
            page.heading(item.text, level)
        else:
            page.paragraph(item.text, [(link.text, link.url) for link in item.hyperlinks])


def read_xlsx(body: bytes, page: HtmlWriter) -> None:
    """Write the sheets of an Excel file, row by row, as values."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True)
    try:
        _describe(book.properties, page)
        for sheet in book.worksheets:
            page.heading(sheet.title, 2)
            for row in islice(sheet.iter_rows(values_only=True), MAX_ROWS):
                page.row("" if value is None else str(value) for value in row)
                if page.full:
                    return
    finally:
        book.close()


def read_pptx(body: bytes, page: HtmlWriter) -> None:
    """Write the slides of a presentation: titles, texts, tables, links, notes."""
    import pptx

    slides = pptx.Presentation(io.BytesIO(body))
    _describe(slides.core_properties, page)
    for slide in islice(slides.slides, MAX_SLIDES):
        title = slide.shapes.title
        if title is not None:
            page.heading(title.text_frame.text, 2)
        for shape in slide.shapes:
            if shape.shape_id != getattr(title, "shape_id", None):
                _read_shape(shape, page)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            page.paragraph(slide.notes_slide.notes_text_frame.text)
        if page.full:
            break


def _read_shape(shape: Any, page: HtmlWriter) -> None:
    if getattr(shape, "has_table", False):
        for row in islice(shape.table.rows, MAX_ROWS):
            page.row(cell.text_frame.text for cell in row.cells)
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            page.paragraph("".join(run.text for run in paragraph.runs), _slide_links(paragraph))


def _slide_links(paragraph: Any) -> Iterator[tuple[str, str]]:
    for run in paragraph.runs:
        if run.hyperlink.address:
            yield run.text, run.hyperlink.address


def _level(paragraph: Paragraph) -> int:
    """1 to 6 of a heading, by its style; 0 of other paragraphs."""
    name = paragraph.style.name if paragraph.style is not None else ""
    if name == "Title":
        return 1
    kind, _, number = (name or "").rpartition(" ")
    return min(int(number), 6) if kind == "Heading" and number.isdecimal() and int(number) else 0


def _describe(said: Any, page: HtmlWriter) -> None:
    """Title, author, dates and keywords: the core properties that all three have."""
    page.title(said.title)
    page.meta("author", getattr(said, "author", None) or getattr(said, "creator", None))
    page.meta("description", getattr(said, "subject", None))
    page.meta("keywords", said.keywords)
    page.meta("dcterms.created", said.created)
    page.meta("dcterms.modified", said.modified)
