"""Routes requests to their handlers, as one ASGI application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from urllib.parse import unquote_to_bytes

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from focus.errors import FocusError
from focus.i18n import msg, translate
from focus.serve import (
    account_settings,
    admin,
    alerts,
    auth,
    browsers,
    import_export,
    reading,
    upload,
)
from focus.serve.accounts import InvalidInput
from focus.serve.app_state import AppState
from focus.serve.backoff import attempt_key
from focus.serve.log import LOG
from focus.serve.request import RequestContext
from focus.serve.request_guard import RequestGuard, plain_response, preferred_language
from focus.serve.upload import FILE, MAX_FORM, OTHER
from focus.text.formatting import printable

Handler = Callable[[RequestContext], Response]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


# Path -> (methods, handler, access: everybody, users with an account, administrators).
_ROUTES: dict[str, tuple[str, Handler, str]] = {
    "/": ("GET", auth.front_page, "all"),
    "/login": ("GET POST", auth.login, "all"),
    "/logout": ("POST", auth.logout, "all"),
    "/register": ("GET POST", auth.register, "all"),
    "/forgot": ("GET POST", auth.forgot_password, "all"),
    "/reset/{token}": ("GET POST", auth.reset_password, "all"),
    "/confirm/{token}": ("GET POST", auth.confirm_mail, "all"),
    "/unsubscribe/{token}": ("GET POST", auth.unsubscribe, "all"),
    "/feed/{token}.atom": ("GET", auth.atom_feed, "all"),
    "/inbox": ("GET", reading.inbox_page, "user"),
    "/inbox/read": ("POST", reading.mark_all_read, "user"),
    "/inbox/selected": ("POST", reading.act_on_selected, "user"),
    "/inbox/restore": ("POST", reading.restore_matches, "user"),
    "/inbox/{match:id}/open": ("GET", reading.open_match, "user"),
    "/inbox/{match:id}/{act}": ("POST", reading.act_on_match, "user"),
    "/search": ("GET", reading.search_page, "user"),
    "/deliveries": ("GET", reading.deliveries_page, "user"),
    "/alerts": ("GET", alerts.list_alerts, "user"),
    "/alerts/new": ("GET POST", alerts.create_alert, "user"),
    "/alerts/export": ("POST", import_export.export_alerts, "user"),
    "/alerts/import": ("POST", import_export.import_alerts, "user"),
    "/alerts/{alert:id}": ("GET", alerts.show_alert, "user"),
    "/alerts/{alert:id}/edit": ("GET POST", alerts.edit_alert, "user"),
    "/alerts/{alert:id}/pause": ("POST", alerts.toggle_pause, "user"),
    "/alerts/{alert:id}/check": ("POST", alerts.check_now, "user"),
    "/alerts/{alert:id}/delete": ("POST", alerts.delete_alert, "user"),
    "/alerts/{alert:id}/test": ("POST", alerts.send_test, "user"),
    "/alerts/{alert:id}/secret": ("POST", alerts.show_secret, "user"),
    "/alerts/{alert:id}/feed": ("POST", alerts.renew_feed, "user"),
    "/settings": ("GET POST", account_settings.settings_page, "user"),
    "/settings/code": ("POST", account_settings.confirm_phone, "user"),
    "/settings/mail": ("POST", account_settings.resend_link, "user"),
    "/settings/channels": ("POST", account_settings.set_channels, "user"),
    "/settings/password": ("POST", account_settings.change_password, "user"),
    "/settings/sessions": ("POST", account_settings.end_sessions, "user"),
    "/settings/second-factor": ("POST", account_settings.begin_second_factor, "user"),
    "/settings/second-factor/code": ("POST", account_settings.confirm_second_factor, "user"),
    "/settings/second-factor/off": ("POST", account_settings.end_second_factor, "user"),
    "/settings/feed": ("POST", account_settings.renew_feed, "user"),
    "/settings/export": ("POST", account_settings.export_account, "user"),
    "/settings/delete": ("POST", account_settings.delete_account, "user"),
    "/admin": ("GET POST", admin.admin_page, "admin"),
    "/admin/invite": ("POST", admin.create_invitation, "admin"),
    "/admin/search": ("POST", admin.set_open_crawls, "admin"),
    "/admin/users/{number:id}": ("POST", admin.toggle_account, "admin"),
}

_MULTIPART_PATHS = ("/alerts/import", "/unsubscribe/{token}")
"""Paths that accept multipart bodies: imported files and one-click unsubscription (RFC 8058)."""
_UNPARSED_PATHS = ("/unsubscribe/{token}",)
"""Paths whose POST body is never parsed, because the path says everything."""


_SLOW_PATHS: dict[str, tuple[bytes, ...]] = {
    "/alerts/new": (b"try",),
    "/alerts/import": (),
    "/alerts/{alert:id}": (b"preview", b"saved"),
    "/alerts/{alert:id}/edit": (b"try",),
    "/alerts/{alert:id}/test": (b"channel",),
    "/settings": (b"zone",),
    "/settings/mail": (),
    "/search": (),
}
"""Paths that wait for other servers or read many pages -> fields of query or form that do so.

