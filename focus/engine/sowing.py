"""Enters URLs that no page of this crawl links to: seeds, and what other crawls forward."""

from __future__ import annotations

from collections.abc import Iterable

from focus.engine.effects import Effects
from focus.engine.intents import RequeueUrl
from focus.engine.links import LinkHandler
from focus.engine.partition import Crossing
from focus.engine.sitemaps import SitemapHandler
from focus.engine.view import View
from focus.i18n import msg
from focus.records import SEED_PRIORITY, UrlRow, UrlState
from focus.urls.normal_form import fingerprint, host_of, seed_candidates


class Sower:
    """Enters the seeds of one crawl, and the URLs that arrive from others."""

    def __init__(
        self,
        view: View,
        link_handler: LinkHandler,
        sitemap_handler: SitemapHandler,
        effects: Effects,
    ) -> None:
        self._view = view
        self._link_handler = link_handler
        self._sitemap_handler = sitemap_handler
        self._effects = effects

    def sow(self, seeds: Iterable[str], now: float) -> None:
        """Enter seeds, as typed; one without a scheme is tried as https, then http."""
        state, seed = self._view.url_table.state, self._link_handler.strategy.seed()
        for typed in seeds:
            url, *others = seed_candidates(typed)
            self._link_handler.scope.add_home(url)
            key = fingerprint(url)
            if (url_id := self._view.url_table.find(key)) >= 0:  # named twice, or of an earlier run
                self._sown_before(url_id, typed, url, others, now)
                continue
            row = UrlRow(-1, key, url, -1, 0, SEED_PRIORITY, seed)
            if (url_id := self._link_handler.offer(row, is_home=True, typed=typed)) < 0:
                continue
            self._view.seeds.typed[url_id] = typed
            if state[url_id] != UrlState.WAITING:
                self._view.seeds.note(url_id, msg("not wanted by --allow, --deny or its file type"))
            if others:
                self._view.seeds.fallbacks[url_id] = others[0]
            self._sitemap_handler.add_home(url)

    def _sown_before(
        self, url_id: int, typed: str, url: str, others: Iterable[str], now: float
    ) -> None:
        seeds, host = self._view.seeds, self._view.frontier.host(host_of(url))
        seeds.typed.setdefault(url_id, typed)
        if url_id in seeds.led_before:
            seeds.redirected(typed, host.name, seeds.led_before[url_id])
        if self._view.url_table.state[url_id] == UrlState.WAITING:
            for other in others:
                seeds.fallbacks.setdefault(url_id, other)
                if host.failures:  # both may have failed before
                    self._effects.apply([RequeueUrl(url_id, url)], now)

    def arrive(self, crossing: Crossing, now: float) -> None:
        """Take in another crawl's link as one of a page of this one, as far as it is known here."""
        if crossing.typed:
            self.sow((crossing.typed,), now)
            return
        if crossing.is_home:
            self._link_handler.scope.add_home(crossing.row.url)
        self._link_handler.arrive(crossing.row, listing=crossing.listing)
