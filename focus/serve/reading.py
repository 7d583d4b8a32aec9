"""Handlers of the pages to read: inbox, search, delivery log."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from focus.alerts import votes
from focus.errors import ConfigError, FocusError
from focus.i18n import translate
from focus.serve.accounts import InvalidInput
from focus.serve.request import RequestContext
from focus.storage.alerts.inbox import ACTIONS
from focus.storage.alerts.records import InboxFilter, KnownPage, Match, StoredAlert
from focus.storage.results import Selection
from focus.storage.search import search as find

DAY_CHOICES = (1, 7, 30)
PER_PAGE = 30  # matches on a page of the inbox
RESULTS_PER_PAGE = 10  # results on a page; few, as each needs a text passage
SEARCH_ORDERS = ("published", "relevance")  # besides the best match
_LAST_PAGE = 1_000
_MAX_NUMBERS_LENGTH = 20 * PER_PAGE  # characters of a list of match ids


def inbox_page(request: RequestContext) -> Response:
    """Show the user's matches that pass the filter."""
    query = request.query
    inbox_filter = InboxFilter(
        alert=_parse_number(query.get("alert", "")),
        since=_since_timestamp(request),
        words=query.get("words", "")[:200],
        unread="unread" in query,
        existing="existing" in query,
        page=min(_parse_number(query.get("page", "")) or 0, _LAST_PAGE),
    )
    entries = request.store.inbox.list_entries(request.me.id, inbox_filter, per_page=PER_PAGE)
    stored_alerts = request.store.alerts.list_alerts(request.me.id)
    names = [(stored_alert.id, stored_alert.alert.name) for stored_alert in stored_alerts]
    voted = _parse_number(query.get("voted", ""))
    return request.render(
        "inbox.html",
        entries=entries[:PER_PAGE],
        has_more=len(entries) > PER_PAGE,
        wish=inbox_filter,
        days=_parse_number(query.get("days", "")),
        choices={days: _last_days_text(request, days) for days in DAY_CHOICES},
        alerts=names,
        active=_active_filters(request, inbox_filter, dict(names)),
        back=_filter_values(query),
        all="all" in query,
        elsewhere=_toggle_selection_url(query),
        deleted=_parse_numbers(query.get("deleted", "")),
        voted=voted,
        effect=_vote_effect_text(
            request, stored_alerts, [entry.match for entry in entries if entry.match.id == voted]
        ),
    )


def _vote_effect_text(
    request: RequestContext, stored_alerts: list[StoredAlert], voted_matches: list[Match]
) -> str:
    """Return a sentence about the effect of all votes after a new one, or an empty text."""
    if not voted_matches:
        return ""
    stored_alert = next(
        stored_alert for stored_alert in stored_alerts if stored_alert.id == voted_matches[0].alert
    )
    try:
        effect = votes.vote_effect(request.store, stored_alert, trusted=False)
    except FocusError:
        return ""  # the page of the alert shows the error in its topic
    if effect is None or not effect.pages:
        return ""
    return request.plural(
        "With all votes, {lost} of {n} other page found before would not be reported.",
        "With all votes, {lost} of {n} other pages found before would not be reported.",
        n=effect.pages,
        lost=effect.lost,
    )


def _active_filters(
    request: RequestContext, inbox_filter: InboxFilter, names: dict[int, str]
) -> list[str]:
    """Return the active filters as texts."""
    days = _parse_number(request.query.get("days", ""))
    texts = [
        names.get(inbox_filter.alert or 0, ""),
        _last_days_text(request, days) if days else "",
        inbox_filter.words,
        request.say("Unread only") if inbox_filter.unread else "",
        request.say("Include pages that existed before") if inbox_filter.existing else "",
    ]
    return [text for text in texts if text]


def _last_days_text(request: RequestContext, days: int) -> str:
    return request.plural("Last day", "Last {n} days", n=days)


def _since_timestamp(request: RequestContext) -> float:
    days = _parse_number(request.query.get("days", ""))
    return request.now - days * 86400.0 if days else 0.0


def _filter_values(query: dict[str, str]) -> dict[str, str]:
    """Return the query parameters that select matches."""
    return {
        name: query[name][:200]
        for name in ("alert", "days", "words", "unread", "existing")
        if query.get(name)
    }


