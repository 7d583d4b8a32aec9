"""Converts a document of any kind to an HTML page."""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from focus.documents import epub, office, opendocument, pdf, plain, rtf
from focus.documents.html_writer import HtmlWriter
from focus.documents.kinds import DocumentError

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""Declared unpacked size of a zip file at most; zipfile unpacks no more than is declared."""

MAX_FILES = 5000
"""Files in a zip file at most."""

MAX_MEMORY_BYTES = 512 * 1024 * 1024
"""Memory that one document may take in a worker; a library that asks for more ends the worker."""

_MANIFEST = "META-INF/manifest.xml"  # of OpenDocument; it names the encryption of each file
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")  # a stream in place of the zip file
_READERS = {"docx": office.read_docx, "xlsx": office.read_xlsx, "pptx": office.read_pptx}


def to_html(kind: str, body: bytes, content_type: str | None = None, ocr: str = "") -> str:
    """Convert a document to an HTML page.

    kind          one of the values of `kinds.KIND_BY_MEDIA_TYPE`, from `kinds.document_kind`
    content_type  the header as sent; it may name the encoding of a text
    ocr           languages in which tesseract reads scanned PDF; "" does not read them

    Raises DocumentError, with one line that says what is wrong, if the document is encrypted,
    damaged or too large, or if the extra `documents` is not installed.
    """
    writer = HtmlWriter()
    try:
        with _limited_memory():
            if kind == "txt":
                plain.read_text(body, content_type, writer)
            elif kind == "pdf":
                pdf.read_pdf(body, writer, ocr)
            elif kind == "rtf":
                rtf.read_rtf(body, writer)
            else:
                _read_zip(kind, body, writer)
    except ImportError as error:
        raise DocumentError(
            f"{kind}: needs {error.name}: pip install 'focus-crawler[documents]'"
        ) from error
    return writer.to_html()


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limit the memory of a process that has a limit already, which workers have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or sys.platform != "linux":
        yield
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (min(soft, used + MAX_MEMORY_BYTES), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _read_zip(kind: str, body: bytes, writer: HtmlWriter) -> None:
    """Read a zip file of XML or HTML; the readers raise any exception of their libraries."""
    try:
        archive = ZipFile(io.BytesIO(body))
        entries = archive.infolist()
        if (
            len(entries) > MAX_FILES
            or sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES
        ):
            raise DocumentError(f"{kind}: it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB")
        manifest = next((entry for entry in entries if entry.filename == _MANIFEST), None)
        if any(entry.flag_bits & 1 for entry in entries) or (
            manifest is not None and b"encryption-data" in archive.read(manifest)
        ):
            raise DocumentError(f"{kind}: it asks for a password")
        if kind == "epub":
            epub.read_epub(archive, writer)
        elif kind == "odt":
            opendocument.read_odt(archive, writer)
        else:
            _READERS[kind](body, writer)
    except (DocumentError, ImportError, MemoryError):
        raise
    except BadZipFile as error:
        reason = "it asks for a password" if _ENCRYPTED_OFFICE in body else "it is damaged"
        raise DocumentError(f"{kind}: {reason}") from error
    except Exception as error:  # these libraries have no common base exception
        raise DocumentError(f"{kind}: it is damaged ({type(error).__name__})") from error
