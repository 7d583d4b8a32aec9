"""Parses submitted forms: fields, and on the import page a file (multipart/form-data).

`body_kind` judges a request by its headers alone. `parse_fields` parses a complete body. It takes
time, so it runs in a thread, and it parses multipart only for users who are logged in.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

MAX_FORM = 256 * 1024  # bytes; 50 sites and all words of an alert need less
MAX_FIELDS = 200  # in a form without a file
MAX_PARTS = 10  # in the import page's form, which has two
MAX_PART_HEADERS = 8
MAX_HEADER = 1024  # bytes of one of them
MAX_BOUNDARY = 70  # characters (RFC 2046 5.1.1)

FORM_FIELDS, FILE, OTHER = "typed", "file", "other"


def body_kind(content_type: str) -> str:
    """Return TYPED for form fields (or no type at all), FILE for multipart, otherwise OTHER."""
    name = content_type.partition(";")[0].strip().lower()
    if name in ("", "application/x-www-form-urlencoded"):
        return FORM_FIELDS
    return FILE if name == "multipart/form-data" else OTHER


def parse_fields(content_type: str, body: bytes) -> dict[str, str]:
    """Return the last value of each field. Raises ValueError for a body that no form sends."""
    if body_kind(content_type) == FILE:
        pairs = _parse_multipart(content_type, body)
    else:
        text = body.decode("utf-8", "replace")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    return {name: value.replace("\0", "") for name, value in pairs}


def _parse_multipart(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form with a file (RFC 7578)."""
    _, options = parse_options_header(content_type[:MAX_HEADER])
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= MAX_BOUNDARY:
        raise ValueError("a multipart body without a boundary")
    reader = _PartReader()
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": reader.begin,
            "on_header_field": reader.header_name,
            "on_header_value": reader.header_value,
            "on_header_end": reader.header_end,
            "on_part_data": reader.data,
        },
        max_size=MAX_FORM,
        max_header_count=MAX_PART_HEADERS,
        max_header_size=MAX_HEADER,
    )
    try:
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise ValueError(f"no multipart body: {error}") from None
    return [(name, bytes(data).decode("utf-8-sig", "replace")) for name, data in reader.parts]


class _PartReader:
    """Collects names and contents of at most `MAX_PARTS` parts from the parser's callbacks."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, bytearray]] = []
        self._name, self._value = bytearray(), bytearray()

    def begin(self) -> None:
        if len(self.parts) == MAX_PARTS:
            raise ValueError("more parts than any form of ours has")
        self.parts.append(("", bytearray()))

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            name = options.get(b"name", b"").decode("utf-8", "replace")
            self.parts[-1] = (name, self.parts[-1][1])
        self._name.clear()
        self._value.clear()

    def data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1][1].extend(data[start:end])
