"""Content codings: right, wrong, nested and hostile."""

import gzip
import random
import zlib
from collections.abc import Callable
from contextlib import nullcontext

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.http import zstd
from focus.http.content_encoding import CodingError, Decoder

TEXT = b"<!doctype html><p>" + bytes(range(256)) * 20
CAP = 100_000


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


CODES: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "x-gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress,
    "deflate": zlib.compress, "Deflate": raw_deflate,
}  # fmt: skip


def decode(coding: str, data: bytes, step: int = 1 << 20) -> bytes:
    decoder = Decoder(coding, CAP)
    pieces = [decoder.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join([*pieces, decoder.finish()])


@pytest.mark.parametrize("coding", CODES)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_decoder_all_codings_in_any_pieces_round_trip(coding: str, step: int) -> None:
    assert decode(coding, CODES[coding](TEXT), step) == TEXT
    assert decode("gzip", zlib.compress(TEXT), step) == TEXT


@pytest.mark.parametrize("coding", CODES)
def test_decoder_bomb_stops_at_limit(coding: str) -> None:
    bomb = CODES[coding](b"\0" * 5_000_000)
    decoder = Decoder(coding, CAP)
    out = decoder.feed(bomb)
    assert decoder.is_full
    assert len(out) == CAP
    assert decoder.feed(bomb) == decoder.finish() == b""


def test_decoder_zstd_window_is_limited_to_8_mb() -> None:
    for log in (23, 24):
        options = {zstd.CompressionParameter.window_log: log}
        compressor = zstd.ZstdCompressor(options=options)  # of unknown size: it names its window
        frame = compressor.compress(TEXT) + compressor.flush()
        with nullcontext() if log == 23 else pytest.raises(CodingError, match="zstd"):
            assert decode("zstd", frame) == TEXT


def test_decoder_nested_codings_are_undone_in_reverse() -> None:
    assert decode("gzip, br", brotli.compress(gzip.compress(TEXT))) == TEXT
    assert decode("gzip, identity, gzip", gzip.compress(gzip.compress(TEXT)), 5) == TEXT


def test_decoder_large_intermediate_layer_stops_at_limit() -> None:
    junk = gzip.compress(b"small") + b"\0" * 5_000_000  # ignored by the inner layer
    decoder = Decoder("gzip, gzip", CAP)
    assert decoder.feed(gzip.compress(junk)) == b"small"
    assert decoder.is_full


def test_decoder_several_members_or_frames_are_joined() -> None:
    assert decode("gzip", gzip.compress(b"one ") + gzip.compress(b"two"), 3) == b"one two"
    both = zstd.compress(b"one ") + zstd.compress(b"two")
    assert decode("zstd", both) == b"one two"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_decoder_garbage_after_end_is_ignored(coding: str) -> None:
    assert decode(coding, CODES[coding](TEXT) + b"\0\0\0rubbish") == TEXT


@pytest.mark.parametrize("coding", [*CODES, "utf-8", "foo"])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_decoder_unencoded_text_is_returned(coding: str, step: int) -> None:
    plain = "\ufeff<html>页面 plain text\n".encode() * 30
    assert decode(coding, plain, step) == plain


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "compress", "foo"])
def test_decoder_binary_garbage_raises(coding: str) -> None:
    with pytest.raises(CodingError, match=coding):
        decode(coding, b"\x1f\x9d\x90\0\x01\x02" + b"\xff\0\xfe\x01" * 30)


@pytest.mark.parametrize("coding", CODES)
@pytest.mark.parametrize("step", [100, 1 << 20])
def test_decoder_truncated_body_returns_beginning(coding: str, step: int) -> None:
    text = random.Random(1).randbytes(400_000).hex().encode()  # more than a block of any coding
    data = CODES[coding](text)
    data, decoder = data[: len(data) * 3 // 4], Decoder(coding, len(text))
    out = b"".join(decoder.feed(data[at : at + step]) for at in range(0, len(data), step))
    out += decoder.finish()
    assert text.startswith(out)
    assert len(out) > 30_000
    assert decoder.cut_coding == coding.lower()


@pytest.mark.parametrize("coding", CODES)
def test_decoder_complete_body_has_no_cut_coding(coding: str) -> None:
    decoder = Decoder(coding, CAP)
    decoder.feed(CODES[coding](TEXT))
    assert (decoder.finish(), decoder.cut_coding) == (b"", "")


def test_decoder_without_output_raises() -> None:
    with pytest.raises(CodingError, match="gzip"):
        decode("gzip", gzip.compress(TEXT)[:9])


def test_decoder_empty_body_is_empty() -> None:
    for coding in CODES:
        assert decode(coding, b"") == b""
    assert decode("", b"as it is") == b"as it is"


@given(st.sampled_from(sorted(CODES)), st.binary(max_size=300))
def test_decoder_any_bytes_return_or_raise_coding_error(coding: str, data: bytes) -> None:
    try:
        assert len(decode(coding, data)) <= CAP
    except CodingError as error:
        assert str(error)
