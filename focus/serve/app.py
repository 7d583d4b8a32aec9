"""Routes requests to the pages that answer them, as one ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
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
from focus.serve.accounts import Wrong
from focus.serve.app_state import AppState
from focus.serve.request import RequestContext
from focus.serve.request_guard import RequestGuard, language_asked, plain
from focus.serve.upload import FILE, MAX_FORM, OTHER
from focus.text.formatting import printable

Handler = Callable[[RequestContext], Response]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

_log = logging.getLogger("focus.serve")

# Path -> (methods, handler, who may: everybody, somebody with an account, an administrator).
_ROUTES: dict[str, tuple[str, Handler, str]] = {
    "/": ("GET", auth.front, "all"),
    "/login": ("GET POST", auth.login, "all"),
    "/logout": ("POST", auth.logout, "all"),
    "/register": ("GET POST", auth.register, "all"),
    "/forgot": ("GET POST", auth.forgot, "all"),
    "/forgot/code": ("POST", auth.reset_by_code, "all"),
    "/reset/{token}": ("GET POST", auth.reset, "all"),
    "/confirm/{token}": ("GET POST", auth.confirm, "all"),
    "/unsubscribe/{token}": ("GET POST", auth.unsubscribe, "all"),
    "/feed/{token}.atom": ("GET", auth.feed, "all"),
    "/offline": ("GET", browsers.offline, "all"),
    "/inbox": ("GET", reading.inbox_page, "user"),
    "/inbox/read": ("POST", reading.read_all, "user"),
    "/inbox/selected": ("POST", reading.act_on_selected, "user"),
    "/inbox/restore": ("POST", reading.restore, "user"),
    "/inbox/{match:int}/open": ("GET", reading.open_page, "user"),
    "/inbox/{match:int}/{act}": ("POST", reading.act, "user"),
    "/search": ("GET", reading.search, "user"),
    "/deliveries": ("GET", reading.deliveries, "user"),
    "/alerts": ("GET", alerts.listed, "user"),
    "/alerts/new": ("GET POST", alerts.new, "user"),
    "/alerts/export": ("POST", import_export.export, "user"),
    "/alerts/import": ("POST", import_export.take_in, "user"),
    "/alerts/adopt": ("POST", import_export.adopt, "admin"),
    "/alerts/{alert:int}": ("GET", alerts.show, "user"),
    "/alerts/{alert:int}/edit": ("GET POST", alerts.edit, "user"),
    "/alerts/{alert:int}/pause": ("POST", alerts.pause, "user"),
    "/alerts/{alert:int}/check": ("POST", alerts.check, "user"),
    "/alerts/{alert:int}/delete": ("POST", alerts.delete, "user"),
    "/alerts/{alert:int}/test": ("POST", alerts.test, "user"),
    "/alerts/{alert:int}/secret": ("POST", alerts.secret, "user"),
    "/alerts/{alert:int}/feed": ("POST", alerts.feed, "user"),
    "/settings": ("GET POST", account_settings.settings, "user"),
    "/settings/code": ("POST", account_settings.code, "user"),
    "/settings/mail": ("POST", account_settings.mail, "user"),
    "/settings/channels": ("POST", account_settings.channels, "user"),
    "/settings/password": ("POST", account_settings.password, "user"),
    "/settings/feed": ("POST", account_settings.feed, "user"),
    "/settings/export": ("POST", account_settings.export, "user"),
    "/settings/browsers": ("POST", browsers.add, "user"),
    "/settings/browsers/{number:int}": ("POST", browsers.remove, "user"),
    "/settings/delete": ("POST", account_settings.delete, "user"),
    "/admin": ("GET POST", admin.page, "admin"),
    "/admin/invite": ("POST", admin.invite, "admin"),
    "/admin/search": ("POST", admin.search, "admin"),
    "/admin/users/{number:int}": ("POST", admin.switch, "admin"),
}

_FILES = ("/alerts/import", "/unsubscribe/{token}")
"""Where multipart is no error: an imported file, and mail programs' one click (RFC 8058)."""
_UNREAD = ("/unsubscribe/{token}",)
"""Where a POST says all by its address: what it carries is never parsed."""


