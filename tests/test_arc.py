"""ARC files, the Internet Archive's older format, read as recorded webs."""

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.archive.replay import Archive
from focus.archive.warc import arc_headers, read_records
from focus.http import zstd

PAGE = b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n<!doctype html><title>%d</title>"
VERSION_1 = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
VERSION_2 = (
    b"2 0 InternetArchive\nURL IP-address Archive-date Content-type Result-code Checksum Location "
    b"Offset Filename Archive-length\n"
)


def record(url: bytes, block: bytes, *, more: bytes = b"", kind: bytes = b"text/html") -> bytes:
    head = b"%s 192.0.2.1 20010424210551 %s%s %d\n" % (url, kind, more, len(block))
    return head + block + b"\n"


def records(version: int = 1) -> list[bytes]:
    more = b"" if version == 1 else b" 200 - - 0 x-20010424210551-0001.arc.gz"
    about = VERSION_1 if version == 1 else VERSION_2
    pages = [record(b"http://a.example/%d" % n, PAGE % n, more=more) for n in range(4)]
    lookup = record(
        b"dns:a.example", b"a.example. 60 IN A 192.0.2.1\n", kind=b"text/dns", more=more
    )
    return [record(b"filedesc://x.arc", about, kind=b"text/plain", more=more), lookup, *pages]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_an_arc_is_a_recorded_web(tmp_path: Path, version: int, pack: type[bytes]) -> None:
    path = tmp_path / "w.arc.gz"
    path.write_bytes(b"".join(map(pack, records(version))))
    with Archive.open(path, cache_dir=tmp_path / "cache") as web:
        assert list(web.urls()) == [f"http://a.example/{n}" for n in range(4)]
        assert web.damage is None
        found = web.lookup("https://a.example/3")
        assert (found.status, found.body) == (200, b"<!doctype html><title>3</title>")
        assert (found.header("content-type"), found.address) == ("text/html", "192.0.2.1")
        assert web.recorded_at == 988146351.0


def read(data: bytes) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    found = read_records(io.BytesIO(data), notes.append)
    return [one.headers["warc-target-uri"] for one in found], notes


def test_reading_goes_on_behind_what_is_no_record() -> None:
    about, _, first, second, *_ = records()
    found, notes = read(about + first + b"rubbish\nmore of it\n" + second)
    assert found[1:] == ["http://a.example/0", "http://a.example/1"]
    assert len(notes) == 1


def test_a_cut_arc_gives_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "w.arc"
    path.write_bytes(b"".join(records())[:-12])
    with Archive.open(path, cache_dir=tmp_path / "cache") as web:
        assert web.damage == "record 6 breaks off"
        assert web.lookup("http://a.example/3").is_truncated
        assert not web.lookup("http://a.example/2").is_truncated


@pytest.mark.parametrize(
    ("line", "url", "size"),
    [
        (b"http://a.example/ 192.0.2.1 19961104142103 text/html 202", "http://a.example/", "202"),
        (b"http://a.example/a b 192.0.2.1 19961104142103 no-type 7\r", "http://a.example/a b", "7"),
        (b"http://a.example/ 192.0.2.1 19961104142103  7", "http://a.example/", "7"),
    ],
)
def test_heads_are_read_as_they_were_written(line: bytes, url: str, size: str) -> None:
    found = arc_headers(line)
    assert (found["warc-target-uri"], found["content-length"]) == (url, size)
    assert found["warc-date"] == "1996-11-04T14:21:03Z"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_none(line: bytes) -> None:
    arc_headers(line)
    read(b"filedesc://" + line)
