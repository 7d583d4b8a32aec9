"""Which pages has a site brought, and what is kept of those that match an alert?

The SQL of matching: pages in order of `nth`, by the cursor of their site; hits, written
with what follows from them in one transaction of the caller's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from focus.alerts.store import (
    HIT_COLUMNS,
    SITE_COLUMNS,
    AlertStore,
    Match,
    StoredAlert,
    WatchedSite,
    hit_of,
)
from focus.records import UrlState

_TWINS = 5_000  # earlier hits of an alert that new ones are compared with
_MASK = (1 << 64) - 1


class StoredPage(msgspec.Struct, frozen=True):
    """A page as its crawl stored it, without its source (see `source`).

    wanted  whether it may be shown at all: not withdrawn since, not asked to be left out
    """

    id: int
    nth: int
    url: str
    title: str
    keywords: str
    description: str
    language: str
    fetched_at: float
    simhash: int
    wanted: bool


_PAGES = f"""
SELECT p.id, p.nth, x.url, x.title, x.keywords, x.description, x.language, p.fetched_at, p.simhash,
u.state = {int(UrlState.DONE)} AND NOT p.noindex
FROM page p JOIN page_text x ON x.id = p.id JOIN url u ON u.id = p.id
"""
_AFTER = _PAGES + "WHERE p.crawl = ? AND p.nth > ? AND p.nth <= ? ORDER BY p.nth LIMIT ?"
_SINCE = _PAGES + "WHERE p.crawl = ? AND p.fetched_at >= ? ORDER BY p.nth DESC LIMIT ?"
LAST = (1 << 62) - 1


def pages(
    book: AlertStore, crawl: int, *, after: int, to: int = LAST, limit: int
) -> list[StoredPage]:
    """The next pages of a crawl in order of `nth`, behind one and up to another."""
    return [StoredPage(*row) for row in book.rows(_AFTER, (crawl, after, to, limit))]


def pages_since(book: AlertStore, crawl: int, *, since: float, limit: int) -> list[StoredPage]:
    """The pages of a crawl fetched since then, latest first."""
    return [StoredPage(*row) for row in book.rows(_SINCE, (crawl, since, limit))]


def source(book: AlertStore, page: int) -> bytes | None:
    """The packed source of a page; None: it was not kept."""
    rows = book.rows("SELECT zstd FROM body WHERE id = ?", (page,))
    return rows[0][0] if rows else None


def latest(book: AlertStore, crawl: int, *, to: int, most: int) -> int:
    """The `nth` behind which the last so many pages up to `to` begin; 0: all of them do."""
    sql = "SELECT nth FROM page WHERE crawl = ? AND nth <= ? ORDER BY nth DESC LIMIT 1 OFFSET ?"
    rows = book.rows(sql, (crawl, to, most))
    return rows[0][0] if rows else 0


def began_at(book: AlertStore, crawl: int) -> float:
    """When a crawl began."""
    started: float = book.rows("SELECT started_at FROM crawl WHERE id = ?", (crawl,))[0][0]
    return started


def has_pages(book: AlertStore, site: WatchedSite) -> bool:
    """Whether a site has brought anything yet; one that was down has a crawl without pages."""
    return site.crawl is not None and latest_nth(book, site.crawl) > 0


def latest_nth(book: AlertStore, crawl: int) -> int:
    """Of the page of a crawl that came last; 0 when there is none."""
    rows = book.rows("SELECT ifnull(max(nth), 0) FROM page WHERE crawl = ?", (crawl,))
    return int(rows[0][0])


# -- alerts and sites -------------------------------------------------------------


def watchers(book: AlertStore, site: int) -> list[tuple[StoredAlert, bool]]:
    """The alerts on a site that are not paused, and whether what exists there is marked as
    seen for them.
    """
    sql = "SELECT alert, min(begun_at IS NOT NULL) FROM alert_site WHERE site = ? GROUP BY 1"
    begun = dict(book.rows(sql, (site,)))
    return [(each, bool(begun.get(each.id))) for each in book.alerts_on(site)]


def site_of(book: AlertStore, host: str) -> WatchedSite | None:
    """A site by its host[:port]."""
    rows = book.rows(f"SELECT {SITE_COLUMNS} FROM site s WHERE s.host = ?", (host,))
    return WatchedSite(*rows[0]) if rows else None


def advance(db: sqlite3.Connection, site: int, nth: int) -> None:
    """Pages up to this one were held against the alerts on a site."""
    db.execute("UPDATE site SET matched = max(matched, ?) WHERE id = ?", (nth, site))


def begin(db: sqlite3.Connection, site: int, alerts: Iterable[int], now: float) -> None:
    """What exists on a site is marked as seen for these alerts."""
    db.executemany(
        "UPDATE alert_site SET begun_at = ? WHERE site = ? AND alert = ? AND begun_at IS NULL",
        [(now, site, alert) for alert in alerts],
    )


def checked(db: sqlite3.Connection, alert: int, *, now: float | None, next_at: float) -> None:
    """An alert was looked after (None: it could not be yet); when it is due again."""
    db.execute("UPDATE alert SET checked_at = ?, next_at = ? WHERE id = ?", (now, next_at, alert))


def fared(db: sqlite3.Connection, site: int, trouble: str, *, now: float) -> None:
    """What was wrong with a visit of a site; "": nothing, it fails no more."""
    db.execute(
        "UPDATE site SET trouble = ?1, failures = iif(?1 = '', 0, failures + 1), "
        "failing_since = iif(?1 = '', NULL, ifnull(failing_since, ?2)) WHERE id = ?3",
        (trouble, now, site),
    )


def troubled(book: AlertStore, site: int, reason: str, *, now: float) -> None:
    """A site could not be visited."""
    with book.transaction() as db:
        fared(db, site, reason, now=now)


def zones(book: AlertStore) -> dict[int, str]:
    """The time zone of each user, by its IANA name."""
    return dict(book.rows("SELECT id, zone FROM user"))


# -- hits ---------------------------------------------------------------------------


def texts(book: AlertStore, alert: int) -> list[tuple[int, int, str]]:
    """(hit, simhash, URL) of an alert's latest hits that repeat no other, in order."""
    sql = (
        "SELECT id, simhash, url FROM hit WHERE alert = ? AND twin IS NULL AND simhash <> 0 "
        "ORDER BY id DESC LIMIT ?"
    )
    rows = book.rows(sql, (alert, _TWINS))
    return [(hit, simhash & _MASK, url) for hit, simhash, url in reversed(rows)]


