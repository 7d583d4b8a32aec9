"""What is there to read? The inbox, the search over all pages, the delivery log."""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import outbox
from focus.alerts.texts import told
from focus.errors import ConfigError
from focus.serve import inbox
from focus.serve.inbox import PER_PAGE, Wish
from focus.serve.request import Asked
from focus.serve.texts import Wrong
from focus.storage.results import Selection
from focus.storage.search import search as find

DAYS = (1, 7, 30)
FOUND = 10  # results on a page: of each a passage is cut
_LAST_PAGE = 1_000


def inbox_page(asked: Asked) -> Response:
    """A person's pages, as the filter says."""
    query = asked.query
    wish = Wish(
        concern=_number(query.get("concern", "")),
        since=_since(asked),
        words=query.get("words", "")[:200],
        unread="unread" in query,
        existing="existing" in query,
        page=min(_number(query.get("page", "")) or 0, _LAST_PAGE),
    )
    found = inbox.letters(asked.book, asked.me.id, wish)
    names = [(each.id, each.concern.name) for each in asked.book.concerns(asked.me.id)]
    return asked.page(
        "inbox.html",
        letters=found[:PER_PAGE],
        has_more=len(found) > PER_PAGE,
        wish=wish,
        days=_number(query.get("days", "")),
        choices=DAYS,
        concerns=names,
        active=_active(asked, wish, dict(names)),
        back=_filter(query),
    )


def _active(asked: Asked, wish: Wish, names: dict[int, str]) -> list[str]:
    """What the filter says now, for people."""
    days = _number(asked.query.get("days", ""))
    said = [
        names.get(wish.concern or 0, ""),
        asked.say("last_days", n=days) if days else "",
        wish.words,
        asked.say("unread_only") if wish.unread else "",
        asked.say("existing") if wish.existing else "",
    ]
    return [each for each in said if each]


def _since(asked: Asked) -> float:
    days = _number(asked.query.get("days", ""))
    return asked.now - days * 86400.0 if days else 0.0


def _filter(query: dict[str, str]) -> dict[str, str]:
    """What says which pages are shown, without the rest of the address."""
    return {
        name: query[name][:200]
        for name in ("concern", "days", "words", "unread", "existing")
        if query.get(name)
    }


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def act(asked: Asked) -> Response:
    """Read, delete or judge one page, and go back to where it was shown."""
    what = asked.parts["act"]
    number = asked.parts["hit"]
    if what not in inbox.ACTS or not 0 < number < 1 << 62:
        raise Wrong("not_found")
    if not inbox.act(asked.book, asked.me.id, number, what, now=asked.now):
        return asked.page("trouble.html", 404, error=asked.say("not_found"))
    kept = _filter(asked.form)
    if asked.form.get("page", "").isdigit():
        kept["page"] = asked.form["page"][:5]
    response = asked.to("/inbox", **kept)
    if what != "delete":
        response.headers["location"] += f"#hit-{number}"
    return response


def read_all(asked: Asked) -> Response:
    """Nothing is unread any more, of all concerns or of one."""
    concern = _number(asked.form.get("concern", ""))
    inbox.read_all(asked.book, asked.me.id, concern, now=asked.now)
    return asked.to("/inbox", **_filter(asked.form))


def search(asked: Asked) -> Response:
    """Pages of all crawls by their words. The index is brought up to date by the scheduler."""
    words = asked.query.get("q", "").strip()[:300]
    offset = min(_number(asked.query.get("offset", "")) or 0, 500)
    found, error, days = None, "", _number(asked.query.get("days", ""))
    if words:
        chosen = Selection(crawl="all", since=_since(asked) or None)
        try:
            with asked.office.index() as index:
                found = find(index, words, chosen, limit=FOUND, offset=offset)
        except ConfigError as wrong:
            error = asked.wrong(wrong)
    return asked.page(
        "search.html",
        400 if error else 200,
        words=words,
        found=found,
        offset=offset,
        per_page=FOUND,
        days=days,
        choices=DAYS,
        error=error,
    )


def deliveries(asked: Asked) -> Response:
    """What was sent, and what was not and why."""
    lines = [
        each._replace(detail=told(each.detail, asked.language))
        for each in outbox.lines(asked.book, asked.me.id, limit=100)
    ]
    return asked.page("deliveries.html", lines=lines)
