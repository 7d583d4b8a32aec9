"""Verifies addresses: messages go only where a link was opened, or from where a code was entered.

    create_mail_token, confirm_mail    a mail address, by the secret of a link
    create_phone_code, confirm_phone   a phone number, by a code of six digits
    remove_address                     the alerts of the user send nothing there any more

The previous address is used until a new one is confirmed, so that a typing error does no harm.
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
from focus.i18n import msg
from focus.serve import backoff, tokens
from focus.serve.accounts import InvalidInput, require_attempt
from focus.serve.app_state import AppState
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore

_LINK_MESSAGES = {
    "reset": (
        "reset",
        msg("Reset your focus password"),
        msg(
            "Somebody, perhaps you, asked to reset your focus password. To do so, open the link "
            "below within an hour. If it was not you, ignore this mail."
        ),
    ),
    "mail": (
        "confirm",
        msg("Confirm your mail address for focus"),
        msg(
            "Somebody, perhaps you, asked focus to send new pages to this address. To confirm, "
            "open the link below within a day. If it was not you, ignore this mail; nothing more "
            "will be sent."
        ),
    ),
}
"""Kind of mailed link -> the first part of its path, the mail's subject, and its text."""


def create_mail_token(store: AlertStore, user: int, mail: str, *, now: float) -> str:
    """Return the secret of a link that confirms a mail address; earlier links become invalid.

    Raises TooManyTries if too many mails were requested to this address or by this user.
    """
    keys = [backoff.attempt_key("mail", f"user {user}"), backoff.attempt_key("mail", f"to {mail}")]
    with store.transaction():
        require_attempt(store, keys, now=now)
        store.tokens.remove_for_user("mail", user=user)
        return tokens.create_token(store, "mail", user=user, now=now, data={"mail": mail})


class AddressChange(NamedTuple):
    """A confirmed change of a mail address; `owner` is the user as before."""

    mail: str
    owner: User


def confirm_mail(store: AlertStore, secret: str, *, now: float) -> AddressChange | None:
    """Store a confirmed mail address. Returns None if the secret is not valid any more."""
    with store.transaction():
        token = store.tokens.use("mail", secret, now=now)
        owner = store.users.find_active(token.user) if token else None
        if token is None or owner is None:
            return None
        mail = str(token.data["mail"])
        _set_address(store, owner.id, "mail", mail, now=now)
    return AddressChange(mail, owner)


def create_phone_code(store: AlertStore, user: int, phone: str, *, now: float) -> str:
    """Return the code that confirms a phone number; earlier codes become invalid.

    Raises TooManyTries.
    """
    keys = [backoff.attempt_key("sms", f"user {user}"), backoff.attempt_key("sms", f"to {phone}")]
    code = f"{secrets.randbelow(10**6):06}"
    with store.transaction():
        require_attempt(store, keys, now=now)
        store.tokens.remove_for_user("phone", user=user)
        data, secret = {"phone": phone}, f"{user}:{code}"
        tokens.create_token(store, "phone", user=user, now=now, data=data, secret=secret)
    return code


def confirm_phone(store: AlertStore, user: int, code: str, *, now: float) -> None:
    """Store a confirmed phone number. A wrong code raises InvalidInput and is counted."""
    with store.transaction():
        require_attempt(store, [backoff.attempt_key("code", f"user {user}")], now=now)
        token = store.tokens.use("phone", f"{user}:{code.strip()}", now=now)
        if token is not None:
            _set_address(store, user, "phone", str(token.data["phone"]), now=now)
    if token is None:
        raise InvalidInput("The code is wrong or has expired.")


def remove_address(store: AlertStore, user: int, *, now: float, kind: str = "mail") -> None:
    """Remove a user's mail address (or `phone` number), and one to be confirmed."""
    with store.transaction():
        store.tokens.remove_for_user(kind, user=user)
        _set_address(store, user, kind, "", now=now)


_ADDRESS_KINDS = {"mail": ("mail", msg("mail address")), "phone": ("sms", msg("phone"))}
"""Kind of address -> kind of channel, name of the act in the audit log."""