def _toggle_selection_url(query: dict[str, str]) -> str:
    """Return the URL of the same page with all matches selected, or with none."""
    query_values = _filter_values(query) | {
        name: query[name][:5] for name in ("page",) if query.get(name)
    }
    query_values |= {} if "all" in query else {"all": "on"}
    return f"/inbox?{urlencode(query_values)}" if query_values else "/inbox"


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def act_on_match(request: RequestContext) -> Response:
    """Mark, delete or vote on one match, and redirect to where it was shown."""
    action, number = request.path_params["act"], _match_id(request)
    if action not in ACTIONS:
        raise InvalidInput("There is nothing here.")
    if not request.store.inbox.apply_action(request.me.id, [number], action, now=request.now):
        return _not_found(request)
    if action == "delete":
        return _redirect_back(request, deleted=str(number))
    voted = {"voted": str(number)} if action in ("relevant", "irrelevant", "unvoted") else {}
    response = _redirect_back(request, **voted)
    response.headers["location"] += f"#match-{number}"
    return response


def act_on_selected(request: RequestContext) -> Response:
    """Mark the selected matches as read, or delete them."""
    action = request.form.get("act", "")
    match_ids = [
        _parse_number(name.partition("-")[2]) or 0 for name in request.form if name[:6] == "match-"
    ]
    if action not in ("read", "delete"):
        raise InvalidInput("There is nothing here.")
    request.store.inbox.apply_action(request.me.id, match_ids, action, now=request.now)
    if action == "delete" and match_ids:
        return _redirect_back(request, deleted=",".join(map(str, match_ids)))
    return _redirect_back(request)


def restore_matches(request: RequestContext) -> Response:
    """Restore deleted matches."""
    deleted = _parse_numbers(request.form.get("deleted", ""))
    request.store.inbox.apply_action(request.me.id, deleted, "restore", now=request.now)
    return _redirect_back(request)


def open_match(request: RequestContext) -> Response:
    """Redirect to the page of a match, and mark the match as read.

    This GET request changes data. It needs the session of the owner, which no mail program has, and
    one click undoes the change.
    """
    number = _match_id(request)
    url = request.store.inbox.find_url(request.me.id, number)
    if url is None or not url.startswith(("http://", "https://")):
        return _not_found(request)
    request.store.inbox.apply_action(request.me.id, [number], "read", now=request.now)
    return request.redirect(url)


def _match_id(request: RequestContext) -> int:
    number: int = request.path_params["match"]
    if not 0 < number < 1 << 62:
        raise InvalidInput("There is nothing here.")
    return number


def _not_found(request: RequestContext) -> Response:
    return request.render("failure.html", 404, error=request.say("There is nothing here."))


def _redirect_back(request: RequestContext, **extra: str) -> Response:
    """Redirect to the inbox with the filter and page of the form."""
    query_values = _filter_values(request.form)
    if request.form.get("page", "").isdigit():
        query_values["page"] = request.form["page"][:5]
    return request.redirect("/inbox", **query_values, **extra)


def _parse_numbers(text: str) -> list[int]:
    """Return the numbers in a text such as `3,5`; other parts are ignored."""
    numbers = (_parse_number(part) for part in text[:_MAX_NUMBERS_LENGTH].split(","))
    return [number for number in numbers if number is not None]


def mark_all_read(request: RequestContext) -> Response:
    """Mark all matches as read, of all alerts or of one."""
    alert = _parse_number(request.form.get("alert", ""))
    request.store.inbox.mark_all_read(request.me.id, alert, now=request.now)
    return request.redirect("/inbox", **_filter_values(request.form))


def search_page(request: RequestContext) -> Response:
    """Show the results of a search in the user's crawls; the scheduler updates the index."""
    words = request.query.get("q", "").strip()[:300]
    offset = min(_parse_number(request.query.get("offset", "")) or 0, 500)
    results, error, days = None, "", _parse_number(request.query.get("days", ""))
    sort = request.query.get("sort", "")
    sort = sort if sort in SEARCH_ORDERS else ""
    known: dict[str, KnownPage] = {}
    if words:
        selection = Selection(crawl="all", since=_since_timestamp(request) or None, sort=sort)
        try:
            with request.app_state.index() as index:
                crawls = request.store.search.searchable_crawls(request.me.id)
                results = find(
                    index,
                    words,
                    selection,
                    allowed_crawls=crawls,
                    limit=RESULTS_PER_PAGE,
                    offset=offset,
                )
            known = request.store.inbox.find_known_pages(
                request.me.id, [hit.url for hit in results.hits]
            )
        except ConfigError as query_error:
            error = request.error_text(query_error)
    return request.render(
        "search.html",
        400 if error else 200,
        words=words,
        found=results,
        known=known,
        offset=offset,
        per_page=RESULTS_PER_PAGE,
        days=days,
        sort=sort,
        choices={days: _last_days_text(request, days) for days in DAY_CHOICES},
        error=error,
    )


def deliveries_page(request: RequestContext) -> Response:
    """Show the sent and failed messages."""
    lines = [
        delivery._replace(detail=translate(delivery.detail, request.language))
        for delivery in request.store.outbox.list_deliveries(request.me.id, limit=100)
    ]
    return request.render("deliveries.html", lines=lines)
