"""Records of revisits: what changed on a page since it was fetched by an earlier run.

content_changes   how text and title differ from the stored page
is_gone           whether a response says that the page no longer exists
answered_revisit  the rows of a revisit that was answered
failed_revisit    the row of a revisit that failed
"""

from __future__ import annotations

from focus.records import (
    ChangeKind,
    FailureKind,
    FetchResult,
    Page,
    PageChange,
    RevisitState,
    StoredPage,
)
from focus.scheduling.revisits import Observation, extend_observation

GONE_KINDS = ChangeKind.GONE | ChangeKind.MOVED
CONTENT_KINDS = ChangeKind.TEXT | ChangeKind.TITLE | ChangeKind.BACK
GONE_STATUSES = (404, 410)


def is_gone(fetch: FetchResult, page: Page | None) -> bool:
    """Return whether a page no longer exists: 404, 410, or a text that says so."""
    if page is not None and page.failure is None:
        return page.is_soft_404
    return fetch.failure is FailureKind.HTTP_4XX and fetch.status in GONE_STATUSES


def content_changes(stored_page: StoredPage, page: Page) -> ChangeKind:
    """Return how a page differs from its stored version in main text and title."""
    kinds = ChangeKind(0)
    if stored_page.text_digest and page.text_digest and page.text_digest != stored_page.text_digest:
        kinds |= ChangeKind.TEXT
    if page.title != stored_page.title:
        kinds |= ChangeKind.TITLE
    return kinds


def answered_revisit(
    stored_page: StoredPage,
    at: float,
    kinds: ChangeKind,
    *,
    links: int,
    detail: str,
    decay_s: float,
) -> tuple[RevisitState, PageChange | None]:
    """Return the state of a page after a revisit, and a history row if anything changed.

    GONE or MOVED in `kinds` counts as a change only the first time; a page that was gone and
    answers again has the kind BACK.
    """
    is_gone_now, was_gone = bool(kinds & GONE_KINDS), stored_page.gone_at is not None
    if is_gone_now and was_gone:
        kinds &= ~GONE_KINDS
    elif was_gone:
        kinds |= ChangeKind.BACK
    changed = bool(kinds & CONTENT_KINDS)
    observation = extend_observation(
        Observation(stored_page.observed_s, stored_page.changes),
        at - stored_page.checked_at,
        float(changed),
        decay_s=decay_s,
    )
    check = RevisitState(
        stored_page.id,
        first_fetched_at=stored_page.first_fetched_at,
        checked_at=at,
        tried_at=at,
        changed_at=at if changed else stored_page.changed_at,
        gone_at=(stored_page.gone_at if was_gone else at) if is_gone_now else None,
        observed_s=observation.seconds,
        changes=observation.changes,
    )
    return check, PageChange(stored_page.id, at, int(kinds), links, detail) if kinds else None


def failed_revisit(stored_page: StoredPage, at: float, trouble: str) -> RevisitState:
    """Return the state of a page after a failed revisit: as before, with the failure."""
    return RevisitState(
        stored_page.id,
        first_fetched_at=stored_page.first_fetched_at,
        checked_at=stored_page.checked_at,
        tried_at=at,
        changed_at=stored_page.changed_at,
        gone_at=stored_page.gone_at,
        observed_s=stored_page.observed_s,
        changes=stored_page.changes,
        failure=trouble,
    )
