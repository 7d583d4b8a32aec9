"""Holds one request for a handler, and makes its answers."""

from __future__ import annotations

import json
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from focus.alerts.delivery import mask_channel
from focus.alerts.health import STATES
from focus.alerts.message import format_time, split_snippet
from focus.alerts.schedule import find_zone
from focus.errors import FocusError
from focus.i18n import language_tag, msg, plural, translate
from focus.serve.accounts import user_of_session
from focus.serve.app_state import AppState
from focus.serve.request_guard import is_secure, language_asked
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import printable
from focus.text.templates import make_environment

COOKIE = "focus_session"

Form = dict[str, str]


class RequestContext:
    """A request, read: who asks (None: nobody known), where, and what was typed."""

    def __init__(
        self, app_state: AppState, store: AlertStore, request: Request, form: Form
    ) -> None:
        self.app_state, self.store = app_state, store
        self.now = app_state.clock()
        self.path, self.is_post = request.url.path, request.method == "POST"
        self.parts, self.query, self.form = request.path_params, dict(request.query_params), form
        self.address = request.client.host if request.client else ""
        self.agent = request.headers.get("user-agent", "")[:500]
        self.secure = is_secure(request.url.scheme, app_state.base_url)
        here = f"{request.url.scheme}://{request.headers.get('host', '')}"
        self.origin = app_state.base_url or here
        self.session = request.cookies.get(self.cookie_name, "")
        self.user = user_of_session(store, self.session, now=self.now)
        self.language = self.user.language if self.user else language_asked(request.headers)

    @property
    def me(self) -> User:
        """Who asks; handlers of this are only called for somebody."""
        assert self.user is not None
        return self.user

    @property
    def zone(self) -> tzinfo:
        """The asker's clock."""
        return find_zone(self.user.zone if self.user else "UTC")

    def say(self, line: str, /, **values: object) -> str:
        """A message in the asker's language."""
        return translate(msg(line, **values), self.language)

    def plural(self, one: str, many: str, /, *, n: int, **values: object) -> str:
        """A message about `n` things."""
        return translate(plural(one, many, n=n, **values), self.language)

    def wrong(self, error: FocusError) -> str:
        """What is wrong, in the asker's language."""
        return translate(error.message, self.language)

    # -- answers --------------------------------------------------------------------

    def page(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """A page of ours."""
        context = {
            "request": self,
            "user": self.user,
            "error": "",
            "done": "",
            "lang": language_tag(self.language),
            "unread": self.store.inbox.unread(self.user.id) if self.user else 0,
            "when": self.when,
            **values,
        }
        return HTMLResponse(_PAGES.get_template(template).render(context), status)

    def to(self, path: str, **query: object) -> Response:
        """Go on there."""
        tail = f"?{urlencode(query)}" if query else ""
        return RedirectResponse(path + tail, 303)

    def known(self, response: Response, session: str) -> Response:
        """With a session's cookie; "" takes it away."""
        response.set_cookie(
            self.cookie_name,
            session,
            max_age=14 * 86400 if session else 0,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )
        return response

    @property
    def cookie_name(self) -> str:
        """Behind https one that no subdomain and no plain http can set (RFC 6265bis 4.1.3)."""
        return f"__Host-{COOKIE}" if self.secure else COOKIE

    def when(self, moment: float | None) -> str:
        """A moment on the asker's clock."""
        return "" if moment is None else format_time(moment, find_zone(str(self.zone)))


def download(name: str, data: Any) -> Response:
    """A JSON file to be kept."""
    return attached(name, json.dumps(data, ensure_ascii=False, indent=2).encode())


def attached(name: str, text: bytes) -> Response:
    """The text of such a file."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


# -- templates ----------------------------------------------------------------------


def _host(url: str) -> str:
    try:
        return printable(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def _marked(passage: Any) -> list[str]:
    """A search result's text cut at its marks, every second piece a matched word."""
    cut, at = [], 0
    for begin, end in passage.marks:
        if begin >= at:
            cut += [passage.text[at:begin], passage.text[begin:end]]
            at = end
    return [*cut, passage.text[at:]]


_PARTS = {
    "title": msg("title"),
    "keywords": msg("keywords"),
    "description": msg("description"),
    "headings": msg("headings"),
    "body": msg("text"),
    "text": msg("text"),
    "lead": msg("beginning"),
    "tag": msg("tag"),
    "links": msg("links"),
    "anchors": msg("link texts"),
    "url": msg("address"),
    "section": msg("section"),
    "breadcrumb": msg("breadcrumb"),
    "cited": msg("what it cites"),
}
"""What the parts of a page are called."""


_STRENGTHS = ((0.75, msg("very relevant")), (0.5, msg("relevant")), (0.0, msg("hardly relevant")))
"""Least relevance -> how it is called."""


def _strength(relevance: float, language: str) -> str:
    """Relevance in words."""
    return translate(next(word for least, word in _STRENGTHS if relevance >= least), language)


_PAGES = make_environment("focus.serve")
_PAGES.filters.update(
    host=_host,
    pieces=split_snippet,
    marked=_marked,
    masked=mask_channel,
    part=lambda name, language: translate(_PARTS.get(str(name), str(name)), language),
    strength=_strength,
    state=lambda state, language: translate(STATES[state], language),  # of an alert or message
    reason=lambda kind, language: translate(msg(kind), language),  # a FailureKind or DropReason
)
