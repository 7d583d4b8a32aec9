"""Reads Word, Excel and PowerPoint files (Office Open XML)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from focus.documents.html_writer import HtmlWriter

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

MAX_ROWS = 20_000
"""Rows read of one table."""

MAX_SLIDES = 500
"""Slides read of one presentation."""


def read_docx(body: bytes, writer: HtmlWriter) -> None:
    """Write headings, paragraphs, tables and links of a Word file."""
    import docx
    from docx.table import Table

    document = docx.Document(io.BytesIO(body))
    _write_metadata(document.core_properties, writer)
    for item in document.iter_inner_content():
        if writer.is_full:
            break
        if isinstance(item, Table):
            for row in islice(item.rows, MAX_ROWS):
                writer.add_row(cell.text for cell in row.cells)
            continue
        level = _heading_level(item)
        if level:
            writer.add_heading(item.text, level)
        else:
            writer.add_paragraph(item.text, [(link.text, link.url) for link in item.hyperlinks])


def read_xlsx(body: bytes, writer: HtmlWriter) -> None:
    """Write the sheets of an Excel file, row by row, as values."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True)
    try:
        _write_metadata(book.properties, writer)
        for sheet in book.worksheets:
            writer.add_heading(sheet.title, 2)
            for row in islice(sheet.iter_rows(values_only=True), MAX_ROWS):
                writer.add_row("" if value is None else str(value) for value in row)
                if writer.is_full:
                    return
    finally:
        book.close()


def read_pptx(body: bytes, writer: HtmlWriter) -> None:
    """Write the slides of a presentation: titles, texts, tables, links, notes."""
    import pptx

    slides = pptx.Presentation(io.BytesIO(body))
    _write_metadata(slides.core_properties, writer)
    for slide in islice(slides.slides, MAX_SLIDES):
        title = slide.shapes.title
        if title is not None:
            writer.add_heading(title.text_frame.text, 2)
        for shape in slide.shapes:
            if shape.shape_id != getattr(title, "shape_id", None):
                _read_shape(shape, writer)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            writer.add_paragraph(slide.notes_slide.notes_text_frame.text)
        if writer.is_full:
            break


def _read_shape(shape: Any, writer: HtmlWriter) -> None:
    if getattr(shape, "has_table", False):
        for row in islice(shape.table.rows, MAX_ROWS):
            writer.add_row(cell.text_frame.text for cell in row.cells)
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            writer.add_paragraph(
                "".join(run.text for run in paragraph.runs), _slide_links(paragraph)
            )


def _slide_links(paragraph: Any) -> Iterator[tuple[str, str]]:
    for run in paragraph.runs:
        if run.hyperlink.address:
            yield run.text, run.hyperlink.address


def _heading_level(paragraph: Paragraph) -> int:
    """Return the level (1 to 6) of a heading by its style; 0 for other paragraphs."""
    name = paragraph.style.name if paragraph.style is not None else ""
    if name == "Title":
        return 1
    kind, _, number = (name or "").rpartition(" ")
    return min(int(number), 6) if kind == "Heading" and number.isdecimal() and int(number) else 0


def _write_metadata(properties: Any, writer: HtmlWriter) -> None:
    """Write title, author, dates and keywords: the core properties of all three formats."""
    writer.set_title(properties.title)
    writer.add_meta(
        "author", getattr(properties, "author", None) or getattr(properties, "creator", None)
    )
    writer.add_meta("description", getattr(properties, "subject", None))
    writer.add_meta("keywords", properties.keywords)
    writer.add_meta("dcterms.created", properties.created)
    writer.add_meta("dcterms.modified", properties.modified)
