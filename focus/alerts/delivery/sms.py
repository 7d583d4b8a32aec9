"""Delivery as short messages through the gateway of the installation.

The gateway is an HTTP service (`sms_gateway`), or an apprise URL with `{phone}` in place of the
number, such as `twilio://SID:TOKEN@FROM/{phone}`. Accounts enter only their number and confirm it
by a code that is sent to it. A digest is one message of limited length: the number of pages, the
titles of the best, and a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.alerts.addresses import is_phone_number
from focus.alerts.delivery import apprise, sms_gateway, webhook
from focus.alerts.delivery.channel import (
    Channel,
    Delivered,
    DeliveryOutcome,
    InstallationOption,
    NotDelivered,
)
from focus.alerts.message import Message
from focus.alerts.settings import MASK, DeliverySettings
from focus.errors import ConfigError
from focus.fetch import WebPoster
from focus.i18n import chain_messages, msg

PHONE_PLACEHOLDER = "{phone}"
NO_GATEWAY = msg("no SMS gateway is set; set FOCUS_SMS_GATEWAY, or one in the settings")
_MIN_ROOM = 20  # characters beside a link; the link is left out where fewer would remain
_APPRISE = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://", re.I)


class Sms(Channel):
    """Short messages through the installation's gateway (`--sms-gateway`)."""

    kind, metavar = "sms", "NUMBER"
    help = "Send a short message to this number, such as +8613800138000 (repeatable)."
    labels = {"zh": "短信（{address}）", "en": "SMS to {address}"}
    account_field = "phone"
    has_secret_address = False
    options = (
        InstallationOption(
            "sms-gateway",
            "URL|FILE.toml",
            "Gateway for short messages: a URL with {phone} and {text}, a file, or an apprise URL.",
        ),
    )

    def __init__(self, *arguments: Any, clock: Callable[[], float]) -> None:
        super().__init__(*arguments, clock=clock)
        self._sender = SmsSender(self.settings, clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return whether a text is a telephone number."""
        return is_phone_number(text)

    @classmethod
    def is_available(cls, settings: DeliverySettings) -> bool:
        """Return whether a gateway is configured."""
        return bool(read_gateway(settings))

    @classmethod
    def check_installation(cls, settings: DeliverySettings) -> None:
        """Raise ConfigError for a gateway that could not send."""
        if gateway := read_gateway(settings):
            check_gateway(gateway)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        return await self._sender.send(message, address)

    async def close(self) -> None:
        await self._sender.close()


class SmsSender:
    """Client of the gateway; `close` ends its connections."""

    def __init__(self, settings: DeliverySettings, *, clock: Callable[[], float]) -> None:
        self._settings, self._clock = settings, clock
        self._poster = WebPoster(webhook.webhook_limits(settings.fetch), clock=clock)

    async def send(self, message: Message, phone: str) -> DeliveryOutcome:
        """Send one message, shortened to the gateway's limit."""
        try:
            gateway = read_gateway(self._settings)
            if not gateway:
                return NotDelivered(NO_GATEWAY, blocks_channel=True)
            if _APPRISE.match(gateway):
                text = shorten_message(
                    message, self._settings.base_url, sms_gateway.DEFAULT_CHARACTERS
                )
                bare = msgspec.structs.replace(message, subject="", text=text)
                return await apprise.deliver(bare, gateway.replace(PHONE_PLACEHOLDER, phone))
            parsed = sms_gateway.parse_gateway(gateway)
        except ConfigError as error:
            return NotDelivered(error.message, blocks_channel=True)
        text = shorten_message(message, self._settings.base_url, parsed.characters)
        return await self._call_gateway(parsed, phone, text)

    async def _call_gateway(
        self, gateway: sms_gateway.SmsGateway, phone: str, text: str
    ) -> DeliveryOutcome:
        request = sms_gateway.build_request(gateway, phone, text)
        result = await self._poster.call(
            request.url, request.body, headers=request.headers, method=request.method
        )
        where = f"SMS gateway {urlsplit(gateway.url).hostname}"
        if result.failure is not None:
            return NotDelivered(chain_messages(where, result.detail))
        if sms_gateway.is_accepted(gateway, result.status or 0, result.body):
            return Delivered(msg("{where} accepted the message", where=where))
        if 200 <= (result.status or 0) < 300:
            return NotDelivered(
                msg("{where}: the response does not confirm the message", where=where)
            )
        return NotDelivered(
            chain_messages(where, result.detail), retry_after_s=result.retry_after_s
        )

    async def close(self) -> None:
        """End the connections."""
        await self._poster.close()


def read_gateway(settings: DeliverySettings) -> str:
    """Return the gateway of the command line, else the stored one, or an empty string.

    Raises ConfigError for a file that cannot be read.
    """
    option = settings.options.get("sms_gateway", "")
    if not option.endswith(".toml"):
        return option or settings.sms
    try:
        return Path(option).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise ConfigError(
            "--sms-gateway {given}: cannot be read ({reason})", given=option, reason=reason
        ) from None


def check_gateway(text: str) -> None:
    """Raise ConfigError for a gateway that could not send."""
    if not _APPRISE.match(text):
        sms_gateway.parse_gateway(text)
        return
    if PHONE_PLACEHOLDER not in text:
        raise ConfigError(
            "SMS gateway: put {place} into it where the number goes", place=PHONE_PLACEHOLDER
        )
    apprise.check_url(text.replace(PHONE_PLACEHOLDER, "15555550100"), "SMS gateway")


def mask_gateway(gateway: str) -> str:
    """Return what may be shown of a gateway, its host at most; an empty string if there is none."""
    if not gateway or _APPRISE.match(gateway):
        return apprise.mask_url(gateway) if gateway else ""
    try:
        return f"{urlsplit(sms_gateway.parse_gateway(gateway).url).hostname}/{MASK}"
    except ConfigError:
        return MASK


# -- the text -------------------------------------------------------------------------


def shorten_message(message: Message, base_url: str, limit: int) -> str:
    """Return a message in `limit` characters: its subject, the best titles, a link.

    Example, limit 40: `欧冠：2 篇新页面\\n抽签今日举…\\nhttps://f.example/inbox`.
    """
    items = [item for section in message.sections for item in section.items]
    if not items:
        return truncate(message.text.strip(), limit)
    is_single = len(items) == 1 and not any(section.more for section in message.sections)
    lines = [message.subject, *([] if is_single else (item.title for item in items))]
    link = f"{base_url}/inbox" if base_url else items[0].match.url
    room = limit - utf16_length(link) - 1
    if room < _MIN_ROOM:
        return truncate("\n".join(lines), limit)
    return truncate("\n".join(lines), room) + f"\n{link}"


def utf16_length(text: str) -> int:
    """Return the length of a text in units of UTF-16, as telephones count it."""
    return len(text.encode("utf-16-le")) // 2


def truncate(text: str, limit: int) -> str:
    """Return a text of at most `limit` units; an ellipsis marks that it was cut."""
    if utf16_length(text) <= limit:
        return text
    while utf16_length(text) > limit - 1:
        text = text[:-1]
    return text.rstrip() + "…"
