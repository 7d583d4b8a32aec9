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
    cookie_for,
    read_cookies,
    read_credentials,
)

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
def given(tmp_path: Path) -> Sessions:
    return Sessions(read_credentials(private(tmp_path / "secrets.toml", TOML)))


# -- given ------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["https://example.com/x", "https://a.example.com/"])
def test_a_host_and_its_subdomains_get_what_is_theirs(given: Sessions, url: str) -> None:
    assert given.headers(url) == {"Authorization": BASIC, "X-Token": "t"}


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://notexample.com/",
        "https://example.com.evil.test/",
        "https://example.com@evil.test/",
    ],
)
def test_nobody_else_gets_anything(given: Sessions, url: str) -> None:
    assert given.headers(url) == {}


def test_plain_http_has_to_be_asked_for(given: Sessions) -> None:
    assert given.headers("http://intranet.test/") == {"Cookie": "sid=1"}


def test_cookies_of_a_file_go_where_they_say(tmp_path: Path) -> None:
    sessions = Sessions(cookies=read_cookies(private(tmp_path / "cookies.txt", NETSCAPE)))
    assert sessions.headers("https://a.example.com/") == {"Cookie": "sid=abc"}
    assert sessions.headers("http://a.example.com/") == {}  # it is marked as secure
    assert sessions.headers("http://other.test/in/x") == {"Cookie": "x=1"}
    assert sessions.headers("http://other.test/") == {}


def test_cookies_of_several_sources_are_one_header(tmp_path: Path) -> None:
    cookies = read_cookies(private(tmp_path / "cookies.txt", NETSCAPE))
    sessions = Sessions(cookie_for(["other.test:8080"], "a=1; b=2"), cookies)
    assert sessions.headers("http://other.test:8080/in/") == {"Cookie": "a=1; b=2; x=1"}


def test_a_cookie_for_a_literal_address_goes_there() -> None:
    sessions = Sessions(cookie_for(["[::1]:8080"], "a=1"))
    assert sessions.headers("http://[::1]:8080/in") == {"Cookie": "a=1"}
    assert sessions.headers("http://[::2]:8080/in") == {}


def test_without_any_nothing_is_sent() -> None:
    assert not Sessions()
    assert Sessions().headers("https://example.com/") == {}


# -- learnt -----------------------------------------------------------------------------------


def test_without_a_jar_nothing_is_kept() -> None:
    sessions = Sessions()
    assert not sessions.learn("https://a.test/", ["sid=1"])
    assert sessions.headers("https://a.test/") == {}


def test_a_jar_sends_back_what_it_was_given() -> None:
    sessions = Sessions(jar=True)
    assert sessions.learn("https://a.test/", ["sid=1; Path=/; HttpOnly"])
    assert sessions.headers("https://a.test/x") == {"Cookie": "sid=1"}
    assert sessions.headers("https://b.test/") == {}
    assert not sessions.learn("https://a.test/", ["sid=1; Path=/"])  # nothing new


@pytest.mark.parametrize(
    ("domain", "is_kept"),
    [
        ("b.com.cn", True),
        ("a.b.com.cn", True),
        ("com.cn", False),
        ("cn", False),
        ("x.com.cn", False),
    ],
)
def test_a_cookie_is_for_a_site_at_most(domain: str, is_kept: bool) -> None:
    sessions = Sessions(jar=True)
    sessions.learn("https://a.b.com.cn/", [f"sid=1; Domain={domain}"])
    assert bool(sessions.headers("https://a.b.com.cn/")) is is_kept


def test_a_domain_has_so_many_cookies() -> None:
    sessions = Sessions(jar=True)
    for number in range(MAX_COOKIES + 20):
        sessions.learn("https://a.test/", [f"n{number}=1"])
    assert sessions.headers("https://a.test/")["Cookie"].count("=") == MAX_COOKIES


def test_a_cookie_that_is_too_long_is_left() -> None:
    sessions = Sessions(jar=True)
    assert not sessions.learn("https://a.test/", ["sid=" + "x" * 5000])


# -- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not toml", "cannot be read"),
        ('["a.test"]\ntoken = "t"', "'token' is not known"),
        ('["a.test"]\nheaders = { X = "a\\nb" }', "one line of text"),
        ('["ftp://a.test"]\ncookie = "a=b"', "write a host"),
        ('"a.test" = 1', "write a host"),
    ],
)
def test_a_bad_file_is_told_without_its_secrets(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read_credentials(private(tmp_path / "secrets.toml", text))


@pytest.mark.skipif(os.name != "posix", reason="files have no modes there")
@pytest.mark.parametrize("read", [read_cookies, read_credentials])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, read: object) -> None:
    path = private(tmp_path / "secrets", TOML)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="other users may read it; run: chmod 600"):
        read(path)  # type: ignore[operator]


def test_a_file_that_is_no_cookies_txt_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no cookies\.txt"):
        read_cookies(private(tmp_path / "cookies.txt", "hello"))


def test_a_cookie_on_the_command_line_is_a_pair() -> None:
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        cookie_for(["a.test"], "hello")


def test_credentials_fit_their_own_host() -> None:
    assert Credentials("a.test", ()).fits("https", "b.a.test")
