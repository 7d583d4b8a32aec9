"""Delivery through the library apprise (extra `[apprise]`) to DingTalk, WeCom, Telegram and others.

Each of over a hundred services is addressed by a URL. apprise opens its own connections, outside
the SSRF guard, so that only administrators may enter such a URL.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re

from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import Message
from focus.alerts.settings import MASK
from focus.errors import ConfigError
from focus.http.network_errors import to_one_line
from focus.i18n import chain_messages, msg

_MENTION = re.compile(r"@(?=(?:everyone|here|channel|all)\b)|<(?=[!@#])", re.IGNORECASE)
_ZERO_WIDTH_SPACE = "\u200b"

NOT_INSTALLED = msg("apprise is not installed; run: pip install 'focus-crawler[apprise]'")


def is_installed() -> bool:
    """Return whether the extra is installed."""
    return importlib.util.find_spec("apprise") is not None


class Apprise(Channel):
    """Any service that the library apprise supports, addressed by a URL."""

    kind, metavar = "apprise", "URL"
    help = "Send through another service, by apprise (repeatable)."
    labels = {
        "zh": "其他服务（apprise 网址，每行一个）",
        "en": "Other services (apprise URLs, one per line)",
    }
    is_admin_only = True
    max_addresses = 50
    concurrency = 2

    @classmethod
    def is_address(cls, text: str) -> bool:
        return "://" in text

    @classmethod
    def check_new_address(cls, address: str) -> None:
        """Raise ConfigError unless apprise is installed and supports the URL."""
        check_url(address, f"channel {mask_url(address)!r}")

    @classmethod
    def mask(cls, address: str) -> str:
        """Return the scheme alone: everything else may be secret."""
        return mask_url(address)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        return await deliver(message, address)


def check_url(url: str, where: str) -> None:
    """Raise ConfigError for a URL that apprise cannot send to.

    where  Beginning of the error message.
    """
    if not is_installed():
        raise ConfigError("{where}: {what}", where=where, what=NOT_INSTALLED)
    import apprise

    if not apprise.Apprise().add(url):
        raise ConfigError(
            "{where}: apprise does not know the service, or a part of the URL is missing",
            where=where,
        )


def mask_url(url: str) -> str:
    """Return an apprise URL without what may be secret, such as `tgram://***`."""
    return f"{url.partition('://')[0]}://{MASK}"


def without_mentions(text: str) -> str:
    """Return a text in which chat services find no mention, such as `@everyone`, to notify."""
    return _MENTION.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, text)


async def deliver(message: Message, address: str) -> DeliveryOutcome:
    """Send one message. apprise reports only success or failure."""
    if not is_installed():
        return NotDelivered(NOT_INSTALLED, blocks_channel=True)
    return await asyncio.to_thread(_notify, message, address)


def _notify(message: Message, address: str) -> DeliveryOutcome:
    """Send one message; blocks for some seconds, so that it runs in a thread."""
    import apprise

    service = apprise.Apprise()
    where = f"apprise:{mask_url(address)}"
    if not service.add(address):
        return NotDelivered(
            msg(
                "{where}: apprise does not know the service, or a part of the URL is missing",
                where=where,
            ),
            retry=False,
        )
    try:
        is_accepted = service.notify(
            body=without_mentions(message.text),
            title=without_mentions(message.subject),
            body_format=apprise.NotifyFormat.TEXT,
        )
    except Exception as error:  # third-party plug-ins may raise anything
        return NotDelivered(to_one_line(chain_messages(where, type(error).__name__)))
    return (
        Delivered()
        if is_accepted
        else NotDelivered(msg("{where}: the service did not accept the message", where=where))
    )
