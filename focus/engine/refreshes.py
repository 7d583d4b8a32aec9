"""Says what a look at a page of an earlier run has found: what changed, and how it stands since.

differences   the kinds of change that its text and title tell
is_gone       whether an answer says that the page is there no more
looked        the rows for a look that was answered
unanswered    the row for one that was not: what was had stays
"""

from __future__ import annotations

from focus.records import (
    ChangeKind,
    FailureKind,
    FetchResult,
    KeptPage,
    Page,
    PageChange,
    PageCheck,
)
from focus.scheduling.revisits import Observation, extend_observation

AWAY = ChangeKind.GONE | ChangeKind.MOVED
NEWS = ChangeKind.TEXT | ChangeKind.TITLE | ChangeKind.BACK
GONE_STATUS = (404, 410)


def is_gone(fetch: FetchResult, page: Page | None) -> bool:
    """Whether there is no such page any more: 404, 410, or a page that says so."""
    if page is not None and page.failure is None:
        return page.lost
    return fetch.failure is FailureKind.HTTP_4XX and fetch.status in GONE_STATUS


def differences(kept: KeptPage, page: Page) -> ChangeKind:
    """How a page differs from what is stored of it, by main text and title."""
    kinds = ChangeKind(0)
    if kept.digest and page.digest and page.digest != kept.digest:
        kinds |= ChangeKind.TEXT
    if page.title != kept.title:
        kinds |= ChangeKind.TITLE
    return kinds


def looked(
    kept: KeptPage, at: float, kinds: ChangeKind, *, links: int, detail: str, kept_s: float
) -> tuple[PageCheck, PageChange | None]:
    """How a page stands after an answer, and its line in the history if anything changed.

    `kinds` with GONE or MOVED: it is away now, which is news the first time only; without them
    it is there, which is news if it was away.
    """
    is_away, was_away = bool(kinds & AWAY), kept.gone_at is not None
    if is_away and was_away:
        kinds &= ~AWAY
    elif was_away:
        kinds |= ChangeKind.BACK
    changed = bool(kinds & NEWS)
    watched = extend_observation(
        Observation(kept.watched_s, kept.news), at - kept.checked_at, float(changed), decay_s=kept_s
    )
    check = PageCheck(
        kept.id,
        first_at=kept.first_at,
        checked_at=at,
        tried_at=at,
        changed_at=at if changed else kept.changed_at,
        gone_at=(kept.gone_at if was_away else at) if is_away else None,
        watched_s=watched.seconds,
        news=watched.changes,
    )
    return check, PageChange(kept.id, at, int(kinds), links, detail) if kinds else None


def unanswered(kept: KeptPage, at: float, trouble: str) -> PageCheck:
    """How a page stands after a look that brought nothing: as before, but for the mark."""
    return PageCheck(
        kept.id,
        first_at=kept.first_at,
        checked_at=kept.checked_at,
        tried_at=at,
        changed_at=kept.changed_at,
        gone_at=kept.gone_at,
        watched_s=kept.watched_s,
        news=kept.news,
        trouble=trouble,
    )
