"""Cookies, headers and passwords go to the hosts that they are meant for, and nowhere else."""

import base64
import os
from pathlib import Path

import pytest

from focus.errors import ConfigError
from focus.http.sessions import (
    MAX_COOKIES,
    Credentials,
    Sessions,
    parse_cookie_option,
    read_cookies,
    read_credentials,
)
from tests.support.cases import cases

BASIC = "Basic " + base64.b64encode(b"li:secret").decode()
TOML = """
["example.com"]
user = "li"
password = "secret"
headers = { X-Token = "t" }
["http://intranet.test"]
cookie = "sid=1"
"""
NETSCAPE = (
    "# Netscape HTTP Cookie File\n"
    ".example.com\tTRUE\t/\tTRUE\t4102444800\tsid\tabc\n"
    "other.test\tFALSE\t/in\tFALSE\t4102444800\tx\t1\n"
)


def private(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def logged_in(tmp_path: Path) -> Sessions:
    return Sessions(read_credentials(private(tmp_path / "secrets.toml", TOML)))


# -- given ------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["https://example.com/x", "https://a.example.com/"])
def test_request_headers_host_and_subdomains_get_credentials(logged_in: Sessions, url: str) -> None:
    assert logged_in.request_headers(url) == {"Authorization": BASIC, "X-Token": "t"}


@cases(
    "url",
    "http://example.com/",
    "https://notexample.com/",
    "https://example.com.evil.test/",
    "https://example.com@evil.test/",
)
def test_request_headers_other_hosts_get_nothing(logged_in: Sessions, url: str) -> None:
    assert logged_in.request_headers(url) == {}


def test_request_headers_http_only_if_allowed(logged_in: Sessions) -> None:
    assert logged_in.request_headers("http://intranet.test/") == {"Cookie": "sid=1"}


def test_request_headers_cookies_file_respects_domain_and_path(tmp_path: Path) -> None:
    sessions = Sessions(cookies=read_cookies(private(tmp_path / "cookies.txt", NETSCAPE)))
    assert sessions.request_headers("https://a.example.com/") == {"Cookie": "sid=abc"}
    assert sessions.request_headers("http://a.example.com/") == {}  # it is marked as secure
    assert sessions.request_headers("http://other.test/in/x") == {"Cookie": "x=1"}
    assert sessions.request_headers("http://other.test/") == {}


def test_request_headers_cookies_of_all_sources_are_joined(tmp_path: Path) -> None:
    cookies = read_cookies(private(tmp_path / "cookies.txt", NETSCAPE))
    sessions = Sessions(parse_cookie_option(["other.test:8080"], "a=1; b=2"), cookies)
    assert sessions.request_headers("http://other.test:8080/in/") == {"Cookie": "a=1; b=2; x=1"}


def test_request_headers_cookie_for_ip_address() -> None:
    sessions = Sessions(parse_cookie_option(["[::1]:8080"], "a=1"))
    assert sessions.request_headers("http://[::1]:8080/in") == {"Cookie": "a=1"}
    assert sessions.request_headers("http://[::2]:8080/in") == {}


def test_request_headers_empty_sessions_send_nothing() -> None:
    assert not Sessions()
    assert Sessions().request_headers("https://example.com/") == {}


# -- learnt -----------------------------------------------------------------------------------


def test_store_cookies_disabled_stores_nothing() -> None:
    sessions = Sessions()
    assert not sessions.store_cookies("https://a.test/", ["sid=1"])
    assert sessions.request_headers("https://a.test/") == {}


def test_store_cookies_enabled_sends_cookie_back() -> None:
    sessions = Sessions(store_cookies=True)
    assert sessions.store_cookies("https://a.test/", ["sid=1; Path=/; HttpOnly"])
    assert sessions.request_headers("https://a.test/x") == {"Cookie": "sid=1"}
    assert sessions.request_headers("https://b.test/") == {}
    assert not sessions.store_cookies("https://a.test/", ["sid=1; Path=/"])  # nothing new
    sessions.store_cookies("https://a.test/", ["sid=2; Path=/", "sid=3; Path=/; Max-Age=0"])
    assert sessions.request_headers("https://a.test/x") == {}


@cases(
    "domain, is_kept",
    ("b.com.cn", True),
    ("a.b.com.cn", True),
    ("com.cn", False),
    ("cn", False),
    ("x.com.cn", False),
)
def test_store_cookies_domain_is_limited_to_site(domain: str, is_kept: bool) -> None:
    sessions = Sessions(store_cookies=True)
    sessions.store_cookies("https://a.b.com.cn/", [f"sid=1; Domain={domain}"])
    assert bool(sessions.request_headers("https://a.b.com.cn/")) is is_kept


@cases(
    "value, subdomain, itself",
    ("sid=1", "", "sid=1"),
    ("sid=1; Domain=b.test", "sid=1", "sid=1"),
    ("sid=1; Domain=.b.test", "sid=1", "sid=1"),
    ("sid=1; Expires=Thu, 01-Jan-70 00:00:01 GMT", "", ""),
    ("sid=1; Expires=Thu Jan 01 1970 08:00:00 GMT", "", ""),
    ("sid=1; expires=Wed, 09 Nov 99 10:00:00", "", ""),
    ("sid=1; Expires=Tue, 01-Jan-69 00:00:00 GMT", "", "sid=1"),
    ("sid=1; Expires=1970 Jan 2 00:00:00", "", ""),
    ("sid=1; Expires=soon", "", "sid=1"),
    ("sid=1; Max-Age=0", "", ""),
    ("sid=1; Max-Age=1x; Path=x; Domain=; Expires=", "", "sid=1"),
    ("sid=1; Max-Age=0; max-age = 60;;", "", "sid=1"),
    ("__Host-a=1; Secure; Path=/", "", "__Host-a=1"),
    ("__Host-a=1; Secure", "", ""),
    ("__host-a=1; Secure; Path=/; Domain=b.test", "", ""),
    ("__Secure-a=1; Secure; Domain=b.test", "__Secure-a=1", "__Secure-a=1"),
    ("__Secure-a=1", "", ""),
    ("sid=a\x01b", "", ""),
    ('sid="a b"; Path=/', "", 'sid="a b"'),
    ("sid=\udce9", "", "sid=\udce9"),
)
def test_store_cookies_attributes_as_in_browsers(value: str, subdomain: str, itself: str) -> None:
    sessions = Sessions(store_cookies=True)
    sessions.store_cookies("https://b.test/", [value])
    sent = [
        sessions.request_headers(url).get("Cookie", "")
        for url in ("https://x.y.b.test/", "https://b.test/")
    ]
    assert sent == [subdomain, itself]


def test_store_cookies_of_deep_host_may_cover_the_site() -> None:
    sessions = Sessions(store_cookies=True)
    sessions.store_cookies("https://x.y.b.test/", ["sid=1; Domain=b.test"])
    assert sessions.request_headers("https://b.test/") == {"Cookie": "sid=1"}


@cases(
    "line, sent",
    ("b.test\tFALSE\t/\tFALSE\t0\tsid\t1", ["", "sid=1"]),
    ("b.test\tFALSE\t/\tFALSE\t\tsid\t1", ["", "sid=1"]),
    ("b.test\tTRUE\t/\tFALSE\t4102444800.5\tsid\t1", ["sid=1", "sid=1"]),
    (".b.test\tFALSE\t/\tFALSE\t0\tsid\t1", ["", "sid=1"]),
    ("#HttpOnly_.b.test\tTRUE\t/\tFALSE\t0\tsid\t", ["sid=", "sid="]),
    ("b.test\tFALSE\t/\tFALSE\t1000000000\tsid\t1", ["", ""]),
    ("b.test\tFALSE\t/\tFALSE\t0\tsid\t\x01", ["", ""]),
    ("# b.test\tFALSE\t/\tFALSE\t0\tsid\t1", ["", ""]),
    (".test\tTRUE\t/\tFALSE\t0\tsid\t1", ["", ""]),
)
def test_read_cookies_line_as_curl_reads_it(line: str, sent: list[str], tmp_path: Path) -> None:
    text = f"# Netscape HTTP Cookie File\n\n{line}\n"
    sessions = Sessions(cookies=read_cookies(private(tmp_path / "cookies.txt", text)))
    urls = ("http://a.b.test/", "http://b.test/")
    assert [sessions.request_headers(url).get("Cookie", "") for url in urls] == sent


def test_read_cookies_of_name_without_dot_are_sent(tmp_path: Path) -> None:
    text = "# Netscape HTTP Cookie File\nintranet\tFALSE\t/\tFALSE\t0\tsid\t1"
    sessions = Sessions(cookies=read_cookies(private(tmp_path / "cookies.txt", text)))
    assert sessions.request_headers("http://intranet/") == {"Cookie": "sid=1"}


def test_store_cookies_number_per_domain_is_limited() -> None:
    sessions = Sessions(store_cookies=True)
    for number in range(MAX_COOKIES + 20):
        sessions.store_cookies("https://a.test/", [f"n{number}=1"])
    assert sessions.request_headers("https://a.test/")["Cookie"].count("=") == MAX_COOKIES


def test_store_cookies_too_long_cookie_is_ignored() -> None:
    sessions = Sessions(store_cookies=True)
    assert not sessions.store_cookies("https://a.test/", ["sid=" + "x" * 5000])


# -- mistakes ---------------------------------------------------------------------------------


@cases(
    "text, why",
    ("not toml", "cannot be read"),
    ('["a.test"]\ntoken = "t"', "'token' is not known"),
    ('["a.test"]\nheaders = { X = "a\\nb" }', "one line of text"),
    ('["ftp://a.test"]\ncookie = "a=b"', "write a host"),
    ('"a.test" = 1', "write a host"),
)
def test_read_credentials_error_has_no_secrets(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read_credentials(private(tmp_path / "secrets.toml", text))


@pytest.mark.skipif(os.name != "posix", reason="files have no modes there")
@pytest.mark.parametrize("read", [read_cookies, read_credentials])
def test_read_credentials_readable_by_others_raises(tmp_path: Path, read: object) -> None:
    path = private(tmp_path / "secrets", TOML)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="other users may read it; run: chmod 600"):
        read(path)  # type: ignore[operator]


@pytest.mark.parametrize("text", ["hello", "", "# Netscape HTTP Cookie File\nb.test TRUE /"])
def test_read_cookies_other_file_raises(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no cookies\.txt"):
        read_cookies(private(tmp_path / "cookies.txt", text))


def test_parse_cookie_option_without_pair_raises() -> None:
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        parse_cookie_option(["a.test"], "hello")


def test_credentials_applies_to_own_host_only() -> None:
    assert Credentials("a.test", ()).applies_to("https", "b.a.test")
