"""Verifies addresses: messages go where a link was opened, or a code read, that was sent there.

    ask, confirm              a mail address: by the secret of a link
    ask_phone, confirm_phone  a telephone: by a code of six digits
    forget                    no such address any more: their alerts send nothing there

Until an address is confirmed the one before stays in use, so that a typing error costs nothing.
"""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections.abc import Coroutine
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from focus.alerts.delivery import DeliveryOutcome, NotDelivered
from focus.alerts.delivery.mail import Mailer
from focus.alerts.delivery.sms import SmsSender
from focus.alerts.message import plain_message
from focus.alerts.settings import DeliverySettings
from focus.i18n import mark, msg
from focus.serve import backoff, tokens
from focus.serve.accounts import Wrong, spend
from focus.serve.app_state import AppState
from focus.storage.alerts.store import AlertStore

_LINKS = {
    "reset": (
        "reset",
        msg("Reset your focus password"),
        msg(
            "Somebody, perhaps you, asked to reset your focus password. Open the link below "
            "within an hour; if it was not you, ignore this mail."
        ),
    ),
    "mail": (
        "confirm",
        msg("Confirm your mail address for focus"),
        msg(
            "Somebody, perhaps you, asked focus to send new pages to this address. Open the link "
            "below within a day to confirm it; if it was not you, ignore this mail, and nothing "
            "more is sent here."
        ),
    ),
}
"""Kind of mailed link -> the first part of its path, the mail's subject, and its text."""


def ask(store: AlertStore, user: int, mail: str, *, now: float) -> str:
    """The secret of the link by which a person confirms an address; earlier ones end.

    TooManyTries when somebody has had mails sent there, or this person, too often.
    """
    keys = [backoff.key("mail", f"user {user}"), backoff.key("mail", f"to {mail}")]
    with store.transaction():
        spend(store, keys, now=now)
        store.tokens.drop("mail", user=user)
        return tokens.make(store, "mail", user=user, now=now, data={"mail": mail})


class Moved(NamedTuple):
    """An address that is its owner's from here on; `before`: their last one, "" for none."""

    mail: str
    before: str
    name: str
    language: str


def confirm(store: AlertStore, secret: str, *, now: float) -> Moved | None:
    """The address becomes its reader's; None for a secret that is no longer good."""
    with store.transaction():
        found = store.tokens.use("mail", secret, now=now)
        owner = store.users.active(found.user) if found else None
        if found is None or owner is None:
            return None
        mail = str(found.data["mail"])
        _set(store, owner.id, "mail", mail, now=now)
    return Moved(mail, owner.mail or "", owner.name, owner.language)


def ask_phone(store: AlertStore, user: int, phone: str, *, now: float) -> str:
    """The code by which a person confirms a number; earlier ones end. TooManyTries."""
    keys = [backoff.key("sms", f"user {user}"), backoff.key("sms", f"to {phone}")]
    code = f"{secrets.randbelow(10**6):06}"
    with store.transaction():
        spend(store, keys, now=now)
        store.tokens.drop("phone", user=user)
        data, secret = {"phone": phone}, f"{user}:{code}"
        tokens.make(store, "phone", user=user, now=now, data=data, secret=secret)
    return code


def confirm_phone(store: AlertStore, user: int, code: str, *, now: float) -> None:
    """The number is the person's from here on. Wrong, and counted, for another code."""
    with store.transaction():
        spend(store, [backoff.key("code", f"user {user}")], now=now)
        found = store.tokens.use("phone", f"{user}:{code.strip()}", now=now)
        if found is not None:
            _set(store, user, "phone", str(found.data["phone"]), now=now)
    if found is None:
        raise Wrong("The code is wrong, or no longer good.")


def forget(store: AlertStore, user: int, *, now: float, kind: str = "mail") -> None:
    """A person has no address (`phone`: number) any more, nor one that waits."""
    with store.transaction():
        store.tokens.drop(kind, user=user)
        _set(store, user, kind, "", now=now)


_KINDS = {"mail": ("mail", msg("mail address")), "phone": ("sms", msg("phone"))}
"""Kind of address -> kind of channel, act in the audit."""


def _set(store: AlertStore, user: int, kind: str, address: str, *, now: float) -> None:
    """Have all alerts that use such a channel, and what waits, go there; "": nowhere."""
    channel, act = _KINDS[kind]
    store.users.set_address(user, kind, address or None)
    for each in store.alerts.all(user):
        moved = (_moved(one, channel, address) for one in each.alert.channels)
        channels = tuple(dict.fromkeys(filter(None, moved))) or ("inbox",)
        if channels != each.alert.channels:
            store.alerts.redefine(each.id, replace(each.alert, channels=channels))
    if address:
        store.outbox.redirect(user, channel, address)
    store.audit.note(msg("user {id}", id=user), act, address, now=now)


def _moved(channel: str, kind: str, address: str) -> str:
    if channel.partition(":")[0] != kind:
        return channel
    return f"{kind}:{address}" if address else ""


# -- messages -----------------------------------------------------------------------


def send_link(
    how: DeliverySettings, mail: str, language: str, *, kind: str, secret: str, now: float
) -> DeliveryOutcome:
    """Mail somebody a link with a secret: to set another password, or to confirm the address."""
    if not how.base_url:
        return NotDelivered(NOWHERE, retry=False)
    path, subject, body = _LINKS[kind]
    link = f"{how.base_url}/{path}/{secret}"
    return _mailed(how, mail, language, subject=subject, body=body, link=link, now=now)


def tell_before(app_state: AppState, moved: Moved, *, now: float) -> None:
    """Tell an account's last address, beside the answer, that it is used no more."""
    if moved.before not in ("", moved.mail):
        send = partial(tell_moved, app_state.settings(), moved, now=now)
        app_state.soon(send, "focus-moved")


def tell_moved(how: DeliverySettings, moved: Moved, *, now: float) -> DeliveryOutcome:
    """Mail the same."""
    language = moved.language
    subject = msg("Your mail address for focus has changed")
    body = msg(
        "The focus account {name} does not use this address any more. If it was not you who "
        "changed that, tell your administrator at once.",
        name=moved.name,
    )
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
    message = plain_message(uuid.uuid4().hex, language, subject=subject, body=body, link=link)
    mailer = Mailer(how.mail)
    return asyncio.run(_closing(mailer, mailer.deliver(message, mail, now=now)))


async def _closing(
    sender: Mailer | SmsSender, sending: Coroutine[Any, Any, DeliveryOutcome]
) -> DeliveryOutcome:
    try:
        return await sending
    finally:
        await sender.close()


_CODES = {
    "phone": mark("Your code for focus: {code}, good for 15 minutes."),
    "reset_code": mark("Your code to reset the focus password: {code}. Tell it to nobody."),
}
"""What a code is for -> the message that brings it."""


def send_code(
    how: DeliverySettings, phone: str, language: str, *, code: str, kind: str = "phone"
) -> DeliveryOutcome:
    """Send somebody the code for their number, or for another password (`reset_code`)."""
    subject, body = msg("Code for focus"), msg(_CODES[kind], code=code)
    message = plain_message(uuid.uuid4().hex, language, subject=subject, body=body)
    sender = SmsSender(how, clock=time.time)
    return asyncio.run(_closing(sender, sender.send(message, phone)))


NOWHERE = msg("nobody has said where these pages are reached; start the server with --base-url")
