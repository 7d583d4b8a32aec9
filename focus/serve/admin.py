"""What may administrators do? Registration, invitations, the mail server, accounts; audited."""

from __future__ import annotations

from starlette.responses import Response

from focus.alerts import settings
from focus.alerts.delivery import sms
from focus.errors import ConfigError
from focus.serve import accounts, tokens
from focus.serve.request import Asked
from focus.serve.texts import Wrong

_AUDITED = 50  # lines that are shown


def page(asked: Asked, invitation: str = "") -> Response:
    """The settings of the installation, and what was typed there."""
    error, done = "", asked.say("saved") if "saved" in asked.query else ""
    if "registration" in asked.form:
        try:
            _change(asked)
        except ConfigError as wrong:
            error = asked.wrong(wrong)
        else:
            return asked.to("/admin", saved=1)
    people = asked.book.rows(
        "SELECT id, name, admin, disabled, seen_at, (SELECT count(*) FROM concern c "
        "WHERE c.user = u.id) FROM user u WHERE password IS NOT NULL ORDER BY name"
    )
    audit = asked.book.rows(
        "SELECT at, actor, act, detail FROM audit ORDER BY id DESC LIMIT ?", (_AUDITED,)
    )
    shown = settings.shown(asked.book)
    return asked.page(
        "admin.html",
        400 if error else 200,
        registration=accounts.registration(asked.book),
        choices=accounts.REGISTRATION,
        smtp=shown.get("smtp", {}),
        gateway=shown.get("sms", ""),
        people=people,
        audit=audit,
        invitation=invitation,
        error=error,
        done=done,
    )


def _change(asked: Asked) -> None:
    choice = asked.form["registration"]
    url = asked.form.get("smtp", "").strip()
    sender = asked.form.get("from", "").strip()
    if choice not in accounts.REGISTRATION:
        raise ConfigError(f"registration {choice!r}: none of {accounts.REGISTRATION}")
    if url:
        settings.mail_settings(url, sender)
    gateway = asked.form.get("sms", "").strip()
    if gateway:
        sms.check_gateway(gateway)
    with asked.book.transaction() as db:
        if choice != accounts.registration(asked.book):
            settings.put(db, "registration", choice)
            accounts.note(db, asked.me.name, "registration", choice, now=asked.now)
        if url:
            settings.put(db, "smtp", {"url": url, "from": sender})
            masked = settings.masked_url(url)
            accounts.note(db, asked.me.name, "mail server", masked, now=asked.now)
        if gateway or "sms_off" in asked.form:
            settings.put(db, "sms", gateway)
            shown = gateway.partition("://")[0] or "off"
            accounts.note(db, asked.me.name, "SMS gateway", shown, now=asked.now)


def invite(asked: Asked) -> Response:
    """A link by which one person may register."""
    with asked.book.transaction() as db:
        secret = tokens.make(db, "invite", user=asked.me.id, now=asked.now)
        accounts.note(db, asked.me.name, "invite", "", now=asked.now)
    return page(asked, invitation=f"{asked.origin}/register?invite={secret}")


def switch(asked: Asked) -> Response:
    """Disable somebody's account, or enable it again; their sessions are over."""
    number = asked.parts["number"]
    rows = asked.book.rows(
        "SELECT name, disabled FROM user WHERE id = ? AND password IS NOT NULL", (number,)
    )
    if not rows or number == asked.me.id:
        raise Wrong("not_found")
    name, disabled = rows[0]
    with asked.book.transaction() as db:
        db.execute("UPDATE user SET disabled = ? WHERE id = ?", (not disabled, number))
        db.execute("DELETE FROM token WHERE user = ? AND kind IN ('session', 'reset')", (number,))
        what = "enable" if disabled else "disable"
        accounts.note(db, asked.me.name, what, name, now=asked.now)
    return asked.to("/admin", saved=1)
