"""Makes the outlinks of a page: absolute, scored, each target once with its best anchor.

What is said of an address, and of a text, is remembered: on other pages stand much the same. The
links themselves are not, as one is made in less time than it is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from focus.config import AnalysisConfig
from focus.html.parser import Crumb, RawLink
from focus.records import Link, Region
from focus.score.index_pages import Role, leads_on, role, series
from focus.score.matching import Matcher
from focus.score.memo import Memo
from focus.urls.normal_form import Joiner, fingerprint, host_of, url_pattern, words

_TARGETS = 30_000  # addresses that are remembered; as they are written, too, whole or for a site
_SITES = 5_000
_TEXTS = 50_000
_LONGEST = 300  # characters of an href that is remembered

_PAGE, _INDEX, _FURTHER = Role  # asked of its class, a member takes eight times as long

_Target = tuple[bytes, str, str, float, str, Role, str]
"""Fingerprint, URL, host, score of its words, pattern, role, series if that is a further page."""


class OutlinkReader:
    """Turns the links of pages, as they are written, into scored ones."""

    def __init__(self, matcher: Matcher, config: AnalysisConfig) -> None:
        self._matcher = matcher
        self._config = config
        self._targets = Memo(self._target, _TARGETS)
        self._texts = Memo(self._text, _TEXTS)
        self._everywhere: dict[str, _Target] = {}  # by href, where that is absolute
        self._by_site: Memo[dict[str, _Target]] = Memo(lambda _: {}, _SITES)
        self._of_sites = 0

    def read(
        self, url: str, written: Iterable[RawLink], joiner: Joiner, crumbs: Sequence[Crumb] = ()
    ) -> list[Link]:
        """The outlinks of a page, in document order.

        crumbs  of its breadcrumb, as JSON-LD alone may have them
        """
        self._forget()
        promise = self._matcher.promise
        everywhere, here = self._everywhere, self._by_site[joiner.site]
        best: dict[bytes, tuple[_Target, RawLink]] = {}
        free: set[bytes] = set()  # linked to with and without nofollow
        told: dict[bytes, Role] = {}  # of a target, whatever else leads there
        for raw in written:
            known = here if raw.href[0] == "/" else everywhere
            target = known.get(raw.href)
            if target is None:
                target = self._resolved(raw.href, joiner, known)
                if target is None:
                    continue
            key = target[0]
            if raw.leads_on or raw.files:
                told[key] = _INDEX if raw.files else told.get(key, _FURTHER)
            held = best.get(key)
            if held is None:
                best[key] = target, raw
                continue
            other = held[1]
            if raw.nofollow != other.nofollow:
                free.add(key)
            said, before = promise[raw.anchor], promise[other.anchor]
            if (said, bool(raw.anchor)) > (before, bool(other.anchor)):
                best[key] = held[0], raw
        best.pop(fingerprint(url), None)
        for href, name in crumbs:
            target = self._targets[href]
            told[target[0]] = _INDEX
            best.setdefault(target[0], (target, RawLink(href, name, region=Region.NAV)))
        return self._links(best.values(), url, free, told)

    def _links(
        self,
        found: Iterable[tuple[_Target, RawLink]],
        page: str,
        free: set[bytes],
        told: dict[bytes, Role],
    ) -> list[Link]:
        """The links themselves."""
        texts, promise = self._texts, self._matcher.promise
        links = []
        for (key, url, host, url_score, pattern, kind, of), raw in found:
            anchor = raw.anchor
            anchor_score, cosine, euclid, is_way = texts[anchor]
            if kind is _FURTHER:
                kind = _FURTHER if of == series(page) else _INDEX
            elif kind is _PAGE:
                kind = told.get(key) or (_FURTHER if is_way else _PAGE)
            link = Link(
                url,
                key,
                host,
                anchor,
                anchor_score,
                url_score,
                promise[raw.heading] if raw.heading else 0.0,
                promise[raw.context] if raw.context else 0.0,
                raw.region,
                raw.nofollow and key not in free,
                pattern,
                cosine,
                kind,
                euclid,
            )
            links.append(link)
        return links

    def _resolved(self, href: str, joiner: Joiner, known: dict[str, _Target]) -> _Target | None:
        """Where a link leads that is not known; None: nowhere on the web."""
        address = joiner.join(href)
        if address is None:
            return None
        target = self._targets[address]
        if len(href) <= _LONGEST and joiner.is_sitewide(href):
            known[href] = target
            self._of_sites += known is not self._everywhere
        return target

    def _forget(self) -> None:
        """Begin anew with hrefs where there are too many."""
        if len(self._everywhere) > _TARGETS:
            self._everywhere.clear()
        if self._of_sites > _TARGETS:
            self._by_site.clear()
            self._of_sites = 0

    def _target(self, url: str) -> _Target:
        """What can be said of an address, whoever links to it."""
        config = self._config
        is_mute = config.mask_urls or ("%" not in url and not self._matcher.reads_ascii)
        score = 0.0 if is_mute else self._matcher.promise[words(url)]
        pattern = url_pattern(url) if config.url_patterns else ""
        kind = role(url)
        of = series(url) if kind is _FURTHER else ""
        return fingerprint(url), url, host_of(url), score, pattern, kind, of

    def _text(self, anchor: str) -> tuple[float, float, float, bool]:
        """What can be said of a link's text: its scores, and whether it leads on in a series."""
        matcher, config = self._matcher, self._config
        return (
            matcher.promise[anchor],
            matcher.cosine[anchor] if config.cosines else 0.0,
            matcher.euclid[anchor] if config.euclids else 0.0,
            bool(anchor) and leads_on(anchor),
        )
