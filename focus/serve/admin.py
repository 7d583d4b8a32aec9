"""What administrators may do, audited: registration, invitations, the mail server, accounts, and
which crawls everybody may search.
"""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import settings
from focus.alerts.delivery import sms
from focus.errors import ConfigError
from focus.serve import accounts, inbox, tokens
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
    people = request.book.rows(
        "SELECT id, name, admin, disabled, seen_at, (SELECT count(*) FROM alert c "
        "WHERE c.user = u.id) FROM user u WHERE password IS NOT NULL ORDER BY name"
    )
    audit = request.book.rows(
        "SELECT at, actor, act, detail FROM audit ORDER BY id DESC LIMIT ?", (_AUDITED,)
    )
    shown = settings.shown(request.book, request.app_state.settings().key)
    return request.page(
        "admin.html",
        400 if error else 200,
        registration=accounts.registration(request.book),
        choices=accounts.REGISTRATION,
        smtp=shown.get("smtp", {}),
        gateway=shown.get("sms", ""),
        people=people,
        audit=audit,
        invitation=invitation,
        crawls=inbox.crawls(request.book),
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
    key = request.app_state.settings().key
    with request.book.transaction() as db:
        if choice != accounts.registration(request.book):
            settings.put(db, "registration", choice)
            accounts.note(db, request.me.name, "registration", choice, now=request.now)
        if url:
            settings.put_sealed(db, "smtp", {"url": url, "from": sender}, key)
            masked = settings.masked_url(url)
            accounts.note(db, request.me.name, "mail server", masked, now=request.now)
        if gateway or "sms_off" in request.form:
            settings.put_sealed(db, "sms", gateway, key)
            shown = gateway.partition("://")[0] or "off"
            accounts.note(db, request.me.name, "SMS gateway", shown, now=request.now)


def invite(request: RequestContext) -> Response:
    """A link by which one person may register."""
    if accounts.registration(request.book) == "off":
        raise Wrong("invite_off")
    with request.book.transaction() as db:
        secret = tokens.make(db, "invite", user=request.me.id, now=request.now)
        accounts.note(db, request.me.name, "invite", "", now=request.now)
    return page(request, invitation=f"{request.origin}/register?invite={secret}")


def search(request: RequestContext) -> Response:
    """Open the crawls that are ticked to everybody's search, and close the others."""
    wanted = [each for each in inbox.crawls(request.book) if f"crawl-{each.id}" in request.form]
    with request.book.transaction() as db:
        opened = [[each.id, each.started_at] for each in wanted]
        settings.put(db, inbox.OPENED, opened)
        said = ", ".join(str(each.id) for each in wanted)
        accounts.note(db, request.me.name, "open to search", said, now=request.now)
    return request.to("/admin", saved=1)


def switch(request: RequestContext) -> Response:
    """Disable somebody's account, or enable it again; their sessions are over."""
    number = request.parts["number"]
    rows = request.book.rows(
        "SELECT name, disabled FROM user WHERE id = ? AND password IS NOT NULL", (number,)
    )
    if not rows or number == request.me.id:
        raise Wrong("not_found")
    name, disabled = rows[0]
    with request.book.transaction() as db:
        db.execute("UPDATE user SET disabled = ? WHERE id = ?", (not disabled, number))
        db.execute("DELETE FROM token WHERE user = ? AND kind IN ('session', 'reset')", (number,))
        what = "enable" if disabled else "disable"
        accounts.note(db, request.me.name, what, name, now=request.now)
    return request.to("/admin", saved=1)
