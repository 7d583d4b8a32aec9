"""One request as its handler sees it, and the responses that handlers return."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from focus.alerts.delivery import mask_channel
from focus.alerts.health import STATES
from focus.alerts.message import format_time, split_snippet
from focus.alerts.schedule import find_zone
from focus.errors import FocusError
from focus.i18n import language_tag, msg, plural, translate
from focus.serve.accounts import LogIn, session_user
from focus.serve.app_state import AppState
from focus.serve.request_guard import preferred_language, uses_https
from focus.serve.tokens import LIFETIMES_S
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import printable
from focus.text.reason_labels import explain_codes, reason_label
from focus.text.templates import make_environment

COOKIE, DEVICE_COOKIE = "focus_session", "focus_browser"

Form = dict[str, str]


class RequestContext:
    """A request with its user (None if not logged in), its path, query and form."""

    def __init__(
        self, app_state: AppState, store: AlertStore, request: Request, form: Form
    ) -> None:
        self.app_state, self.store = app_state, store
        self.now = app_state.clock()
        self.path, self.is_post = request.url.path, request.method == "POST"
        self.path_params = request.path_params
        self.query = dict(request.query_params)
        self.form = form
        self.address = request.client.host if request.client else ""
        self.if_none_match = request.headers.get("if-none-match", "")
        self.user_agent = request.headers.get("user-agent", "")[:500]
        self.uses_https = uses_https(request.url.scheme, app_state.base_url)
        request_origin = f"{request.url.scheme}://{request.headers.get('host', '')}"
        self.origin = app_state.base_url or request_origin
        self.session = request.cookies.get(self.cookie_name, "")
        self.device = request.cookies.get(self.device_cookie_name, "")
        self.user = session_user(store, self.session, now=self.now)
        self.language = self.user.language if self.user else preferred_language(request.headers)

    @property
    def me(self) -> User:
        """User who makes the request; only for handlers that require an account."""
        assert self.user is not None
        return self.user

    @property
    def zone(self) -> tzinfo:
        """Time zone of the user."""
        return find_zone(self.user.zone if self.user else "UTC")

    def say(self, line: str, /, **values: object) -> str:
        """Return a message in the user's language."""
        return translate(msg(line, **values), self.language)

    def plural(self, singular: str, many: str, /, *, n: int, **values: object) -> str:
        """Return a message about `n` things in the user's language."""
        return translate(plural(singular, many, n=n, **values), self.language)

    def error_text(self, error: FocusError) -> str:
        """Return the message of an error in the user's language."""
        return translate(error.message, self.language)

    # -- answers --------------------------------------------------------------------

    def render(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """Return a page that is rendered from a template."""
        context = {
            "request": self,
            "user": self.user,
            "error": "",
            "done": "",
            "lang": language_tag(self.language),
            "unread": self.store.inbox.count_unread(self.user.id) if self.user else 0,
            "when": self.local_time,
            "ago": self.relative_time,
            **values,
        }
        page = _TEMPLATES.get_template(template).render(context)
        return HTMLResponse(add_path_prefix(page, self.app_state.path_prefix), status)

    def redirect(self, path: str, **query: object) -> Response:
        """Return a redirect to a path."""
        tail = f"?{urlencode(query)}" if query else ""
        prefix = self.app_state.path_prefix if path.startswith("/") else ""
        return RedirectResponse(prefix + path + tail, 303)

    def with_log_in(self, response: Response, log_in: LogIn) -> Response:
        """Set the cookies of a log-in in a response: session and known browser."""
        self._set_cookie(response, self.device_cookie_name, log_in.device, kind="device")
        return self.with_session(response, log_in.session)

    def with_session(self, response: Response, session: str) -> Response:
        """Set the session cookie in a response; an empty `session` removes it."""
        return self._set_cookie(response, self.cookie_name, session, kind="session")

    def _set_cookie(self, response: Response, name: str, value: str, *, kind: str) -> Response:
        response.set_cookie(
            name,
            value,
            max_age=int(LIFETIMES_S[kind] or 0) if value else 0,
            path="/",
            secure=self.uses_https,
            httponly=True,
            samesite="lax",
        )
        return response

    @property
    def cookie_name(self) -> str:
        """Name of the cookie; with https one that no subdomain can set (RFC 6265bis 4.1.3)."""
        return f"__Host-{COOKIE}" if self.uses_https else COOKIE

    @property
    def device_cookie_name(self) -> str:
        """Name of the cookie that marks a browser from which somebody has logged in before."""
        return f"__Host-{DEVICE_COOKIE}" if self.uses_https else DEVICE_COOKIE

    def local_time(self, timestamp: float | None) -> str:
        """Return a time on the user's clock, or an empty text for None."""
        return "" if timestamp is None else format_time(timestamp, find_zone(str(self.zone)))

    def relative_time(self, timestamp: float | None) -> str:
        """Return a time as seen from now, such as `7 minutes ago`, with the exact one as title.

        Times that are over a week away are dates.
        """
        if timestamp is None:
            return ""
        exact = self.local_time(timestamp)
        text = _relative_text(self.now - timestamp)
        shown = exact[:10] if text is None else translate(text, self.language)
        moment = datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="minutes")
        return Markup('<time datetime="{}" title="{}">{}</time>').format(moment, exact, shown)


