"""Where may a person's messages go? Where a link was opened, or a code read, that was sent there.

    ask, confirm              a mail address: by the secret of a link
    ask_phone, confirm_phone  a telephone: by a code of six digits
    forget                    no such address any more: their alerts send nothing there

Until an address is confirmed the one before stays in use, so that a typing error costs nothing.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import uuid
from functools import partial
from typing import NamedTuple

import msgspec

from focus.alerts.alert import Alert
from focus.alerts.delivery import DeliveryOutcome, NotDelivered, sms
from focus.alerts.delivery.mail import Mailer
from focus.alerts.message import letter
from focus.alerts.settings import DeliverySettings
from focus.alerts.store import AlertStore
from focus.alerts.texts import say
from focus.serve import backoff, tokens
from focus.serve.accounts import note
from focus.serve.app_state import AppState
from focus.serve.texts import Wrong

_PATHS = {"reset": "reset", "mail": "confirm"}


def pending(book: AlertStore, user: int, *, now: float, kind: str = "mail") -> str:
    """The address or number (`phone`) that waits to be confirmed; "": none does."""
    sql = "SELECT data FROM token WHERE kind = ? AND user = ? AND expires_at > ?"
    rows = book.rows(sql, (kind, user, now))
    return str(msgspec.json.decode(rows[0][0])[kind]) if rows else ""


def ask(book: AlertStore, user: int, mail: str, *, now: float) -> str:
    """The secret of the link by which a person confirms an address; earlier ones end.

    Wrong("too_many") when somebody has had mails sent there, or this person, too often.
    """
    keys = [backoff.key("mail", f"user {user}"), backoff.key("mail", f"to {mail}")]
    with book.transaction() as db:
        early = backoff.spend(db, keys, now=now)
        if not early:
            tokens.drop(db, "mail", user=user)
            return tokens.make(db, "mail", user=user, now=now, data={"mail": mail})
    raise Wrong("too_many", n=int(early) + 1)


def discard(book: AlertStore, user: int, *, kind: str = "mail") -> None:
    """No address waits any more."""
    with book.transaction() as db:
        tokens.drop(db, kind, user=user)


class Moved(NamedTuple):
    """An address that is its owner's from here on; `before`: their last one, "" for none."""

    mail: str
    before: str
    name: str
    language: str


def confirm(book: AlertStore, secret: str, *, now: float) -> Moved | None:
    """The address becomes its reader's; None for a secret that is no longer good."""
    with book.transaction() as db:
        found = tokens.use(db, "mail", secret, now=now)
        if found is None or found.user is None:
            return None
        mail = str(found.data["mail"])
        sql = "SELECT ifnull(mail, ''), name, language FROM user WHERE id = ?"
        before, name, language = db.execute(sql, (found.user,)).fetchone()
        db.execute("UPDATE user SET mail = ? WHERE id = ?", (mail, found.user))
        _send_to(db, found.user, "mail", mail)
        note(db, f"user {found.user}", "mail address", mail, now=now)
    return Moved(mail, before, name, language)


def ask_phone(book: AlertStore, user: int, phone: str, *, now: float) -> str:
    """The code by which a person confirms a number; earlier ones end. Wrong("too_many")."""
    keys = [backoff.key("sms", f"user {user}"), backoff.key("sms", f"to {phone}")]
    code = f"{secrets.randbelow(10**6):06}"
    with book.transaction() as db:
        early = backoff.spend(db, keys, now=now)
        if not early:
            tokens.drop(db, "phone", user=user)
            secret = f"{user}:{code}"
            tokens.make(db, "phone", user=user, now=now, data={"phone": phone}, secret=secret)
            return code
    raise Wrong("too_many", n=int(early) + 1)


def confirm_phone(book: AlertStore, user: int, code: str, *, now: float) -> None:
    """The number is the person's from here on. Wrong, and counted, for another code."""
    with book.transaction() as db:
        early = backoff.spend(db, [backoff.key("code", f"user {user}")], now=now)
        found = None if early else tokens.use(db, "phone", f"{user}:{code.strip()}", now=now)
        if found is not None:
            phone = str(found.data["phone"])
            db.execute("UPDATE user SET phone = ? WHERE id = ?", (phone, user))
            _send_to(db, user, "sms", phone)
            note(db, f"user {user}", "phone", phone, now=now)
    if early:
        raise Wrong("too_many", n=int(early) + 1)
    if found is None:
        raise Wrong("code_wrong")


