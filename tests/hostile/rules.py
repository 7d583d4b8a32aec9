# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""robots.txt in every state, hosts that ask for patience, sitemaps that are bombs."""

import gzip
import time
import zlib
from email.utils import formatdate
from functools import cache

from tests.hostile.case import (
    MIB,
    OK,
    START,
    Case,
    Expect,
    Script,
    Talk,
    dropped,
    endless,
    failed,
    page,
    raw,
    redirect,
    reply,
    turns,
)

_FREE = Expect()
_SHUT = Expect(("dropped:robots", "failed:host-given-up"), unasked=("/x", "/after"), after=False)


def _robots(id: str, does: str, script: Script, expect: Expect) -> Case:
    return Case(f"robots-{id}", does, OK, expect, paths={"/robots.txt": script})


def _text(body: str | bytes, **more: str) -> Script:
    return reply(body, kind="text/plain", **more)  # type: ignore[arg-type]


def _date() -> Script:
    """Patience asked for as a date, two seconds from now."""

    async def script(talk: Talk) -> None:
        wait = [f"Retry-After: {formatdate(time.time() + 2, usegmt=True)}"]
        first = reply(b"", status="503 Later", headers=wait)
        await (first if talk.nth == 1 else OK)(talk)

    return script


def _later(value: str, status: str = "429 Slow down") -> Script:
    return reply(b"", status=status, headers=[f"Retry-After: {value}"])


