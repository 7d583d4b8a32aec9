"""Recording exchanges as WARC, judged by warcio and gzip."""

import argparse
import gzip
import io
import multiprocessing
import os
import random
from itertools import count
from pathlib import Path

import msgspec
import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from focus.archive.recorder import Recorder, packed_record, whole_members
from focus.archive.replay import Archive
from focus.errors import ArchiveError
from focus.records import FailureKind, FetchResult
from tests.support.cases import cases

PAGE = FetchResult(
    url="http://a.example/p?q=1",
    fetched_at=1_800_000_000.25,
    status=200,
    headers=(
        ("content-type", "text/html; charset=utf-8"),
        ("content-encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("content-length", "7"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-raw", "caf\udce9"),
    ),
    body="<!doctype html><p>足球".encode(),
    raw_bytes=20,
    address="192.0.2.7",
    status_line=b"HTTP/1.0 200 Caf\xe9",
    request=b"GET /p?q=1 HTTP/1.1\r\nHost: a.example\r\nUser-Agent: focus\r\n\r\n",
)


def recorder(path: Path) -> Recorder:
    numbers = count()
    return Recorder(
        path,
        software="focus/test",
        new_id=lambda: f"urn:uuid:00000000-0000-4000-8000-{next(numbers):012d}",
        clock=lambda: 1_800_000_000.0,
    )


def records(path: Path) -> list[tuple[dict[str, str], list[tuple[str, str]], bytes]]:
    with path.open("rb") as file:
        read_records_of_file = []
        for record in ArchiveIterator(file):
            fields = {name.lower(): value for name, value in record.rec_headers.headers}
            headers = record.http_headers.headers if record.http_headers else []
            read_records_of_file.append((fields, headers, record.raw_stream.read()))
        return read_records_of_file


def is_valid(path: Path) -> bool:
    """What `warcio check` and `gunzip -t` say."""
    checker = Checker(argparse.Namespace(inputs=[str(path)], verbose=True))
    checker.process_all()
    gzip.decompress(path.read_bytes())
    return bool(checker.exit_value == 0)