def _set_address(store: AlertStore, user: int, kind: str, address: str, *, now: float) -> None:
    """Store an address, and use it in all alerts and waiting messages; an empty text removes it."""
    channel, act = _ADDRESS_KINDS[kind]
    store.users.set_address(user, kind, address or None)
    for stored_alert in store.alerts.list_alerts(user):
        channel_names = (
            _with_address(channel_name, channel, address)
            for channel_name in stored_alert.alert.channels
        )
        channels = tuple(dict.fromkeys(filter(None, channel_names))) or ("inbox",)
        if channels != stored_alert.alert.channels:
            store.alerts.update_definition(
                stored_alert.id, replace(stored_alert.alert, channels=channels)
            )
    if address:
        store.outbox.redirect_channel(user, channel, address)
    store.audit.add(msg("user {id}", id=user), act, address, now=now)


def _with_address(channel: str, kind: str, address: str) -> str:
    if channel.partition(":")[0] != kind:
        return channel
    return f"{kind}:{address}" if address else ""


# -- messages -----------------------------------------------------------------------


def send_link(
    settings: DeliverySettings, mail: str, language: str, *, kind: str, secret: str, now: float
) -> DeliveryOutcome:
    """Mail a link with a secret that resets the password or confirms the address."""
    if not settings.base_url:
        return NotDelivered(NO_BASE_URL, retry=False)
    path, subject, body = _LINK_MESSAGES[kind]
    link = f"{settings.base_url}/{path}/{secret}"
    return _mail_message(settings, mail, language, subject=subject, body=body, link=link, now=now)


def notify_change(app_state: AppState, owner: User, what: str, *, now: float) -> None:
    """Tell a user, in the background, that something of the account has changed.

    The message goes to the mail address that the user had before the change, else to the phone.

    Args:
        owner: The user as before the change.
        what: Message that names what has changed, such as `msg("password")`.
    """
    if owner.mail or owner.phone:
        send = partial(send_change_notice, app_state.settings(), owner, what, now=now)
        app_state.run_in_background(send, "focus-notice")


def send_change_notice(
    settings: DeliverySettings, owner: User, what: str, *, now: float
) -> DeliveryOutcome:
    """Send the notice of `notify_change`, without a link and without the new value."""
    subject = msg("Your focus account has changed")
    body = msg(
        "Changed in the focus account {name}: {what}. If it was not you, tell your administrator "
        "at once.",
        name=owner.name,
        what=what,
    )
    if owner.mail:
        return _mail_message(
            settings, owner.mail, owner.language, subject=subject, body=body, link="", now=now
        )
    return _send_sms(settings, str(owner.phone), owner.language, subject=subject, body=body)


def _mail_message(
    settings: DeliverySettings,
    mail: str,
    language: str,
    *,
    subject: str,
    body: str,
    link: str,
    now: float,
) -> DeliveryOutcome:
    message = plain_message(uuid.uuid4().hex, language, subject=subject, body=body, link=link)
    mailer = Mailer(settings.mail)
    return asyncio.run(_close_after(mailer, mailer.deliver(message, mail, now=now)))


async def _close_after(
    sender: Mailer | SmsSender, delivery: Coroutine[Any, Any, DeliveryOutcome]
) -> DeliveryOutcome:
    try:
        return await delivery
    finally:
        await sender.close()


def send_code(
    settings: DeliverySettings, phone: str, language: str, *, code: str
) -> DeliveryOutcome:
    """Send a code by SMS that confirms a phone number."""
    body = msg("Your code for focus: {code}. It expires after 15 minutes.", code=code)
    return _send_sms(settings, phone, language, subject=msg("Code for focus"), body=body)


def _send_sms(
    settings: DeliverySettings, phone: str, language: str, *, subject: str, body: str
) -> DeliveryOutcome:
    message = plain_message(uuid.uuid4().hex, language, subject=subject, body=body)
    sender = SmsSender(settings, clock=time.time)
    return asyncio.run(_close_after(sender, sender.send(message, phone)))


NO_BASE_URL = msg("the public address of this server is not known; start it with --base-url")