() means every request.
"""
_PASSWORD_PATHS: dict[str, tuple[bytes, ...]] = {
    "/login": (b"password",),
    "/register": (b"password",),
    "/reset/{token}": (b"password",),
    "/settings/password": (),
    "/settings/sessions": (),
    "/settings/second-factor": (),
    "/settings/second-factor/off": (),
    "/settings/delete": (),
}
"""Paths that hash a password or estimate how easy it is to guess -> fields as above."""
MAX_SLOW_REQUESTS = 8  # at the same time; other requests have threads of their own
MAX_PASSWORD_REQUESTS = 2  # at the same time, beside these
MAX_SLOW_REQUESTS_PER_USER = 2
MAX_SLOW_REQUESTS_PER_ADDRESS = 4  # of clients that have not logged in


class SlowRequests:
    """The slow requests in progress: few for each client, and few in all."""

    def __init__(self) -> None:
        self._limiters = (
            (_SLOW_PATHS, CapacityLimiter(MAX_SLOW_REQUESTS)),
            (_PASSWORD_PATHS, CapacityLimiter(MAX_PASSWORD_REQUESTS)),
        )
        self._counts: Counter[str] = Counter()

    def limiter(self, path: str, request: Request, body: bytes) -> CapacityLimiter | None:
        """Return the limiter of a request that may be slow, else None.

        The name of a field may also stand in a value.
        """
        text = unquote_to_bytes(request.scope["query_string"] + b"&" + body)
        for paths, limiter in self._limiters:
            fields = paths.get(path)
            if fields is not None and (not fields or any(field in text for field in fields)):
                return limiter
        return None

    @contextmanager
    def count(self, client: str, maximum: int) -> Iterator[bool]:
        """Count a request of a client while it is in progress; False if there are too many."""
        if self._counts[client] >= maximum:
            yield False
            return
        self._counts[client] += 1
        try:
            yield True
        finally:
            self._counts[client] -= 1
            self._counts += Counter()  # without clients that have no request


class IdConvertor(Convertor[int]):
    """Convertor of ids in paths, of at most 15 digits: a longer number is no path of ours."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        """Return the id of a path."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return an id as it stands in a path."""
        return str(value)


register_url_convertor("id", IdConvertor())


def make_app(app_state: AppState, lifespan: Lifespan | None = None) -> Starlette:
    """Return the web application for the state of a server."""
    slow = SlowRequests()
    routes = [
        Route(path, _endpoint(app_state, slow, path, handler, access), methods=methods.split())
        for path, (methods, handler, access) in _ROUTES.items()
    ]
    routes += [
        Route(path, _file_endpoint(app_state, browsers.read_static_file(name), kind))
        for path, (name, kind) in browsers.STATIC.items()
    ]

    async def missing(request: Request, error: Exception) -> Response:
        return _plain_error(
            app_state, request, msg("There is nothing here."), getattr(error, "status_code", 404)
        )

    return Starlette(
        routes=routes,
        middleware=[Middleware(RequestGuard, base_url=lambda: app_state.base_url)],
        exception_handlers={404: missing, 405: missing},
        lifespan=lifespan,
    )


