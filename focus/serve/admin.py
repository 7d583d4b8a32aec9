"""Answers administrators: registration, invitations, the mail server, accounts; all audited."""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import settings
from focus.alerts.delivery import sms
from focus.errors import ConfigError
from focus.serve import accounts, tokens
from focus.serve.request import RequestContext
from focus.serve.texts import Wrong

_AUDITED = 50  # lines that are shown


def page(request: RequestContext, invitation: str = "") -> Response:
    """The settings of the installation, and what was typed there."""
    error, done = "", request.say("saved") if "saved" in request.query else ""
    if "registration" in request.form:
        try:
            _change(request)
        except ConfigError as wrong:
            error = request.wrong(wrong)
        else:
            return request.to("/admin", saved=1)
    shown = settings.shown(request.store)
    return request.page(
        "admin.html",
        400 if error else 200,
        registration=accounts.registration(request.store),
        choices=accounts.REGISTRATION,
        smtp=shown.get("smtp", {}),
        gateway=shown.get("sms", ""),
        people=request.store.users.accounts(),
        audit=request.store.audit.latest(_AUDITED),
        invitation=invitation,
        error=error,
        done=done,
    )


def _change(request: RequestContext) -> None:
    choice = request.form["registration"]
    url = request.form.get("smtp", "").strip()
    sender = request.form.get("from", "").strip()
    if choice not in accounts.REGISTRATION:
        raise ConfigError(f"registration {choice!r}: none of {accounts.REGISTRATION}")
    if url:
        settings.mail_settings(url, sender)
    gateway = request.form.get("sms", "").strip()
    if gateway:
        sms.check_gateway(gateway)
    with request.store.transaction():
        if choice != accounts.registration(request.store):
            _put(request, "registration", choice, act="registration", detail=choice)
        if url:
            smtp = {"url": url, "from": sender}
            _put(request, "smtp", smtp, act="mail server", detail=settings.masked_url(url))
        if gateway or "sms_off" in request.form:
            service = gateway.partition("://")[0] or "off"
            _put(request, "sms", gateway, act="SMS gateway", detail=service)


def _put(request: RequestContext, name: str, value: object, *, act: str, detail: str) -> None:
    request.store.settings.put(name, value)
    request.store.audit.note(request.me.name, act, detail, now=request.now)


def invite(request: RequestContext) -> Response:
    """A link by which one person may register."""
    with request.store.transaction():
        secret = tokens.make(request.store, "invite", user=request.me.id, now=request.now)
        request.store.audit.note(request.me.name, "invite", "", now=request.now)
    return page(request, invitation=f"{request.origin}/register?invite={secret}")


def switch(request: RequestContext) -> Response:
    """Disable somebody's account, or enable it again; their sessions are over."""
    store, number = request.store, request.parts["number"]
    found = next((each for each in store.users.accounts() if each.id == number), None)
    if found is None or number == request.me.id:
        raise Wrong("not_found")
    with store.transaction():
        store.users.disable(number, not found.disabled)
        store.tokens.log_out(number)
        what = "enable" if found.disabled else "disable"
        store.audit.note(request.me.name, what, found.name, now=request.now)
    return request.to("/admin", saved=1)