def add_path_prefix(page: str, prefix: str) -> str:
    """Return a page of ours with a prefix before the paths of its links, forms and files.

    Text of others cannot contain such an attribute, since its quotation marks are escaped.
    """
    return _LOCAL_PATH.sub(rf"\g<0>{prefix}", page) if prefix else page


_LOCAL_PATH = re.compile(r'\b(?:href|action|formaction|src)="(?=/)')


def _relative_text(seconds: float) -> str | None:
    """Return a time that many seconds ago (negative: from now) in words; None if over a week."""
    is_past = seconds >= 0
    minutes, hours, days = (round(abs(seconds) / unit) for unit in (60.0, 3600.0, 86400.0))
    if minutes < 60:
        n = max(1, minutes)
        if is_past:
            return plural("{n} minute ago", "{n} minutes ago", n=n)
        return plural("in {n} minute", "in {n} minutes", n=n)
    if hours < 24:
        if is_past:
            return plural("{n} hour ago", "{n} hours ago", n=hours)
        return plural("in {n} hour", "in {n} hours", n=hours)
    if days < 8:
        if is_past:
            return plural("{n} day ago", "{n} days ago", n=days)
        return plural("in {n} day", "in {n} days", n=days)
    return None


def json_download(name: str, data: Any) -> Response:
    """Return data as a JSON file to save."""
    return json_attachment(name, json.dumps(data, ensure_ascii=False, indent=2).encode())


def json_attachment(name: str, text: bytes) -> Response:
    """Return JSON text as a file to save."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


# -- templates ----------------------------------------------------------------------


def _url_host(url: str) -> str:
    try:
        return printable(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def _split_marks(passage: Any) -> list[str]:
    """Return a text split at its marks; every second piece is a matched word."""
    pieces, at = [], 0
    for begin, end in passage.marks:
        if begin >= at:
            pieces += [passage.text[at:begin], passage.text[begin:end]]
            at = end
    return [*pieces, passage.text[at:]]


_PART_LABELS = {
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
    "cited": msg("pages it cites"),
}
"""Labels of the parts of a page."""


_RELEVANCE_LABELS = (
    (0.75, msg("very relevant")),
    (0.5, msg("relevant")),
    (0.0, msg("hardly relevant")),
)
"""Minimum relevance -> its label."""


def _relevance_label(relevance: float, language: str) -> str:
    """Return the label of a relevance."""
    return translate(
        next(label for minimum, label in _RELEVANCE_LABELS if relevance >= minimum), language
    )


_TEMPLATES = make_environment("focus.serve")
_TEMPLATES.filters.update(
    host=_url_host,
    pieces=split_snippet,
    marked=_split_marks,
    masked=mask_channel,
    part=lambda name, language: translate(_PART_LABELS.get(str(name), str(name)), language),
    strength=_relevance_label,
    state=lambda state, language: translate(STATES[state], language),  # of an alert or message
    explained=explain_codes,
    reason=lambda kind, language: translate(reason_label(kind), language),
)
