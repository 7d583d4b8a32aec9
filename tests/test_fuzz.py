"""Nothing that strangers write makes a reader raise or take its time.

Real files, spliced and repeated at random: that reaches deeper than random bytes, which
most readers refuse at their first line. The runs are the same each time (`derandomize`);
FOCUS_FUZZ=N makes N examples of each, and other ones, for a long night.
"""

from __future__ import annotations

import gzip
import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from focus.archive.recorder import packed_record, whole_members
from focus.archive.replay import Archive
from focus.archive.warc import http_answer, plain_chunks, read_records
from focus.cli import cli
from focus.commands.options.config_file import database, defaults, find
from focus.config import AnalysisConfig
from focus.errors import ArchiveError, ConfigError, FocusError, TopicError
from focus.html.parser import parse
from focus.http.robots import Robots, from_answer
from focus.http.semantics import is_html, redirect_target, retry_after_s
from focus.http.sitemap import MAX_LINKS, ListingReader, changed_at
from focus.score.analysis import PageAnalyst
from focus.text.charset import charset_from_content_type, decode, prescan
from focus.topic.topic import from_toml, from_words, to_builtins
from focus.urls.normal_form import (
    MAX_URL,
    Joiner,
    fingerprint,
    host_of,
    key,
    normalise,
    origin_of,
    registrable_domain,
    seed_candidates,
    url_pattern,
    words,
)
from tests.test_sitemap import ATOM, RSS, SITEMAP

LONG = int(os.environ.get("FOCUS_FUZZ", "0"))
CPU_S = 3.0
"""Of one example of a long night; they are some KB long, and the slowest reader needs a few ms."""

