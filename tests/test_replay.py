"""Looking URLs up in a recorded web."""

import gzip
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.archive.pack import keys
from focus.archive.replay import Archive
from focus.config import FetchConfig
from focus.errors import ArchiveError
from focus.http import zstd
from focus.http.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from focus.records import FailureKind
from tests.support.cases import cases

HTML = "Content-Type: text/html"
PAGE = "<!doctype html><p>足球"


def shared(*parts: str) -> Path:
    """A development file beside the checkout; the test is skipped when it is absent."""
    root = os.environ.get("FOCUS_SHARED")
    path = (Path(root) if root else Path(__file__).parents[2] / "shared").joinpath(*parts)
    if not path.exists():
        pytest.skip(f"development data is not there: {'/'.join(parts)}")
    return path


def response(
    url: str, *headers: str, status: str = "200 OK", body: str | bytes = PAGE, fields: str = ""
) -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *headers, ""))
    block = head.encode() + (body if isinstance(body, bytes) else body.encode())
    kind = "" if "WARC-Type" in fields else "WARC-Type: response\r\n"
    head = f"WARC/1.1\r\n{kind}WARC-Target-URI: {url}\r\n{fields}Content-Length: {len(block)}"
    return head.encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def archive(folder: Path, *records: bytes, limits: FetchConfig | None = None) -> Archive:
    path = folder / "w.warc.gz"
    path.write_bytes(b"".join(map(gzip.compress, records)))
    return Archive.open(path, cache_dir=folder / "cache", limits=limits or FetchConfig())


def test_archived_page_equals_live_response(tmp_path: Path) -> None:
    fields = "WARC-IP-Address: 192.0.2.1\r\nWARC-Date: 2026-04-18T04:43:35Z\r\n"
    with archive(tmp_path, response("http://a.example/p", HTML, "ETag: x", fields=fields)) as web:
        result = web.lookup("http://a.example/p", fetched_at=7.0, elapsed_s=0.5)
    assert (result.status, result.failure, result.body) == (200, None, PAGE.encode())
    assert result.headers == (("content-type", "text/html"), ("etag", "x"))
    assert (result.fetched_at, result.elapsed_s, result.address) == (7.0, 0.5, "192.0.2.1")
    assert result.raw_bytes == len(PAGE.encode())


@cases(
    "archived, asked",
    ("http://a.example/p", "https://a.example/p"),
    ("https://a.example/p", "http://a.example/p"),
    ("http://A.Example/p", "http://a.example:80/p#top"),
    ("http://a.example", "https://user@a.example:443/"),
    ("http://a.example/p", "http://a.example/p?utm=1"),
    ("http://a.example/p?x=1", "http://a.example/p?x=1"),
    ("http://a.example/%e4%b8%ad", "http://a.example/中"),
    ("http://a.example/中", "http://a.example/%E4%B8%AD"),
    ("http://a.example/a%20b", "http://a.example/a b"),
    ("http://a.example/p", "http://a.example:8080/p"),
    ("http://a.example:8080/p", "http://a.example:8080/p"),
    ("http://xn--fiq228c.example/", "http://中文.example/"),
    ("http://[::1]:80/", "http://[::1]/"),
    ("<http://a.example/p>", "http://a.example/p"),
)
def test_urls_that_are_one(tmp_path: Path, archived: str, asked: str) -> None:
    with archive(tmp_path, response(archived, HTML)) as web:
        assert asked in web
        result = web.lookup(asked)
    assert (result.status, result.url) == (200, asked)


@pytest.mark.parametrize(
    "asked",
    ["http://a.example/P", "http://a.example/p/", "http://b.example/p", "ftp://a.example/p",
     "http://a.example/q", "", "http://", "http://[", "http://a.example:9/x"],
)  # fmt: skip
def test_anything_else_is_not_there(tmp_path: Path, asked: str) -> None:
    records = (response(f"http://a.example/{path}", HTML) for path in ("p", "q?1"))
    with archive(tmp_path, *records) as web:
        assert asked not in web
        result = web.lookup(asked)
    assert (result.status, result.failure, result.body) == (404, FailureKind.HTTP_4XX, b"")


