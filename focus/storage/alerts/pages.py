"""Reads what the crawls of watched sites have stored: pages in the order of their requests."""

from __future__ import annotations

from typing import Any

import msgspec

from focus.records import UrlState
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import SiteFigures, StoredPage, WatchedSite
from focus.storage.schema import LAST_ID, row_id

LAST = (1 << 62) - 1
"""Behind every page."""

_PAGES = f"""
SELECT p.id, p.nth, x.url, x.title, x.keywords, x.description, x.language, p.fetched_at, p.simhash,
u.state = {int(UrlState.DONE)} AND NOT p.noindex
FROM page p JOIN page_text x ON x.id = p.id JOIN url u ON u.id = p.id
"""
_AFTER = _PAGES + "WHERE p.crawl = ? AND p.nth > ? AND p.nth <= ? ORDER BY p.nth LIMIT ?"
_SINCE = _PAGES + "WHERE p.crawl = ? AND p.fetched_at >= ? ORDER BY p.nth DESC LIMIT ?"


class Pages(Statements):
    """The tables of crawls, read."""

    def after(self, crawl: int, nth: int, *, to: int = LAST, limit: int) -> list[StoredPage]:
        """The next pages of a crawl in order of `nth`, behind one and up to another."""
        return [StoredPage(*row) for row in self._db.rows(_AFTER, (crawl, nth, to, limit))]

    def since(self, crawl: int, moment: float, *, limit: int) -> list[StoredPage]:
        """The pages of a crawl fetched since then, latest first."""
        return [StoredPage(*row) for row in self._db.rows(_SINCE, (crawl, moment, limit))]

    def source(self, page: int) -> bytes | None:
        """The packed source of a page; None: it was not kept."""
        packed: bytes | None = self._db.value("SELECT zstd FROM body WHERE id = ?", (page,))
        return packed

    def before_latest(self, crawl: int, *, to: int, most: int) -> int:
        """The `nth` behind which the last `most` pages up to `to` begin; 0: all of them do."""
        sql = "SELECT nth FROM page WHERE crawl = ? AND nth <= ? ORDER BY nth DESC LIMIT 1 OFFSET ?"
        return int(self._db.value(sql, (crawl, to, most)) or 0)

    def latest_nth(self, crawl: int | None) -> int:
        """Of the page of a crawl that came last; 0 when there is none, or no crawl."""
        return int(self._db.value("SELECT max(nth) FROM page WHERE crawl = ?", (crawl,)) or 0)

    def news(self, crawl: int, *, after: int, first: int) -> list[int]:
        """Relevant pages (URL ids) of the requests after this one, URLs from `first` on."""
        sql = (
            f"SELECT id & {LAST_ID} FROM page WHERE crawl = ? AND nth > ? AND relevant AND id >= ?"
        )
        return [number for (number,) in self._db.rows(sql, (crawl, after, row_id(crawl, first)))]

    def unmatched(self, site: WatchedSite) -> int:
        """Pages of a site that were held against no alert yet."""
        sql = "SELECT count(*) FROM page WHERE crawl = ? AND nth > ?"
        return int(self._db.value(sql, (site.crawl, site.matched)))

    def began_at(self, crawl: int) -> float:
        """When a crawl began."""
        started: float = self._db.value("SELECT started_at FROM crawl WHERE id = ?", (crawl,))
        return started

    def requests(self, crawl: int | None) -> int:
        """What a crawl has spent so far; 0 where there is none."""
        return int(self._counters(crawl).get("requests", 0))

    def _counters(self, crawl: int | None) -> dict[str, Any]:
        sql = "SELECT counters FROM progress WHERE crawl = ?"
        return dict(msgspec.json.decode(self._db.value(sql, (crawl,)) or "{}"))

    def figures(self, crawl: int | None) -> SiteFigures:
        """Pages stored, URLs that robots.txt forbids, the five commonest failures, shells."""
        sql = "SELECT state, reason, n FROM tally WHERE crawl = ? AND n > 0"
        ends = self._db.rows(sql, (crawl,))
        failed = [(reason, n) for state, reason, n in ends if state == UrlState.FAILED]
        counters = self._counters(crawl)
        is_rendered = counters.get("rendered") or counters.get("unrendered")
        return SiteFigures(
            sum(n for state, _, n in ends if state == UrlState.DONE),
            sum(n for state, reason, n in ends if (state, reason) == (UrlState.DROPPED, "robots")),
            dict(sorted(failed, key=lambda each: -each[1])[:5]),
            0 if is_rendered else counters.get("shells", 0),
        )
