"""Handlers of the administration page.

Registration, invitations, mail server, accounts, and the crawls that everybody may search. Changes
are written to the audit log.
"""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import settings
from focus.alerts.delivery import sms
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import accounts, tokens
from focus.serve.accounts import InvalidInput
from focus.serve.request import RequestContext

_AUDIT_LINES = 200  # displayed lines of the audit log
_MAX_CRAWLS = 200  # displayed crawls, newest first


def admin_page(request: RequestContext, invitation: str = "") -> Response:
    """Show the settings of the installation, or save what was submitted."""
    error, done = "", request.say("Saved.") if "saved" in request.query else ""
    if "registration" in request.form:
        try:
            _save_settings(request)
        except ConfigError as input_error:
            error = request.error_text(input_error)
        else:
            return request.redirect("/admin", saved=1)
    options = request.app_state.sending.options
    gateway = options.get("sms_gateway", "")
    masked = settings.masked_settings(request.store, request.app_state.settings().key)
    return request.render(
        "admin.html",
        400 if error else 200,
        registration=accounts.registration_mode(request.store),
        choices=accounts.REGISTRATION_MODES,
        smtp=masked.get("smtp", {}),
        gateway=sms.mask_gateway(masked.get("sms", "")),
        in_force={
            "smtp": settings.mask_url(options.get("smtp_url", "")),
            "from": options.get("mail_from", ""),
            "sms": gateway if gateway.endswith(".toml") else sms.mask_gateway(gateway),
        },
        people=request.store.users.list_accounts(),
        audit=request.store.audit.list_latest(_AUDIT_LINES),
        invitation=invitation,
        crawls=request.store.search.list_crawls(limit=_MAX_CRAWLS),
        error=error,
        done=done,
    )


def _save_settings(request: RequestContext) -> None:
    choice = request.form["registration"]
    url = request.form.get("smtp", "").strip()
    sender = request.form.get("from", "").strip()
    if choice not in accounts.REGISTRATION_MODES:
        known = ", ".join(accounts.REGISTRATION_MODES)
        raise ConfigError("registration {choice!r}: not one of {known}", choice=choice, known=known)
    if url:
        settings.parse_mail_url(url, sender)
    gateway = request.form.get("sms", "").strip()
    if gateway:
        sms.check_gateway(gateway)
    store, key = request.store, request.app_state.settings().key
    with store.transaction():
        if choice != accounts.registration_mode(store):
            store.settings.set("registration", choice)
            _write_audit(request, msg("registration"), accounts.REGISTRATION_MODES[choice])
        if url:
            settings.store_sealed(store, "smtp", {"url": url, "from": sender}, key)
            _write_audit(request, msg("mail server"), settings.mask_url(url))
        if gateway or "sms_off" in request.form:
            settings.store_sealed(store, "sms", gateway, key)
            _write_audit(request, msg("SMS gateway"), sms.mask_gateway(gateway) or msg("off"))


def _write_audit(request: RequestContext, act: str, detail: str) -> None:
    """Add a line to the audit log."""
    request.store.audit.add(request.me.name, act, detail, now=request.now)


def create_invitation(request: RequestContext) -> Response:
    """Create a link by which one person may register."""
    if accounts.registration_mode(request.store) == "off":
        raise InvalidInput("Registration is off. Choose “by invitation” before you invite people.")
    with request.store.transaction():
        secret = tokens.create_token(request.store, "invite", user=request.me.id, now=request.now)
        _write_audit(request, msg("invite"), "")
    return admin_page(request, invitation=f"{request.origin}/register?invite={secret}")


def set_open_crawls(request: RequestContext) -> Response:
    """Open the selected crawls to everybody's search, and close the others."""
    access = request.store.search
    selected = [
        crawl
        for crawl in access.list_crawls(limit=_MAX_CRAWLS)
        if f"crawl-{crawl.id}" in request.form
    ]
    with request.store.transaction():
        access.set_open_crawls(selected)
        _write_audit(request, msg("open to search"), ", ".join(str(crawl.id) for crawl in selected))
    return request.redirect("/admin", saved=1)


def toggle_account(request: RequestContext) -> Response:
    """Disable an account and end its sessions, or enable it again."""
    store, number = request.store, request.path_params["number"]
    account = next((user for user in store.users.list_accounts() if user.id == number), None)
    if account is None or number == request.me.id:
        raise InvalidInput("There is nothing here.")
    with store.transaction():
        store.users.set_disabled(number, not account.disabled)
        store.tokens.revoke_access(number)
        what = msg("enable") if account.disabled else msg("disable")
        _write_audit(request, what, account.name)
    return request.redirect("/admin", saved=1)