_RULES = [
    _robots("404", "has no robots.txt", reply(b"", status="404 No"), _FREE),
    _robots("403", "forbids its robots.txt", reply(b"", status="403 No"), _FREE),
    _robots("401", "wants a password for it", reply(b"", status="401 No"), _FREE),
    _robots("410", "had one once", reply(b"", status="410 Gone"), _FREE),
    _robots("empty", "has an empty one", _text(b""), _FREE),
    _robots("html", "has an HTML page for one", page("not found"), _FREE),
    _robots("noise", "has noise for one", _text(bytes(range(256)) * 99), _FREE),
    _robots("picture", "has a picture for one", reply(b"\x89PNG\r\n\x1a\n" + b"\0" * 99, kind="image/png"),
            _FREE),
    _robots("500", "answers 500 to it", reply(b"", status="500 Oh"), _SHUT),
    _robots("502", "answers 502 to it", reply(b"", status="502 Oh"), _SHUT),
    _robots("503", "answers 503 to it, always", _later("1", "503 Later"), _SHUT),
    _robots("503-once", "answers 503 to it, once", turns(_later("1", "503 Later"), _text("")), _FREE),
    _robots("429", "answers 429 to it, always", _later("1"), _SHUT),
    _robots("silent", "does not answer it", raw(b"", then="hang"), _SHUT),
    _robots("reset", "resets on it", raw(b"HTTP/1.1 2", then="reset"), _SHUT),
    _robots("close", "closes on it", raw(b""), _SHUT),
    _robots("no-http", "answers something else to it", raw(b"220 mail ready\r\n"), _SHUT),
    _robots("drip", "drips it", endless(b"HTTP/1.1 200 OK\r\n\r\n", b"#", 0.05), _SHUT),
    _robots("endless", "sends one without end",
            endless(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /x\n",
                    b"# more\n" * 2000),
            Expect(dropped("robots"), unasked=("/x",))),
    _robots("bomb", "sends one as a bomb",
            reply(gzip.compress(b"User-agent: *\nDisallow: /x\n" + b"#\n" * 8 * MIB),
                  kind="text/plain", headers=["Content-Encoding: gzip"]),
            Expect(dropped("robots"), unasked=("/x",))),
    _robots("loop", "redirects it to itself", redirect("/robots.txt"), _FREE),
    _robots("far", "redirects it to another host's", redirect("http://robots-all.test:{port}/robots.txt"),
            Expect(dropped("robots"), unasked=("/x", "/after"), after=False)),
    _robots("private", "redirects it to a private address", redirect("http://127.0.0.2:{port}/robots.txt"),
            _SHUT),
    _robots("file", "redirects it to a file", redirect("file:///etc/passwd"), _FREE),
    _robots("all", "forbids all", _text("User-agent: *\nDisallow: /\n"), _SHUT),
    _robots("us", "forbids us by name", _text("User-agent: focus\nDisallow: /\n\nUser-agent: *\nAllow: /"),
            _SHUT),
    _robots("others", "forbids all others", _text("User-agent: *\nDisallow: /\n\nUser-agent: Focus\nAllow: /"),
            _FREE),
    _robots("case", "shouts", _text("USER-AGENT:*\r\rDISALLOW:/X\r\rdisallow :/x\r\n"),
            Expect(dropped("robots"), unasked=("/x",))),
    _robots("bom", "begins with a mark", _text("\ufeffUser-agent: *\nDisallow: /x\n"),
            Expect(dropped("robots"), unasked=("/x",))),
    _robots("utf16", "sends one in UTF-16", _text("User-agent: *\nDisallow: /\n".encode("utf-16")), _FREE),
    _robots("nul", "has NULs in it", _text(b"User-agent: *\0\nDis\0allow: /x\n"),
            Expect(("done", "dropped:robots"))),
    _robots("delay", "asks for a delay of 10^9 s", _text("User-agent: *\nCrawl-delay: 1000000000\n"), _FREE),
    _robots("delay-words", "asks for a delay in words", _text("User-agent: *\nCrawl-delay: inf\n"), _FREE),
    _robots("lies", "sends less of it than announced",
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nUser-agent: *"), _SHUT),
]  # fmt: skip

_PATIENCE = [
    Case("later-429", "answers 429 and asks for a second", turns(_later("1"), OK), Expect(tries=2)),
    Case("later-503", "answers 503 and asks for a second", turns(_later("1", "503 Later"), OK), Expect(tries=2)),
    Case("later-date", "answers 503 and names a date", _date(), Expect(tries=2)),
    Case("later-always", "answers 429 for ever", _later("1"),
         Expect((*failed("rate-limited"), "waiting:rate-limited"), tries=5)),
    Case("later-never", "asks for patience of 10^18 s", turns(_later("1" + "0" * 18), OK),
         Expect(("done", *failed("rate-limited")), tries=5)),
    Case("later-words", "asks for patience in words", turns(_later("soon"), OK), Expect(tries=2)),
    Case("later-past", "names a date long gone", turns(_later("Thu, 01 Jan 1970 00:00:00 GMT"), OK),
         Expect(tries=2)),
    Case("later-negative", "asks for -5 seconds", turns(_later("-5"), OK), Expect(tries=2)),
    Case("error-once", "answers 500 once", turns(reply(b"", status="500 Oh"), OK), Expect(tries=2)),
    Case("error-always", "answers 500 for ever", reply(b"", status="500 Oh"), Expect(failed("http-5xx"))),
    Case("burst", "breaks off every second answer", turns(raw(b"HTTP/1.1 2", then="reset"), OK),
         Expect(tries=2)),
    Case("slow-host", "needs 0.4 s for each answer",
         raw(b"HTTP/1.1 200 OK\r\n", b"Content-Type: text/html\r\n\r\n" + START, pause_s=0.4), Expect()),
]  # fmt: skip


def _sitemap(id: str, does: str, script: Script, expect: Expect) -> Case:
    """A host whose sitemap is asked for, since it is a seed's."""
    named = _text("Sitemap: http://{host}/sitemap.xml\n")
    return Case(f"sitemap-{id}", does, script, expect, url="http://{host}/sitemap.xml",
                paths={"/robots.txt": named, "/listed": OK}, seed=True)  # fmt: skip


_XML = '<?xml version="1.0"?>'


@cache
def sitemap_bomb() -> bytes:
    """200 MiB of sitemap, packed."""
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packed.compress(piece) for piece in [b"<urlset>", *[b" " * MIB] * 200]]
    return b"".join([*parts, packed.flush()])


def _big_sitemap() -> Script:
    async def script(talk: Talk) -> None:
        await reply(sitemap_bomb(), kind="application/gzip")(talk)

    return script


_NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_LISTED = f"<urlset {_NS}><url><loc>http://{{host}}/listed</loc><lastmod>2026-01-01</lastmod></url>"
_READ = Expect(dropped("listing"), asked=("/listed",))


def _urls(text: str) -> Script:
    return reply(_XML + text, kind="application/xml")


