"""Addresses: what is requested, what is the same page, what an address tells."""

import hashlib
from urllib.parse import urljoin

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from focus.config import MAX_URL_LENGTH
from focus.errors import ConfigError
from focus.urls import normal_form
from focus.urls.normal_form import (
    UrlJoiner,
    duplicate_key,
    hash_route,
    normalise,
    path_and_query,
    registrable_domain,
    seed_candidates,
    url_fingerprint,
    url_host,
    url_origin,
)
from focus.urls.patterns import folder_words, url_pattern, url_words
from tests.support.cases import cases

BASES = [
    "http://example.com/",
    "https://example.com/a/b.html?q=1#f",
    "http://example.com:8080/x/y/",
    "http://127.0.0.1/a;b/c",
    "https://user:pw@xn--fiqs8s.cn/%E4%B8%AD/",
]
ODDITIES = (
    "/ // . .. %2e %2E ? # & = ; : @ a b.html A 中 %E4%B8%AD %zz % \\ \t \n ' \" < > ^ | { } [ ] ` "
    "http: https: HTTP:// http:// https:// ftp: javascript: mailto: example.com 1.2.3.4 0x1 1 ~ "
    "xn--fiqs8s xn-- a..b a-b _x :80 :443 :99999 user:pw@ ;jsessionid=0A utm_source=x sid=0 "
    "PHPSESSID=1 (S(4hqa0555fwsecu455xqckv45)) \x00 \ud800 \udfff + $ ! * ( ) ,"
)
PIECES = st.sampled_from(ODDITIES.split(" "))
HREFS = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(max_size=40))


@settings(max_examples=1500, deadline=None)
@given(HREFS, st.sampled_from(BASES))
@example("", BASES[1])
@example("?x", BASES[1])
@example("#x", BASES[1])
@example("//a.b/../c", BASES[1])
@example("a:b", BASES[0])
@example("http://a.0x1/", BASES[0])
@example("http://a.b", BASES[0])
@example("http://a.b?x#\n", BASES[0])
def test_joiner_any_href_agrees_with_parser(href: str, base: str) -> None:
    parsed = normal_form._parse_href(normal_form._replace_surrogates(href), base)
    assert UrlJoiner(base).join(href) == normalise(href, base) == parsed


@given(HREFS, st.sampled_from(BASES))
@example("/a", BASES[0])
@example("//h/a", BASES[0])
@example("http:x", BASES[0])
@example("http://h/a", BASES[1])
@settings(deadline=None)
def test_is_same_for_site_any_href_joins_alike_on_every_page(href: str, base: str) -> None:
    page = UrlJoiner(base)
    second = UrlJoiner(urljoin(base, "/elsewhere/on/it.html"))
    assert page.origin == second.origin
    if page.is_same_for_site(href):
        assert page.join(href) == second.join(href)
    assert not any(map(page.is_same_for_site, ("a", "?a", "", "/中?中")))
    assert page.is_same_for_site("/a") and page.is_same_for_site("http://h/a")


@settings(max_examples=1500, deadline=None)
@given(HREFS)
@example("(S(4hqa0555fwsecu455xqckv45));jsessionid=0A/")
def test_normalise_and_duplicate_key_repeated_change_nothing(text: str) -> None:
    url = normalise(text, BASES[0])
    if url is None:
        return
    assert normalise(url) == url
    assert "#" not in url and len(url) <= MAX_URL_LENGTH
    assert url.startswith(url_origin(url) + "/") and url_origin(url).endswith("//" + url_host(url))
    once = duplicate_key(url)
    assert duplicate_key(once) == once
    requested = normalise(once)
    assert requested is not None and duplicate_key(requested) == once
    assert len(url_fingerprint(url)) == 16
    url_pattern(url)
    url_words(url)


@given(st.text(), st.text() | st.none())
def test_normalise_and_join_any_text_never_raise(url: str, base: str | None) -> None:
    normalise(url, base)
    if base is not None:
        assert UrlJoiner(base).join(url) == normalise(url, normalise(base) or base)


@cases(
    "typed, want",
    ("  HTTP://EXAMPLE.com:80/a/../b\t.html#top  ", "http://example.com/b.html"),
    ("http://www.Example.org./a", "http://www.example.org/a"),
    ("https://user:pass@example.com/x@y", "https://example.com/x@y"),
    (
        "http://例子.中国/中 文?词=值",
        "http://xn--fsqu00a.xn--fiqs8s/%E4%B8%AD%20%E6%96%87?%E8%AF%8D=%E5%80%BC",
    ),
    ("http://h/\ud83d", "http://h/%EF%BF%BD"),
    ("http://h/\ud83d\ude00", "http://h/%F0%9F%98%80"),
    ("http://h/a.pdf?x", "http://h/a.pdf?x"),
    ("javascript:alert(1)", None),
    ("mailto:a@b.c", None),
    ("ftp://example.com/", None),
    ("data:text/html,x", None),
    ("http://", None),
    ("http://a b/", None),
    ("relative.html", None),
    ("", None),
)
def test_normalise_typed_url_gives_requested_url(typed: str, want: str | None) -> None:
    assert normalise(typed) == want


