"""Makes the outlinks of a page: absolute, scored, each target once with its best anchor.

What is said of an address, and of a text, is remembered: on other pages stand much the same. The
links themselves are not, as one is made in less time than it is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from focus.config import AnalysisConfig
from focus.html.parser import Crumb, RawLink
from focus.records import Link, Region
from focus.score.index_pages import Role, address_role, is_pagination_text, series_address
from focus.score.matching import Matcher
from focus.score.memo import Memo
from focus.urls.normal_form import UrlJoiner, url_fingerprint, url_host, url_pattern, url_words

_MAX_TARGETS = (
    30_000  # addresses that are remembered; as they are written, too, whole or for a site
)
_MAX_SITES = 5_000
_MAX_TEXTS = 50_000
_MAX_CACHED_HREF = 300  # characters of an href that is remembered

_PAGE, _INDEX, _CONTINUATION = Role  # asked of its class, a member takes eight times as long

_Target = tuple[bytes, str, str, float, str, Role, str]
"""Fingerprint, URL, host, score of its words, pattern, role, series if that is a further page."""


class OutlinkReader:
    """Turns the links of pages, as they are written, into scored ones."""

    def __init__(self, matcher: Matcher, config: AnalysisConfig) -> None:
        self._matcher = matcher
        self._config = config
        self._targets = Memo(self._describe_target, _MAX_TARGETS)
        self._texts = Memo(self._describe_text, _MAX_TEXTS)
        self._absolute_targets: dict[str, _Target] = {}  # by href, where that is absolute
        self._site_targets: Memo[dict[str, _Target]] = Memo(lambda _: {}, _MAX_SITES)
        self._site_target_count = 0

    def read(
        self,
        url: str,
        raw_links: Iterable[RawLink],
        joiner: UrlJoiner,
        crumbs: Sequence[Crumb] = (),
    ) -> list[Link]:
        """The outlinks of a page, in document order.

        crumbs  of its breadcrumb, as JSON-LD alone may have them
        """
        self._clear_large_caches()
        link_score = self._matcher.link_score
        absolute_targets, site_targets = self._absolute_targets, self._site_targets[joiner.origin]
        best: dict[bytes, tuple[_Target, RawLink]] = {}
        mixed_nofollow: set[bytes] = set()  # linked to with and without nofollow
        roles: dict[bytes, Role] = {}  # of a target, whatever else leads there
        for raw in raw_links:
            known = site_targets if raw.href[0] == "/" else absolute_targets
            target = known.get(raw.href)
            if target is None:
                target = self._resolve(raw.href, joiner, known)
                if target is None:
                    continue
            key = target[0]
            if raw.leads_on or raw.files:
                roles[key] = _INDEX if raw.files else roles.get(key, _CONTINUATION)
            best_so_far = best.get(key)
            if best_so_far is None:
                best[key] = target, raw
                continue
            best_raw = best_so_far[1]
            if raw.nofollow != best_raw.nofollow:
                mixed_nofollow.add(key)
            score, best_score = link_score[raw.anchor], link_score[best_raw.anchor]
            if (score, bool(raw.anchor)) > (best_score, bool(best_raw.anchor)):
                best[key] = best_so_far[0], raw
        best.pop(url_fingerprint(url), None)
        for href, name in crumbs:
            target = self._targets[href]
            roles[target[0]] = _INDEX
            best.setdefault(target[0], (target, RawLink(href, name, region=Region.NAV)))
        return self._make_links(best.values(), url, mixed_nofollow, roles)

    def _make_links(
        self,
        targets: Iterable[tuple[_Target, RawLink]],
        page_url: str,
        mixed_nofollow: set[bytes],
        roles: dict[bytes, Role],
    ) -> list[Link]:
        """The links themselves."""
        texts, link_score = self._texts, self._matcher.link_score
        links = []
        for (key, url, host, url_score, pattern, link_role, series_url), raw in targets:
            anchor = raw.anchor
            anchor_score, cosine, euclid, is_pagination = texts[anchor]
            if link_role is _CONTINUATION:
                link_role = _CONTINUATION if series_url == series_address(page_url) else _INDEX
            elif link_role is _PAGE:
                link_role = roles.get(key) or (_CONTINUATION if is_pagination else _PAGE)
            link = Link(
                url,
                key,
                host,
                anchor,
                anchor_score,
                url_score,
                link_score[raw.heading] if raw.heading else 0.0,
                link_score[raw.context] if raw.context else 0.0,
                raw.region,
                raw.nofollow and key not in mixed_nofollow,
                pattern,
                cosine,
                link_role,
                euclid,
            )
            links.append(link)
        return links

    def _resolve(self, href: str, joiner: UrlJoiner, known: dict[str, _Target]) -> _Target | None:
        """Where a link leads that is not known; None: nowhere on the web."""
        address = joiner.join(href)
        if address is None:
            return None
        target = self._targets[address]
        if len(href) <= _MAX_CACHED_HREF and joiner.is_same_for_site(href):
            known[href] = target
            self._site_target_count += known is not self._absolute_targets
        return target

    def _clear_large_caches(self) -> None:
        """Begin anew with hrefs where there are too many."""
        if len(self._absolute_targets) > _MAX_TARGETS:
            self._absolute_targets.clear()
        if self._site_target_count > _MAX_TARGETS:
            self._site_targets.clear()
            self._site_target_count = 0

    def _describe_target(self, url: str) -> _Target:
        """What can be said of an address, whoever links to it."""
        config = self._config
        has_no_words = config.mask_urls or ("%" not in url and not self._matcher.may_match_ascii)
        score = 0.0 if has_no_words else self._matcher.link_score[url_words(url)]
        pattern = url_pattern(url) if config.url_patterns else ""
        link_role = address_role(url)
        series_url = series_address(url) if link_role is _CONTINUATION else ""
        return url_fingerprint(url), url, url_host(url), score, pattern, link_role, series_url

    def _describe_text(self, anchor: str) -> tuple[float, float, float, bool]:
        """What can be said of a link's text: its scores, and whether it leads on in a series."""
        matcher, config = self._matcher, self._config
        return (
            matcher.link_score[anchor],
            matcher.cosine[anchor] if config.cosines else 0.0,
            matcher.euclid[anchor] if config.euclids else 0.0,
            bool(anchor) and is_pagination_text(anchor),
        )