def test_exchange_is_recorded_as_valid_records(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    with recorder(path) as out:
        assert out.record(PAGE)
    info, response, request = records(path)
    assert is_valid(path)
    assert info[0]["warc-type"] == "warcinfo"
    assert b"software: focus/test" in info[2] and b"content-encoding" in info[2]
    assert response[0]["warc-target-uri"] == PAGE.url
    assert response[0]["warc-date"] == "2027-01-15T08:00:00.250000Z"
    assert response[0]["warc-ip-address"] == "192.0.2.7"
    assert "warc-truncated" not in response[0]
    names = [name for name, _ in response[1]]
    assert names == ["content-type", "set-cookie", "set-cookie", "x-raw", "content-length"]
    assert dict(response[1])["content-length"] == str(len(PAGE.body))
    assert response[2] == PAGE.body
    assert request[0]["warc-concurrent-to"] == response[0]["warc-record-id"]
    assert request[1] == [("Host", "a.example"), ("User-Agent", "focus")]
    assert PAGE.status_line + b"\r\n" in gzip.decompress(path.read_bytes())


def test_exchange_without_request_is_a_response_record(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    with recorder(path) as out:
        out.record(FetchResult("http://a/", 0.0, status=404))
    assert [fields["warc-type"] for fields, _, _ in records(path)] == ["warcinfo", "response"]
    assert b"HTTP/1.1 404 \r\n" in gzip.decompress(path.read_bytes())
    assert is_valid(path)


def test_recorder_device_raises() -> None:
    with pytest.raises(ArchiveError, match="is not a regular file"):
        Recorder(Path(os.devnull), software="focus")


def test_missing_response_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    with recorder(path) as out:
        assert not out.record(FetchResult("http://a/", 0.0, failure=FailureKind.DNS))
    assert len(records(path)) == 1


@cases(
    "change, cut",
    ({"failure": FailureKind.TOO_LARGE, "is_truncated": True, "body": b"<p>half"}, "length"),
    ({"failure": FailureKind.TIMEOUT, "body": b""}, "time"),
    ({"failure": FailureKind.RESET, "body": b""}, "disconnect"),
    ({"failure": FailureKind.NOT_HTML, "body": b""}, "unspecified"),
    ({"status": 404, "failure": FailureKind.HTTP_4XX, "body": b""}, "unspecified"),
    ({"body": b"", "raw_bytes": 0, "headers": ()}, None),
)
def test_cut_captures_say_so(tmp_path: Path, change: dict[str, object], cut: str | None) -> None:
    path = tmp_path / "w.warc.gz"
    with recorder(path) as out:
        out.record(msgspec.structs.replace(PAGE, **change))
    assert records(path)[1][0].get("warc-truncated") == cut
    assert is_valid(path)


def test_hostile_header_values_stay_inside_their_line(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    headers = (("content-type", "text/html\r\n\r\n<script>"), ("a:\nb", "\ud800\0x"))
    with recorder(path) as out:
        out.record(FetchResult("http://a/\r\nX: y", 0.0, status=299, headers=headers, body=b"x"))
    assert is_valid(path)
    assert records(path)[1][2] == b"x"


def test_recorded_exchange_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    moved = FetchResult(
        "http://a.example/old", 5.0, status=301, headers=(("location", "/p?q=1"),),
        redirect_to="http://a.example/p?q=1",
    )  # fmt: skip
    large = FetchResult(
        "http://a.example/large", 6.0, status=200, headers=(("content-type", "text/html"),),
        body=b"<p>half", failure=FailureKind.TOO_LARGE, is_truncated=True,
    )  # fmt: skip
    with recorder(path) as out:
        for result in (moved, PAGE, large):
            out.record(result)
    with Archive.open(path, cache_dir=tmp_path / "cache") as archive:
        page = archive.lookup(PAGE.url)
        assert (page.body, page.failure, page.address) == (PAGE.body, None, PAGE.address)
        assert archive.lookup(moved.url).redirect_to == moved.redirect_to
        again = archive.lookup(large.url)
        assert (again.failure, again.body, again.is_truncated) == (large.failure, large.body, True)


@pytest.mark.parametrize("torn_bytes", [1, 2, 9, 100, 300])
def test_truncated_tail_is_cut_off(tmp_path: Path, torn_bytes: int) -> None:
    path = tmp_path / "w.warc.gz"
    with recorder(path) as out:
        out.record(PAGE)
    whole = path.read_bytes()
    next_record = packed_record([("a", "b")], random.Random(1).randbytes(999))
    path.write_bytes(whole + next_record[:torn_bytes])
    with recorder(path) as out:
        out.record(PAGE)
    assert path.read_bytes().startswith(whole)
    assert len(records(path)) == 6
    assert is_valid(path)


def test_cut_at_every_byte_leaves_whole_members() -> None:
    rng = random.Random(7)
    members = [packed_record([("n", str(i))], rng.randbytes(80)) for i in range(3)]
    ends = [sum(map(len, members[:i])) for i in range(4)]
    data = b"".join(members)
    for cut in range(len(data) + 1):
        assert whole_members(data[:cut]) == max(end for end in ends if end <= cut)
    assert whole_members(data + bytes(4096)) == len(data)


def test_warc_text_inside_a_page_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    nested = [packed_record([("n", "1")], rng.randbytes(400)) for _ in range(3)]
    page = rng.randbytes(40_000) + b"".join(nested) + rng.randbytes(40_000)
    outer = gzip.compress(b"WARC/1.1\r\n\r\n" + page, compresslevel=0)
    assert nested[0] in outer
    first = packed_record([("n", "0")], b"first")
    for look_back in (10**6, 60_000):
        monkeypatch.setattr("focus.archive.recorder._LOOK_BACK", look_back)
        assert whole_members(first + outer) == len(first + outer)
        assert whole_members(first + outer[:-1000]) == len(first)
        assert whole_members(first + outer + first[:-9]) == len(first + outer)


def test_file_of_another_kind_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    for data in (b"my thesis", gzip.compress(b"my thesis" * 99), b"WARC/1.0"):
        path.write_bytes(data)
        with pytest.raises(ArchiveError, match="not a gzip WARC"):
            recorder(path)
        assert path.read_bytes() == data


def test_second_recorder_on_file_is_refused(tmp_path: Path) -> None:
    with recorder(tmp_path / "w"), pytest.raises(ArchiveError, match="another process"):
        recorder(tmp_path / "w")


def test_unwritable_file_raises(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot write"):
        recorder(tmp_path / "no" / "folder.warc.gz")


def test_full_disk_leaves_complete_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.warc.gz"
    out = recorder(path)
    out.record(PAGE)
    size, real = path.stat().st_size, os.write
    room = iter([10])

    def full(file: int, data: bytes) -> int:
        if (space := next(room, 0)) == 0:
            raise OSError(28, "No space left on device")
        return real(file, data[:space])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ArchiveError, match="No space"):
        out.record(PAGE)
    monkeypatch.undo()
    assert path.stat().st_size == size
    out.record(PAGE)
    out.close()
    assert len(records(path)) == 5


def write_forever(path: Path) -> None:
    out = Recorder(path, software="focus/test")
    for number in count():
        body = random.Random(number).randbytes(5_000)
        out.record(FetchResult(f"http://a/{number}", 0.0, status=200, body=body))


def test_kills_lose_nothing_that_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.gz"
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        size = path.stat().st_size if path.exists() else 0
        writer = context.Process(target=write_forever, args=(path,))
        writer.start()
        while not path.exists() or path.stat().st_size < size + 200_000:
            writer.join(0.005)
            assert writer.exitcode is None
        writer.kill()
        writer.join()
    recorder(path).close()
    assert is_valid(path)
    data = io.BytesIO(gzip.decompress(path.read_bytes())).read()
    assert data.count(b"WARC-Type: warcinfo") == 4