def make_app(app_state: AppState, lifespan: Lifespan | None = None) -> Starlette:
    """The web pages over the state of a server."""
    routes = [
        Route(path, _endpoint(app_state, path, handler, who), methods=methods.split())
        for path, (methods, handler, who) in _ROUTES.items()
    ]
    routes += [
        Route(path, _file(browsers.static(name), kind))
        for path, (name, kind) in browsers.STATIC.items()
    ]

    async def missing(request: Request, error: Exception) -> Response:
        return _refused(request, msg("There is nothing here."), getattr(error, "status_code", 404))

    return Starlette(
        routes=routes,
        middleware=[Middleware(RequestGuard, base_url=lambda: app_state.base_url)],
        exception_handlers={404: missing, 405: missing},
        lifespan=lifespan,
    )


def _file(data: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return Response(data, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    return send


def _endpoint(
    app_state: AppState, path: str, handler: Handler, who: str
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = b""
        if request.method == "POST":
            if (refusal := _unfit(request, path)) is not None:
                return refusal
            if who != "all" and not await run_in_threadpool(is_somebody, request):
                return RedirectResponse("/login", 303)
            try:
                body = await _body(request)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody is there to read it
            if len(body) > MAX_FORM:
                return _refused(request, msg("That is too much."), 413)
        return await run_in_threadpool(_answered, app_state, path, handler, who, request, body)

    def is_somebody(request: Request) -> bool:
        """Whether a session of somebody's came along: nobody else's body is read."""
        with app_state.store() as store:
            return RequestContext(app_state, store, request, {}).user is not None

    return endpoint


def _unfit(request: Request, path: str) -> Response | None:
    """The answer to a request whose headers alone say that its body is none of ours."""
    kind = upload.kind_of(request.headers.get("content-type", ""))
    if (kind == FILE and path not in _FILES) or kind == OTHER:
        return _refused(request, msg("This kind of body is not taken here."), 415)
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_FORM:
        return _refused(request, msg("That is too much."), 413)
    return None


def _refused(request: Request, line: str, status: int) -> Response:
    return plain(line, language_asked(request.headers), status)


def _answered(
    app_state: AppState, page: str, handler: Handler, who: str, asked: Request, body: bytes
) -> Response:
    """A handler's answer, or what went wrong, in a thread. The border of the web pages.

    Logs name the page (`/reset/{token}`), never the address that was asked for.
    """
    kind, language = asked.headers.get("content-type", ""), language_asked(asked.headers)
    try:
        form = {} if page in _UNREAD else upload.fields(kind, body)
    except ValueError:
        return plain(msg("That is too much."), language, 413)
    with app_state.store() as store:
        request: RequestContext | None = None
        try:
            request = RequestContext(app_state, store, asked, form)
            if who != "all" and request.user is None:
                return request.to("/login")
            if who == "admin" and not request.me.admin:
                return _failed(request, msg("There is nothing here."), 404)
            return handler(request)
        except Wrong as wrong:
            assert request is not None
            return _failed(request, wrong.message, 400)
        except FocusError as error:
            _log.warning("%s: %s", page, printable(str(error)))
            if request is None or request.user is None:
                return plain(msg("Something went wrong; the log says what."), language, 503)
            return request.page("failure.html", 503, error=request.wrong(error))
        except Exception:
            _log.exception("%s failed", page)
            return plain(msg("Something went wrong; the log says what."), language, 500)


def _failed(request: RequestContext, line: str, status: int) -> Response:
    return request.page("failure.html", status, error=translate(line, request.language))


async def _body(request: Request) -> bytes:
    """What was sent, or as much of it as is more than anybody types."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            break
    return bytes(body)
