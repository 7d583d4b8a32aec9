"""Adds seeds."""

from __future__ import annotations

from collections.abc import Iterable

from focus.engine.effects import Effects
from focus.engine.intents import RequeueUrl
from focus.engine.links import LinkHandler
from focus.engine.sitemaps import SitemapHandler
from focus.engine.view import View
from focus.i18n import msg
from focus.records import SEED_PRIORITY, UrlRow, UrlState
from focus.urls.normal_form import seed_candidates, url_fingerprint, url_host


class Seeder:
    """Adds the seeds of one crawl."""

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

    def add_seeds(self, seeds: Iterable[str], now: float) -> None:
        """Add seeds. A seed without a scheme is tried over https first, then over http."""
        state, seed = self._view.url_table.state, self._link_handler.strategy.seed()
        for typed in seeds:
            url, *fallbacks = seed_candidates(typed)
            self._link_handler.scope.add_home(url)
            key = url_fingerprint(url)
            if (
                url_id := self._view.url_table.find(key)
            ) >= 0:  # repeated, or known from an earlier run
                self._update_known_seed(url_id, typed, url, fallbacks, now)
                continue
            row = UrlRow(-1, key, url, -1, 0, SEED_PRIORITY, seed)
            url_id = self._link_handler.add_ranked_url(row)
            self._view.seeds.typed[url_id] = typed
            if state[url_id] != UrlState.WAITING:
                self._view.seeds.set_failure(
                    url_id, msg("not wanted by --allow, --deny or its file type")
                )
            if fallbacks:
                self._view.seeds.fallbacks[url_id] = fallbacks[0]
            self._sitemap_handler.add_home(url)

    def _update_known_seed(
        self, url_id: int, typed: str, url: str, fallbacks: Iterable[str], now: float
    ) -> None:
        seeds, host = self._view.seeds, self._view.frontier.host(url_host(url))
        seeds.typed.setdefault(url_id, typed)
        if url_id in seeds.led_before:
            seeds.record_redirect(typed, host.name, seeds.led_before[url_id])
        if self._view.url_table.state[url_id] == UrlState.WAITING:
            for fallback in fallbacks:
                seeds.fallbacks.setdefault(url_id, fallback)
                if host.failures:  # both schemes may have failed before
                    self._effects.apply([RequeueUrl(url_id, url)], now)
