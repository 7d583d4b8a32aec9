"""Reads WARC files: bytes in, records and HTTP answers out.

Reads WARC 0.18-1.1 plain, as gzip (one member for each record, or one for all)
and as zstd (any window up to 2 GiB, one frame or many, with the dictionary frame
of the IIPC "WARC zstd" specification), and the Internet Archive's older ARC in the
same packings (see `arc`). Files break: of the record that a cut or a damaged stretch
hits its beginning is left, which is told to `note`; the rest is read.
No WARC library: none bounds memory on hostile records or reads past damage.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple, NoReturn, Protocol

import msgspec

from focus.archive import arc
from focus.errors import ArchiveError
from focus.http import zstd
from focus.http.content_encoding import CodingError, Decoder, ends_early
from focus.records import FailureKind

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Longest body that is kept of a record, stored or decoded; the rest is cut."""

_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_TRAINED = b"\x37\xa4\x30\xec"  # a dictionary by zstd's own trainer; others are plain text
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"  # skippable frame of the WARC zstd specification
_MAX_WINDOW_LOG = 31
_PACKED_CHUNK = 8 * 1024  # small, since zstd may blow one byte up to 32 KB
_PLAIN_CHUNK = 1024 * 1024
_MAX_HEAD_BYTES = 1024 * 1024
_MAX_BEGINNING = 4096  # bytes that tell where a record begins
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")

Note = Callable[[str], None]


class Record(msgspec.Struct, frozen=True):
    """One record; header names in lower case.

    cut     the block is over the cap
    broken  the file breaks off in the block, or is damaged there
    """

    headers: dict[str, str]
    block: bytes
    cut: bool = False
    broken: bool = False


class ArchivedAnswer(msgspec.Struct, frozen=True, array_like=True):
    """An archived HTTP answer, with transfer and content codings undone.

    raw_bytes  length of the stored payload, codings included
    failure    what the capture itself broke on (cut or undecodable), else None
    truncated  the body breaks off; `detail` tells why
    date       Unix seconds of the capture, 0.0 if unknown
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    raw_bytes: int = 0
    failure: FailureKind | None = None
    detail: str = ""
    address: str | None = None
    date: float = 0.0
    truncated: bool = False

    def header(self, name: str) -> str | None:
        """The first value of a header, by its lower-case name."""
        return next((value for key, value in self.headers if key == name), None)


class _Decoder(Protocol):
    """The common part of zlib's and zstd's decompression objects."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


# --- the packing of the file -------------------------------------------------


def plain_chunks(file: BinaryIO, note: Note) -> Iterator[bytes]:
    """The unpacked bytes of a WARC file; an empty chunk says "bytes are missing".

    The packing is told by the first bytes, not by the name. Raises ArchiveError
    when they are of no kind that a WARC comes in.
    """
    magic = file.read(5)
    file.seek(0)
    if magic.startswith(_GZIP):
        yield from _members(file, lambda: zlib.decompressobj(31), _GZIP, note)
    elif magic.startswith((_ZSTD, _ZSTD_DICTIONARY)):
        options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
        new = partial(zstd.ZstdDecompressor, _dictionary(file), options)
        yield from _members(file, new, _ZSTD, note)
    elif magic == b"WARC/" or arc.BEGINNING.startswith(magic or b"x"):
        while chunk := file.read(_PLAIN_CHUNK):
            yield chunk
    else:
        raise ArchiveError("not a WARC file: begins neither as WARC or ARC nor as gzip or zstd")


def _dictionary(file: BinaryIO) -> zstd.ZstdDict | None:
    """The dictionary in front of the records, if the file has one."""
    if file.read(4) != _ZSTD_DICTIONARY:
        file.seek(0)
        return None
    data = file.read(int.from_bytes(file.read(4), "little"))
    try:
        if data.startswith(_ZSTD):
            data = zstd.decompress_bounded(data, _PLAIN_CHUNK * 16)
        return zstd.ZstdDict(data, is_raw=not data.startswith(_TRAINED))
    except (zstd.ZstdError, ValueError) as error:
        raise ArchiveError("zstd dictionary is damaged: {error}", error=error) from error


def _members(
    file: BinaryIO, new: Callable[[], _Decoder], magic: bytes, note: Note
) -> Iterator[bytes]:
    """Unpacks member after member; after a broken one, goes on at the next magic."""
    start = file.tell()
    pending = b""
    while pending or (pending := file.read(_PACKED_CHUNK)):
        decoder = new()
        try:
            while not decoder.eof and pending:
                if data := decoder.decompress(pending):
                    yield data
                pending = b"" if decoder.eof else file.read(_PACKED_CHUNK)
        except (zlib.error, zstd.ZstdError) as error:
            note(f"packed data is damaged after byte {start} ({error})")
        if decoder.eof:
            pending = decoder.unused_data
            start = file.tell() - len(pending)
            continue
        if not pending:
            note(f"ends in the middle of a packed record that starts at byte {start}")
        yield b""
        start = _find(file, magic, start + 1)
        pending = b""


def _find(file: BinaryIO, magic: bytes, start: int) -> int:
    """Moves on to the next `magic` at or after `start` (or to the end)."""
    file.seek(start)
    window = b""
    while chunk := file.read(_PLAIN_CHUNK):
        window = window[-len(magic) + 1 :] + chunk
        if (at := window.find(magic)) >= 0:
            return file.seek(file.tell() - len(window) + at)
    return file.tell()


# --- records -----------------------------------------------------------------


class _Missing(Exception):
    """Bytes are missing in the middle of a record; those before them."""

    def __init__(self, before: bytes) -> None:
        super().__init__()
        self.before = before


