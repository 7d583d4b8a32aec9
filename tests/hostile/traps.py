# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Sites without end, and pages that say odd things about where they are."""

import re

from tests.hostile.case import OK, Case, Expect, Script, Talk, dropped, markup, page, reply

TRAP = Expect(visits=300)
"""No trap gets more requests than this, of a crawl with room for many thousand."""
_SMALL = Expect(visits=30)


def _site(*links: str) -> Script:
    """Every page links on; {n} is its own number and one more, {path} its path."""

    async def script(talk: Talk) -> None:
        numbers = [int(n) for n in re.findall(r"\d+", talk.path)] or [0]
        last = numbers[-1]
        filled = [
            link.format(
                n=last + 1,
                m=last + 2,
                path=talk.path.rstrip("/"),
                more="&" if "?" in talk.path else "?",
                host=f"{talk.host}:{talk.port}",
            )
            for link in links
        ]
        await page(f"page {last} of a trap", *filled, text=f"number {last} " * 9)(talk)

    return script


def _same(*links: str) -> Script:
    """The same page under every address."""
    return page("not found, but 200", *links, text="Sorry, this page is not here. " * 20)


def _hosts() -> Script:
    """Each host links to two others that nobody has heard of before."""

    async def script(talk: Talk) -> None:
        match = re.match(r"h(\d+)\.", talk.host)
        last = int(match[1]) if match else 0
        links = [f"http://h{n}.trap-hosts.test:{talk.port}/" for n in (last + 1, last + 2)]
        await page(f"host {last}", *links, text=f"number {last} " * 9)(talk)

    return script


def _many_hosts(number: int) -> Script:
    """Each page links to so many hosts of which nobody has heard before."""

    async def script(talk: Talk) -> None:
        name = talk.host[talk.host.index("trap-") :]
        seed = abs(hash(talk.host)) % 10**9
        links = [f"http://w{seed}-{n}.x.{name}:{talk.port}/" for n in range(number)]
        await page(f"host {seed}", *links, text=f"number {seed} " * 9)(talk)

    return script


def _no_rules() -> Script:
    """The robots.txt of those hosts breaks off."""

    async def script(talk: Talk) -> None:
        if talk.host.startswith("w"):
            talk.reset()
        else:
            await reply(b"", status="404 Not Found")(talk)

    return script


def _calendar() -> Script:
    async def script(talk: Talk) -> None:
        match = re.search(r"/(\d+)/(\d+)$", talk.path)
        year, month = (int(match[1]), int(match[2])) if match else (2026, 1)
        after, before = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
        links = [f"/cal/{y}/{m + 1}" for y, m in (after, before)]
        await page(f"{year}-{month}", *links, text="no events this month")(talk)

    return script


def _trap(id: str, does: str, script: Script, expect: Expect = TRAP) -> Case:
    return Case(f"trap-{id}", does, script, expect, default=script)


def _head(inside: str, *links: str) -> Script:
    return reply(markup("odd", *links).replace("</head>", inside + "</head>"))


