"""What can people change about themselves? Settings, password, feed, their data."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from focus.alerts.alert import check_channel
from focus.alerts.delivery import Failed
from focus.alerts.texts import told
from focus.errors import ConfigError
from focus.serve import accounts, address_verification, forms, tokens
from focus.serve.forms import MAX_WEBHOOKS
from focus.serve.request import Asked, download
from focus.serve.texts import Wrong


def settings(asked: Asked, **said: str) -> Response:
    """The form as it stands, and what was typed there."""
    waiting, calling = (
        address_verification.pending(asked.book, asked.me.id, now=asked.now, kind=kind)
        for kind in ("mail", "phone")
    )
    typed = {
        "name": asked.me.name,
        "mail": waiting or asked.me.mail or "",
        "phone": calling or asked.me.phone or "",
        "quiet": asked.me.quiet,
        "language": asked.me.language,
        "zone": asked.me.zone,
    }
    if "zone" in asked.form and not said:
        typed = {name: asked.form.get(name, "")[:200] for name in typed}
        try:
            mail = accounts.checked_mail(typed["mail"])
            phone = accounts.checked_phone(typed["phone"])
            accounts.change(asked.book, asked.me, typed, now=asked.now)
            _number(asked, phone, calling)
            return asked.to("/settings", saved=_address(asked, mail, waiting))
        except (Wrong, ConfigError) as error:
            said = {"error": asked.wrong(error)}
            waiting = address_verification.pending(asked.book, asked.me.id, now=asked.now)
            calling = address_verification.pending(
                asked.book, asked.me.id, now=asked.now, kind="phone"
            )
    if (saved := asked.query.get("saved", "")) and not said:
        said = {"done": asked.say("mail_sent" if saved == "mail" and waiting else "saved")}
    return asked.page(
        "settings.html",
        400 if said.get("error") else 200,
        typed=typed,
        shortest=accounts.SHORTEST,
        waiting=waiting,
        calling=calling,
        gateway=bool(asked.office.settings().sms),
        usual=forms.fresh(asked),
        **{"feed": "", **said},
    )


def _address(asked: Asked, mail: str, waiting: str) -> str:
    """Take over the address that was typed: `mail` when its reader is asked, else `done`."""
    if mail == waiting and mail:
        return "done"
    if mail == (asked.me.mail or ""):
        address_verification.discard(asked.book, asked.me.id)
        return "done"
    if not mail:
        address_verification.forget(asked.book, asked.me.id, now=asked.now)
        return "done"
    _ask(asked, mail)
    return "mail"


def _number(asked: Asked, phone: str, waiting: str) -> None:
    """Take over the number that was typed: a code is sent to a new one."""
    if phone == waiting and phone:
        return
    if phone == (asked.me.phone or ""):
        address_verification.discard(asked.book, asked.me.id, kind="phone")
    elif not phone:
        address_verification.forget(asked.book, asked.me.id, now=asked.now, kind="phone")
    else:
        code = address_verification.ask_phone(asked.book, asked.me.id, phone, now=asked.now)
        outcome = address_verification.send_code(
            asked.office.settings(), phone, asked.language, code=code
        )
        if isinstance(outcome, Failed):
            address_verification.discard(asked.book, asked.me.id, kind="phone")
            raise Wrong("code_unsent", reason=told(outcome.reason, asked.language))


def code(asked: Asked) -> Response:
    """The code that came by SMS."""
    try:
        address_verification.confirm_phone(
            asked.book, asked.me.id, asked.form.get("code", ""), now=asked.now
        )
    except Wrong as wrong:
        return settings(asked, error=asked.wrong(wrong))
    return asked.to("/settings", saved=1)


def _ask(asked: Asked, mail: str) -> None:
    """Mail the link that confirms an address. Wrong, if it cannot be sent; it waits then."""
    secret = address_verification.ask(asked.book, asked.me.id, mail, now=asked.now)
    how = asked.office.settings()
    language = asked.language
    outcome = address_verification.send_link(
        how, mail, language, kind="mail", secret=secret, now=asked.now
    )
    if isinstance(outcome, Failed):
        raise Wrong("mail_unsent", reason=told(outcome.reason, asked.language))


def mail(asked: Asked) -> Response:
    """Send the link once more."""
    waiting = address_verification.pending(asked.book, asked.me.id, now=asked.now)
    if waiting:
        try:
            _ask(asked, waiting)
        except Wrong as wrong:
            return settings(asked, error=asked.wrong(wrong))
    return asked.to("/settings", saved="mail")


def channels(asked: Asked) -> Response:
    """How a new concern tells, until its own form says otherwise."""
    try:
        named = ["mail"] if asked.form.get("mail") else []
        named += ["sms"] if asked.form.get("sms") else []
        named += ["feed"] if asked.form.get("feed") else []
        lines = asked.form.get("webhooks", "").split()[:MAX_WEBHOOKS]
        named += [f"webhook:{url}" for url in lines]
        for channel in named:
            if channel not in ("mail", "sms"):
                check_channel(channel)
    except ConfigError as error:
        return settings(asked, error=asked.wrong(error))
    text = msgspec.json.encode(named).decode()
    with asked.book.transaction() as db:
        db.execute("UPDATE user SET channels = ? WHERE id = ?", (text, asked.me.id))
    return asked.to("/settings", saved=1)


def password(asked: Asked) -> Response:
    """Another password; other browsers have to log in again."""
    try:
        session = accounts.change_password(
            asked.book,
            asked.office.passwords,
            asked.me,
            old=asked.form.get("old", ""),
            new=asked.form.get("new", ""),
            now=asked.now,
        )
    except Wrong as wrong:
        return settings(asked, error=asked.wrong(wrong))
    return asked.known(asked.to("/settings", saved=1), session)


def feed(asked: Asked) -> Response:
    """A new address of one's feed, or none."""
    with asked.book.transaction() as db:
        tokens.drop(db, "feed", user=asked.me.id)
        if "off" in asked.form:
            return asked.to("/settings", saved=1)
        secret = tokens.make(db, "feed", user=asked.me.id, now=asked.now)
    return settings(asked, feed=f"{asked.origin}/feed/{secret}.atom")


def export(asked: Asked) -> Response:
    """All that is kept of a person."""
    found = accounts.exported(asked.book, asked.me)
    return download("focus-account.json", msgspec.to_builtins(found))


def delete(asked: Asked) -> Response:
    """Forget the person, after their password."""
    try:
        passwords = asked.office.passwords
        typed = asked.form.get("password", "")
        accounts.confirm(asked.book, passwords, asked.me, typed, now=asked.now)
        accounts.delete(asked.book, asked.me, now=asked.now)
    except Wrong as wrong:
        return settings(asked, error=asked.wrong(wrong))
    return asked.known(asked.to("/login"), "")