@cases(
    "status, headers, body, failure",
    ("404 Not Found", [HTML], PAGE, FailureKind.HTTP_4XX),
    ("500 No", [HTML], PAGE, FailureKind.HTTP_5XX),
    ("429 Slow", ["Retry-After: 7"], "", FailureKind.RATE_LIMITED),
    ("200 OK", ["Content-Type: image/png"], b"\x89PNG\r\n\x1a\n", FailureKind.NOT_HTML),
    ("200 OK", [HTML], b"%PDF-1.4", FailureKind.NOT_HTML),
    ("200 OK", [HTML], "", FailureKind.EMPTY),
    ("200 OK", ["Content-Type: image/png"], "", FailureKind.EMPTY),
    ("200 OK", [HTML], PAGE * 9, FailureKind.TOO_LARGE),
    ("200 OK", [HTML, "Content-Encoding: sdch"], b"\0", FailureKind.PROTOCOL),
    ("301 Moved", [], "", FailureKind.REDIRECT),
    ("301 Moved", ["Location: ftp://a.example/"], "", FailureKind.REDIRECT),
    ("304 Same", [], "", FailureKind.REDIRECT),
)
def test_failures_are_the_web_fetchers(
    tmp_path: Path, status: str, headers: list[str], body: str | bytes, failure: FailureKind
) -> None:
    record = response("http://a.example/p", *headers, status=status, body=body)
    web = archive(tmp_path, record, limits=FetchConfig(max_body_bytes=100))
    result = web.lookup("http://a.example/p")
    assert result.failure is failure
    assert result.detail
    assert result.is_truncated is (failure is FailureKind.TOO_LARGE)
    assert result.body == (PAGE * 9).encode()[:100] * result.is_truncated
    assert result.retry_after_s == (7.0 if status.startswith("429") else None)
    web.close()


@cases(
    "cut, failure",
    ("length", FailureKind.TOO_LARGE),
    ("time", FailureKind.TIMEOUT),
    ("disconnect", FailureKind.RESET),
)
def test_cut_captures_fail_as_they_did(tmp_path: Path, cut: str, failure: FailureKind) -> None:
    record = response("http://a.example/p", HTML, fields=f"WARC-Truncated: {cut}\r\n")
    with archive(tmp_path, record) as web:
        assert web.lookup("http://a.example/p").failure is failure


def test_omitted_body_is_no_empty_page(tmp_path: Path) -> None:
    fields = "WARC-Truncated: unspecified\r\n"
    stored = response("http://a.example/1", HTML, fields=fields)
    dropped = response("http://a.example/2", "Content-Type: image/png", body="", fields=fields)
    with archive(tmp_path, stored, dropped) as web:
        assert web.lookup("http://a.example/1").failure is None
        assert web.lookup("http://a.example/2").failure is FailureKind.NOT_HTML


def test_raw_bytes_have_a_limit_of_their_own(tmp_path: Path) -> None:
    record = response("http://a.example/p", HTML)
    with archive(tmp_path, record, limits=FetchConfig(max_raw_bytes=10)) as web:
        assert web.lookup("http://a.example/p").failure is FailureKind.TOO_LARGE


def test_robots_txt_needs_no_html(tmp_path: Path) -> None:
    rules = "User-agent: *\n" * 60_000
    record = response("http://a.example/robots.txt", "Content-Type: text/plain", body=rules)
    with archive(tmp_path, record) as web:
        result = web.lookup("https://a.example/robots.txt", robots=True)
        assert (result.failure, result.is_truncated) == (None, True)
        assert len(result.body) == MAX_ROBOTS_BYTES
        assert web.lookup("http://b.example/robots.txt", robots=True).status == 404
    with archive(tmp_path, response("http://a.example/robots.txt", body="")) as web:
        assert web.lookup("http://a.example/robots.txt", robots=True).failure is None


def test_redirects_are_absolute(tmp_path: Path) -> None:
    record = response("http://a.example/old", "Location: new?x#y", status="302 Found", body="moved")
    with archive(tmp_path, record) as web:
        result = web.lookup("https://a.example/old")
    assert (result.redirect_to, result.failure, result.body) == (
        "https://a.example/new?x", None, b"",
    )  # fmt: skip


def test_redirect_to_https_does_not_hide_the_page(tmp_path: Path) -> None:
    page = response("https://a.example/", HTML)
    to_https = response("http://a.example/", "Location: https://a.example/", status="301 Moved")
    for order in ([page, to_https], [to_https, page]):
        with archive(tmp_path, *order) as web:
            assert web.lookup("http://a.example/").body == PAGE.encode()
    with archive(tmp_path, to_https) as web:
        assert web.lookup("http://a.example/").failure is FailureKind.REDIRECT


def test_last_capture_counts(tmp_path: Path) -> None:
    first = response("http://a.example/", HTML, status="503 Busy")
    with archive(tmp_path, first, response("http://a.example/", HTML)) as web:
        assert web.lookup("http://a.example/").status == 200
        assert list(web.urls()) == ["http://a.example/"]
        assert len(web) == 1


def test_revisits_resources_and_other_records(tmp_path: Path) -> None:
    revisit = "WARC-Type: revisit\r\nWARC-Refers-To-Target-URI: http://a.example/1\r\n"
    web = archive(
        tmp_path,
        response("http://a.example/1", HTML),
        response("http://a.example/2", fields=revisit),
        response("http://a.example/1", fields=revisit, status="304 Same"),
        response("http://a.example/3", fields="WARC-Type: resource\r\nContent-Type: text/html\r\n"),
        response("http://a.example/4", fields="WARC-Type: request\r\n"),
        response("urn:x", HTML),
    )
    assert web.lookup("http://a.example/2").body == PAGE.encode()
    assert web.lookup("http://a.example/1").body == PAGE.encode()
    assert web.lookup("http://a.example/3").body.endswith(PAGE.encode())
    assert list(web.urls()) == [f"http://a.example/{number}" for number in (1, 2, 3)]
    web.close()


