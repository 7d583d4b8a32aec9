"""The crawls that each user may search.

A crawl can be searched by users whose alerts watch its site, and by all users if an administrator
has opened it. A site that several users watch has one crawl, which all of them can search.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.storage.alerts.database import Statements
from focus.storage.alerts.installation import Settings
from focus.storage.alerts.records import SearchableCrawl

_OPENED = "searched by all"
"""Setting with [id, start time] of each crawl open to all users; an id alone can be reused."""
_IS_OPENED = (
    "EXISTS (SELECT 1 FROM setting s, json_each(s.value) e WHERE s.name = ? "
    "AND json_extract(e.value, '$[0]') = c.id AND json_extract(e.value, '$[1]') = c.started_at)"
)
_CRAWLS = f"""
SELECT c.id, c.started_at, coalesce((SELECT min(host) FROM site WHERE crawl = c.id),
    trim(c.topic || ' ' || ifnull(json_extract(c.identity, '$.seeds[0]'), ''))), {_IS_OPENED}
FROM crawl c ORDER BY c.id DESC LIMIT ?"""
_SEARCHABLE = f"""
SELECT s.crawl FROM site s JOIN alert_site w ON w.site = s.id JOIN alert o ON o.id = w.alert
WHERE o.user = ? AND s.crawl IS NOT NULL
UNION SELECT c.id FROM crawl c WHERE {_IS_OPENED}"""


class SearchAccess(Statements):
    """Table `crawl` with the permissions to search."""

    def list_crawls(self, *, limit: int) -> list[SearchableCrawl]:
        """Return the crawls of the database, newest first."""
        rows = self._db.fetch_rows(_CRAWLS, (_OPENED, limit))
        return [
            SearchableCrawl(number, at, what, bool(is_open)) for number, at, what, is_open in rows
        ]

    def searchable_crawls(self, user: int) -> set[int]:
        """Return the ids of the crawls that a user may search."""
        return {number for (number,) in self._db.fetch_rows(_SEARCHABLE, (user, _OPENED))}

    def set_open_crawls(self, crawls: Iterable[SearchableCrawl]) -> None:
        """Open these crawls to all users, and close the others."""
        Settings(self._db).set(_OPENED, [[crawl.id, crawl.started_at] for crawl in crawls])
