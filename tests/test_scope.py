"""Rules for URLs as users type them."""

import pytest

from focus.admission.scope import Scope
from focus.config import ScopeConfig
from focus.errors import ConfigError
from focus.records import DropReason
from focus.urls.normal_form import normalise, normalise_host, readable_url
from tests.support.cases import cases

VIDEO = "http://a.test/%E8%A7%86%E9%A2%91/1"


@cases(
    "pattern, url, is_denied",
    ("/视频/", VIDEO, True), ("/视.*/1$", VIDEO, True), ("/%e8%a7%86", VIDEO, True),
    ("/%E8%A7%86%E9%A2%91/", VIDEO, True), ("/%E8%A7%86频/", VIDEO, True),
    ("/视频/", "http://a.test/%e8%a7%86%e9%a2%91/", True),
    ("/%e8", "http://a.test/%e8%a7%86%e9%a2%91/", True), ("/新闻/", VIDEO, False),
    ("/a b/", "http://a.test/a%20b/", True),
    ("kw=足球", "http://a.test/?kw=%D7%E3%C7%F2", True),
    ("//视频[.]test", "http://xn--cy2a840a.test/", True),
    ("xn--cy2a840a", "http://xn--cy2a840a.test/", True), ("^(?!.*视频)", VIDEO, False),
    ("/a/b", "http://a.test/a%2Fb", False), ("页 /x", "http://a.test/%E9%A1%B5%20%2Fx", False),
)  # fmt: skip
def test_deny_pattern_matches_as_typed(pattern: str, url: str, is_denied: bool) -> None:
    reason = Scope(ScopeConfig(deny=(pattern,))).reason_against(url, "a.test")
    assert reason == (DropReason.DENIED if is_denied else None)


@cases(
    "url, is_seed, reason",
    ("http://a.test/", True, None),
    ("http://a.test/", False, DropReason.DENIED),
    ("http://a.test/news/1", False, None),
    ("http://a.test/news/old", True, DropReason.DENIED),
)
def test_allow_exempts_seeds(url: str, is_seed: bool, reason: DropReason | None) -> None:
    scope = Scope(ScopeConfig(allow=("/news/",), deny=("old",)))
    assert scope.reason_against(url, "a.test", is_seed=is_seed) == reason


def test_deny_invalid_pattern_raises() -> None:
    with pytest.raises(ConfigError, match=r"--deny '\(': not a regular expression"):
        Scope(ScopeConfig(deny=("(",)))


@cases(
    "url, readable",
    ("http://xn--cy2a840a.test/%E8%A7%86?q=a%20%22b%22", '视频.test/视?q=a "b"'),
    ("http://a.test/%2Fx%23%3F%26%25", "a.test/%2Fx%23%3F%26%25"),
    ("http://a.test/jos%E9", "a.test/jos%E9"),
)
def test_readable_url_normalises_back(url: str, readable: str) -> None:
    assert readable_url(url) == f"http://{readable}"
    assert normalise(readable_url(url)) is not None


@cases(
    "text, host",
    ("视频.TEST", "xn--cy2a840a.test"), ("https://www.a.test:443/x?y", "www.a.test"),
    ("A.test.", "a.test"), ("a.test:8080", "a.test:8080"), ("[::1]:80", "[::1]"), ("", ""),
)  # fmt: skip
def test_normalise_host_as_typed(text: str, host: str) -> None:
    assert normalise_host(text) == host


@cases(
    "path, reason",
    ("/repo/tree/guide.txt", None), ("/repo/blob/main/logo.png", None),
    ("/wiki/File:Goal.jpg", None), ("/notes.txt", None), ("/logo.png", DropReason.NOT_HTML),
    ("/tree.png", DropReason.NOT_HTML), ("/report.pdf", DropReason.NOT_HTML),
)  # fmt: skip
def test_file_name_decides_outside_of_file_pages(path: str, reason: DropReason | None) -> None:
    assert Scope(ScopeConfig()).reason_against(f"http://a.test{path}", "a.test") is reason
