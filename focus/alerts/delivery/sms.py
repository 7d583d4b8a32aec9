"""Delivers short messages to telephones, through the gateway of the installation.

The gateway is one that speaks HTTP (`sms_gateway`), or an apprise URL with `{phone}` where the
number goes, as `twilio://SID:TOKEN@FROM/{phone}`. People only give their number, and confirm it
by a code that was sent there. A digest is one message of bounded length: how many pages, the
titles of the best, and a link.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.alerts.addresses import is_phone
from focus.alerts.delivery import apprise, sms_gateway, webhook
from focus.alerts.delivery.channel import (
    Channel,
    Delivered,
    DeliveryOutcome,
    InstallationOption,
    NotDelivered,
)
from focus.alerts.delivery.http_post import WebPoster
from focus.alerts.message import Message
from focus.alerts.settings import MASK, DeliverySettings
from focus.errors import ConfigError
from focus.i18n import msg, within

PLACE = "{phone}"
UNSET = msg("no SMS gateway is set; set FOCUS_SMS_GATEWAY, or one in the settings")
_ROOM = 20  # characters beside a link; where it leaves fewer, it stays away
_APPRISE = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://", re.I)


class Sms(Channel):
    """Short messages to a telephone, by the gateway of the installation (`--sms-gateway`)."""

    kind, metavar = "sms", "NUMBER"
    help = "By a short message to this number, as +8613800138000. Repeatable."
    labels = {"zh": "短信（{address}）", "en": "SMS to {address}"}
    own = "phone"
    is_secret = False
    options = (
        InstallationOption(
            "sms-gateway",
            "URL|FILE.toml",
            "What sends short messages: a URL with {phone} and {text}, a file, an apprise URL.",
        ),
    )

    def __init__(self, *given: Any, clock: Callable[[], float]) -> None:
        super().__init__(*given, clock=clock)
        self._sender = SmsSender(self.settings, clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether it is a number."""
        return is_phone(text)

    @classmethod
    def is_ready(cls, settings: DeliverySettings) -> bool:
        """Whether there is a gateway."""
        return bool(gateway_of(settings))

    @classmethod
    def check_installation(cls, settings: DeliverySettings) -> None:
        """ConfigError for a gateway that could not send."""
        if gateway := gateway_of(settings):
            check_gateway(gateway)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Hand one message over."""
        return await self._sender.send(message, address)

    async def close(self) -> None:
        """End the connections."""
        await self._sender.close()


class SmsSender:
    """Sends short messages through the gateway, as long as it is open."""

    def __init__(self, settings: DeliverySettings, *, clock: Callable[[], float]) -> None:
        self._settings, self._clock = settings, clock
        self._poster = WebPoster(webhook.limits(settings.fetch), clock=clock)

    async def send(self, message: Message, phone: str) -> DeliveryOutcome:
        """Hand one message over, as short as it can be said."""
        try:
            gateway = gateway_of(self._settings)
            if not gateway:
                return NotDelivered(UNSET, everyone=True)
            if _APPRISE.match(gateway):
                text = short(message, self._settings.base_url, sms_gateway.CHARACTERS)
                bare = msgspec.structs.replace(message, subject="", text=text)
                return await apprise.deliver(bare, gateway.replace(PLACE, phone))
            how = sms_gateway.parsed(gateway)
        except ConfigError as error:
            return NotDelivered(error.line, everyone=True)
        text = short(message, self._settings.base_url, how.characters)
        return await self._asked(how, phone, text)

    async def _asked(self, how: sms_gateway.SmsGateway, phone: str, text: str) -> DeliveryOutcome:
        nonce = secrets.token_hex(8)
        wanted = sms_gateway.request_of(how, phone, text, now=self._clock(), nonce=nonce)
        result = await self._poster.ask(
            wanted.url, wanted.body, headers=wanted.headers, method=wanted.method
        )
        where = f"SMS gateway {urlsplit(how.url).hostname}"
        if result.failure is not None:
            return NotDelivered(within(where, result.detail))
        if sms_gateway.is_taken(how, result.status or 0, result.body):
            return Delivered(msg("{where} has taken it", where=where))
        if 200 <= (result.status or 0) < 300:
            return NotDelivered(
                msg("{where}: its answer does not say that it has taken it", where=where)
            )
        return NotDelivered(
            within(where, result.detail),
            retry_after_s=result.retry_after_s,
        )

    async def close(self) -> None:
        """End the connections."""
        await self._poster.close()


def gateway_of(settings: DeliverySettings) -> str:
    """The gateway that the command line names, else the one that is stored; "" for none.

    ConfigError for a file that cannot be read.
    """
    given = settings.options.get("sms_gateway", "")
    if not given.endswith(".toml"):
        return given or settings.sms
    try:
        return Path(given).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise ConfigError(
            "--sms-gateway {given}: cannot be read ({reason})", given=given, reason=reason
        ) from None


def check_gateway(text: str) -> None:
    """ConfigError for a gateway that could not send."""
    if not _APPRISE.match(text):
        sms_gateway.parsed(text)
        return
    if PLACE not in text:
        raise ConfigError("SMS gateway: put {place} into it where the number goes", place=PLACE)
    apprise.check(text.replace(PLACE, "15555550100"), "SMS gateway")


def masked(gateway: str) -> str:
    """A gateway fit to be shown, its host at most; "" for none."""
    if not gateway or _APPRISE.match(gateway):
        return apprise.shown(gateway) if gateway else ""
    try:
        return f"{urlsplit(sms_gateway.parsed(gateway).url).hostname}/{MASK}"
    except ConfigError:
        return MASK


# -- the text -------------------------------------------------------------------------


def short(message: Message, base_url: str, most: int) -> str:
    """A message in `most` characters: what it is about, the best titles, a link.

    Worked, in 40: `欧冠：2 篇新页面\\n抽签今日举…\\nhttps://f.example/inbox`.
    """
    items = [item for group in message.groups for item in group.items]
    if not items:
        return cut(message.text.strip(), most)
    alone = len(items) == 1 and not any(group.more for group in message.groups)
    said = [message.subject, *([] if alone else (item.title for item in items))]
    link = f"{base_url}/inbox" if base_url else items[0].match.url
    room = most - units(link) - 1
    if room < _ROOM:
        return cut("\n".join(said), most)
    return cut("\n".join(said), room) + f"\n{link}"


def units(text: str) -> int:
    """How many of a message's characters it takes: units of UTF-16, as telephones count."""
    return len(text.encode("utf-16-le")) // 2


def cut(text: str, most: int) -> str:
    """A text of so many units at most, its end marked where it was cut."""
    if units(text) <= most:
        return text
    while units(text) > most - 1:
        text = text[:-1]
    return text.rstrip() + "…"
