"""Delivers messages to other services: DingTalk, WeCom, Feishu, Telegram, Bark, ntfy, SMS.

By the library apprise (extra `[apprise]`), which knows over a hundred of them by a URL each.
It makes connections of its own, outside our guard: only administrators may name such a URL.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re

from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import Message
from focus.alerts.settings import MASK
from focus.errors import ConfigError
from focus.http.network_errors import one_line
from focus.i18n import msg, within

_MENTION = re.compile(r"@(?=(?:everyone|here|channel|all)\b)|<(?=[!@#])", re.IGNORECASE)
_ZERO_WIDTH_SPACE = "\u200b"

MISSING = msg("apprise is not installed; get it with: pip install 'focus-crawler[apprise]'")


def available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("apprise") is not None


class Apprise(Channel):
    """Any of a hundred services that the library apprise knows, by a URL each."""

    kind, metavar = "apprise", "URL"
    help = "By another service, through apprise. Repeatable."
    labels = {
        "zh": "其他服务（apprise 网址，每行一个）",
        "en": "Other services (apprise URLs, one per line)",
    }
    admin_only = True
    most = 50
    at_once = 2

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether it looks like a URL."""
        return "://" in text

    @classmethod
    def check_new(cls, address: str) -> None:
        """ConfigError unless the library is there and knows such a service."""
        check(address, f"channel {shown(address)!r}")

    @classmethod
    def masked(cls, address: str) -> str:
        """Its scheme: all else may be a secret."""
        return shown(address)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Hand one message over."""
        return await deliver(message, address)


def check(url: str, where: str) -> None:
    """ConfigError that begins with `where` for a URL that could not send."""
    if not available():
        raise ConfigError("{where}: {what}", where=where, what=MISSING)
    import apprise

    if not apprise.Apprise().add(url):
        raise ConfigError("{where}: apprise knows no such service, or misses a part", where=where)


def shown(url: str) -> str:
    """A URL of apprise without what may be secret: `tgram://***`."""
    return f"{url.partition('://')[0]}://{MASK}"


def without_mentions(text: str) -> str:
    """Return a text in which chat services find no mention, such as `@everyone`, to notify."""
    return _MENTION.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, text)


async def deliver(message: Message, address: str) -> DeliveryOutcome:
    """Hand one message over; apprise tells no more than whether it went well."""
    if not available():
        return NotDelivered(MISSING, everyone=True)
    return await asyncio.to_thread(_notify, message, address)


def _notify(message: Message, address: str) -> DeliveryOutcome:
    """In a thread: its requests block, each for seconds at most."""
    import apprise

    service = apprise.Apprise()
    where = f"apprise:{shown(address)}"
    if not service.add(address):
        return NotDelivered(
            msg("{where}: apprise knows no such service, or misses a part", where=where),
            retry=False,
        )
    try:
        taken = service.notify(
            body=without_mentions(message.text),
            title=without_mentions(message.subject),
            body_format=apprise.NotifyFormat.TEXT,
        )
    except Exception as error:  # a border: over a hundred plug-ins of other hands
        return NotDelivered(one_line(within(where, type(error).__name__)))
    return (
        Delivered()
        if taken
        else NotDelivered(msg("{where}: the service did not take it", where=where))
    )