def test_normalise_and_join_over_max_url_return_none() -> None:
    start = "http://h/"
    longest = start + "a" * (MAX_URL_LENGTH - len(start))
    assert normalise(longest) == longest == UrlJoiner(start).join("/" + longest[len(start) :])
    assert normalise(longest + "a") is None
    assert UrlJoiner(start).join(longest + "a") is None
    assert normalise("http://h/" + "中" * 300) is None  # 9 characters each when escaped
    assert normalise("/" * 10_000_000, "http://h/") is None


def test_joiner_invalid_base_joins_absolute_links() -> None:
    assert UrlJoiner("about:blank").join("http://h/x") == "http://h/x"
    assert UrlJoiner("about:blank").join("/x") is None


def test_joiner_gbk_page_encodes_query_in_gbk() -> None:
    joiner = UrlJoiner("http://h/", "gbk")
    assert joiner.join("/s?kw=足球&x='é#中") == "http://h/s?kw=%D7%E3%C7%F2&x=%27%A8%A6"
    assert joiner.join("/中?a") == "http://h/%E4%B8%AD?a"
    assert joiner.join("?🙂") == "http://h/?%26%23128578%3B"
    assert UrlJoiner("http://h/", "utf-8").join("?中") == "http://h/?%E4%B8%AD"


@cases(
    "urls",
    ["http://h/", "https://h/", "http://h:443/", "https://h/?"],
    ["http://h/a?id=1", "https://h/a?id=1&utm_source=x&utm_medium=y", "http://h/a?spm=1&id=1"],
    ["http://h/a", "http://h/a?utm_source=x", "http://h/a?fbclid=1&gclid=2", "http://h/a?"],
    ["http://h/a", "http://h/a;jsessionid=1A2B", "http://h/a;JSESSIONID=1?PHPSESSID=abc"],
    ["http://h/?x=1", "http://h/?sid=0123456789abcdef0123&x=1", "http://h/?x=1&CFID=1&CFTOKEN=2"],
    ["http://h/m.aspx", "http://h/(S(4hqa0555fwsecu455xqckv45))/m.aspx"],
    ["http://h/%E4%B8%AD~", "http://h/%e4%b8%ad%7E", "http://h/中~"],
    ["http://h/?q=%7Ea", "http://h/?q=%7ea", "http://h/?q=~a"],
)
def test_duplicate_key_variants_of_one_page_are_equal(urls: list[str]) -> None:
    normal = [normalise(url) or "" for url in urls]
    assert len({duplicate_key(url) for url in normal}) == 1
    assert len({url_fingerprint(url) for url in normal}) == 1


@cases(
    "first, second",
    ("http://h/a", "http://h/a/"), ("http://h/a", "http://h/A"),
    ("http://h/?a=1&b=2", "http://h/?b=2&a=1"), ("http://h/?a=", "http://h/?a"),
    ("http://h/a%2Fb", "http://h/a/b"), ("http://h/?q=a%26b", "http://h/?q=a&b"),
    ("http://h/?q=a+b", "http://h/?q=a%2Bb"), ("http://www.h/", "http://h/"),
    ("http://h:8080/", "http://h/"), ("http://h/?sid=12", "http://h/"),
    ("http://h/?raid=1", "http://h/"), ("http://h/?xutm_source=1", "http://h/"),
    ("http://h/index.html", "http://h/"),
)  # fmt: skip
def test_duplicate_key_different_pages_differ(first: str, second: str) -> None:
    assert url_fingerprint(first) != url_fingerprint(second)


def test_url_fingerprint_is_md5_of_duplicate_key() -> None:
    url = "https://h/a?utm_source=x"
    assert url_fingerprint(url) == hashlib.md5(b"http://h/a", usedforsecurity=False).digest()


def test_url_host_and_url_origin_normalised_url() -> None:
    url = "https://sub.example.com.cn:8443/a?b"
    assert url_host(url) == "sub.example.com.cn:8443"
    assert url_origin(url) == "https://sub.example.com.cn:8443"
    assert path_and_query(url) == "/a?b"
    assert [path_and_query(short) for short in ("http://a/b/c", "https://a/b/c")] == ["/b/c"] * 2


