"""Reads the stored pages of the crawls of watched sites, in order of request."""

from __future__ import annotations

from typing import Any

import msgspec

from focus.records import JUDGE_PART, UrlState
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import MatchablePage, SiteFigures, WatchedSite
from focus.storage.schema import LAST_ID, TEMPLATE_SQL, row_id
from focus.storage.writer import COUNT_ANSWERS

LAST_REQUEST = (1 << 62) - 1
"""Request number above that of any page."""

_TEMPLATE = TEMPLATE_SQL.format(page="p.id", queue="u.queue")
_PAGES = f"""
SELECT p.id, p.nth, x.url, x.title, x.keywords, x.description, x.language, p.fetched_at, p.simhash,
u.state = {int(UrlState.DONE)} AND NOT p.noindex AND p.index_page = 0, {_TEMPLATE},
(SELECT value FROM json_each(x.parts) WHERE key LIKE '{JUDGE_PART}%')
FROM page p JOIN page_text x ON x.id = p.id JOIN url u ON u.id = p.id
"""
_AFTER = _PAGES + "WHERE p.crawl = ? AND p.nth > ? AND p.nth <= ? ORDER BY p.nth LIMIT ?"
_SINCE = _PAGES + "WHERE p.crawl = ? AND p.fetched_at >= ? ORDER BY p.nth DESC LIMIT ?"


class Pages(Statements):
    """Tables of crawls, for reading."""

    def list_after(
        self, crawl: int, nth: int, *, to: int = LAST_REQUEST, limit: int
    ) -> list[MatchablePage]:
        """Return the next pages of a crawl after request `nth`, up to request `to`."""
        return [MatchablePage(*row) for row in self._db.fetch_rows(_AFTER, (crawl, nth, to, limit))]

    def list_since(self, crawl: int, moment: float, *, limit: int) -> list[MatchablePage]:
        """Return the pages of a crawl fetched since `moment`, latest first."""
        return [MatchablePage(*row) for row in self._db.fetch_rows(_SINCE, (crawl, moment, limit))]

    def load_source(self, page: int) -> bytes | None:
        """Return the compressed source of a page; None if it is not stored."""
        packed: bytes | None = self._db.fetch_value("SELECT zstd FROM body WHERE id = ?", (page,))
        return packed

    def request_before_latest(self, crawl: int, *, to: int, limit: int) -> int:
        """Return the request before the last `limit` pages up to request `to`.

        Returns 0 if there are no more than `limit` pages.
        """
        sql = "SELECT nth FROM page WHERE crawl = ? AND nth <= ? ORDER BY nth DESC LIMIT 1 OFFSET ?"
        return int(self._db.fetch_value(sql, (crawl, to, limit)) or 0)

    def latest_request(self, crawl: int | None) -> int:
        """Return the request number of the last page of a crawl; 0 if there is none."""
        return int(self._db.fetch_value("SELECT max(nth) FROM page WHERE crawl = ?", (crawl,)) or 0)

    def list_new_relevant(self, crawl: int, *, after: int, first: int) -> list[int]:
        """Return URL ids from `first` on of relevant pages requested after request `after`."""
        sql = (
            f"SELECT id & {LAST_ID} FROM page WHERE crawl = ? AND nth > ? AND relevant AND id >= ?"
        )
        return [
            number for (number,) in self._db.fetch_rows(sql, (crawl, after, row_id(crawl, first)))
        ]

    def count_answers(self, crawl: int | None) -> int:
        """Return the number of answers of judges that a crawl has used."""
        return int(self._db.fetch_value(COUNT_ANSWERS, (crawl,)))

    def count_unmatched(self, site: WatchedSite) -> int:
        """Return the number of pages of a site that were not yet compared with alerts."""
        sql = "SELECT count(*) FROM page WHERE crawl = ? AND nth > ?"
        return int(self._db.fetch_value(sql, (site.crawl, site.matched)))

    def started_at(self, crawl: int) -> float:
        """Return the time when a crawl was started."""
        started: float = self._db.fetch_value("SELECT started_at FROM crawl WHERE id = ?", (crawl,))
        return started

    def count_requests(self, crawl: int | None) -> int:
        """Return the number of requests of a crawl; 0 if there is no crawl."""
        return int(self._counters(crawl).get("requests", 0))

    def _counters(self, crawl: int | None) -> dict[str, Any]:
        sql = "SELECT counters FROM progress WHERE crawl = ?"
        return dict(msgspec.json.decode(self._db.fetch_value(sql, (crawl,)) or "{}"))

    def load_figures(self, crawl: int | None) -> SiteFigures:
        """Return the figures of the crawl of a site, with its five most frequent failures."""
        sql = "SELECT state, reason, n FROM tally WHERE crawl = ? AND n > 0"
        ends = self._db.fetch_rows(sql, (crawl,))
        failed = [(reason, n) for state, reason, n in ends if state == UrlState.FAILED]
        counters = self._counters(crawl)
        is_rendered = counters.get("rendered") or counters.get("unrendered")
        return SiteFigures(
            sum(n for state, _, n in ends if state == UrlState.DONE),
            sum(n for state, reason, n in ends if (state, reason) == (UrlState.DROPPED, "robots")),
            dict(sorted(failed, key=lambda entry: -entry[1])[:5]),
            0 if is_rendered else counters.get("shells", 0),
        )
