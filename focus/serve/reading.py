"""Answers the pages with something to read: the inbox, the search, the delivery log."""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import votes
from focus.errors import ConfigError, FocusError
from focus.i18n import told
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext
from focus.storage.alerts.inbox import ACTS
from focus.storage.alerts.records import InboxFilter, Match, StoredAlert
from focus.storage.results import Selection
from focus.storage.search import search as find

DAYS = (1, 7, 30)
PER_PAGE = 30  # pages of the inbox
FOUND = 10  # results on a page: of each a passage is cut
_LAST_PAGE = 1_000


def inbox_page(request: RequestContext) -> Response:
    """A person's pages, as the filter says."""
    query = request.query
    wish = InboxFilter(
        alert=_number(query.get("alert", "")),
        since=_since(request),
        words=query.get("words", "")[:200],
        unread="unread" in query,
        existing="existing" in query,
        page=min(_number(query.get("page", "")) or 0, _LAST_PAGE),
    )
    found = request.store.inbox.entries(request.me.id, wish, per_page=PER_PAGE)
    mine = request.store.alerts.all(request.me.id)
    names = [(each.id, each.alert.name) for each in mine]
    voted = _number(query.get("voted", ""))
    return request.page(
        "inbox.html",
        entries=found[:PER_PAGE],
        has_more=len(found) > PER_PAGE,
        wish=wish,
        days=_number(query.get("days", "")),
        choices={days: _last(request, days) for days in DAYS},
        alerts=names,
        active=_active(request, wish, dict(names)),
        back=_filter(query),
        voted=voted,
        effect=_effect(request, mine, [each.match for each in found if each.match.id == voted]),
    )


def _effect(request: RequestContext, mine: list[StoredAlert], voted: list[Match]) -> str:
    """What votes come to that one was just added to; "" when there is nothing to say."""
    if not voted:
        return ""
    owned = next(each for each in mine if each.id == voted[0].alert)
    try:
        found = votes.effect(request.store, owned, trusted=False)
    except FocusError:
        return ""  # the alert's own page says what is wrong with its topic
    if found is None or not found.pages:
        return ""
    return request.plural(
        "By all votes, {lost} of {n} other page found before would not be told of.",
        "By all votes, {lost} of {n} other pages found before would not be told of.",
        n=found.pages,
        lost=found.lost,
    )


def _active(request: RequestContext, wish: InboxFilter, names: dict[int, str]) -> list[str]:
    """What the filter says now, for people."""
    days = _number(request.query.get("days", ""))
    said = [
        names.get(wish.alert or 0, ""),
        _last(request, days) if days else "",
        wish.words,
        request.say("Unread only") if wish.unread else "",
        request.say("With pages that existed before") if wish.existing else "",
    ]
    return [each for each in said if each]


def _last(request: RequestContext, days: int) -> str:
    return request.plural("Last day", "Last {n} days", n=days)


def _since(request: RequestContext) -> float:
    days = _number(request.query.get("days", ""))
    return request.now - days * 86400.0 if days else 0.0


def _filter(query: dict[str, str]) -> dict[str, str]:
    """What says which pages are shown, without the rest of the address."""
    return {
        name: query[name][:200]
        for name in ("alert", "days", "words", "unread", "existing")
        if query.get(name)
    }


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def act(request: RequestContext) -> Response:
    """Read, delete or judge one page, and go back to where it was shown."""
    what = request.parts["act"]
    number = request.parts["match"]
    if what not in ACTS or not 0 < number < 1 << 62:
        raise Wrong("There is nothing here.")
    if not request.store.inbox.act(request.me.id, number, what, now=request.now):
        return request.page("failure.html", 404, error=request.say("There is nothing here."))
    kept = _filter(request.form)
    if request.form.get("page", "").isdigit():
        kept["page"] = request.form["page"][:5]
    if what in ("relevant", "irrelevant"):
        kept["voted"] = str(number)
    response = request.to("/inbox", **kept)
    if what != "delete":
        response.headers["location"] += f"#match-{number}"
    return response


def read_all(request: RequestContext) -> Response:
    """Nothing is unread any more, of all alerts or of one."""
    alert = _number(request.form.get("alert", ""))
    request.store.inbox.read_all(request.me.id, alert, now=request.now)
    return request.to("/inbox", **_filter(request.form))


def search(request: RequestContext) -> Response:
    """Pages of the asker's crawls by their words. The scheduler brings the index up to date."""
    words = request.query.get("q", "").strip()[:300]
    offset = min(_number(request.query.get("offset", "")) or 0, 500)
    found, error, days = None, "", _number(request.query.get("days", ""))
    if words:
        chosen = Selection(crawl="all", since=_since(request) or None)
        try:
            with request.app_state.index() as index:
                mine = request.store.search.of(request.me.id)
                found = find(index, words, chosen, among=mine, limit=FOUND, offset=offset)
        except ConfigError as wrong:
            error = request.wrong(wrong)
    return request.page(
        "search.html",
        400 if error else 200,
        words=words,
        found=found,
        offset=offset,
        per_page=FOUND,
        days=days,
        choices={days: _last(request, days) for days in DAYS},
        error=error,
    )


def deliveries(request: RequestContext) -> Response:
    """What was sent, and what was not and why."""
    lines = [
        each._replace(detail=told(each.detail, request.language))
        for each in request.store.outbox.deliveries(request.me.id, limit=100)
    ]
    return request.page("deliveries.html", lines=lines)
