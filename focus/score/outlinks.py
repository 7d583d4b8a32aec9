"""Outlinks of a page: absolute and scored, each target once with its best anchor.

Data about addresses and texts is cached, because pages of a site repeat them. `Link` objects are
not cached: creating one is faster than a lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from focus.config import AnalysisConfig
from focus.html.breadcrumbs import Crumb
from focus.html.reader import RawLink
from focus.records import Link, Region
from focus.score.index_pages import Role, address_role, is_pagination_text, series_address
from focus.score.matching import Matcher
from focus.score.memo import Memo
from focus.urls.normal_form import UrlJoiner, hash_route, url_fingerprint, url_host
from focus.urls.patterns import url_pattern, url_words

_MAX_TARGETS = 30_000  # cached addresses, and cached hrefs, absolute and per site
_MAX_SITES = 5_000
_MAX_TEXTS = 50_000
_MAX_CACHED_HREF = 300  # characters of a cached href

_PAGE, _INDEX, _CONTINUATION = Role  # attribute access on an enum class is eight times slower

_Target = tuple[bytes, str, str, float, str, Role, str]
"""Fingerprint, URL, host, score of its words, pattern, role, series of a continuation page."""


class OutlinkReader:
    """Turns the raw links of pages into scored links."""

    def __init__(self, matcher: Matcher, config: AnalysisConfig) -> None:
        self._matcher = matcher
        self._config = config
        self._targets = Memo(self._describe_target, _MAX_TARGETS)
        self._texts = Memo(self._describe_text, _MAX_TEXTS)
        self._absolute_targets: dict[str, _Target] = {}  # by absolute href
        self._site_targets: Memo[dict[str, _Target]] = Memo(lambda _: {}, _MAX_SITES)
        self._site_target_count = 0

    def read(
        self,
        url: str,
        raw_links: Iterable[RawLink],
        joiner: UrlJoiner,
        crumbs: Sequence[Crumb] = (),
    ) -> list[Link]:
        """Return the scored outlinks of a page, in document order.

        crumbs  links of its breadcrumb, which may be in JSON-LD only
        """
        self._clear_large_caches()
        link_score = self._matcher.link_score
        absolute_targets, site_targets = self._absolute_targets, self._site_targets[joiner.origin]
        best: dict[bytes, tuple[_Target, RawLink]] = {}
        mixed_nofollow: set[bytes] = set()  # targets linked with and without nofollow
        roles: dict[bytes, Role] = {}  # by target, from any of its links
        for raw in raw_links:
            known = site_targets if raw.href[0] == "/" else absolute_targets
            target = known.get(raw.href)
            if target is None:
                target = self._resolve(raw.href, joiner, known)
                if target is None:
                    continue
            key = target[0]
            if raw.is_pagination or raw.is_tag:
                roles[key] = _INDEX if raw.is_tag else roles.get(key, _CONTINUATION)
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
        """Return the target of an href that is not cached.

        Returns None if it is not a web address.
        """
        address = joiner.join(href)
        if address is None:
            return None
        if self._config.hash_routes and (route := hash_route(href)):
            return self._targets[address + route]  # not cached by a relative href
        target = self._targets[address]
        if len(href) <= _MAX_CACHED_HREF and joiner.is_same_for_site(href):
            known[href] = target
            self._site_target_count += known is not self._absolute_targets
        return target

    def _clear_large_caches(self) -> None:
        if len(self._absolute_targets) > _MAX_TARGETS:
            self._absolute_targets.clear()
        if self._site_target_count > _MAX_TARGETS:
            self._site_targets.clear()
            self._site_target_count = 0

    def _describe_target(self, url: str) -> _Target:
        """Return the data about an address that does not depend on the linking page."""
        config = self._config
        has_no_words = config.mask_urls or ("%" not in url and not self._matcher.may_match_ascii)
        score = 0.0 if has_no_words else self._matcher.link_score[url_words(url)]
        pattern = url_pattern(url) if config.url_patterns else ""
        link_role = address_role(url)
        series_url = series_address(url) if link_role is _CONTINUATION else ""
        return url_fingerprint(url), url, url_host(url), score, pattern, link_role, series_url

    def _describe_text(self, anchor: str) -> tuple[float, float, float, bool]:
        """Return the scores of a link text, and whether it is a pagination link."""
        matcher, config = self._matcher, self._config
        return (
            matcher.link_score[anchor],
            matcher.cosine[anchor] if config.cosines else 0.0,
            matcher.euclid[anchor] if config.euclids else 0.0,
            bool(anchor) and is_pagination_text(anchor),
        )
