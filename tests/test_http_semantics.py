"""What the shared HTTP rules decide, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.http.semantics import classify_status, is_html, redirect_target, retry_after_s
from focus.records import FailureKind

NOV_6 = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110


@pytest.mark.parametrize(
    ("status", "retry_after", "kind"),
    [
        (200, False, None),
        (204, False, None),
        (301, False, None),
        (308, False, None),
        (300, False, FailureKind.REDIRECT),
        (304, False, FailureKind.REDIRECT),
        (404, False, FailureKind.HTTP_4XX),
        (429, False, FailureKind.RATE_LIMITED),
        (429, True, FailureKind.RATE_LIMITED),
        (500, True, FailureKind.HTTP_5XX),
        (503, False, FailureKind.HTTP_5XX),
        (503, True, FailureKind.RATE_LIMITED),
        (101, False, FailureKind.PROTOCOL),
        (0, False, FailureKind.PROTOCOL),
        (999, False, FailureKind.PROTOCOL),
    ],
)
def test_status_decides(status: int, retry_after: bool, kind: FailureKind | None) -> None:
    assert classify_status(status, retry_after) is kind


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (None, None),
        ("", None),
        (" \t", None),
        ("/b", "http://a.example/b"),
        ("b?x=1#f", "http://a.example/dir/b?x=1#f"),
        ("?x", "http://a.example/dir/page?x"),
        ("//c.example/", "http://c.example/"),
        ("https://c.example", "https://c.example"),
        ("/\\c.example/x", "http://c.example/x"),
        ("\\\\c.example/x", "http://c.example/x"),
        ("/q?path=C:\\x", "http://a.example/q?path=C:\\x"),
        ("ht\ntp://c.example/", "http://c.example/"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("http://[broken/", None),
        ("/中文", "http://a.example/中文"),
    ],
)
def test_location_resolves(location: str | None, target: str | None) -> None:
    assert redirect_target("http://a.example/dir/page", location) == target


DOC = b"<!DOCTYPE html><html><title>x</title>"


@pytest.mark.parametrize(
    ("content_type", "head", "expected"),
    [
        ("text/html; charset=gbk", DOC, True),
        ("TEXT/HTML", b"just some text without a tag", True),
        ("application/xhtml+xml", b"<?xml version='1.0'?><html>", True),
        (None, b"\n <!-- c --> <HTML>", True),
        (None, b"\xef\xbb\xbf<!doctype html>", True),
        (None, DOC.decode().encode("utf-16"), True),
        (None, DOC.decode().encode("utf-16-be"), True),
        (None, b"Warning: x in y.php\n<html><body>", True),
        (None, b"plain words", False),
        (None, b"\x00\x01\x02<html>", False),
        ("text/plain", b"<p>hello", True),
        ("text/plain", b"User-agent: *\nDisallow:", False),
        ("application/octet-stream", DOC, True),
        ("garbage", DOC, True),
        ("text/html", b"%PDF-1.7", False),
        ("text/html", b"\x89PNG\r\n\x1a\n", False),
        ("text/html", b"\x00\x00\x00\x18ftypmp42", False),
        ("text/html", b"<?xml version='1.0'?><!-- x --><rss version='2.0'>", False),
        ("text/html", b"\x1f\x8b\x08\x00", False),
        ("image/png", DOC, True),
        ("application/json", b'{"html": "<html>"}', False),
        ("application/json", b"<p>error</p>", False),
        ("application/rss+xml", b"<?xml version='1.0'?><rss>", False),
        ("image/svg+xml", b"<svg xmlns='x'><title>t</title>", False),
        ("text/html", b"", True),
        (None, b"", True),
        ("image/png", b"", False),
    ],
)
def test_type_is_sniffed_not_trusted(content_type: str | None, head: bytes, expected: bool) -> None:
    assert is_html(content_type, head) is expected


def test_accepted_types_are_the_users() -> None:
    assert is_html("application/pdf", b"%PDF-1.7", ("application/pdf",))
    assert not is_html("text/html", DOC, ("application/pdf",))
    assert not is_html(None, DOC, ("application/pdf",))
    assert not is_html("text/html", DOC, ("application/xhtml+xml",))


@given(st.one_of(st.none(), st.text(max_size=40)), st.binary(max_size=200))
def test_sniffing_never_raises(content_type: str | None, head: bytes) -> None:
    assert is_html(content_type, head) in (True, False)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 5000, float("9" * 18)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 60.0),
        ("Sun Nov  6 08:49:37 1994", 60.0),
        ("Sun, 06 Nov 1994 10:49:37 +0200", 60.0),
        ("Sat, 05 Nov 1994 08:49:37 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Sun, 99 Nov 99999999 08:49:37 GMT", None),
    ],
)
def test_retry_after_in_both_forms(value: str, wait: float | None) -> None:
    assert retry_after_s(value, NOV_6 - 60) == wait


@given(st.text(max_size=60), st.floats(0, 4e9))
def test_retry_after_never_raises(value: str, now: float) -> None:
    wait = retry_after_s(value, now)
    assert wait is None or wait >= 0


@given(st.text(max_size=60))
def test_location_never_raises(location: str) -> None:
    redirect_target("http://a.example/", location)