def forget(book: AlertStore, user: int, *, now: float, kind: str = "mail") -> None:
    """A person has no address (`phone`: number) any more, nor one that waits."""
    column, channel, act = _COLUMNS[kind]
    with book.transaction() as db:
        tokens.drop(db, kind, user=user)
        db.execute(f"UPDATE user SET {column} = NULL WHERE id = ?", (user,))
        _send_to(db, user, channel, "")
        note(db, f"user {user}", act, "", now=now)


_COLUMNS = {"mail": ("mail", "mail", "mail address"), "phone": ("phone", "sms", "phone")}
"""Kind of token -> column of the user, kind of channel, act in the audit."""


def _send_to(db: sqlite3.Connection, user: int, kind: str, address: str) -> None:
    """Have all alerts that use such a channel, and what waits, go there; "": nowhere."""
    rows = db.execute("SELECT id, definition FROM alert WHERE user = ?", (user,)).fetchall()
    for number, definition in rows:
        alert = msgspec.json.decode(definition, type=Alert)
        moved = (_moved(channel, kind, address) for channel in alert.channels)
        channels = tuple(dict.fromkeys(filter(None, moved))) or ("inbox",)
        if channels != alert.channels:
            changed = msgspec.structs.replace(alert, channels=channels)
            text = msgspec.json.encode(changed).decode()
            db.execute("UPDATE alert SET definition = ? WHERE id = ?", (text, number))
    if address:
        db.execute(
            "UPDATE OR IGNORE outbox SET channel = ? WHERE user = ? AND state = 0 "
            "AND channel GLOB ?",
            (f"{kind}:{address}", user, f"{kind}:*"),
        )


def _moved(channel: str, kind: str, address: str) -> str:
    if channel.partition(":")[0] != kind:
        return channel
    return f"{kind}:{address}" if address else ""


# -- letters ------------------------------------------------------------------------


def send_link(
    how: DeliverySettings, mail: str, language: str, *, kind: str, secret: str, now: float
) -> DeliveryOutcome:
    """Mail somebody a link with a secret: to set another password, or to confirm the address."""
    if not how.base_url:
        return NotDelivered(NOWHERE, retry=False)
    link = f"{how.base_url}/{_PATHS[kind]}/{secret}"
    subject, body = say(f"{kind}_subject", language), say(f"{kind}_body", language)
    return _mailed(how, mail, language, subject=subject, body=body, link=link, now=now)


def tell_before(app_state: AppState, moved: Moved, *, now: float) -> None:
    """Tell an account's last address, beside the answer, that it is used no more."""
    if moved.before not in ("", moved.mail):
        send = partial(tell_moved, app_state.settings(), moved, now=now)
        app_state.soon(send, "focus-moved")


def tell_moved(how: DeliverySettings, moved: Moved, *, now: float) -> DeliveryOutcome:
    """Mail the same."""
    language = moved.language
    subject, body = say("moved_subject", language), say("moved_body", language, name=moved.name)
    return _mailed(how, moved.before, language, subject=subject, body=body, link="", now=now)


def _mailed(
    how: DeliverySettings,
    mail: str,
    language: str,
    *,
    subject: str,
    body: str,
    link: str,
    now: float,
) -> DeliveryOutcome:
    message = letter(uuid.uuid4().hex, language, subject=subject, body=body, link=link)

    async def send() -> DeliveryOutcome:
        mailer = Mailer(how.mail)
        try:
            return await mailer.deliver(message, mail, now=now)
        finally:
            await mailer.close()

    return asyncio.run(send())


def send_code(how: DeliverySettings, phone: str, language: str, *, code: str) -> DeliveryOutcome:
    """Send somebody the code for their number."""
    subject, body = say("phone_subject", language), say("phone_body", language, code=code)
    message = letter(uuid.uuid4().hex, language, subject=subject, body=body)
    return asyncio.run(sms.deliver(message, phone, gateway=how.sms))


NOWHERE = "nobody has said where these pages are reached; start the server with --base-url"