class _Buffer:
    """Bytes ahead, drawn from chunks as needed."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks = chunks
        self.data = bytearray()

    def pull(self) -> bool:
        """Draws one chunk; False at the end. Raises _Missing at a gap."""
        chunk = next(self.chunks, None)
        if chunk is None:
            return False
        if not chunk:
            self._break_off()
        self.data += chunk
        return True

    def pull_more(self) -> None:
        """Draws one chunk that must be there."""
        if not self.pull():
            self._break_off()

    def _break_off(self) -> NoReturn:
        before = bytes(self.data)
        self.data.clear()
        raise _Missing(before)

    def take(self, count: int, keep: int) -> bytes:
        """The next `count` bytes, of which only the first `keep` are handed over."""
        while len(self.data) < min(count, keep):
            self.pull_more()
        kept = bytes(memoryview(self.data)[: min(count, keep)])
        try:
            while len(self.data) < count:
                count -= len(self.data)
                self.data.clear()
                self.pull_more()
        except _Missing:
            raise _Missing(kept) from None
        del self.data[:count]
        return kept

    def begins(self, beginning: bytes) -> bool:
        """Whether the bytes ahead, if any, are these."""
        while len(self.data) < len(beginning) and self.pull():
            pass
        return self.data.startswith(beginning)

    def head(self, end: bytes) -> bytes | None:
        """A look at the next record's head, b"" if there is none; None at the end."""
        while True:
            while self.data.startswith((b"\r", b"\n")):
                del self.data[:1]
            if self.data or not self.pull():
                break
        if not self.data:
            return None
        seen = 0
        while (at := self.data.find(end, seen)) < 0:
            seen = max(0, len(self.data) - len(end) + 1)
            if len(self.data) > _MAX_HEAD_BYTES:
                return b""
            self.pull_more()
        return bytes(self.data[:at])

    def resync(self, beginning: re.Pattern[bytes]) -> None:
        """Drops bytes up to a line that begins a record."""
        while (found := beginning.search(self.data)) is None:
            del self.data[:-_MAX_BEGINNING]
            if not self.pull():
                self.data.clear()
                return
        del self.data[: found.start() + 1]


def read_records(chunks: Iterable[bytes], note: Note) -> Iterator[Record]:
    """The records of a WARC, in file order, in bounded memory.

    A block over `MAX_BODY_BYTES` comes cut, one that breaks off as far as it goes. What is
    between records and belongs to none is skipped; each loss is told to `note` in one line.
    """
    buffer = _Buffer(iter(chunks))
    kind, read = None, 0
    while True:
        try:
            kind = kind or (_ARC if buffer.begins(arc.BEGINNING) else _WARC)
            head = buffer.head(kind.end)
            if head is None:
                return
            headers = kind.headers(head)
            if headers is None:
                note(f"bytes that belong to no record after record {read}")
                buffer.resync(kind.beginning)
                continue
            buffer.take(len(head) + len(kind.end), 0)
            record = _record(headers, buffer)
            read += 1
            if record.broken:
                note(f"record {read} breaks off")
            yield record
        except _Missing:
            note(f"a record is cut short after record {read}")


def _record(headers: dict[str, str], buffer: _Buffer) -> Record:
    """The record whose block begins here, as much of it as is there."""
    size = int(headers["content-length"])
    try:
        return Record(headers, buffer.take(size, MAX_BODY_BYTES), size > MAX_BODY_BYTES)
    except _Missing as missing:
        return Record(headers, missing.before[:MAX_BODY_BYTES], broken=True)


def _record_headers(head: bytes) -> dict[str, str] | None:
    """The named fields of a record head; None if it is none or has no length."""
    headers = dict(_fields(head)) if head.startswith(b"WARC/") else {}
    return headers if re.fullmatch(r"[0-9]{1,18}", headers.get("content-length", "")) else None


class _Kind(NamedTuple):
    """The look of heads of records: their end, their fields, how one begins behind damage."""

    end: bytes
    headers: Callable[[bytes], dict[str, str] | None]
    beginning: re.Pattern[bytes]


_WARC = _Kind(b"\r\n\r\n", _record_headers, re.compile(rb"\nWARC/"))
_ARC = _Kind(
    b"\n", arc.record_headers, re.compile(rb"\n(?:https?|ftp|dns|filedesc):[^\n]* \d{14} [^\n]* \d")
)


def _fields(head: bytes) -> Iterator[tuple[str, str]]:
    """Name and value of each header line after the first; folded lines joined."""
    lines = re.sub(rb"\r?\n[ \t]+", b" ", head).split(b"\n")
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            yield _text(name).strip().lower(), _text(value).strip()


def _text(data: bytes) -> str:
    """Header bytes as text: UTF-8, else Latin-1."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# --- HTTP answers ------------------------------------------------------------


def http_answer(block: bytes) -> ArchivedAnswer | None:
    """The HTTP answer in a response record's block; None if it holds none."""
    status = re.match(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)", block)
    if not status:
        return None
    end = re.search(rb"\r?\n\r?\n", block)
    head, payload = (block[: end.start()], block[end.end() :]) if end else (block, b"")
    headers = tuple(_fields(head))
    body, detail, cut = _content(headers, payload)
    return ArchivedAnswer(
        status=int(status[1]),
        headers=headers,
        body=body,
        raw_bytes=len(payload),
        failure=FailureKind.PROTOCOL if detail else None,
        detail=detail or (ends_early(cut) if cut else ""),
        truncated=bool(cut),
    )


def _content(headers: tuple[tuple[str, str], ...], payload: bytes) -> tuple[bytes, str, str]:
    """The payload with its codings undone as far as it goes; what is wrong with it, if anything;
    the coding that ended too early, if any did.

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
        return body + decoder.finish(), "", decoder.cut
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
