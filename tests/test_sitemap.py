"""Sitemaps and feeds: what is read off them, however they are written or cut."""

import gzip

import pytest

from focus.http import sitemap
from focus.http.sitemap import (
    MAX_LINKS,
    UrlSourceReader,
    entries_to_html,
    is_url_source,
    parse_date,
    read_url_source,
)
from focus.records import SourceEntry, UrlSource
from tests.support.cases import cases

NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
DAY = NOON - 12 * 3600
SITEMAP = b"""\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>
<!-- <url><loc>http://a.test/commented</loc></url> -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.test/?a=1&amp;b=2 </loc><lastmod>2026-01-01T12:00:00Z</lastmod>
    <image:image><image:loc>http://a.test/i.jpg</image:loc></image:image></url>
  <url><loc><![CDATA[http://a.test/?a&b]]></loc><lastmod>2026-01-01</lastmod></url>
  <url><loc>http://a.test/%E8%B6%B3</loc><lastmod>yesterday</lastmod></url>
</urlset>"""
SITES = [
    SourceEntry("http://a.test/?a=1&b=2", changed_at=NOON),
    SourceEntry("http://a.test/?a&b", changed_at=DAY),
    SourceEntry("http://a.test/%E8%B6%B3"),
]
RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>the channel</title><link>http://a.test/</link>
<atom:link href="http://a.test/rss" rel="self"/>
<item><title><![CDATA[足球 <b>news</b> & more]]></title><link>http://a.test/1</link>
<pubDate>Thu, 01 Jan 2026 12:00:00 GMT</pubDate></item>
<item><title>second &amp; last</title><link>/2</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>the feed</title><link href="/all"/>
<entry><title>one</title><link rel="edit" href="/edit"/><link rel="alternate" href="/1?a&amp;b"/>
<published>2020-01-01</published><updated>2026-01-01T13:00:00+01:00</updated></entry>
<entry><title>two</title><link href='/2'/></entry></feed>"""


def pieces(body: bytes, step: int) -> UrlSource | None:
    reader = UrlSourceReader()
    for start in range(0, len(body), step):
        reader.feed(body[start : start + step])
    return reader.finish()


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_reader_sitemap_in_any_pieces(step: int, pack: type[bytes]) -> None:
    assert pieces(pack(SITEMAP), step) == UrlSource("sitemap", SITES)


@cases(
    "declared, encoding",
    ("utf-8", "gbk"),
    ("gb2312", "utf-8"),
    ("gbk", "gbk"),
    ("iso-8859-1", "utf-8"),
    ("iso-8859-1", "gbk"),
)
def test_read_url_source_in_another_encoding_than_declared(declared: str, encoding: str) -> None:
    item = "<item><title>中国联通发布足球比赛的消息</title><link>http://a.test/{}</link></item>"
    text = f'<?xml version="1.0" encoding="{declared}"?><rss><channel>'
    text += "".join(item.format(n) for n in range(4))
    source = read_url_source(text.encode(encoding))
    assert {entry.title for entry in source.entries} == {"中国联通发布足球比赛的消息"}


URLSET = "<urlset><url><loc>http://a.test/足</loc></url></urlset>"
GB_FEED = '<?xml version="1.0" encoding="gb2312"?><rss><channel><item><title>足球</title>'
GB_FEED += "<link>/1</link></item></channel></rss>"
RDF = "<rdf:RDF><item><link>http://a.test/</link><dc:date>2026-01-01</dc:date></item></rdf:RDF>"
PREFIXED = "<sm:urlset><sm:url><sm:loc>http://a.test/</sm:loc></sm:url></sm:urlset>"
INDEX = "<sitemapindex><sitemap><loc>http://a.test/1.xml</loc></sitemap></sitemapindex>"


@cases(
    "text, encoding, kind, entry",
    (URLSET, "utf-16", "sitemap", SourceEntry("http://a.test/足")),
    (URLSET, "utf-16-le", "sitemap", SourceEntry("http://a.test/足")),
    (URLSET, "utf-16-be", "sitemap", SourceEntry("http://a.test/足")),
    (INDEX, "ascii", "index", SourceEntry("http://a.test/1.xml")),
    (GB_FEED, "gb2312", "feed", SourceEntry("/1", "足球")),
    (RDF, "ascii", "feed", SourceEntry("http://a.test/", changed_at=DAY)),
    (PREFIXED, "ascii", "sitemap", SourceEntry("http://a.test/")),
)
def test_read_url_source_kinds(text: str, encoding: str, kind: str, entry: SourceEntry) -> None:
    assert read_url_source(text.encode(encoding)) == UrlSource(kind, [entry])


@pytest.mark.parametrize("step", [1, 50, 5000])
def test_read_url_source_feed_has_titles(step: int) -> None:
    first = SourceEntry("http://a.test/1", "足球 news & more", NOON)
    expected = UrlSource("feed", [first, SourceEntry("/2", "second & last")])
    assert pieces(RSS.encode(), step) == expected
    entries = [(entry.url, entry.title) for entry in pieces(ATOM.encode(), step).entries]
    assert entries == [("/1?a&b", "one"), ("/2", "two")]


def rss(item: str, attributes: str = "") -> str:
    return f"<rss {attributes}><channel><title>t</title><item>{item}</item></channel></rss>"


def atom(entry: str, base: str = "", own: str = "") -> str:
    return f'<feed xml:base="{base}"><entry xml:base="{own}">{entry}</entry></feed>'


_A10 = 'xmlns:a10="http://www.w3.org/2005/Atom"'
_ITEM = "<r:item><r:link>/1</r:link></r:item>"
_RSS_1 = f"<rdf:RDF xmlns:r='http://purl.org/rss/1.0/'>{_ITEM}</rdf:RDF>"
_LINK = '<link href="1"/>'
_JSON = '<link type="application/json" href="j"/>'


@cases(
    "body, url",
    (rss("<guid>http://a.test/1</guid>"), "http://a.test/1"),
    (rss('<guid isPermaLink="true">http://a.test/1</guid>'), "http://a.test/1"),
    (rss("<link></link><guid>http://a.test/1</guid>"), "http://a.test/1"),
    (rss("<guid>http://a.test/g</guid><link>/1</link>"), "/1"),
    (rss("<guid ispermalink='False'>http://a.test/1</guid>"), None),
    (rss("<guid>tag:a.test,2026:1</guid>"), None),
    (rss('<atom:link href="/1"/>'), "/1"),
    (rss('<atom:link rel="self" href="/1"/><link>/2</link>'), "/2"),
    (rss('<a10:link href="/1"/>', _A10), "/1"),
    (_RSS_1, "/1"),
    (atom(_LINK, "http://a.test/b/"), "http://a.test/b/1"),
    (atom(_LINK, "http://a.test/b/", "c/"), "http://a.test/b/c/1"),
    (atom(_LINK, "", "c/"), "c/1"),
    (atom('<link href="///c.test//1"/>', "http://a.test/b/"), "http://c.test//1"),
    (atom('<link xml:base="d/" href="1"/>', "", "c/"), "c/d/1"),
    (atom('<link href="http://[x"/>', "", "c/"), "http://[x"),
    (atom("<source><link href='no'/></source><link href='1'/>"), "1"),
    (atom(f"<source url='no'/><link rel='{sitemap._IANA_RELATIONS}alternate' href='1'/>"), "1"),
    (atom('<link href="/1"/>', "", "c/"), "/1"),
    (atom(_JSON + _LINK), "1"),
    (atom(_JSON + '<link type="text/html" href="1"/>'), "1"),
    (atom(_JSON), "j"),
)
def test_read_url_source_feed_entry_url(body: str, url: str | None) -> None:
    source = read_url_source(body.encode())
    assert [entry.url for entry in source.entries] == ([url] if url else [])


@cases(
    "body",
    b"", b"<", b"<html><url>", b"text <urlset>", b"{}", b"\x1f\x8b", b"<!doctype html><p>x",
    b"\0" * 99,
)  # fmt: skip
def test_read_url_source_other_content_is_none(body: bytes) -> None:
    assert read_url_source(body) is None
    assert not is_url_source(body)


TEXT = b"\xef\xbb\xbfhttps://a.test/1\r\n\nhttps://a.test/2 \n# none\nhttp://b.test/\xe7\x90\x83"


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_read_url_source_text_sitemap(step: int, pack: type[bytes]) -> None:
    urls = ["https://a.test/1", "https://a.test/2", "http://b.test/球"]
    assert pieces(pack(TEXT), step) == UrlSource("sitemap", [*map(SourceEntry, urls)])
    assert is_url_source(pack(TEXT))
    assert pieces(b"http://a.test/", step) == UrlSource("sitemap", [SourceEntry("http://a.test/")])


@cases(
    "body",
    b"http://a.test/ is a page\nhttp://a.test/1\n", b"https is a protocol",
    b"http://a.test/<br>\n", b"http://" + b"a" * 20_000, b"ftp://a.test/\n", b"http",
)  # fmt: skip
def test_is_url_source_text_starting_like_url_is_false(body: bytes) -> None:
    assert pieces(body, 5) is None
    assert not is_url_source(body)


@pytest.mark.parametrize("form", ["http://a.test/%d\n", "<url><loc>http://a.test/%d</loc></url>"])
def test_read_url_source_too_many_links_is_truncated(form: str) -> None:
    rows = "".join(form % n for n in range(MAX_LINKS + 9))
    source = pieces(("<urlset>" * ("<" in form) + rows).encode(), 100_000)
    assert (len(source.entries), source.is_truncated) == (MAX_LINKS, True)


@pytest.mark.parametrize("rest", [b"", b"\0" * 40_000])
def test_read_url_source_truncated_or_damaged_gzip_is_truncated(rest: bytes) -> None:
    rows = b"".join(b"<url><loc>http://a.test/%d</loc></url>" % (n * 7919) for n in range(3000))
    source = read_url_source(gzip.compress(b"<urlset>" + rows)[:9000] + rest)
    assert source.is_truncated and 100 < len(source.entries) < 3000


def test_read_url_source_entities_are_not_expanded() -> None:
    entities = b"<!DOCTYPE u [<!ENTITY a SYSTEM 'file:///etc/passwd'><!ENTITY b '&a;&a;'>]>"
    body = entities + b"<urlset><url><loc>http://a.test/&b;</loc></url></urlset>"
    assert read_url_source(body) == UrlSource("sitemap", [SourceEntry("http://a.test/&b;")])


def test_read_url_source_sitemap_ignores_relative_urls() -> None:
    entries = ["/x", "//a.test/", "javascript:alert(1)", "file:///etc/passwd", ""]
    body = "".join(f"<url><loc>{entry}</loc></url>" for entry in entries)
    assert read_url_source(f"<urlset>{body}</urlset>".encode()) == UrlSource("sitemap")


def test_read_url_source_bomb_is_truncated() -> None:
    head = b"<urlset><url><loc>http://a.test/</loc></url>"
    source = read_url_source(gzip.compress(head + b" " * (60 * 1024 * 1024), 1))
    assert source == UrlSource("sitemap", [SourceEntry("http://a.test/")], is_truncated=True)


@pytest.mark.parametrize("noise", [b"<url x='", b"<!-- ", b"<![CDATA[", b"<?x ", b"<!DOCTYPE ["])
def test_read_url_source_unterminated_markup_is_skipped(noise: bytes) -> None:
    body = b"<urlset><url><loc>http://a.test/</loc></url>" + noise + b"y" * 500_000
    assert pieces(body, 4096) == UrlSource("sitemap", [SourceEntry("http://a.test/")])


@cases(
    "text, seconds",
    ("2026-01-01", DAY), ("2026", DAY), ("2026-01", DAY), ("2026-01-01T12:00Z", NOON),
    ("2026-01-01T12:00:00.000+00:00", NOON), ("2026-01-01T20:00:00+08:00", NOON),
    ("Thu, 1 Jan 2026 12:00:00 +0000", NOON), ("Thu, 1 Jan 2026 07:00:00 EST", NOON), ("", 0.0),
    ("0001-01-01", 0.0), ("9999-99-99", 0.0), ("9999-12-31T23:59:59-23:59", 253402387139.0),
    ("x" * 999, 0.0),
)  # fmt: skip
def test_parse_date_valid_or_zero(text: str, seconds: float) -> None:
    assert parse_date(text) == seconds


def test_entries_to_html_escapes_links() -> None:
    html = entries_to_html([SourceEntry('/"><script>', "<b>&")]).decode()
    assert '<a href="/&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;</a>' in html
