"""Readers of strangers' bytes, what must hold of them, and real inputs to fuzz them with."""

import gzip
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from focus.archive.recorder import packed_record, whole_members
from focus.archive.replay import Archive
from focus.archive.warc import read_records, read_response
from focus.cli import cli
from focus.commands.options.config_file import command_defaults, database_path, find_config_file
from focus.config import MAX_URL_LENGTH, AnalysisConfig
from focus.demo.site import DemoWeb, generate
from focus.errors import ArchiveError, ConfigError, FocusError, TopicError
from focus.html.parser import parse
from focus.html.publication_date import read_publication_time
from focus.http import zstd
from focus.http.content_encoding import CodingError, Decoder
from focus.http.robots import Robots, robots_from_response
from focus.http.semantics import is_html, parse_retry_after, redirect_target
from focus.http.sitemap import MAX_LINKS, UrlSourceReader, parse_date
from focus.score.analysis import PageScorer
from focus.text.charset import charset_from_content_type, decode, prescan_encoding
from focus.topic.topic import from_toml, from_words, to_builtins
from focus.urls.normal_form import (
    UrlJoiner,
    duplicate_key,
    normalise,
    registrable_domain,
    seed_candidates,
    url_fingerprint,
    url_host,
    url_origin,
)
from focus.urls.patterns import url_pattern, url_words

BASE = "http://a.test/b/c?d"
CODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "x-gzip", "deflate, gzip")
ENCODINGS = ("utf-8", "gbk", "big5", "shift_jis", "iso-2022-jp", "replacement", "utf-16le")
TYPES = (None, "text/html", "text/html; charset=gbk", "text/html; charset=utf-16", "a/b; charset=x")


def _chosen(data: bytes) -> tuple[int, bytes]:
    """The first byte chooses between forms, the rest is the input."""
    return (data[0], data[1:]) if data else (0, b"")


@cache
def _analyst() -> PageScorer:
    topic = to_builtins(from_words("足球,英超:0.8"))
    return PageScorer(AnalysisConfig(topic=topic, contexts=True, url_patterns=True))


def addresses(data: bytes) -> None:
    """Normalised or None; what is normal stays as it is."""
    choice, rest = _chosen(data)
    text, _, base = rest.decode("utf-8", "surrogateescape").partition("\n")
    for url in (normalise(text), normalise(text, BASE), normalise(text, base)):
        if url is None:
            continue
        assert (
            url.startswith(("http://", "https://")) and len(url) <= MAX_URL_LENGTH and url.isascii()
        )
        assert not any(char.isspace() or char < " " for char in url)
        assert normalise(url) == url and duplicate_key(duplicate_key(url)) == duplicate_key(url)
        assert "@" not in url.split("/")[2]
        assert len(url_fingerprint(url)) == 16 and url_origin(url) + "/" in url
        registrable_domain(url_host(url))
        url_pattern(url)
        url_words(url)
    joined = UrlJoiner(base, ENCODINGS[choice % len(ENCODINGS)]).join(text)
    assert joined is None or normalise(joined) == joined
    assert UrlJoiner(BASE).join(text) == normalise(text, BASE)
    with suppress(ConfigError):
        assert seed_candidates(text)


def charset(data: bytes) -> None:
    """Any bytes become text."""
    choice, body = _chosen(data)
    text, name = decode(body, TYPES[choice % len(TYPES)])
    assert isinstance(text, str) and name
    prescan_encoding(body)
    charset_from_content_type(body.decode("latin-1"))


def page(data: bytes) -> None:
    """Any page is analysed, and all its links are normal."""
    choice, body = _chosen(data)
    scored = _analyst().score(BASE, body, TYPES[choice % len(TYPES)])
    assert scored.failure is None, scored.detail
    assert all(normalise(link.url) == link.url for link in scored.links)
    parse(body.decode("latin-1"), max_links=3, context=True).extract_blocks()


def dates(data: bytes) -> None:
    """A page has been published at some time, or does not say."""
    text = data.decode("utf-8", "replace")
    at = read_publication_time(text, "http://a.test/" + text[:80], fetched_at=1.8e9, zone=UTC)
    assert at is None or at <= 1.9e9
    assert parse_date(text) >= 0.0


def headers(data: bytes) -> None:
    """Values of headers never raise."""
    value = data.decode("latin-1")
    redirect_target(BASE, value)
    wait = parse_retry_after(value, 1.8e9)
    assert wait is None or wait >= 0
    is_html(value, data)


def robots(data: bytes) -> None:
    """Any robots.txt decides, for any path."""
    choice, body = _chosen(data)
    path = body[-60:].decode("utf-8", "replace")
    url = normalise("http://a.test/" + path) or "http://a.test/"
    for rules in (Robots.parse(body), robots_from_response(200 + choice, body)):
        assert rules.allows(url, "focus") in (True, False)
        rules.allows(path, "")
        delay = rules.crawl_delay("focus")
        assert delay is None or delay >= 0
        assert all(rules.sitemaps)