@cases(
    "host, domain",
    ("sports.sina.com.cn", "sina.com.cn"), ("a.b.example.com:8080", "example.com"),
    ("someone.github.io", "someone.github.io"), ("github.io", "github.io"),
    ("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"),
    ("localhost", "localhost"), ("a.b.intranet", "b.intranet"),
    ("www.xn--fiqs8s.xn--fiqs8s", "xn--fiqs8s.xn--fiqs8s"),
)  # fmt: skip
def test_registrable_domain_common_hosts(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


@cases(
    "typed, want",
    ("https://Example.com/a", ["https://example.com/a"]),
    ("http:example.com", ["http://example.com/"]),
    (" sports.sina.com.cn ", ["https://sports.sina.com.cn/", "http://sports.sina.com.cn/"]),
    ("//h.com/x", ["https://h.com/x", "http://h.com/x"]),
    ("localhost:8000/x", ["https://localhost:8000/x", "http://localhost:8000/x"]),
    ("localhost", ["https://localhost/", "http://localhost/"]),
    ("[::1]:80/", ["https://[::1]:80/", "http://[::1]/"]),
    ("例子.中国", ["https://xn--fsqu00a.xn--fiqs8s/", "http://xn--fsqu00a.xn--fiqs8s/"]),
    ("http://intranet", ["http://intranet/"]),
)
def test_seed_candidates_typed_seed_gives_urls_in_order(typed: str, want: list[str]) -> None:
    assert seed_candidates(typed) == want


@pytest.mark.parametrize(
    "typed",
    ["", "  ", "ftp://h/", "mailto:a@b.c", "javascript:x", "足球", "foot ball.com", "http://",
     "http://a b/", "https://exa%mple.com", "a.com:99999",
     "http://h/" + "a" * MAX_URL_LENGTH, "a.b\nc.d"],
)  # fmt: skip
def test_seed_candidates_invalid_seed_raises_one_line(typed: str) -> None:
    with pytest.raises(ConfigError) as error:
        seed_candidates(typed)
    assert str(error.value).startswith("seed") and "\n" not in str(error.value)


@cases(
    "path, want",
    ("/", "/"), ("/china/2018-04-13/doc-ifzcyxmu0751199.shtml", "/china/D/doc-X.shtml"),
    ("/18/0413/12/DF8J6B2T00258105.html", "/N/N/N/X.html"),
    ("/a/t20180413_1234567.shtml", "/a/tD_N.shtml"),
    ("/n1/2018/0413/c1004-29925401.html", "/n1/D/cN-N.html"), ("/2018/04/13/15/", "/D/N/"),
    ("/2018/04/", "/D/"), ("/2018/", "/D/"),
    ("/2018/04/13/%E8%AF%AD%E8%A8%80/Java/%E5%85%B6/JavaEE-x/", "/D/S/"),
    ("/tags/%E8%B6%B3%E7%90%83/", "/tags/S/"), ("/tags/python", "/tags/S"),
    ("/tags/python/page/23/", "/tags/S/page/N/"), ("/posts/hello", "/posts/S"),
    ("/posts/hello-big-world-2", "/posts/S"), ("/posts/2192.html", "/posts/N.html"),
    ("/a/7e29ff8909f4/", "/a/X/"), ("/x/550e8400-e29b-41d4-a716-446655440000", "/x/X"),
    ("/sports", "/sports"), ("/fOOTballLeague", "/footballleague"),
    ("/sports/football/", "/sports/football/"),
    ("/sports/football/index_2.html", "/sports/football/index_N.html"), ("/about.html", "/S.html"),
    ("/c3ref/changes.html", "/c3ref/S.html"),
    ("/forum.php?mod=viewthread&tid=1&e=p%3D1", "/forum.php?e=S&mod=viewthread&tid=N"),
    ("/?p=12&utm_source=x", "/?p=N"), ("/list?b=&a=2018-04-13&c=0f3a9c1b7e", "/list?a=D&b=&c=X"),
    ("/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/+"),
)  # fmt: skip
def test_url_pattern_pages_of_one_template_are_equal(path: str, want: str) -> None:
    assert url_pattern("http://h.com" + path) == want


@cases(
    "path, want",
    ("/", ""), ("/china/doc-2.shtml", "china doc 2"),
    ("/%E8%B6%B3%E7%90%83/page_2?q=%D7%E3%C7%F2", "足球 page 2 q 足球"), ("/%FF%FF", "��"),
    ("/a.b/c.html?x=y.z", "a b c x y z"),
)  # fmt: skip
def test_url_words_path_and_query(path: str, want: str) -> None:
    assert url_words("http://football.example" + path) == want


def test_folder_words_excludes_page_name() -> None:
    assert folder_words("http://h/sport/football/2024/cup-final.html?x=1") == "sport football 2024"
    assert folder_words("http://h/sport/football/") == "sport"
    for url in ("http://h/football/", "http://h/football", "http://h", "https://h/"):
        assert folder_words(url) == ""


@cases(
    "href, route",
    ("#/post/4", "#/post/4"), ("/app/#!/post/4?x=1", "#!/post/4?x=1"),
    ("#/足 球", "#/%E8%B6%B3%20%E7%90%83"), ("#/", ""), ("#!/", ""), ("#top", ""), ("/post/4", ""),
)  # fmt: skip
def test_hash_route(href: str, route: str) -> None:
    assert hash_route(href) == route
    assert duplicate_key(f"https://h/{href[href.find('#') :]}") == f"http://h/{route}" or not route
    assert hash_route(route) == route
