"""Answers administrators, audited: registration, invitations, the mail server, accounts, and
which crawls everybody may search.
"""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import settings
from focus.alerts.delivery import sms
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import accounts, tokens
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext

_AUDITED = 50  # lines that are shown
_CRAWLS = 200  # that are shown, newest first


def page(request: RequestContext, invitation: str = "") -> Response:
    """The settings of the installation, and what was typed there."""
    error, done = "", request.say("Saved.") if "saved" in request.query else ""
    if "registration" in request.form:
        try:
            _change(request)
        except ConfigError as wrong:
            error = request.wrong(wrong)
        else:
            return request.to("/admin", saved=1)
    shown = settings.masked_settings(request.store, request.app_state.settings().key)
    return request.page(
        "admin.html",
        400 if error else 200,
        registration=accounts.registration(request.store),
        choices=accounts.REGISTRATION,
        smtp=shown.get("smtp", {}),
        gateway=sms.mask_gateway(shown.get("sms", "")),
        people=request.store.users.accounts(),
        audit=request.store.audit.latest(_AUDITED),
        invitation=invitation,
        crawls=request.store.search.crawls(most=_CRAWLS),
        error=error,
        done=done,
    )


def _change(request: RequestContext) -> None:
    choice = request.form["registration"]
    url = request.form.get("smtp", "").strip()
    sender = request.form.get("from", "").strip()
    if choice not in accounts.REGISTRATION:
        known = ", ".join(accounts.REGISTRATION)
        raise ConfigError("registration {choice!r}: none of {known}", choice=choice, known=known)
    if url:
        settings.parse_mail_url(url, sender)
    gateway = request.form.get("sms", "").strip()
    if gateway:
        sms.check_gateway(gateway)
    store, key = request.store, request.app_state.settings().key
    with store.transaction():
        if choice != accounts.registration(store):
            store.settings.put("registration", choice)
            _note(request, msg("registration"), accounts.REGISTRATION[choice])
        if url:
            settings.store_sealed(store, "smtp", {"url": url, "from": sender}, key)
            _note(request, msg("mail server"), settings.mask_url(url))
        if gateway or "sms_off" in request.form:
            settings.store_sealed(store, "sms", gateway, key)
            _note(request, msg("SMS gateway"), sms.mask_gateway(gateway) or msg("off"))


def _note(request: RequestContext, act: str, detail: str) -> None:
    """A line of the audit."""
    request.store.audit.note(request.me.name, act, detail, now=request.now)


def invite(request: RequestContext) -> Response:
    """A link by which one person may register."""
    if accounts.registration(request.store) == "off":
        raise Wrong(
            "Registration is off, so that invitations are of no use: choose “by invitation” first."
        )
    with request.store.transaction():
        secret = tokens.make(request.store, "invite", user=request.me.id, now=request.now)
        _note(request, msg("invite"), "")
    return page(request, invitation=f"{request.origin}/register?invite={secret}")


def search(request: RequestContext) -> Response:
    """Open the crawls that are ticked to everybody's search, and close the others."""
    access = request.store.search
    wanted = [each for each in access.crawls(most=_CRAWLS) if f"crawl-{each.id}" in request.form]
    with request.store.transaction():
        access.open(wanted)
        _note(request, msg("open to search"), ", ".join(str(each.id) for each in wanted))
    return request.to("/admin", saved=1)


def switch(request: RequestContext) -> Response:
    """Disable somebody's account, or enable it again; their sessions are over."""
    store, number = request.store, request.parts["number"]
    found = next((each for each in store.users.accounts() if each.id == number), None)
    if found is None or number == request.me.id:
        raise Wrong("There is nothing here.")
    with store.transaction():
        store.users.disable(number, not found.disabled)
        store.tokens.log_out(number)
        what = msg("enable") if found.disabled else msg("disable")
        _note(request, what, found.name)
    return request.to("/admin", saved=1)
