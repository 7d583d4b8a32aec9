"""Reads what a form sends: typed fields, and on the import page a file (multipart/form-data).

`kind_of` judges a request by its headers alone. `fields` parses a body that has come whole; it
costs time, so it runs in a thread, and multipart only for somebody who has logged in.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

MAX_FORM = 256 * 1024  # bytes; 50 sites and all words of a alert need less
MAX_FIELDS = 200  # of a form without a file
MAX_PARTS = 10  # of the import page's form, which has two
MAX_PART_HEADERS = 8
MAX_HEADER = 1024  # bytes of one of them
MAX_BOUNDARY = 70  # characters (RFC 2046 5.1.1)

TYPED, FILE, OTHER = "typed", "file", "other"


def kind_of(content_type: str) -> str:
    """TYPED for a form's fields (and for no type at all), FILE for multipart, else OTHER."""
    name = content_type.partition(";")[0].strip().lower()
    if name in ("", "application/x-www-form-urlencoded"):
        return TYPED
    return FILE if name == "multipart/form-data" else OTHER


def fields(content_type: str, body: bytes) -> dict[str, str]:
    """The last of each name, as text; ValueError for what no form of ours sends."""
    if kind_of(content_type) == FILE:
        pairs = _parts(content_type, body)
    else:
        text = body.decode("utf-8", "replace")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    return {name: value.replace("\0", "") for name, value in pairs}


def _parts(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of a form with a file (RFC 7578)."""
    _, options = parse_options_header(content_type[:MAX_HEADER])
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= MAX_BOUNDARY:
        raise ValueError("a multipart body without a boundary")
    reader = _Parts()
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
    return [(name, bytes(data).decode("utf-8-sig", "replace")) for name, data in reader.found]


class _Parts:
    """Names and contents of parts as the parser tells them, `MAX_PARTS` at most."""

    def __init__(self) -> None:
        self.found: list[tuple[str, bytearray]] = []
        self._name, self._value = bytearray(), bytearray()

    def begin(self) -> None:
        if len(self.found) == MAX_PARTS:
            raise ValueError("more parts than any form of ours has")
        self.found.append(("", bytearray()))

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            name = options.get(b"name", b"").decode("utf-8", "replace")
            self.found[-1] = (name, self.found[-1][1])
        self._name.clear()
        self._value.clear()

    def data(self, data: bytes, start: int, end: int) -> None:
        self.found[-1][1].extend(data[start:end])
