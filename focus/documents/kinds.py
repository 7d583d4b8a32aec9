"""Says which documents can be read, and recognises them by type, ending or first bytes."""

from __future__ import annotations

import re

_OPEN_XML = "application/vnd.openxmlformats-officedocument."

TYPES = {
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    _OPEN_XML + "wordprocessingml.document": "docx",
    _OPEN_XML + "spreadsheetml.sheet": "xlsx",
    _OPEN_XML + "presentationml.presentation": "pptx",
    "application/epub+zip": "epub",
    "text/plain": "txt",
    "text/markdown": "txt",
}
"""Media type -> kind of document, which is also its usual ending."""

LIBRARIES = ("pypdfium2", "docx", "openpyxl", "pptx")
"""What the extra `documents` brings."""

ENDINGS = re.compile(rf"\.(?:{'|'.join(sorted(set(TYPES.values())))}|md)$", re.IGNORECASE)
"""Ends the paths of addresses that are likely documents which can be read."""

_PACKED = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)[\s>]", re.I)  # sent as text/plain
_ZIPPED = {"docx", "xlsx", "pptx", "epub"}
_EPUB = b"mimetypeapplication/epub+zip"


class DocumentError(Exception):
    """A document that cannot be read: one line that says which kind and why."""


def kind_of(content_type: str | None, head: bytes) -> str | None:
    """The kind of a document: pdf, docx, xlsx, pptx, epub or txt; None: it is none of these.

    content_type  the header as sent, None when missing
    head          the first bytes, or all; they overrule a header that is vague or wrong

    A text is one by its header alone. A zip whose beginning does not tell what it holds is what
    the header says.
    """
    said = TYPES.get((content_type or "").partition(";")[0].strip().lower())
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        if _EPUB in head[:100]:
            return "epub"
        found = [(at, kind) for sign, kind in _PACKED.items() if (at := head.find(sign)) >= 0]
        return min(found)[1] if found else said if said in _ZIPPED else None
    is_text = b"\0" not in head[:1024] and not _PAGE.match(head)
    return said if said == "txt" and is_text else None