fuzz = settings(
    max_examples=LONG or 120,
    derandomize=not LONG,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

TOPIC = AnalysisConfig(
    topic=to_builtins(from_words("足球,英超:0.8")), contexts=True, url_patterns=True
)
ANALYST = PageAnalyst(TOPIC)


@contextmanager
def bounded() -> Iterator[None]:
    """Of a long night, the CPU time; what takes for ever holds up a short run, too."""
    began = time.process_time()
    yield
    assert not LONG or time.process_time() - began < CPU_S


@st.composite
def spliced(draw: st.DrawFn, *models: bytes, noise: tuple[bytes, ...] = ()) -> bytes:
    """Cuts of the models and noise, put together anew, some of them many times."""
    parts: list[bytes] = []
    for _ in range(draw(st.integers(1, 8))):
        model = draw(st.sampled_from(models))
        start = draw(st.integers(0, len(model)))
        piece = model[start : start + draw(st.integers(1, 200))]
        match draw(st.integers(0, 9)):
            case 0:
                piece = draw(st.binary(max_size=12))
            case 1 if noise:
                piece = draw(st.sampled_from(noise))
            case 2:
                piece = piece[:24] * draw(st.integers(1, 300))
            case 3 | 4 | 5:
                piece = model
        parts.append(piece)
    return b"".join(parts)


# -- addresses --------------------------------------------------------------------------

URL_PARTS = (
    *("http:", "https:", "HTTP:", "//", "/", "\\", "?", "#", "@", ":", "..", ".", "%2e", "%2F"),
    *(
        "%",
        "%zz",
        "%00",
        "a",
        "a.test",
        "足球.中国",
        "xn--",
        "xn--a",
        "１２７。0.0.1",
        "[::1]",
        "[",
        "]",
    ),
    *(
        "0x7f",
        "017",
        "127.1",
        "4294967295",
        ":80",
        ":443",
        ":99999",
        ":0",
        "user:pw@",
        "&",
        "=",
        ";",
    ),
    *(
        "jsessionid=1",
        "utm_source=x",
        "sid=0123456789abcdef",
        "\t",
        "\n",
        " ",
        "\0",
        "\u202e",
        "\xad",
    ),
    *(
        "\ud800",
        "\U0001f600",
        "ß",
        "İ",
        "Ⅷ",
        "a" * 70,
        "x" * 3000,
        "2018/04/13",
        "index.html",
        "*",
        "$",
    ),
)
addresses = st.lists(st.sampled_from(URL_PARTS) | st.text(max_size=4), max_size=12).map("".join)


@fuzz
@given(addresses, addresses)
def test_addresses_become_normal_or_none(text: str, base: str) -> None:
    with bounded():
        for url in (normalise(text), normalise(text, "http://a.test/b/c?d"), normalise(text, base)):
            if url is None:
                continue
            assert url.startswith(("http://", "https://"))
            assert len(url) <= MAX_URL
            assert "@" not in url.split("/")[2]
            assert url.isascii()
            assert not any(char.isspace() or char < " " for char in url)
            assert normalise(url) == url
            assert key(key(url)) == key(url)
            assert len(fingerprint(url)) == 16
            assert origin_of(url) + "/" in url
            registrable_domain(host_of(url))
            url_pattern(url)
            words(url)


@fuzz
@given(
    addresses, addresses, st.sampled_from(["utf-8", "gbk", "big5", "iso-2022-jp", "replacement"])
)
def test_links_join_as_they_normalise(base: str, href: str, encoding: str) -> None:
    with bounded():
        joined = Joiner(base, encoding).join(href)
        assert joined is None or normalise(joined) == joined
        here = "http://a.test/b/c?d"
        assert Joiner(here).join(href) == normalise(href, here)


@fuzz
@given(addresses)
def test_seeds_are_addresses_or_told_off(text: str) -> None:
    with suppress(ConfigError):
        assert seed_candidates(text)


@fuzz
@given(addresses, addresses, st.floats(allow_nan=False, allow_infinity=False))
def test_headers_never_raise(location: str, value: str, now: float) -> None:
    with bounded():
        redirect_target("http://a.test/", location)
        retry_after_s(value, now)
        charset_from_content_type(f"text/html; charset={value}")
        is_html(value, location.encode("utf-8", "replace"))


# -- texts and pages --------------------------------------------------------------------

CHINESE = "今天的足球比赛结果：主队以三比一获胜。"
HTML = f"""<!doctype html><html lang=zh><head><meta charset="gb2312"><title>{CHINESE}</title>
<meta name="keywords" content="足球,英超"><meta http-equiv=refresh content="5; url='/next'">
<base href="/b/"><link rel=canonical href="/c"><meta name=robots content="noindex, nofollow">
<link rel=alternate type=application/rss+xml href=feed></head><body><header><h1>标题</h1></header>
<nav><ul><li><a href="?kw=足球" rel="nofollow ugc">足球</a><li><a href=//b.test/x>b</a></ul></nav>
<main><h2>英超</h2><p>{CHINESE}<a href="/d">更多<img alt="图"></a><table><tr><td>1<svg><title>t
</title></svg></table><form><select><option>x</select></form><iframe src=/f></iframe></main>
<footer><a name=x href="javascript:1">j</a></footer><script>if (a < b) "</p>"</script></body></html>
"""
TAGS = (
    *(
        b"<div>",
        b"<p>",
        b"</p>",
        b"<b><i></b>",
        b"<table><tr>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"\0",
    ),
    *(
        b"<a href=",
        b"<a a=1 b=2 c='",
        b"<svg><math>",
        b"<template>",
        b"&#x110000;",
        b"&notin",
        b"\xff",
    ),
    *(
        b"<title>",
        b"<plaintext>",
        b"<select><table>",
        b"\x1b$B",
        b"<meta charset=utf-16>",
        b"</html>",
    ),
)
pages = spliced(HTML.encode(), HTML.encode("gbk"), HTML.encode("utf-16"), noise=TAGS)
labels = st.sampled_from(
    [
        "utf-8",
        "gbk",
        "utf-16",
        "iso-2022-jp",
        "zlib_codec",
        "idna",
        "x-user-defined",
        "",
        '"',
        "replacement",
    ]
).map(lambda label: f"text/html; charset={label}") | st.text(max_size=30)


@fuzz
@given(pages, st.none() | labels)
def test_any_bytes_become_text(body: bytes, content_type: str | None) -> None:
    with bounded():
        text, encoding = decode(body, content_type)
        assert isinstance(text, str)
        assert encoding
        prescan(body)


@fuzz
@given(pages, st.none() | labels)
def test_any_page_is_analysed(body: bytes, content_type: str | None) -> None:
    with bounded():
        page = ANALYST.analyse("http://a.test/b/c?d", body, content_type)
    assert page.failure is None
    for link in page.links:
        assert normalise(link.url) == link.url
    parse(body.decode("latin-1"), max_links=3, context=True).text()


# -- rules ------------------------------------------------------------------------------

ROBOTS = b"""\xef\xbb\xbf# rules
User-agent: focus
User-agent: other*
Disallow: /a*b$
Allow: /a/index.html
Crawl-delay: 1.5

user agent *
disalow: /%E8%B6%B3
Allow: /*?*x=1&y=$
Sitemap: http://a.test/sitemap.xml
"""
RULES = (
    b"*" * 50,
    b"$",
    b"%",
    b"\r",
    b"\0",
    b"Disallow:" * 9,
    b"/*a*b*c*d" * 9,
    b"Crawl-delay: inf\n",
)


@fuzz
@given(spliced(ROBOTS, noise=RULES), addresses, st.integers(0, 999))
def test_any_robots_txt_decides(body: bytes, path: str, status: int) -> None:
    with bounded():
        url = normalise("http://a.test/" + path) or "http://a.test/"
        for rules in (Robots.parse(body), from_answer(status, body)):
            assert rules.allows(url, "focus") in (True, False)
            rules.allows(path, "")
            delay = rules.crawl_delay("focus")
            assert delay is None or delay >= 0
            assert all(rules.sitemaps)


# -- sitemaps and feeds -----------------------------------------------------------------

MARKUP = (
    *(
        b"<url>",
        b"</url>",
        b"<loc>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"<!DOCTYPE a [",
        b"&a;",
        b"&#0;",
    ),
    *(b"<item><link href='", b"<a:b:c>", b"<" * 99, b"\xff\xfe", b"<?xml encoding='utf-7'?>"),
)


@fuzz
@given(
    spliced(SITEMAP, RSS.encode(), ATOM.encode("utf-16"), noise=MARKUP),
    st.sampled_from([bytes, gzip.compress]),
    st.integers(1, 300),
    st.integers(0, 20),
)
def test_any_listing_is_read_to_its_end(
    body: bytes, pack: type[bytes], step: int, cut: int
) -> None:
    packed = pack(body)
    packed = packed[: len(packed) - cut]
    with bounded():
        reader = ListingReader()
        for start in range(0, len(packed), step):
            reader.feed(packed[start : start + step])
        found = reader.finish()
    assert found is None or len(found.links) <= MAX_LINKS


@fuzz
@given(st.text(max_size=40) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+Z-]{0,20}"))
def test_any_date_is_a_number(text: str) -> None:
    assert changed_at(text) >= 0.0


# -- archives ---------------------------------------------------------------------------

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5;x=1\r\n<p>ab\r\n0\r\nX: y\r\n\r\n"
)
FIELDS = [
    ("WARC-Type", "response"),
    ("WARC-Target-URI", "<http://a.test/>"),
    ("WARC-Date", "2026-01-01T00:00:00Z"),
    ("WARC-Truncated", "length"),
]
MEMBER = packed_record(FIELDS, ANSWER)
RECORD = gzip.decompress(MEMBER)
FRAME = zstandard.ZstdCompressor().compress(RECORD)
HEADS = (
    *(
        b"WARC/1.1\r\n",
        b"WARC/9.9\r\n",
        b"Content-Length: 99999999999\r\n",
        b"Content-Length: -1\r\n",
    ),
    *(
        b"\r\n\r\n",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"\x5d\x2a\x4d\x18\xff\xff\xff\x7f",
        b": \r\n",
    ),
)


@fuzz
@given(spliced(RECORD, MEMBER, FRAME, noise=HEADS))
def test_any_archive_is_read_or_refused(data: bytes) -> None:
    notes: list[str] = []
    with bounded(), suppress(ArchiveError):
        for record in read_records(plain_chunks(io.BytesIO(data), notes.append), notes.append):
            http_answer(record.block)
    assert 0 <= whole_members(data) <= len(data)


@fuzz
@given(spliced(ANSWER, noise=HEADS))
def test_any_recorded_answer_is_read(block: bytes) -> None:
    with bounded():
        http_answer(block)


@settings(fuzz, max_examples=LONG or 30)
@given(data=spliced(RECORD, MEMBER, noise=HEADS))
def test_any_file_opens_as_a_world_or_is_refused(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    file = folder / "x.warc.gz"
    file.write_bytes(data)
    with bounded(), suppress(ArchiveError), Archive.open(file, cache_dir=folder) as archive:
        for url in archive.urls():
            archive.lookup(url)


# -- what users write -------------------------------------------------------------------

TOPIC_FILE = """name = "football"
threshold = 0.5
relevance = "evidence"
seeds = ["a.test", "http://b.test/"]

[keywords]
"足球" = 1.0
"英超" = 0.8
football = 1

[params.evidence]
x = 1e9
"""
LINES = (
    b"[keywords]\n",
    b"= ",
    b'"',
    b"'''",
    b"nan",
    b"inf",
    b"-1",
    b"1979-05-27",
    b"{}",
    b"[[",
    b"\0",
)


@fuzz
@given(spliced(TOPIC_FILE.encode(), noise=LINES))
def test_any_topic_file_is_a_topic_or_told_off(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with bounded():
        try:
            topic = from_toml(text, "x.toml")
        except TopicError as error:
            assert "\n" not in str(error)
        else:
            assert topic.keywords or topic is not None


@fuzz
@given(st.text(st.sampled_from("足球a,:;，：=-.0123 \t\n\0\ud800"), max_size=30))
def test_any_words_are_a_topic_or_told_off(text: str) -> None:
    with suppress(TopicError):
        from_words(text)


@settings(fuzz, max_examples=LONG or 60)
@given(data=spliced(b'[crawl]\ndelay = "1s"\nseed = ["a.test"]\nmax-pages = 3\n', noise=LINES))
def test_any_settings_file_is_read_or_told_off(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = Path(tmp_path_factory.mktemp("toml")) / "focus.toml"
    file.write_bytes(data)
    with suppress(FocusError):
        found = find(file.parent)
        database(found)
        defaults(found, cli.commands)