def test_second_opening_reads_the_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = archive(tmp_path, response("http://a.example/1", HTML))
    monkeypatch.setattr("focus.archive.replay._build_pack", None)
    second = Archive.open(tmp_path / "w.warc.gz", cache_dir=tmp_path / "cache")
    assert second.digest == first.digest
    assert second.lookup("http://a.example/1") == first.lookup("http://a.example/1")
    first.close()
    second.close()


def test_changed_archive_gets_new_pack_and_old_one_is_removed(tmp_path: Path) -> None:
    archive(tmp_path, response("http://a.example/1", HTML)).close()
    torn = tmp_path / "cache" / "building-old"
    torn.touch()
    os.utime(torn, (0, 0))
    with archive(tmp_path, response("http://a.example/2", HTML, "X: y")) as web:
        assert list(web.urls()) == ["http://a.example/2"]
    [pack] = (tmp_path / "cache").iterdir()
    assert pack.stat().st_mode & 0o777 == 0o600


def test_damaged_pack_is_rebuilt(tmp_path: Path) -> None:
    archive(tmp_path, response("http://a.example/1", HTML)).close()
    (pack,) = (tmp_path / "cache").iterdir()
    whole = pack.read_bytes()
    for broken in (b"", whole[:-1], whole[:-60] + bytes(36) + whole[-24:], whole[-24:] * 9):
        pack.write_bytes(broken)
        with Archive.open(tmp_path / "w.warc.gz", cache_dir=tmp_path / "cache") as web:
            assert len(web) == 1
    pack.write_bytes(whole[:8] + bytes(20) + whole[28:])
    with (
        Archive.open(tmp_path / "w.warc.gz", cache_dir=tmp_path / "cache") as web,
        pytest.raises(ArchiveError, match="delete it"),
    ):
        web.lookup("http://a.example/1")


def test_damage_is_reported_and_the_rest_used(tmp_path: Path) -> None:
    path = tmp_path / "w.warc.zst"
    pages = [response(f"http://a.example/{number}", HTML, body=PAGE * 3000) for number in range(20)]
    data = zstd.compress(b"".join(pages))
    path.write_bytes(data[: len(data) // 2])
    for _ in range(2):
        with Archive.open(path, cache_dir=tmp_path / "cache") as web:
            assert web.damage and "\n" not in web.damage
            assert web.lookup("http://a.example/0").body == (PAGE * 3000).encode()
            assert 1 <= len(web) < 20


@pytest.mark.parametrize("content", [b"", b"no warc", b"WARC/1.0\r\n", b"\x1f\x8b\x08" + b"x" * 50])
def test_unreadable_archive_is_reported_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.warc"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"w\.warc") as caught:
        Archive.open(path, cache_dir=tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_missing_file_or_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="No such file"):
        Archive.open(tmp_path / "none", cache_dir=tmp_path)
    with pytest.raises(ArchiveError, match="cannot read"):
        Archive.open(tmp_path, cache_dir=tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "w.warc").write_bytes(response("http://a.example/", HTML))
    with pytest.raises(ArchiveError, match="cannot"):
        Archive.open(tmp_path / "w.warc", cache_dir=tmp_path / "file")


def count_pages(paths: tuple[Path, Path]) -> int:
    with Archive.open(paths[0], cache_dir=paths[1]) as web:
        return sum(web.lookup(url).status == 200 for url in web.urls())


def test_many_processes_open_the_archive_at_once(tmp_path: Path) -> None:
    path = tmp_path / "w.warc"
    path.write_bytes(b"".join(response(f"http://a.example/{n}", HTML) for n in range(300)))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        assert list(pool.map(count_pages, [(path, tmp_path / "cache")] * 6)) == [300] * 6
    assert len(list((tmp_path / "cache").iterdir())) == 1


@given(st.text(max_size=60))
def test_keys_never_raise(url: str) -> None:
    list(keys(url))
    list(keys(f"http://{url}"))


def test_foreign_archives_are_read(tmp_path: Path) -> None:
    folder = shared("conformance", "warc", "warcio")
    with Archive.open(folder / "example.warc.gz", cache_dir=tmp_path) as web:
        page = web.lookup("http://example.com/")
        assert (web.damage, page.failure) == (None, None)
        assert b"<h1>Example Domain</h1>" in page.body
    with Archive.open(folder / "post-test.warc.gz", cache_dir=tmp_path) as web:
        assert (web.damage, len(web)) == (None, 2)


def test_development_web_opens_fast_the_second_time(tmp_path: Path) -> None:
    path = shared("webs", "dev", "web.warc.zst")
    with Archive.open(path, cache_dir=tmp_path) as web:
        assert (len(web), web.damage) == (23675, None)
        assert sum(1 for _ in web.urls()) == 23675
        first = next(web.urls())
        assert web.lookup(first).raw_bytes == 77502
