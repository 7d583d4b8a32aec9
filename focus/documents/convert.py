"""Converts a document to an HTML page, whatever kind it is."""

from __future__ import annotations

import io
from zipfile import BadZipFile, ZipFile

from focus.documents import epub, office, pdf, plain
from focus.documents.kinds import DocumentError
from focus.documents.writing import HtmlWriter

MAX_UNPACKED = 64 * 1024 * 1024
"""Bytes that a zip may hold unpacked, as it declares; zipfile unpacks no more than that."""

MAX_FILES = 5000
"""Files that a zip may hold."""

_READERS = {"docx": office.read_docx, "xlsx": office.read_xlsx, "pptx": office.read_pptx}


def to_html(kind: str, body: bytes, content_type: str | None = None) -> str:
    """The document as an HTML page.

    kind          one of `kinds.TYPES`' values, by `kinds.kind_of`
    content_type  as sent; a text may name its encoding there
    DocumentError (one line: what is wrong with it) for one that is encrypted, damaged, or a bomb,
    and where the extra `documents` is not installed.
    """
    page = HtmlWriter()
    try:
        if kind == "txt":
            plain.read(body, content_type, page)
        elif kind == "pdf":
            pdf.read(body, page)
        else:
            _read_packed(kind, body, page)
    except ImportError as error:
        raise DocumentError(
            f"{kind}: needs {error.name}: pip install 'focus-crawler[documents]'"
        ) from error
    return page.page()


def _read_packed(kind: str, body: bytes, page: HtmlWriter) -> None:
    """A zip of XML or web pages. Their readers raise whatever their libraries do."""
    try:
        packed = ZipFile(io.BytesIO(body))
        entries = packed.infolist()
        if len(entries) > MAX_FILES or sum(each.file_size for each in entries) > MAX_UNPACKED:
            raise DocumentError(f"{kind}: it unpacks to more than {MAX_UNPACKED >> 20} MB")
        if any(each.flag_bits & 1 for each in entries):
            raise DocumentError(f"{kind}: it asks for a password")
        if kind == "epub":
            epub.read(packed, page)
        else:
            _READERS[kind](body, page)
    except (DocumentError, ImportError, MemoryError):
        raise
    except BadZipFile as error:
        raise DocumentError(f"{kind}: it is damaged") from error
    except Exception as error:  # the border to libraries that name no common error
        raise DocumentError(f"{kind}: it is damaged ({type(error).__name__})") from error
