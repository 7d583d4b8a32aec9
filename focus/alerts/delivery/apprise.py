"""Delivers messages to other services: DingTalk, WeCom, Feishu, Telegram, Bark, ntfy, SMS.

By the library apprise (extra `[apprise]`), which knows over a hundred of them by a URL each.
It makes connections of its own, outside our guard: only administrators may name such a URL.
"""

from __future__ import annotations

import asyncio
import importlib.util

from focus.alerts.delivery import Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import Message
from focus.alerts.settings import masked_channel
from focus.errors import ConfigError
from focus.http.network_errors import one_line

KIND = "apprise"
MISSING = 'apprise is not installed; get it with: pip install "focus-crawler[apprise]"'


def available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("apprise") is not None


def check_may_add(channel: str, *, admin: bool) -> None:
    """ConfigError unless this person may send by this channel, and it can work at all."""
    kind, _, address = channel.partition(":")
    if kind != KIND:
        return
    shown = masked_channel(channel)
    if not admin:
        raise ConfigError(f"channel {shown!r}: apprise channels are for administrators")
    if not available():
        raise ConfigError(f"channel {shown!r}: {MISSING}")
    import apprise

    if not apprise.Apprise().add(address):
        raise ConfigError(f"channel {shown!r}: apprise knows no such service, or misses a part")


async def deliver(message: Message, address: str) -> DeliveryOutcome:
    """Hand one message over; apprise tells no more than whether it went well."""
    if not available():
        return NotDelivered(MISSING, everyone=True)
    return await asyncio.to_thread(_notify, message, address)


def _notify(message: Message, address: str) -> DeliveryOutcome:
    """In a thread: its requests block, each for seconds at most."""
    import apprise

    service = apprise.Apprise()
    shown = masked_channel(f"{KIND}:{address}")
    if not service.add(address):
        return NotDelivered(
            f"{shown}: apprise knows no such service, or misses a part", retry=False
        )
    try:
        taken = service.notify(
            body=message.text, title=message.subject, body_format=apprise.NotifyFormat.TEXT
        )
    except Exception as error:  # a border: over a hundred plug-ins of other hands
        return NotDelivered(one_line(f"{shown}: {type(error).__name__}"))
    return Delivered() if taken else NotDelivered(f"{shown}: the service did not take it")
