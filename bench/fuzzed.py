"""Lists the readers that `bench.fuzz` fuzzes, and their first inputs."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC
from functools import cache
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import zstandard

from focus.alerts.publication_date import published_at
from focus.archive.recorder import packed_record, whole_members
from focus.archive.replay import Archive
from focus.archive.warc import http_answer, plain_chunks, read_records
from focus.config import AnalysisConfig
from focus.demo.site import DemoWeb, generate
from focus.errors import ArchiveError, ConfigError, TopicError
from focus.http.content_encoding import CodingError, Decoder
from focus.http.robots import Robots, from_answer
from focus.http.semantics import is_html, redirect_target, retry_after_s
from focus.http.sitemap import ListingReader, changed_at
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

BASE = "http://a.test/b/c?d"
CODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "x-gzip", "deflate, gzip")
ENCODINGS = ("utf-8", "gbk", "big5", "shift_jis", "iso-2022-jp", "replacement", "utf-16le")
TYPES = (None, "text/html", "text/html; charset=gbk", "text/html; charset=utf-16", "a/b; charset=x")


def _chosen(data: bytes) -> tuple[int, bytes]:
    """The first byte chooses between forms, the rest is the input."""
    return (data[0], data[1:]) if data else (0, b"")


@cache
def _analyst() -> PageAnalyst:
    topic = to_builtins(from_words("足球,英超:0.8"))
    return PageAnalyst(AnalysisConfig(topic=topic, contexts=True, url_patterns=True))


def addresses(data: bytes) -> None:
    """Normalised or None; what is normal stays as it is."""
    choice, rest = _chosen(data)
    text, _, base = rest.decode("utf-8", "surrogateescape").partition("\n")
    for url in (normalise(text), normalise(text, BASE), normalise(text, base)):
        if url is None:
            continue
        assert url.startswith(("http://", "https://")) and len(url) <= MAX_URL and url.isascii()
        assert normalise(url) == url and key(key(url)) == key(url)
        assert "@" not in url.split("/")[2]
        assert len(fingerprint(url)) == 16 and origin_of(url) + "/" in url
        registrable_domain(host_of(url))
        url_pattern(url)
        words(url)
    joined = Joiner(base, ENCODINGS[choice % len(ENCODINGS)]).join(text)
    assert joined is None or normalise(joined) == joined
    assert Joiner(BASE).join(text) == normalise(text, BASE)
    with suppress(ConfigError):
        seed_candidates(text)


def charset(data: bytes) -> None:
    """Any bytes become text."""
    choice, body = _chosen(data)
    text, name = decode(body, TYPES[choice % len(TYPES)])
    assert isinstance(text, str) and name
    prescan(body)
    charset_from_content_type(body.decode("latin-1"))


def page(data: bytes) -> None:
    """Any page is analysed, and all its links are normal."""
    choice, body = _chosen(data)
    found = _analyst().analyse(BASE, body, TYPES[choice % len(TYPES)])
    assert found.failure is None, found.detail
    assert all(normalise(link.url) == link.url for link in found.links)


def dates(data: bytes) -> None:
    """A page has been published at some time, or does not say."""
    text = data.decode("utf-8", "replace")
    found = published_at(text, "http://a.test/" + text[:80], fetched_at=1.8e9, zone=UTC)
    assert found is None or found <= 1.9e9
    assert changed_at(text) >= 0.0


def headers(data: bytes) -> None:
    """Values of headers never raise."""
    value = data.decode("latin-1")
    redirect_target(BASE, value)
    wait = retry_after_s(value, 1.8e9)
    assert wait is None or wait >= 0
    is_html(value, data)


def robots(data: bytes) -> None:
    """Any robots.txt decides, for any path."""
    choice, body = _chosen(data)
    path = body[-60:].decode("utf-8", "replace")
    url = normalise("http://a.test/" + path) or "http://a.test/"
    for rules in (Robots.parse(body), from_answer(200 + choice, body)):
        assert rules.allows(url, "focus") in (True, False)
        rules.allows(path, "")
        delay = rules.crawl_delay("focus")
        assert delay is None or delay >= 0


def listing(data: bytes) -> None:
    """Any sitemap or feed is read to its end, in pieces of any size."""
    choice, body = _chosen(data)
    reader = ListingReader()
    step = 1 + choice
    for start in range(0, len(body), step):
        reader.feed(body[start : start + step])
    reader.finish()


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
        for record in read_records(plain_chunks(io.BytesIO(data), notes.append), notes.append):
            http_answer(record.block)
    http_answer(data)
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


def _pages() -> Iterator[bytes]:
    for body in _paths("/"):
        for start in range(0, len(body), 4000):
            yield b"\0" + body[start : start + 4000]


def _urls() -> Iterator[bytes]:
    yield from (f"\0{url}\nhttp://b.test/c".encode() for url in _web().seeds)
    odd = (
        "//[::1]:80/%7e",
        "http://１２７.0.0.1/",
        "?a=b&c#d",
        "http://足球.中国/../x",
        "HTTP:/a\\b",
    )
    yield from (f"\0{url}\n{BASE}".encode() for url in odd)


def _texts() -> Iterator[bytes]:
    yield b"\0<?xml version='1.0' encoding='gb2312'?><meta charset=big5>"
    text = "今天的足球比赛"
    yield from (b"\1" + text.encode(name, "replace") for name in ("utf-8", "gbk", "big5", "utf-16"))


def _headers() -> Iterator[bytes]:
    yield b"text/html; charset=\"gbk\"; a='b'"
    yield b"Sat, 21 Nov 2026 08:30:00 GMT"
    yield b"//b.test/\xe8\xb6\xb3?a b"


def _rules() -> Iterator[bytes]:
    yield b"\0User-agent: *\nDisallow: /a*b$\nAllow: /%E8\nCrawl-delay: 2\nSitemap: /s.xml\n/axb"
    yield from (b"\0" + body for body in _paths("/robots.txt"))


def _listings() -> Iterator[bytes]:
    yield from (b"\50" + body for body in _paths("/sitemap.xml", "/feed.xml", "/rss.xml"))
    yield (
        b"\11<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><urlset><url><loc>http://a.test/"
        b"&amp;</loc><lastmod>2026-11-21T08:30:00+08:00</lastmod></url></urlset>"
    )
    yield b"\7<feed><entry><link href='/x'/><updated>2026-11-21</updated></entry></feed>"
    yield b"\3" + gzip.compress(b"<rss><channel><item><link><![CDATA[/y]]></link></item></rss>")


def _packed() -> Iterator[bytes]:
    text = b"<p>words and words</p>" * 20
    yield b"\0" + gzip.compress(text)
    yield b"\3" + zstandard.ZstdCompressor().compress(text)
    yield b"\1" + text


def _archives() -> Iterator[bytes]:
    fields = [("WARC-Type", "response"), ("WARC-Target-URI", "http://a.test/")]
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\n<p>ab\r\n0\r\n\r\n"
    member = packed_record([*fields, ("WARC-Date", "2026-01-01T00:00:00Z")], answer)
    yield member
    yield gzip.decompress(member)
    yield zstandard.ZstdCompressor().compress(gzip.decompress(member))
    yield answer


def _topics() -> Iterator[bytes]:
    yield 'name="足球"\nthreshold=0.5\n[keywords]\n"英超"=0.8\n[params.evidence]\nx=1e9\n'.encode()
    yield "足球,英超:0.8，中超".encode()


READERS: dict[str, tuple[Callable[[bytes], object], Callable[[], Iterator[bytes]]]] = {
    "urls": (addresses, _urls),
    "charset": (charset, _texts),
    "html": (page, _pages),
    "dates": (dates, lambda: islice(_pages(), 20)),
    "headers": (headers, _headers),
    "robots": (robots, _rules),
    "listings": (listing, _listings),
    "codings": (coding, _packed),
    "warc": (archive, _archives),
    "world": (world, _archives),
    "topics": (topic, _topics),
}
