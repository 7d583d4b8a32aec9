"""Hub pages of watched sites that are revisited because new pages appear there."""

from __future__ import annotations

from collections.abc import Iterable

from focus.records import DropReason, UrlState
from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import DueHub, HubState
from focus.storage.schema import LAST_ID, id_range, row_id

_DUE = f"""
SELECT r.id & {LAST_ID}, u.url, coalesce(x.etag, v.etag, ''),
coalesce(x.last_modified, v.last_modified, ''), r.watched_s, r.fresh, r.checked_at,
ifnull(s.state, 0) = {int(UrlState.DROPPED)} OR x.id IS NULL, ifnull(p.digest, 0)
FROM revisit r JOIN url_found u ON u.id = r.id LEFT JOIN url_state s ON s.id = r.id
LEFT JOIN page_text x ON x.id = r.id LEFT JOIN validator v ON v.id = r.id
LEFT JOIN page p ON p.id = r.id
WHERE r.id BETWEEN ? AND ? AND (r.next_at <= ? OR ? AND (u.depth = 0 OR r.fresh >= ?))
ORDER BY r.next_at, r.id LIMIT ?"""
_ROOTS = f"""
SELECT id & {LAST_ID} FROM url_state CROSS JOIN url_found USING (id) WHERE id BETWEEN ? AND ?
AND (state = {int(UrlState.DONE)} AND depth = 0
OR state = {int(UrlState.DROPPED)} AND reason = '{DropReason.URL_SOURCE}')"""


class Revisits(Statements):
    """Table `revisit`; ids are URL ids within the crawl."""

    def list_due(
        self, crawl: int, *, until: float, min_recent_pages: float | None, limit: int
    ) -> list[DueHub]:
        """Return the pages due until `until`, in order of their time.

        With `min_recent_pages` it also returns all sections, and pages whose links recently led to
        at least so many new pages.
        """
        values = (*id_range(crawl), until, min_recent_pages is not None, min_recent_pages, limit)
        rows = self._db.fetch_rows(_DUE, values)
        return [DueHub._make((*row[:-1], row[-1] & (1 << 64) - 1)) for row in rows]

    def list_ids(self, crawl: int) -> list[int]:
        """Return the ids of all pages of a crawl that are revisited."""
        sql = f"SELECT id & {LAST_ID} FROM revisit WHERE id BETWEEN ? AND ?"
        return [number for (number,) in self._db.fetch_rows(sql, id_range(crawl))]

    def list_root_ids(self, crawl: int) -> list[int]:
        """Return the ids of the sections, feeds and sitemaps of a crawl."""
        return [number for (number,) in self._db.fetch_rows(_ROOTS, id_range(crawl))]

    def next_due_at(self, crawl: int) -> float | None:
        """Return the time when the next page of a crawl is due; None if none is revisited."""
        sql = "SELECT min(next_at) FROM revisit WHERE id BETWEEN ? AND ?"
        due_at: float | None = self._db.fetch_value(sql, id_range(crawl))
        return due_at

    def add(self, crawl: int, hubs: Iterable[HubState], *, now: float) -> None:
        """Add pages to be revisited; existing ones are not changed."""
        self._db.execute_many(
            "INSERT OR IGNORE INTO revisit VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    row_id(crawl, hub.id),
                    hub.observed_s,
                    hub.recent_pages,
                    hub.interval_s,
                    now,
                    hub.next_at,
                )
                for hub in hubs
            ],
        )

    def record_visits(self, crawl: int, hubs: Iterable[HubState], *, now: float) -> None:
        """Store the states of pages after their visit."""
        self._db.execute_many(
            "UPDATE revisit SET watched_s = ?, fresh = ?, interval_s = ?, next_at = ?, "
            "checked_at = ? WHERE id = ?",
            [(*hub[1:], now, row_id(crawl, hub.id)) for hub in hubs],
        )
