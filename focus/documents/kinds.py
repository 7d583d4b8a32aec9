"""Recognises kinds of documents by media type, file name extension or first bytes."""

from __future__ import annotations

import re

_OPEN_XML = "application/vnd.openxmlformats-officedocument."

KIND_BY_MEDIA_TYPE = {
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    _OPEN_XML + "wordprocessingml.document": "docx",
    _OPEN_XML + "spreadsheetml.sheet": "xlsx",
    _OPEN_XML + "presentationml.presentation": "pptx",
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
    "text/plain": "txt",
    "text/markdown": "txt",
}
"""Media type -> kind of document, which is also its usual file name extension."""

LIBRARIES = ("pypdfium2", "docx", "openpyxl", "pptx")
"""Modules that the extra `documents` installs."""

FILE_EXTENSION = re.compile(
    rf"\.(?:{'|'.join(sorted(set(KIND_BY_MEDIA_TYPE.values())))}|md)$", re.IGNORECASE
)
"""Matches the end of a URL path that probably leads to a readable document."""

_KIND_BY_FOLDER = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}
_HTML_START = re.compile(rb"\s*<(?:!doctype\s+html|html)[\s>]", re.I)  # sent as text/plain
_ZIP_KINDS = {"docx", "xlsx", "pptx", "epub", "odt"}
_TYPE_IN_ZIP = re.compile(rb"mimetype(application/(?:epub\+zip|vnd\.oasis\.opendocument\.text))")


class DocumentError(Exception):
    """A document that cannot be read; its one line names the kind and the reason."""


def document_kind(content_type: str | None, head: bytes) -> str | None:
    """Return pdf, docx, xlsx, pptx, odt, epub, rtf or txt; None for anything else.

    content_type  the header as sent, None when missing
    head          the first bytes, or all; they overrule a header that is vague or wrong

    A text is recognised by its header alone. If the beginning of a zip file does not show its kind,
    the header decides.
    """
    declared = KIND_BY_MEDIA_TYPE.get((content_type or "").partition(";")[0].strip().lower())
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"PK\x03\x04"):
        if stated := _TYPE_IN_ZIP.search(head[:120]):
            return KIND_BY_MEDIA_TYPE[stated[1].decode()]
        positions = [
            (at, kind) for sign, kind in _KIND_BY_FOLDER.items() if (at := head.find(sign)) >= 0
        ]
        return min(positions)[1] if positions else declared if declared in _ZIP_KINDS else None
    if head.startswith(b"\xd0\xcf\x11\xe0") and declared in _ZIP_KINDS:  # encrypted Office
        return declared
    is_text = b"\0" not in head[:1024] and not _HTML_START.match(head)
    return declared if declared == "txt" and is_text else None
