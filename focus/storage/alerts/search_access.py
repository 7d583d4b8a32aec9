"""Keeps whose search reaches which crawls.

A crawl is searched by those whose alerts watch its site, and by everybody where an administrator
has opened it. A site that several people watch is visited once: its pages are each of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.storage.alerts.database import Statements
from focus.storage.alerts.installation import Settings
from focus.storage.alerts.records import CrawlShown

_OPENED = "searched by all"
"""The setting that holds [id, start] of each crawl that everybody may search: an id alone may
come again, of another crawl.
"""
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
    """The table `crawl`, by who may search it."""

    def crawls(self, *, most: int) -> list[CrawlShown]:
        """The crawls of the database, newest first."""
        rows = self._db.rows(_CRAWLS, (_OPENED, most))
        return [CrawlShown(number, at, what, bool(is_open)) for number, at, what, is_open in rows]

    def of(self, user: int) -> set[int]:
        """The crawls that a person may search."""
        return {number for (number,) in self._db.rows(_SEARCHABLE, (user, _OPENED))}

    def open(self, crawls: Iterable[CrawlShown]) -> None:
        """Open these crawls to everybody, and close the others."""
        Settings(self._db).put(_OPENED, [[each.id, each.started_at] for each in crawls])