def _file_endpoint(
    app_state: AppState, data: bytes, kind: str
) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        text = data
        if kind == "application/manifest+json":  # the only file with paths of pages
            text = data.replace(b': "/', b': "' + app_state.path_prefix.encode() + b"/")
        return Response(text, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    return send


def _endpoint(
    app_state: AppState, slow: SlowRequests, path: str, handler: Handler, access: str
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body, user = b"", 0
        if request.method == "POST":
            if (error := _reject_body(app_state, request, path)) is not None:
                return error
            if access != "all" and not (user := await run_in_threadpool(session_owner, request)):
                return RedirectResponse(f"{app_state.path_prefix}/login", 303)
            try:
                body = await _read_body(request)
            except ClientDisconnect:
                return Response(status_code=400)  # the client has gone
            if len(body) > MAX_FORM:
                return _plain_error(app_state, request, msg("The request is too large."), 413)
        call = partial(_call_handler, app_state, path, handler, access, request, body)
        limiter = slow.limiter(path, request, body)
        if limiter is not None and not user:
            user = await run_in_threadpool(session_owner, request)
        if limiter is None or not (user or access == "all"):
            return await run_in_threadpool(call)  # without a session the handler only redirects
        address = attempt_key("address", request.client.host if request.client else "")
        maximum = MAX_SLOW_REQUESTS_PER_USER if user else MAX_SLOW_REQUESTS_PER_ADDRESS
        with slow.count(str(user or address), maximum) as is_allowed:
            if not is_allowed:
                return _plain_error(
                    app_state,
                    request,
                    msg("Your other requests are still in progress. Try again soon."),
                    429,
                )
            return await to_thread.run_sync(call, limiter=limiter)

    def session_owner(request: Request) -> int:
        """Return the id of the user who is logged in; 0 without a session."""
        with app_state.store() as store:
            user = RequestContext(app_state, store, request, {}).user
            return user.id if user else 0

    return endpoint


def _reject_body(app_state: AppState, request: Request, path: str) -> Response | None:
    """Return an error response if the headers show a body that no form sends, else None."""
    kind = upload.body_kind(request.headers.get("content-type", ""))
    if (kind == FILE and path not in _MULTIPART_PATHS) or kind == OTHER:
        return _plain_error(
            app_state, request, msg("This kind of request body is not accepted here."), 415
        )
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_FORM:
        return _plain_error(app_state, request, msg("The request is too large."), 413)
    return None


def _plain_error(app_state: AppState, request: Request, line: str, status: int) -> Response:
    return plain_response(line, preferred_language(request.headers), status, app_state.path_prefix)


def _call_handler(
    app_state: AppState,
    page: str,
    handler: Handler,
    access: str,
    http_request: Request,
    body: bytes,
) -> Response:
    """Return the response of a handler, or an error page; runs in a thread.

    Logs contain the route (`/reset/{token}`), never the path of the request.
    """
    kind = http_request.headers.get("content-type", "")
    plain_error = partial(_plain_error, app_state, http_request)
    try:
        form = {} if page in _UNPARSED_PATHS else upload.parse_fields(kind, body)
    except ValueError:
        return plain_error(msg("The request is too large."), 413)
    with app_state.store() as store:
        request: RequestContext | None = None
        try:
            request = RequestContext(app_state, store, http_request, form)
            if access != "all" and request.user is None:
                return request.redirect("/login")
            if access == "admin" and not request.me.admin:
                return _render_failure(request, msg("There is nothing here."), 404)
            return handler(request)
        except InvalidInput as input_error:
            assert request is not None
            return _render_failure(request, input_error.message, 400)
        except FocusError as error:
            LOG.warning("%s: %s", page, printable(str(error)))
            if request is None or request.user is None:
                return plain_error(msg("Something went wrong; see the server's log."), 503)
            return request.render("failure.html", 503, error=request.error_text(error))
        except Exception:
            LOG.exception("%s failed", page)
            return plain_error(msg("Something went wrong; see the server's log."), 500)


def _render_failure(request: RequestContext, line: str, status: int) -> Response:
    return request.render("failure.html", status, error=translate(line, request.language))


async def _read_body(request: Request) -> bytes:
    """Return the body, cut off after MAX_FORM if it is larger than any form."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            break
    return bytes(body)
