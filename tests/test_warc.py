"""Reading WARC files, whole and broken, and undoing HTTP codings."""

import gzip
import io
import random
import zlib
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.archive import warc
from focus.archive.warc import read_records, read_response
from focus.errors import ArchiveError
from focus.http import zstd
from focus.records import FailureKind, FetchResult
from tests.support.cases import cases


def record(number: int, size: int = 50) -> bytes:
    block = f"{number:04d}".encode() * (size // 4)
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://h/{number}>\r\n"
        f"Content-Length: {len(block)}\r\n\r\n".encode()
        + block
        + b"\r\n\r\n"
    )


def read(data: bytes) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    records = list(read_records(io.BytesIO(data), notes.append))
    return [record.headers.get("warc-target-uri", "").strip("<>") for record in records], notes


def names(*numbers: int) -> list[str]:
    return [f"http://h/{number}" for number in numbers]


def zstd_skippable(data: bytes, magic: int) -> bytes:
    return magic.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


RECORDS = [record(number, 40_000) for number in range(5)]
DICTIONARY = zstd.ZstdDict(b"".join(RECORDS)[:30_000], is_raw=True)
PACKINGS: dict[str, Callable[[], bytes]] = {
    "plain": lambda: b"".join(RECORDS),
    "gzip, a member each": lambda: b"".join(map(gzip.compress, RECORDS)),
    "gzip, one stream": lambda: gzip.compress(b"".join(RECORDS)),
    "zstd, a frame each": lambda: b"".join(map(zstd.compress, RECORDS)),
    "zstd, one frame": lambda: zstd.compress(b"".join(RECORDS)),
    "zstd, a window of 2 GiB": lambda: long_window(31),
    "zstd, dictionary": lambda: zstd_skippable(DICTIONARY.dict_content, 0x184D2A5D) + framed(),
    "zstd, packed dictionary": lambda: (
        zstd_skippable(zstd.compress(DICTIONARY.dict_content), 0x184D2A5D) + framed()
    ),
    "zstd, other skippable frames": lambda: framed_between(),
}


def long_window(log: int) -> bytes:
    names = zstd.CompressionParameter
    packer = zstd.ZstdCompressor(
        options={names.window_log: log, names.hash_log: 10, names.chain_log: 10}
    )
    return packer.compress(b"".join(RECORDS)) + packer.flush()


def framed() -> bytes:
    return b"".join(map(partial(zstd.compress, zstd_dict=DICTIONARY), RECORDS))


def framed_between() -> bytes:
    gap = zstd_skippable(b"seek table", 0x184D2A5E)
    return b"".join(zstd.compress(record) + gap for record in RECORDS)


@pytest.mark.parametrize("packing", PACKINGS)
def test_all_compressions_are_read(packing: str) -> None:
    assert read(PACKINGS[packing]()) == (names(0, 1, 2, 3, 4), [])


def test_other_file_is_refused() -> None:
    for data in (b"", b"hello", b"PK\x03\x04", zstd_skippable(b"\x28\xb5\x2f\xfdjunk", 0x184D2A5D)):
        with pytest.raises(ArchiveError):
            read(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
@pytest.mark.parametrize("item", [True, False])
def test_truncated_tail_keeps_its_beginning(pack: Callable[[bytes], bytes], item: bool) -> None:
    blocks = [random.Random(number).randbytes(300_000).hex().encode() for number in range(3)]
    head = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 600000\r\n\r\n"
    whole = [head + block + b"\r\n\r\n" for block in blocks]
    data = b"".join(map(pack, whole)) if item else pack(b"".join(whole))
    notes: list[str] = []
    file = io.BytesIO(data[: len(data) * 5 // 6])
    first, second, last = read_records(file, notes.append)
    expected = [(block, False) for block in blocks[:2]]
    assert [(part.block, part.broken) for part in (first, second)] == expected
    assert last.broken and blocks[2].startswith(last.block) and len(last.block) > 100_000
    assert "record 3 breaks off" in notes


def test_gap_in_long_record_leaves_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "MAX_BODY_BYTES", 1000)
    (only,) = read_records(io.BytesIO(record(7, 5_000_000)[:4_000_000]), lambda note: None)
    assert (only.block, only.broken) == (b"0007" * 250, True)


@pytest.mark.parametrize("packing", ["gzip, a member each", "zstd, a frame each"])
def test_damaged_file_is_read_up_to_the_damage(packing: str) -> None:
    data = bytearray(PACKINGS[packing]())
    at = data.index(data[:4], data.index(data[:4], 10) + 4) + 20  # in the third member
    data[at : at + 8] = b"\xff" * 8
    records, notes = read(bytes(data))
    assert records[:2] == names(0, 1) and len(records) <= 3
    assert len(notes) == 1


def test_bytes_between_plain_records_are_skipped() -> None:
    data = RECORDS[0] + b"junk\r\n\r\nmore\nWARC/1.0\r\nContent-Length: x\r\n\r\n" + RECORDS[1]
    records, notes = read(data)
    assert records == names(0, 1)
    assert notes


def test_endless_header_is_not_buffered() -> None:
    records, notes = read(RECORDS[0] + b"WARC/1.0\r\nX: " + b"y" * 3_000_000 + b"\n" + RECORDS[1])
    assert records == names(0, 1)
    assert notes


def test_huge_block_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "MAX_BODY_BYTES", 1000)
    notes: list[str] = []
    data = record(1, 5_000_000) + record(2)
    big, small = read_records(io.BytesIO(data), notes.append)
    assert (len(big.block), big.cut, small.cut, notes) == (1000, True, False, [])


@given(st.binary(max_size=300), st.sampled_from([b"WARC/", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]))
def test_arbitrary_bytes_end_in_records_or_notes(tail: bytes, magic: bytes) -> None:
    records, notes = read(magic + tail)
    assert records == [] or notes == []


@given(st.integers(0, 5 * 90), st.binary(min_size=1, max_size=20))
def test_overwritten_bytes_never_raise(at: int, junk: bytes) -> None:
    for packing in (bytes, gzip.compress, zstd.compress):
        data = bytearray(b"".join(packing(record(number)) for number in range(5)))
        data[at : at + len(junk)] = junk
        try:
            read(bytes(data))
        except ArchiveError:
            assert at < 5


def coded(payload: bytes, *headers: str) -> FetchResult:
    head = "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", *headers, ""))
    answer = read_response(head.encode() + payload)
    assert answer is not None
    return answer


