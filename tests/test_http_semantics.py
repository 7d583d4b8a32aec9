"""The shared HTTP rules, case by case."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.http.semantics import (
    apply_refresh,
    classify_status,
    is_html,
    parse_refresh,
    parse_retry_after,
    redirect_target,
)
from focus.records import FailureKind, FetchResult, Link, Page
from focus.urls.normal_form import normalise, url_fingerprint
from tests.support.cases import cases

SHARED = Path(os.environ.get("FOCUS_SHARED") or Path(__file__).parents[2] / "shared")

NOV_6 = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110


@cases(
    "status, retry_after, kind",
    (200, False, None), (204, False, None), (301, False, None), (308, False, None),
    (300, False, FailureKind.REDIRECT), (304, False, FailureKind.REDIRECT),
    (404, False, FailureKind.HTTP_4XX), (429, False, FailureKind.RATE_LIMITED),
    (429, True, FailureKind.RATE_LIMITED), (500, True, FailureKind.HTTP_5XX),
    (503, False, FailureKind.HTTP_5XX), (503, True, FailureKind.RATE_LIMITED),
    (504, True, FailureKind.HTTP_5XX), (101, False, FailureKind.PROTOCOL),
    (0, False, FailureKind.PROTOCOL), (999, False, FailureKind.PROTOCOL),
)  # fmt: skip
def test_classify_status_kinds(status: int, retry_after: bool, kind: FailureKind | None) -> None:
    assert classify_status(status, retry_after) is kind


@cases(
    "location, target",
    (None, None), ("", None), (" \t", None), ("/b", "http://a.example/b"),
    ("b?x=1#f", "http://a.example/dir/b?x=1"), ("?x", "http://a.example/dir/page?x"),
    ("//c.example/", "http://c.example/"), ("https://c.example", "https://c.example/"),
    ("/\\c.example/x", "http://c.example/x"), ("\\\\c.example/x", "http://c.example/x"),
    ("/q?path=C:\\x", "http://a.example/q?path=C:\\x"),
    ("///c.example//x", "http://c.example//x"), ("http:\\\\c.example\\x", "http://c.example/x"),
    ("https:///c.example", "https://c.example/"), ("http:b", "http://a.example/dir/b"),
    ("a//../b", "http://a.example/dir/a/b"), ("?", "http://a.example/dir/page?"),
    ("http://u:p@C.example.:80/#f", "http://c.example/"),
    ("ht\ntp://c.example/", "http://c.example/"), ("javascript:alert(1)", None),
    ("file:///etc/passwd", None), ("http://[broken/", None),
    ("/中文", "http://a.example/%E4%B8%AD%E6%96%87"),
)  # fmt: skip
def test_redirect_target_locations(location: str | None, target: str | None) -> None:
    assert redirect_target("http://a.example/dir/page", location) == target


DOC = b"<!DOCTYPE html><html><title>x</title>"


@cases(
    "content_type, head, expected",
    ("text/html; charset=gbk", DOC, True), ("TEXT/HTML", b"just some text without a tag", True),
    ("application/xhtml+xml", b"<?xml version='1.0'?><html>", True),
    (None, b"\n <!-- c --> <HTML>", True), (None, b"\xef\xbb\xbf<!doctype html>", True),
    (None, DOC.decode().encode("utf-16"), True), (None, DOC.decode().encode("utf-16-be"), True),
    (None, b"Warning: x in y.php\n<html><body>", True), (None, b"plain words", False),
    (None, b"\x00\x01\x02<html>", False), ("text/plain", b"<p>hello", True),
    ("text/plain", b"User-agent: *\nDisallow:", False), ("application/octet-stream", DOC, True),
    ("garbage", DOC, True), ("text/html", b"%PDF-1.7", False),
    ("text/html", b"\x89PNG\r\n\x1a\n", False),
    ("text/html", b"\x00\x00\x00\x18ftypmp42", False),
    ("text/html", b"<?xml version='1.0'?><!-- x --><rss version='2.0'>", False),
    ("text/html", b"\x1f\x8b\x08\x00", False), ("image/png", DOC, True),
    ("application/json", b'{"html": "<html>"}', False),
    ("application/json", b"<p>error</p>", False),
    ("application/rss+xml", b"<?xml version='1.0'?><rss>", False),
    ("image/svg+xml", b"<svg xmlns='x'><title>t</title>", False), ("text/html", b"", True),
    (None, b"", True), ("image/png", b"", False),
)  # fmt: skip
def test_is_html_type_and_bytes(content_type: str | None, head: bytes, expected: bool) -> None:
    assert is_html(content_type, head) is expected


def test_is_html_accepted_types() -> None:
    assert is_html("application/pdf", b"%PDF-1.7", ("application/pdf",))
    assert not is_html("text/html", DOC, ("application/pdf",))
    assert not is_html(None, DOC, ("application/pdf",))
    assert not is_html("application/pdf", b"%PDF-1.7", ("text/html", "application/msword"))
    assert not is_html("image/png", b"\x89PNG", ("text/html", "application/pdf"))
    assert not is_html("text/html", DOC, ("application/xhtml+xml",))


@given(st.one_of(st.none(), st.text(max_size=40)), st.binary(max_size=200))
def test_is_html_any_bytes_never_raises(content_type: str | None, head: bytes) -> None:
    assert is_html(content_type, head) in (True, False)


@cases(
    "value, wait",
    ("0", 0.0), (" 120 ", 120.0), ("9" * 5000, float("9" * 18)),
    ("Sun, 06 Nov 1994 08:49:37 GMT", 60.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 60.0),
    ("Sun Nov  6 08:49:37 1994", 60.0), ("Sun, 06 Nov 1994 10:49:37 +0200", 60.0),
    ("Sat, 05 Nov 1994 08:49:37 GMT", 0.0), ("-1", None), ("1.5", None), ("soon", None),
    ("", None), ("٣", None), ("Sun, 99 Nov 99999999 08:49:37 GMT", None),
)  # fmt: skip
def test_parse_retry_after_both_forms(value: str, wait: float | None) -> None:
    assert parse_retry_after(value, NOV_6 - 60) == wait


@given(st.text(max_size=60), st.floats(0, 4e9))
def test_parse_retry_after_any_text_never_raises(value: str, now: float) -> None:
    wait = parse_retry_after(value, now)
    assert wait is None or wait >= 0


@given(st.text(max_size=60))
def test_redirect_target_any_text_never_raises(location: str) -> None:
    redirect_target("http://a.example/", location)


@cases(
    "content, asked",
    ("0; url=/next", (0, "/next")), ("5;URL='/a b'x", (5, "/a b")), ("5", (5, "")),
    ("5; url=", (5, "")), ("x; url=/next", None), (".5; /next", (0, "/next")),
    ("1; urx", (1, "urx")), ("1; 'quoted", (1, "quoted")), ("9" * 400, (999_999_999, "")),
    ("1" * 300_000 + "x", None), ("1" + " " * 300_000 + "x", (1, "x")), ("", None),
)  # fmt: skip
def test_parse_refresh_syntax(content: str, asked: tuple[int, str] | None) -> None:
    assert parse_refresh(content) == asked


def test_parse_refresh_wpt_cases() -> None:
    """Extra: of the conformance data that lies beside the repository."""
    file = SHARED / "conformance" / "meta-refresh" / "parse.json"
    if not file.exists():
        pytest.skip("needs the shared conformance cases (FOCUS_SHARED)")
    base = "http://a.test/folder/page"
    for case in json.loads(file.read_text(encoding="utf-8")):
        asked, expected = parse_refresh(case["content"]), case["expected"]
        assert (asked is None) == (expected is None), case
        if asked is not None:
            url = base if expected[1] == "SELF" else normalise(expected[1], base)
            assert (asked[0], normalise(asked[1], base)) == (expected[0], url), case


@given(st.text(max_size=60))
def test_parse_refresh_any_text_never_raises(content: str) -> None:
    asked = parse_refresh(content)
    assert asked is None or asked[0] >= 0


def answer(refresh: str = "", **fields: object) -> FetchResult:
    headers = (("refresh", refresh),) if refresh else ()
    return FetchResult(**{"url": "http://a.test/x", "fetched_at": 0.0, "status": 200,
                          "headers": headers, "body": b"x", **fields})  # type: ignore[arg-type]  # fmt: skip


@cases(
    "header, own, target",
    ("0; url=/next", None, "http://a.test/next"), ("5; url=//b.test/", None, "http://b.test/"),
    ("6; url=/next", None, None), ("0; url=/next", "http://a.test/own", "http://a.test/next"),
    ("10", "http://a.test/own", None), ("rubbish", "http://a.test/own", "http://a.test/own"),
    ("0; url=/x", None, None), ("0; url=/x?utm_source=1", None, None),
    ("0; url=https://a.test/x", None, "https://a.test/x"),
    ("0; url=javascript:go()", None, None), ("", "http://a.test/own", "http://a.test/own"),
)  # fmt: skip
def test_apply_refresh_early_is_redirect(header: str, own: str | None, target: str | None) -> None:
    fetch, page = apply_refresh(answer(header), Page(refresh_url=own))
    assert fetch.redirect_to == target
    assert (page is None) == (target is not None)


def test_apply_refresh_header_without_body_counts_unless_error() -> None:
    empty = answer("0; url=/next", failure=FailureKind.EMPTY, body=b"")
    assert apply_refresh(empty, None)[0].redirect_to == "http://a.test/next"
    assert apply_refresh(empty, None)[0].failure is None
    error = answer("0; url=/next", status=500, failure=FailureKind.HTTP_5XX)
    assert apply_refresh(error, None) == (error, None)
    broken = answer("0; url=/next", failure=FailureKind.PROTOCOL)
    assert apply_refresh(broken, None) == (broken, None)


def test_apply_refresh_late_header_adds_one_link() -> None:
    _, page = apply_refresh(answer("60; url=/next"), Page())
    assert [link.url for link in page.links] == ["http://a.test/next"]
    before = Page(
        links=[Link("http://a.test/next", url_fingerprint("http://a.test/next"), "a.test")]
    )
    assert apply_refresh(answer("60; url=/next"), before)[1] == before
    urls = [f"http://a.test/{number}" for number in range(9)]
    others = Page(links=[Link(url, url_fingerprint(url), "a.test") for url in urls])
    assert len(apply_refresh(answer("60; url=/next"), others)[1].links) == 10