_SITEMAPS = [
    _sitemap("plain", "has a sitemap", _urls(_LISTED + "</urlset>"), _READ),
    _sitemap("cut", "breaks its sitemap off", _urls(_LISTED + "<url><loc>http:"), _READ),
    _sitemap("broken", "has a sitemap that is no XML",
             _urls(_LISTED + "<url><loc>http://{host}/?a&b<c></url></x></urlset>"), _READ),
    _sitemap("html", "has an HTML page for one", page("no sitemap"), Expect()),
    _sitemap("404", "has none", reply(b"", status="404 No"), Expect(failed("http-4xx"))),
    _sitemap("laughs", "defines entities of entities",
             _urls("<!DOCTYPE lolz [<!ENTITY lol 'lol'>" + "".join(
                 f"<!ENTITY lol{n} '&lol{n - 1 or ''};&lol{n - 1 or ''};'>" for n in range(1, 30))
                 + f"]>{_LISTED}<url><loc>http://{{host}}/&lol29;</loc></url></urlset>"), _READ),
    _sitemap("external", "defines an entity out of a file",
             _urls(f"<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>{_LISTED}"
                   "<url><loc>http://{host}/&f;</loc></url></urlset>"), _READ),
    _sitemap("external-dtd", "names a DTD on a private host",
             _urls(f"<!DOCTYPE x SYSTEM 'http://127.0.0.2:{{port}}/x.dtd'>{_LISTED}</urlset>"), _READ),
    _sitemap("gzip", "packs its sitemap",
             reply(gzip.compress(f'{_XML}<urlset {_NS}><url><loc>http://sitemap-gzip.test/l</loc></url>'
                                 "</urlset>".encode()), kind="application/gzip"), Expect(dropped("listing"))),
    _sitemap("bomb", "packs 200 MB of sitemap", _big_sitemap(), Expect(dropped("listing"), seconds=15.0)),
    _sitemap("endless", "has a sitemap without end",
             endless(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n" + _XML.encode() + b"<urlset>",
                     b"<url><loc>http://elsewhere.test/</loc></url>" * 99),
             Expect((*dropped("listing"), *failed("too-large", "timeout")), bytes=60 * MIB, seconds=25.0)),
    _sitemap("foreign", "lists another site's pages",
             _urls(f"<urlset {_NS}><url><loc>http://hub.test:{{port}}/planted</loc></url></urlset>"),
             Expect(dropped("listing"))),
    _sitemap("private", "lists private addresses",
             _urls(f"<urlset {_NS}><url><loc>http://127.0.0.2:{{port}}/</loc></url></urlset>"),
             Expect(dropped("listing"))),
    _sitemap("index-loop", "has an index that lists itself",
             _urls("<sitemapindex><sitemap><loc>http://{host}/sitemap.xml</loc></sitemap></sitemapindex>"),
             Expect(dropped("listing"), tries=1)),
    _sitemap("index-many", "has an index of 20,000 sitemaps",
             _urls("<sitemapindex>" + "".join(
                 f"<sitemap><loc>http://sitemap-index-many.test/{n}.xml</loc></sitemap>"
                 for n in range(20_000)) + "</sitemapindex>"), Expect(dropped("listing"), visits=60)),
    _sitemap("script", "lists scripts and files",
             _urls("<urlset><url><loc>javascript:alert(1)</loc></url><url><loc>file:///etc/passwd</loc></url>"
                   "<url><loc>//hub.test/</loc></url></urlset>"), Expect(dropped("listing"))),
    _sitemap("deep", "nests 300,000 elements",
             _urls(_LISTED.replace("<url>", "<a>" * 3000 + "<url>") + "<b>" * 30_000), Expect(("dropped:listing",))),
    _sitemap("token", "has a tag of a megabyte", _urls(_LISTED + "<url x='" + "y" * MIB + "'>"),
             Expect(dropped("listing"))),
    _sitemap("feed", "has a feed for a sitemap",
             _urls("<rss version='2.0'><channel><item><title>=1+1</title><link>/listed</link></item></channel></rss>"),
             _READ),
]  # fmt: skip

CASES = [*_RULES, *_PATIENCE, *_SITEMAPS]
