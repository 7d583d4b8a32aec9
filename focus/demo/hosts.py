"""Defines the hosts of the generated web and their character.

Twelve by default: a portal in the shape of a Chinese news site with most of the
pages, a GBK paper, a forum that calls its GBK pages gb2312, a magazine in
traditional script, an English site, four blogs, a slow library, a review site
that answers 200 for anything, a city guide with an endless calendar. All names
end in `.example` (RFC 2606), so that no request can ever leave the machine.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus.demo.words import PINYIN

TOPICS: dict[str, frozenset[str]] = {
    "足球": frozenset({"football"}),
    "篮球": frozenset({"basketball"}),
    "体育": frozenset({"football", "basketball", "tennis"}),
    "财经": frozenset({"finance"}),
    "旅游": frozenset({"travel"}),
    "健康": frozenset({"health"}),
    "电影": frozenset({"film"}),
    "科技": frozenset({"tech"}),
    "美食": frozenset({"food"}),
}
"""Topic (its one keyword) -> the subjects that belong to it."""

SUBJECTS = tuple(sorted(frozenset.union(*TOPICS.values())))
"""Subjects with a topic of their own; `society` and `english` are everybody's off-topic."""


class Section(NamedTuple):
    """A list of articles: a sub-channel, a board or a blog's category."""

    channel: str
    channel_name: str
    path: str
    name: str
    subject: str
    weight: float


class Style(NamedTuple):
    """Patterns of a host's URL paths; `per_page` entries on a list page."""

    article: str
    listing: str
    more: str
    tag: str
    tag_more: str
    per_page: int


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A host of hosts.toml, whose traits other hosts may share.

    share   of the articles, before all shares are made 1
    seed    whether a crawl starts at this host
    quirks  robots · calendar · session · soft-404 · bom · old (HTML of old times)
            · traditional · blogroll · no-label (no charset declared anywhere)
    """

    host: str
    name: str
    share: float
    style: Style
    sections: tuple[Section, ...]
    codec: str = "utf-8"
    label: str = "utf-8"
    header: str = "text/html; charset=utf-8"
    language: str = "zh-CN"
    quirks: frozenset[str] = frozenset()
    delay_s: float = 0.0
    seed: bool = False


class DemoHost(NamedTuple):
    """One host; `share` of the articles are its own; a `seed` is where a crawl starts."""

    number: int
    host: str
    name: str
    share: float
    kind: Kind
    seed: bool

    def has(self, quirk: str) -> bool:
        return quirk in self.kind.quirks


def _read_kinds() -> list[Kind]:
    source = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text(encoding="utf-8"))
    rows = [{**row, "style": source["styles"][row["style"]]} for row in source["hosts"]]
    return msgspec.convert(rows, list[Kind])


_KINDS = _read_kinds()
_PORTAL, _PAPER = _KINDS[:2]
_BLOGS = [kind for kind in _KINDS if not kind.quirks.isdisjoint(("blogroll", "no-label"))]


def make_sites(hosts: int, portals: int) -> tuple[DemoHost, ...]:
    """`hosts` sites, the first `portals` of them portals of equal size (every third in GBK)."""
    rows = [(_PORTAL.host, _PORTAL.name, _PORTAL)]
    for n in range(1, portals):
        pinyin, kind = PINYIN[n % len(PINYIN)], _PAPER if n % 3 == 2 else _PORTAL
        rows.append((f"www.{pinyin}{n}.example", f"{pinyin}在线", kind))
    rows += [(kind.host, kind.name, kind) for kind in _KINDS[1 : 1 + max(0, hosts - portals)]]
    for n in range(len(rows), hosts):
        pinyin, kind = PINYIN[n % len(PINYIN)], _BLOGS[n % len(_BLOGS)]
        rows.append((f"{pinyin}.blog{n}.example", f"{pinyin}的博客", kind))
    shares = [_PORTAL.share if n < portals else kind.share for n, (*_, kind) in enumerate(rows)]
    return tuple(
        DemoHost(
            n,
            host,
            name,
            share / sum(shares),
            kind,
            n < portals or (kind.seed and host == kind.host),
        )
        for n, ((host, name, kind), share) in enumerate(zip(rows, shares, strict=True))
    )
