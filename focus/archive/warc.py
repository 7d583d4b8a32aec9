"""Reads WARC files: records and HTTP responses.

Reads WARC 0.18 to 1.1: plain, as gzip (a member per record, or one for all) and as zstd (any window
up to 2 GiB, one frame or many, with the dictionary frame of the IIPC specification "WARC zstd"). A
damaged file is read up to the damage.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

import msgspec

from focus.errors import ArchiveError
from focus.http import zstd
from focus.http.content_encoding import CodingError, Decoder, early_end_message
from focus.records import FailureKind, FetchResult

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Longest body that is kept of a record, stored or decoded; the rest is cut."""

_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_TRAINED = b"\x37\xa4\x30\xec"  # begins a dictionary made by zstd's own trainer
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"  # skippable frame of the WARC zstd specification
_MAX_DICTIONARY_BYTES = 16 * 1024 * 1024
_MAX_WINDOW_LOG = 31
_MAX_HEAD_BYTES = 1024 * 1024
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError)
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
Note = Callable[[str], None]


class Record(msgspec.Struct, frozen=True):
    """One record; header names in lower case.

    cut     the block is longer than `MAX_BODY_BYTES`
    broken  the file ends in the block, or is damaged there
    """

    headers: dict[str, str]
    block: bytes
    cut: bool = False
    broken: bool = False


# --- records -----------------------------------------------------------------


def read_records(file: BinaryIO, note: Note) -> Iterator[Record]:
    """Return the records of a WARC file, in file order, in bounded memory.

    Bytes between records are skipped, and reading ends where the file is damaged; each loss is
    reported to `note` in one line. Raises ArchiveError if the file is no WARC file.
    """
    stream, number, is_lost = _open_unpacked(file), 0, False
    try:
        while line := stream.readline(_MAX_HEAD_BYTES):
            if not line.strip():
                continue
            headers = _record_headers(line, stream)
            if headers is not None:
                number, is_lost = number + 1, False
                record = _read_record(headers, stream)
                yield record
                if record.broken:
                    note(f"record {number} breaks off")
                    return
            elif not is_lost:
                is_lost = True
                note(f"bytes that belong to no record after record {number}")
    except _DAMAGE as error:
        note(f"damaged or cut short after record {number} ({error})")


def _open_unpacked(file: BinaryIO) -> io.BufferedReader:
    """Return a stream of unpacked bytes; the first bytes of the file determine the format."""
    magic = file.read(5)
    file.seek(0)
    stream: object = file
    if magic.startswith(_GZIP):
        stream = gzip.GzipFile(fileobj=file)
    elif magic.startswith((_ZSTD, _ZSTD_DICTIONARY)):
        options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
        stream = zstd.ZstdFile(file, options=options, zstd_dict=_read_dictionary(file))
    elif magic != b"WARC/":
        raise ArchiveError("not a WARC file, also not a gzip or zstd file")
    return cast(io.BufferedReader, stream)


def _read_dictionary(file: BinaryIO) -> zstd.ZstdDict | None:
    """Return the zstd dictionary before the records, if the file has one."""
    if file.read(4) != _ZSTD_DICTIONARY:
        file.seek(0)
        return None
    data = file.read(int.from_bytes(file.read(4), "little"))
    try:
        if data.startswith(_ZSTD):
            data = zstd.decompress_bounded(data, _MAX_DICTIONARY_BYTES)
        return zstd.ZstdDict(data, is_raw=not data.startswith(_TRAINED))
    except (zstd.ZstdError, ValueError) as error:
        raise ArchiveError("zstd dictionary is damaged: {error}", error=error) from error


def _record_headers(line: bytes, stream: io.BufferedReader) -> dict[str, str] | None:
    """Return the named fields of the record head that begins with a line; None if there is none."""
    if not line.startswith(b"WARC/"):
        return None
    head = line
    while (line := stream.readline(_MAX_HEAD_BYTES)).strip():
        head += line
        if len(head) > _MAX_HEAD_BYTES:
            return None
    headers = dict(_parse_fields(head))
    return headers if re.fullmatch(r"[0-9]{1,18}", headers.get("content-length", "")) else None


def _read_record(headers: dict[str, str], stream: io.BufferedReader) -> Record:
    """Return the record whose block begins here, possibly truncated."""
    size = missing = int(headers["content-length"])
    block = bytearray()
    try:
        while missing and (chunk := stream.read1(min(missing, _MAX_HEAD_BYTES))):
            missing -= len(chunk)
            block += chunk[: MAX_BODY_BYTES - len(block)]
    except _DAMAGE:
        pass
    return Record(headers, bytes(block), size > MAX_BODY_BYTES, missing > 0)


def _parse_fields(head: bytes) -> Iterator[tuple[str, str]]:
    """Name and value of each header line after the first; folded lines joined."""
    lines = re.sub(rb"\r?\n[ \t]+", b" ", head).split(b"\n")
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            yield _decode_header(name).strip().lower(), _decode_header(value).strip()


def _decode_header(data: bytes) -> str:
    """Header bytes as text: UTF-8, else Latin-1."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# --- HTTP responses ------------------------------------------------------------


def read_response(block: bytes) -> FetchResult | None:
    """Return the HTTP response in a record's block, with its codings undone; None if it has none.

    `failure` is what the capture itself broke on: a coding that cannot be undone.
    """
    status = re.match(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)", block)
    if not status:
        return None
    end = re.search(rb"\r?\n\r?\n", block)
    head, payload = (block[: end.start()], block[end.end() :]) if end else (block, b"")
    headers = tuple(_parse_fields(head))
    body, detail, cut = _decode_payload(headers, payload)
    return FetchResult(
        "",
        0.0,
        status=int(status[1]),
        headers=headers,
        body=body,
        raw_bytes=len(payload),
        failure=FailureKind.PROTOCOL if detail else None,
        detail=detail or (early_end_message(cut) if cut else ""),
        is_truncated=bool(cut),
    )


def _decode_payload(headers: tuple[tuple[str, str], ...], payload: bytes) -> tuple[bytes, str, str]:
    """Return the decoded payload, an error message or "", and a truncated coding or "".

    A payload that plainly is not in its coding is left as it is: many archives keep
    the header of a coding that they have undone.
    """
    content = [value for name, value in headers if name == "content-encoding"]
    transfer = ",".join(value for name, value in headers if name == "transfer-encoding").lower()
    if "chunked" in transfer:
        payload = _dechunk(payload)
        content += [value for value in transfer.split(",") if value.strip() != "chunked"]
    if not content:
        return payload, "", ""
    body = b""
    try:
        decoder = Decoder(",".join(content), MAX_BODY_BYTES)
        body = decoder.feed(payload)
        return body + decoder.finish(), "", decoder.cut_coding
    except CodingError as error:
        return body, str(error), ""


def _dechunk(payload: bytes) -> bytes:
    """Undoes chunked transfer coding (RFC 9112 section 7.1); a cut tail is kept."""
    parts, at, size = [], 0, -1
    while size and (line := _CHUNK.match(payload, at)):
        size = int(line[1], 16)
        at = line.end() + size
        parts.append(payload[line.end() : at])
    return b"".join(parts) if at else payload
