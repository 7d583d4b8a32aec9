"""What can people change about themselves? Settings, password, feed, their data."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from focus.errors import ConfigError
from focus.watch.web import accounts, tokens
from focus.watch.web.asked import Asked, download
from focus.watch.web.texts import Wrong


def settings(asked: Asked, **said: str) -> Response:
    """The form as it stands, and what was typed there."""
    typed = {
        "mail": asked.me.mail or "",
        "phone": asked.me.phone or "",
        "quiet": asked.me.quiet,
        "language": asked.me.language,
        "zone": asked.me.zone,
    }
    if "zone" in asked.form and not said:
        typed = {name: asked.form.get(name, "")[:200] for name in typed}
        try:
            accounts.change(asked.book, asked.me, typed)
        except (Wrong, ConfigError) as error:
            said = {"error": _said(asked, error)}
        else:
            return asked.to("/settings", saved=1)
    if "saved" in asked.query and not said:
        said = {"done": asked.say("saved")}
    status = 400 if said.get("error") else 200
    values = {"feed": "", **said}
    shortest = accounts.SHORTEST
    return asked.page("settings.html", status, typed=typed, shortest=shortest, **values)


def _said(asked: Asked, error: Wrong | ConfigError) -> str:
    return asked.say(error.key, **error.values) if isinstance(error, Wrong) else str(error)


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
        return settings(asked, error=_said(asked, wrong))
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
        return settings(asked, error=_said(asked, wrong))
    return asked.known(asked.to("/login"), "")