_PAGES = [
    Case("refresh-self", "refreshes itself every second", _head('<meta http-equiv=refresh content="1">'),
         Expect(tries=1)),
    Case("refresh-script", "refreshes to a script",
         _head('<meta http-equiv=refresh content="0;url=javascript:alert(1)">'), Expect(tries=1)),
    Case("refresh-file", "refreshes to a file",
         _head('<meta http-equiv=refresh content="0;url=file:///etc/passwd">'), Expect(tries=1)),
    Case("refresh-private", "refreshes to a private address",
         _head('<meta http-equiv=refresh content="0;url=http://127.0.0.2:{port}/">'),
         Expect(dropped("redirected"), tries=1)),
    Case("refresh-loop", "refreshes to and fro", _head('<meta http-equiv=refresh content="0;url=/y">'),
         Expect(dropped("redirected"), visits=8),
         paths={"/y": _head('<meta http-equiv=refresh content="0;url=/x">')}),
    Case("base-script", "has a script for its base", _head('<base href="javascript:alert(1)//">', "/based"),
         Expect(asked=("/based",)), paths={"/based": OK}),
    Case("base-data", "has a data URL for its base", _head('<base href="data:text/html,x">', "/based"),
         Expect(asked=("/based",)), paths={"/based": OK}),
    Case("base-file", "has a file for its base", _head('<base href="file:///etc/">', "/based"),
         Expect(asked=("/based",)), paths={"/based": OK}),
    Case("base-private", "has a private address for its base",
         _head('<base href="http://127.0.0.2:{port}/">', "/secret"), Expect()),
    Case("base-broken", "has half an address for its base", _head('<base href="http://[::1">', "/based"),
         Expect(asked=("/based",)), paths={"/based": OK}),
    Case("base-twice", "has two bases", _head('<base href="/one/"><base href="/two/">', "based"),
         Expect(asked=("/one/based",), unasked=("/two/based",)), paths={"/one/based": OK}),
    Case("base-relative", "has a base without a host", _head('<base href="one/">', "based"),
         Expect(asked=("/one/based",)), paths={"/one/based": OK}),
    Case("base-long", "has a base of 100 KB", _head(f'<base href="/{"a" * 100_000}/">', "/based"),
         Expect(asked=("/based",)), paths={"/based": OK}),
    Case("canonical-loop", "is another's canonical form, and that one its",
         _head('<link rel=canonical href="/y">', "/y"), _SMALL,
         paths={"/y": _head('<link rel=canonical href="/x">', "/x")}),
    Case("canonical-script", "has a script for its canonical form",
         _head('<link rel=canonical href="javascript:alert(1)">')),
    Case("canonical-private", "has a private address for its canonical form",
         _head('<link rel=canonical href="http://127.0.0.2:{port}/">')),
    Case("canonical-elsewhere", "claims to be a copy of another host's page",
         _head('<link rel=canonical href="http://hub.test:{port}/">'), Expect(("done", "dropped:duplicate"))),
    Case("noindex", "does not want to be a result", _head("<meta name=robots content=noindex>", "/based"),
         Expect(("dropped:noindex",), asked=("/based",)), paths={"/based": OK}),
    Case("nofollow", "does not want to be followed", _head("<meta name=robots content=nofollow>", "/based"),
         Expect(unasked=("/based",))),
    Case("robots-tag", "says noindex, nofollow in a header",
         reply(markup("tag", "/based"), headers=["X-Robots-Tag: none"]),
         Expect(("dropped:noindex",), unasked=("/based",))),
    Case("fragments", "links to itself with 500 fragments", page("fragments", *(f"/x#{n}" for n in range(500))),
         Expect(tries=1, links=0)),
    Case("escapes", "spells one address in many ways",
         page("spelling", "/%62ased", "/b%61sed", "/./based", "/a/../based", "/based?", "/based#a"),
         Expect(visits=8), paths={"/based": OK}),
]  # fmt: skip

_TRAPS = [
    _trap("pages", "has a next page, always", _site("/p/{n}", "/p/{m}")),
    _trap("calendar", "has a calendar of all times", _calendar()),
    _trap("session", "gives each visit a new session", _site("/list?sid={n:032x}", "/a?sid={m:032x}")),
    _trap("session-path", "puts a new session into each path", _site("/s{n}a{m}/home", "/s{m}b{n}/home")),
    _trap("jsessionid", "adds ;jsessionid to each link", _site("/j;jsessionid={n}", "/k;jsessionid={m}")),
    _trap("relative", "links to a/ below each page", _site("{path}/a/")),
    _trap("relative-two", "links to a/b/ below each page", _site("{path}/a/", "{path}/b/")),
    _trap("slashes", "doubles its slashes", _site("{path}//x")),
    _trap("query", "adds a parameter to each link", _site("{path}{more}p{n}={n}")),
    _trap("facets", "combines its filters freely",
          _site("/f?c={n}&s=1", "/f?s={n}&c=2", "/f?c={m}&s=3&p={n}", "/f?p={m}")),
    _trap("hosts", "has a host for each page", _hosts()),
    _trap("hosts-many", "has fifty more hosts on each page", _many_hosts(50), Expect(visits=600)),
    Case("trap-hosts-broken", "has a thousand hosts without a robots.txt", _many_hosts(1000),
         Expect(visits=900), paths={"/robots.txt": _no_rules()}),
    _trap("soft-404", "has the same page at every address", _same("/a", "/b", "/c", "/d/e")),
    _trap("soft-404-more", "has the same page at every address, and more of them", _site("/q{n}", "/r{m}")),
    _trap("mirror", "has its pages under ten names",
          _same("/1", "/2", *(f"http://m{n}.trap-mirror.test:{{port}}/" for n in range(10)))),
    _trap("sort", "sorts its list in all ways", _site("/l?sort=a{n}", "/l?order={m}&sort=b")),
    _trap("print", "has a printable form of each printable form", _site("{path}/print")),
    _trap("language", "has each page in each language", _site("/en{path}", "/de{path}")),
]  # fmt: skip

CASES = [*_PAGES, *_TRAPS]