def add(db: sqlite3.Connection, hit: Match) -> int | None:
    """Keep a hit; its id, None when the alert has the page already."""
    row = db.execute(
        "INSERT OR IGNORE INTO hit (alert, page, url, title, language, published_at, found_at, "
        "relevance, snippet, why, simhash, twin, baseline) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            hit.alert,
            hit.page,
            hit.url,
            hit.title,
            hit.language,
            hit.published_at,
            hit.found_at,
            hit.relevance,
            hit.snippet,
            msgspec.json.encode(hit.why).decode(),
            hit.simhash - ((hit.simhash >> 63) << 64),  # SQLite's integers are signed
            hit.twin,
            hit.baseline,
        ),
    ).fetchone()
    return None if row is None else int(row[0])


def best_of_baseline(db: sqlite3.Connection, alert: int, most: int) -> list[int]:
    """The best of what existed when an alert began, dated pages first: those are articles.
    From here on they count as news.
    """
    rows = db.execute(
        "UPDATE hit SET baseline = 0 WHERE id IN (SELECT id FROM hit WHERE alert = ? "
        "AND baseline AND twin IS NULL AND deleted = 0 "
        "ORDER BY published_at IS NULL, relevance DESC, published_at DESC, id DESC LIMIT ?) "
        "RETURNING id",
        (alert, most),
    ).fetchall()
    return sorted(hit for (hit,) in rows)


# -- health -------------------------------------------------------------------------


class Figures(msgspec.Struct, frozen=True):
    """What a site's crawl has come to, and what an alert has had of it."""

    pages: int = 0
    blocked: int = 0
    errors: dict[str, int] = {}


def figures(book: AlertStore, crawl: int | None) -> Figures:
    """Pages stored, URLs that robots.txt forbids, failures by reason."""
    if crawl is None:
        return Figures()
    ends = book.rows("SELECT state, reason, n FROM tally WHERE crawl = ? AND n > 0", (crawl,))
    failed = [(reason, n) for state, reason, n in ends if state == UrlState.FAILED]
    return Figures(
        sum(n for state, _, n in ends if state == UrlState.DONE),
        sum(n for state, reason, n in ends if state == UrlState.DROPPED and reason == "robots"),
        dict(sorted(failed, key=lambda each: -each[1])[:5]),
    )


def unmatched(book: AlertStore, site: WatchedSite) -> int:
    """Pages of a site that were held against no alert yet."""
    sql = "SELECT count(*) FROM page WHERE crawl = ? AND nth > ?"
    return 0 if site.crawl is None else int(book.rows(sql, (site.crawl, site.matched))[0][0])


class Count(msgspec.Struct, frozen=True):
    """Hits of an alert: told as news, folded under others, and when the last news came."""

    news: int
    folded: int
    unread: int
    last_at: float | None


def count(book: AlertStore, alert: int) -> Count:
    """How much was found for an alert."""
    sql = (
        "SELECT total(baseline = 0 AND twin IS NULL), total(twin IS NOT NULL), "
        "total(baseline = 0 AND twin IS NULL AND read_at IS NULL), "
        "max(CASE WHEN baseline = 0 THEN found_at END) FROM hit WHERE alert = ? AND deleted = 0"
    )
    news, folded, unread, last_at = book.rows(sql, (alert,))[0]
    return Count(int(news), int(folded), int(unread), last_at)


def recent(book: AlertStore, alert: int, *, limit: int) -> list[Match]:
    """The latest news of an alert, the best of a moment first."""
    sql = (
        f"SELECT {HIT_COLUMNS} FROM hit WHERE alert = ? AND deleted = 0 AND twin IS NULL "
        "AND baseline = 0 ORDER BY found_at DESC, relevance DESC, id LIMIT ?"
    )
    return [hit_of(row) for row in book.rows(sql, (alert, limit))]
