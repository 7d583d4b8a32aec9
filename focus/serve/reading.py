"""Answers the pages with something to read: the inbox, the search, the delivery log."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from focus.alerts import votes
from focus.errors import ConfigError, FocusError
from focus.i18n import translate
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext
from focus.storage.alerts.inbox import ACTS
from focus.storage.alerts.records import InboxFilter, KnownPage, Match, StoredAlert
from focus.storage.results import Selection
from focus.storage.search import search as find

DAYS = (1, 7, 30)
PER_PAGE = 30  # pages of the inbox
FOUND = 10  # results on a page: of each a passage is cut
_LAST_PAGE = 1_000
_LONGEST = 20 * PER_PAGE  # characters of the numbers of so many pages


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
        all="all" in query,
        elsewhere=_elsewhere(query),
        deleted=_numbers(query.get("deleted", "")),
        short=lambda moment: _short(request, moment),
        voted=voted,
        effect=_effect(request, mine, [each.match for each in found if each.match.id == voted]),
    )


def _effect(request: RequestContext, mine: list[StoredAlert], voted: list[Match]) -> str:
    """What votes come to that one was just added to; "" when there is nothing to say."""
    if not voted:
        return ""
    owned = next(each for each in mine if each.id == voted[0].alert)
    try:
        found = votes.vote_effect(request.store, owned, trusted=False)
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


def _elsewhere(query: dict[str, str]) -> str:
    """The same pages, all of them ticked, or none of them any more."""
    kept = _filter(query) | {name: query[name][:5] for name in ("page",) if query.get(name)}
    kept |= {} if "all" in query else {"all": "on"}
    return f"/inbox?{urlencode(kept)}" if kept else "/inbox"


def _short(request: RequestContext, moment: float) -> str:
    """A moment as a list has room for: `08:30` of today, `11-20 08:30` of this year."""
    said, now = request.when(moment), request.when(request.now)
    if said[:10] == now[:10]:
        return said[11:] or said
    return said[5:] if said[:4] == now[:4] else said[:10]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def act(request: RequestContext) -> Response:
    """Read, delete or judge one page, and go back to where it was shown."""
    what, number = request.parts["act"], _match(request)
    if what not in ACTS:
        raise Wrong("There is nothing here.")
    if not request.store.inbox.act(request.me.id, [number], what, now=request.now):
        return _nothing(request)
    if what == "delete":
        return _back(request, deleted=str(number))
    voted = {"voted": str(number)} if what in ("relevant", "irrelevant") else {}
    response = _back(request, **voted)
    response.headers["location"] += f"#match-{number}"
    return response


def act_on_selected(request: RequestContext) -> Response:
    """Read or delete the pages that were ticked."""
    what = request.form.get("act", "")
    chosen = [_number(name.partition("-")[2]) or 0 for name in request.form if name[:6] == "match-"]
    if what not in ("read", "delete"):
        raise Wrong("There is nothing here.")
    request.store.inbox.act(request.me.id, chosen, what, now=request.now)
    if what == "delete" and chosen:
        return _back(request, deleted=",".join(map(str, chosen)))
    return _back(request)


def restore(request: RequestContext) -> Response:
    """Take back that pages were deleted."""
    deleted = _numbers(request.form.get("deleted", ""))
    request.store.inbox.act(request.me.id, deleted, "restore", now=request.now)
    return _back(request)


def open_page(request: RequestContext) -> Response:
    """Go on to a page that was found, which is read by that.

    A GET that acts: it needs its owner's session, which no mail program has, and what it does
    is undone in one click.
    """
    number = _match(request)
    url = request.store.inbox.url(request.me.id, number)
    if url is None or not url.startswith(("http://", "https://")):
        return _nothing(request)
    request.store.inbox.act(request.me.id, [number], "read", now=request.now)
    return request.to(url)


def _match(request: RequestContext) -> int:
    number: int = request.parts["match"]
    if not 0 < number < 1 << 62:
        raise Wrong("There is nothing here.")
    return number


def _nothing(request: RequestContext) -> Response:
    return request.page("failure.html", 404, error=request.say("There is nothing here."))


def _back(request: RequestContext, **more: str) -> Response:
    """To the inbox as it was shown."""
    kept = _filter(request.form)
    if request.form.get("page", "").isdigit():
        kept["page"] = request.form["page"][:5]
    return request.to("/inbox", **kept, **more)


def _numbers(text: str) -> list[int]:
    """`3,5`; what is no number is left out."""
    found = (_number(each) for each in text[:_LONGEST].split(","))
    return [each for each in found if each is not None]


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
    known: dict[str, KnownPage] = {}
    if words:
        chosen = Selection(crawl="all", since=_since(request) or None)
        try:
            with request.app_state.index() as index:
                mine = request.store.search.of(request.me.id)
                found = find(index, words, chosen, among=mine, limit=FOUND, offset=offset)
            known = request.store.inbox.known(request.me.id, [each.url for each in found.hits])
        except ConfigError as wrong:
            error = request.wrong(wrong)
    return request.page(
        "search.html",
        400 if error else 200,
        words=words,
        found=found,
        known=known,
        offset=offset,
        per_page=FOUND,
        days=days,
        choices={days: _last(request, days) for days in DAYS},
        error=error,
    )


def deliveries(request: RequestContext) -> Response:
    """What was sent, and what was not and why."""
    lines = [
        each._replace(detail=translate(each.detail, request.language))
        for each in request.store.outbox.deliveries(request.me.id, limit=100)
    ]
    return request.page("deliveries.html", lines=lines)