def chunked(data: bytes) -> bytes:
    return b"%x;ext=1\r\n%s\r\n0\r\n\r\n" % (len(data), data)


BODY = "<p>足球</p>".encode() * 50


@cases(
    "payload, headers",
    (chunked(BODY), ["Transfer-Encoding: chunked"]),
    (chunked(BODY[:9])[:-5] + chunked(BODY[9:]), ["Transfer-Encoding: Chunked"]),
    (chunked(gzip.compress(BODY)), ["Transfer-Encoding: gzip, chunked"]),
    (chunked(gzip.compress(BODY)), ["Transfer-Encoding: chunked", "Content-Encoding: gzip"]),
    (gzip.compress(zlib.compress(BODY)), ["Content-Encoding: deflate, gzip"]),
    (zstd.compress(BODY), ["Content-Encoding: zstd"]),
    (BODY, ["Transfer-Encoding: chunked", "Content-Encoding: gzip"]),
)
def test_content_codings_are_decoded_or_were_before(payload: bytes, headers: list[str]) -> None:
    answer = coded(payload, *headers)
    assert (answer.body, answer.failure, answer.raw_bytes) == (BODY, None, len(payload))


def test_truncated_chunk_keeps_its_beginning() -> None:
    assert coded(b"ff\r\n<p>half", "Transfer-Encoding: chunked").body == b"<p>half"


def test_decompression_bomb_is_truncated() -> None:
    bomb = gzip.compress(bytes(80 * 1024 * 1024), 9)
    assert len(coded(bomb, "Content-Encoding: gzip").body) == warc.MAX_BODY_BYTES


def test_response_is_parsed() -> None:
    payload = gzip.compress(b"<p>x")
    answer = read_response(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Fold: a\r\n b\r\nSet-Cookie: 1\r\n"
        b"set-cookie: 2\r\nX-Raw: \xff\r\nContent-Encoding: gzip\r\n\r\n" + payload
    )
    assert (answer.status, answer.body, answer.raw_bytes) == (200, b"<p>x", len(payload))
    assert [value for name, value in answer.headers if name == "set-cookie"] == ["1", "2"]
    assert (answer.header("x-fold"), answer.header("x-raw")) == ("a b", "ÿ")


def test_undecodable_response_has_reason() -> None:
    answer = coded(b"\x00\x01\x02", "Content-Encoding: sdch")
    assert (answer.failure, answer.body) == (FailureKind.PROTOCOL, b"")
    assert answer.detail
    cut = coded(gzip.compress(random.Random(1).randbytes(9999))[:5000], "Content-Encoding: gzip")
    assert (cut.failure, cut.is_truncated) == (None, True)
    assert "gzip" in cut.detail and len(cut.body) > 4000
    assert read_response(b"hello") is None
    assert read_response(b"HTTP/1.1 2000 no") is None


@given(st.binary(max_size=200))
def test_arbitrary_responses_never_raise(data: bytes) -> None:
    read_response(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, deflate\r\n\r\n" + data)
