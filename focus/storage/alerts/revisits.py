"""Keeps the pages that are looked at again because news appears there."""

from __future__ import annotations

from collections.abc import Iterable

from focus.records import DropReason, UrlState
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import DueHub, HubState
from focus.storage.schema import LAST_ID, id_range, row_id

_DUE = f"""
SELECT r.id & {LAST_ID}, u.url, coalesce(x.etag, v.etag, ''),
coalesce(x.last_modified, v.last_modified, ''), r.watched_s, r.fresh, r.checked_at,
ifnull(s.state, 0) = {int(UrlState.DROPPED)} OR x.id IS NULL
FROM revisit r JOIN url_found u ON u.id = r.id LEFT JOIN url_state s ON s.id = r.id
LEFT JOIN page_text x ON x.id = r.id LEFT JOIN validator v ON v.id = r.id
WHERE r.id BETWEEN ? AND ? AND (r.next_at <= ? OR ? AND (u.depth = 0 OR r.fresh >= ?))
ORDER BY r.next_at, r.id LIMIT ?"""
_ROOTS = f"""
SELECT id & {LAST_ID} FROM url_state CROSS JOIN url_found USING (id) WHERE id BETWEEN ? AND ?
AND (state = {int(UrlState.DONE)} AND depth = 0
OR state = {int(UrlState.DROPPED)} AND reason = '{DropReason.URL_SOURCE}')"""


class Revisits(Statements):
    """The table `revisit`; ids are those of URLs within their crawl."""

    def due(self, crawl: int, *, until: float, proven: float | None, most: int) -> list[DueHub]:
        """Pages whose time comes until then, the first first; with `proven` in any case
        sections, and those that brought so many pages lately.
        """
        values = (*id_range(crawl), until, proven is not None, proven, most)
        return [DueHub._make(row) for row in self._db.rows(_DUE, values)]

    def known(self, crawl: int) -> list[int]:
        """All pages of a crawl that are looked at again."""
        sql = f"SELECT id & {LAST_ID} FROM revisit WHERE id BETWEEN ? AND ?"
        return [number for (number,) in self._db.rows(sql, id_range(crawl))]

    def roots(self, crawl: int) -> list[int]:
        """A crawl's sections, feeds and sitemaps."""
        return [number for (number,) in self._db.rows(_ROOTS, id_range(crawl))]

    def next_at(self, crawl: int) -> float | None:
        """When the first page of a crawl is due again; None: none is looked at."""
        sql = "SELECT min(next_at) FROM revisit WHERE id BETWEEN ? AND ?"
        found: float | None = self._db.value(sql, id_range(crawl))
        return found

    def add(self, crawl: int, hubs: Iterable[HubState], *, now: float) -> None:
        """Have pages looked at again from now on; those that are already stay as they were."""
        self._db.change_all(
            "INSERT OR IGNORE INTO revisit VALUES (?, ?, ?, ?, ?, ?)",
            [
                (row_id(crawl, hub.id), hub.watched_s, hub.fresh, hub.interval_s, now, hub.next_at)
                for hub in hubs
            ],
        )

    def looked_at(self, crawl: int, hubs: Iterable[HubState], *, now: float) -> None:
        """Note what a look at each of these pages has taught."""
        self._db.change_all(
            "UPDATE revisit SET watched_s = ?, fresh = ?, interval_s = ?, next_at = ?, "
            "checked_at = ? WHERE id = ?",
            [(*hub[1:], now, row_id(crawl, hub.id)) for hub in hubs],
        )
