"""Content codings: right, wrong, nested and hostile."""

import gzip
import random
import zlib
from collections.abc import Callable

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
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
}


def decode(coding: str, data: bytes, step: int = 1 << 20) -> bytes:
    decoder = Decoder(coding, CAP)
    pieces = [decoder.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join([*pieces, decoder.finish()])


@pytest.mark.parametrize("coding", CODES)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_every_coding_comes_back_in_whatever_pieces(coding: str, step: int) -> None:
    assert decode(coding, CODES[coding](TEXT), step) == TEXT


@pytest.mark.parametrize("coding", CODES)
def test_a_bomb_is_cut_at_the_cap(coding: str) -> None:
    bomb = CODES[coding](b"\0" * 5_000_000)
    decoder = Decoder(coding, CAP)
    out = decoder.feed(bomb)
    assert decoder.full
    assert len(out) == CAP
    assert decoder.feed(bomb) == decoder.finish() == b""


def test_nested_codings_are_undone_from_the_last_to_the_first() -> None:
    assert decode("gzip, br", brotli.compress(gzip.compress(TEXT))) == TEXT
    assert decode("gzip, identity, gzip", gzip.compress(gzip.compress(TEXT)), 5) == TEXT


def test_a_nested_bomb_is_cut_in_its_inner_layer() -> None:
    inner = gzip.compress(b"\0" * 20_000_000)
    decoder = Decoder("gzip, gzip", CAP)
    assert len(decoder.feed(gzip.compress(inner))) <= CAP
    assert decoder.full


def test_a_layer_that_swells_and_shrinks_again_is_cut_too() -> None:
    junk = gzip.compress(b"small") + b"\0" * 5_000_000  # ignored by the inner layer
    decoder = Decoder("gzip, gzip", CAP)
    assert decoder.feed(gzip.compress(junk)) == b"small"
    assert decoder.full


def test_too_many_layers_are_refused() -> None:
    with pytest.raises(CodingError, match="4 content codings"):
        Decoder("gzip, gzip, gzip, gzip", CAP)


def test_gzip_members_and_zstd_frames_follow_each_other() -> None:
    assert decode("gzip", gzip.compress(b"one ") + gzip.compress(b"two"), 3) == b"one two"
    both = zstd.compress(b"one ") + zstd.compress(b"two")
    assert decode("zstd", both) == b"one two"


def test_endless_empty_members_are_refused() -> None:
    with pytest.raises(CodingError):
        decode("gzip", gzip.compress(b"") * 5_000)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_rubbish_after_the_end_is_ignored(coding: str) -> None:
    assert decode(coding, CODES[coding](TEXT) + b"\0\0\0rubbish") == TEXT


@pytest.mark.parametrize("coding", [*CODES, "utf-8", "foo"])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_body_that_is_not_coded_at_all_is_taken_as_it_is(coding: str, step: int) -> None:
    plain = "\ufeff<html>页面 plain text\n".encode() * 30
    assert decode(coding, plain, step) == plain


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "compress", "foo"])
def test_rubbish_is_not_mistaken_for_plain_text(coding: str) -> None:
    with pytest.raises(CodingError, match=coding):
        decode(coding, b"\x1f\x9d\x90\0\x01\x02" + b"\xff\0\xfe\x01" * 30)


@pytest.mark.parametrize("coding", CODES)
@pytest.mark.parametrize("step", [100, 1 << 20])
def test_of_a_body_that_ends_too_early_the_beginning_is_kept(coding: str, step: int) -> None:
    text = random.Random(1).randbytes(400_000).hex().encode()  # more than a block of any coding
    data = CODES[coding](text)
    data, decoder = data[: len(data) * 3 // 4], Decoder(coding, len(text))
    out = b"".join(decoder.feed(data[at : at + step]) for at in range(0, len(data), step))
    out += decoder.finish()
    assert text.startswith(out)
    assert len(out) > 30_000
    assert decoder.cut == coding.lower()


@pytest.mark.parametrize("coding", CODES)
def test_what_is_whole_is_not_cut(coding: str) -> None:
    decoder = Decoder(coding, CAP)
    decoder.feed(CODES[coding](TEXT))
    assert (decoder.finish(), decoder.cut) == (b"", "")


def test_a_body_of_which_nothing_comes_out_is_an_error() -> None:
    with pytest.raises(CodingError, match="gzip"):
        decode("gzip", gzip.compress(TEXT)[:9])


def test_an_empty_body_is_empty_in_every_coding() -> None:
    for coding in CODES:
        assert decode(coding, b"") == b""
    assert decode("", b"as it is") == b"as it is"


@given(st.sampled_from(sorted(CODES)), st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused(coding: str, data: bytes) -> None:
    try:
        assert len(decode(coding, data)) <= CAP
    except CodingError as error:
        assert str(error)