def listing(data: bytes) -> None:
    """Any sitemap or feed is read to its end, in pieces of any size."""
    choice, body = _chosen(data)
    reader = UrlSourceReader()
    step = 1 + choice
    for start in range(0, len(body), step):
        reader.feed(body[start : start + step])
    rows = reader.finish()
    assert rows is None or len(rows.entries) <= MAX_LINKS


def coding(data: bytes) -> None:
    """What is packed is unpacked within bounds, or refused."""
    choice, body = _chosen(data)
    with suppress(CodingError):
        decoder = Decoder(CODINGS[choice % len(CODINGS)], 100_000)
        out = len(decoder.feed(body[: len(body) // 2])) + len(decoder.feed(body[len(body) // 2 :]))
        assert out + len(decoder.finish()) <= 100_000


def archive(data: bytes) -> None:
    """Any file is an archive or refused."""
    notes: list[str] = []
    with suppress(ArchiveError):
        for record in read_records(io.BytesIO(data), notes.append):
            read_response(record.block)
    read_response(data)
    assert 0 <= whole_members(data) <= len(data)


def world(data: bytes) -> None:
    """Any file opens as a recorded web, or is refused."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "x.warc.gz"
        file.write_bytes(data)
        with suppress(ArchiveError), Archive.open(file, cache_dir=Path(name)) as opened:
            for url in opened.urls():
                opened.lookup(url)


def topic(data: bytes) -> None:
    """Any topic file is a topic, or its writer is told off in one line."""
    text = data.decode("utf-8", "replace")
    for read in (lambda: from_toml(text, "x.toml"), lambda: from_words(text)):
        try:
            read()
        except TopicError as error:
            assert "\n" not in str(error)


def settings_file(data: bytes) -> None:
    """Any focus.toml is read, or its writer is told off."""
    with tempfile.TemporaryDirectory() as name, suppress(FocusError):
        (Path(name) / "focus.toml").write_bytes(data)
        file = find_config_file(Path(name))
        database_path(file)
        command_defaults(file, cli.commands)


# -- what they begin with ---------------------------------------------------------------


@cache
def _web() -> DemoWeb:
    return generate(pages=100, hosts=4)


def _paths(*paths: str) -> Iterator[bytes]:
    """Those of every host."""
    for seed in _web().seeds:
        for path in paths:
            answer = _web().respond(f"http://{urlsplit(seed).netloc}{path}")
            if answer is not None and answer.status == 200:
                yield answer.body


_SENTENCE = "今天的足球比赛结果：主队以三比一获胜。"
_HTML = f"""<!doctype html><html lang=zh><head><meta charset="gb2312"><title>{_SENTENCE}</title>
<meta name="keywords" content="足球,英超"><meta http-equiv=refresh content="5; url='/next'">
<base href="/b/"><link rel=canonical href="/c"><meta name=robots content="noindex, nofollow">
<link rel=alternate type=application/rss+xml href=feed></head><body><header><h1>标题</h1></header>
<nav><ul><li><a href="?kw=足球" rel="nofollow ugc">足球</a><li><a href=//b.test/x>b</a></ul></nav>
<main><h2>英超</h2><p>{_SENTENCE}<a href="/d">更多<img alt="图"></a><table><tr><td>1<svg><title>t
</title></svg></table><form><select><option>x</select></form><iframe src=/f></iframe></main>
<footer><a name=x href="javascript:1">j</a></footer><script>if (a < b) "</p>"</script></body></html>
"""
_ROBOTS = b"""\xef\xbb\xbf# rules
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
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5;x=1\r\n<p>ab\r\n0\r\nX: y\r\n\r\n"
)
_FIELDS = [
    ("WARC-Type", "response"),
    ("WARC-Target-URI", "<http://a.test/>"),
    ("WARC-Date", "2026-01-01T00:00:00Z"),
    ("WARC-Truncated", "length"),
]
_TOPIC = """name = "football"
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


def _pages() -> Iterator[bytes]:
    yield from (_HTML.encode(name) for name in ("utf-8", "gbk", "utf-16"))
    for body in _paths("/"):
        for start in range(0, len(body), 4000):
            yield body[start : start + 4000]


def _urls() -> Iterator[bytes]:
    yield from (f"{url}\nhttp://b.test/c".encode() for url in _web().seeds)
    odd = "//[::1]:80/%7e http://１２７.0.0.1/ ?a=b&c#d http://足球.中国/../x HTTP:/a\\b"
    yield from (f"{url}\n{BASE}".encode() for url in odd.split())


def _texts() -> Iterator[bytes]:
    yield b"<?xml version='1.0' encoding='gb2312'?><meta charset=big5>"
    yield from (_SENTENCE.encode(name, "replace") for name in ("utf-8", "gbk", "big5", "utf-16"))


def _headers() -> Iterator[bytes]:
    yield b"text/html; charset=\"gbk\"; a='b'"
    yield b"Sat, 21 Nov 2026 08:30:00 GMT"
    yield b"2026-11-21T08:30:00.5+08:00"
    yield b"//b.test/\xe8\xb6\xb3?a b"


def _rules() -> Iterator[bytes]:
    yield _ROBOTS
    yield b"User-agent: *\nDisallow: /a*b$\nAllow: /%E8\nCrawl-delay: 2\nSitemap: /s.xml\n/axb"
    yield from _paths("/robots.txt")


def _listings() -> Iterator[bytes]:
    for body in _paths("/sitemap.xml", "/feed.xml", "/rss.xml"):
        yield from (body, gzip.compress(body), body.decode().encode("utf-16"))
    yield (
        b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><urlset><url><loc>http://a.test/"
        b"&amp;</loc><lastmod>2026-11-21T08:30:00+08:00</lastmod></url></urlset>"
    )
    yield b"<feed><entry><link href='/x'/><updated>2026-11-21</updated></entry></feed>"
    yield gzip.compress(b"<rss><channel><item><link><![CDATA[/y]]></link></item></rss>")


def _packed() -> Iterator[bytes]:
    text = b"<p>words and words</p>" * 20
    yield from (gzip.compress(text), text, zstd.compress(text))


def _archives() -> Iterator[bytes]:
    member = packed_record(_FIELDS, _ANSWER)
    record = gzip.decompress(member)
    yield from (member, record, zstd.compress(record), _ANSWER)


class Reader(NamedTuple):
    """What is fuzzed: takes any bytes and must not raise.

    seeds     real inputs to begin with
    has_form  the first byte chooses between forms, it is not of the input
    noise     what breaks such inputs
    """

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]
    has_form: bool = False
    noise: str = ""


URL_PARTS = (
    "http: https: HTTP: // / \\ ? # @ : .. . %2e %2F % %zz %00 a a.test 足球.中国 xn-- xn--a "
    "１２７。0.0.1 [::1] [ ] 0x7f 017 127.1 4294967295 :80 :443 :99999 :0 user:pw@ & = ; "
    "jsessionid=1 utm_source=x sid=0123456789abcdef \0 \u202e \xad \udcff \U0001f600 ß İ Ⅷ "
    f"2018/04/13 index.html * $ {'a' * 70} {'x' * 3000}"
)
TAGS = (
    "<div> <p> </p> <b><i></b> <table><tr> <!-- --> <![CDATA[ \0 <a/href= <a/a=1/b=2/c= "
    "<svg><math> <template> &#x110000; &notin \udcff <title> <plaintext> <select><table> \x1b$B "
    "<meta/charset=utf-16> </html>"
)
RULES = f"{'*' * 50} $ % \0 {'Disallow:' * 9} {'/*a*b*c*d' * 9} Crawl-delay:inf"
MARKUP = (
    "<url> </url> <loc> <![CDATA[ ]]> <!-- <!DOCTYPE &a; &#0; <item><link/href=' <a:b:c> "
    f"{'<' * 99} \udcff\udcfe <?xml/encoding='utf-7'?>"
)
HEADS = (
    "WARC/1.1 WARC/9.9 Content-Length:99999999999 Content-Length:-1 \x1f\udc8b\x08 "
    "\x28\udcb5\x2f\udcfd \x5d\x2a\x4d\x18\udcff\udcff\udcff\x7f :"
)
LINES = "[keywords] = \" ''' nan inf -1 1979-05-27 {} [[ \0 , ： ， ：= 0.123"
READERS = {
    "urls": Reader(addresses, _urls, True, URL_PARTS),
    "charset": Reader(charset, _texts, True, TAGS),
    "html": Reader(page, _pages, True, TAGS),
    "dates": Reader(dates, lambda: [*islice(_pages(), 20), *_headers()], noise=TAGS),
    "headers": Reader(headers, _headers, noise=URL_PARTS),
    "robots": Reader(robots, _rules, True, RULES),
    "listings": Reader(listing, _listings, True, MARKUP),
    "codings": Reader(coding, _packed, True),
    "warc": Reader(archive, _archives, noise=HEADS),
    "world": Reader(world, _archives, noise=HEADS),
    "topics": Reader(topic, lambda: [_TOPIC.encode(), "足球,英超:0.8，中超".encode()], noise=LINES),
    "settings": Reader(
        settings_file, lambda: [b'[crawl]\ndelay = "1s"\nseed = ["a.test"]\n'], noise=LINES
    ),
}
