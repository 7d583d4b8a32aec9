"""Has browsers show a notification of what was found (Web Push, RFC 8030).

People allow it in the settings of `focus serve`, browser by browser; the channel `push` goes to
all of its owner's. What is sent is encrypted for the browser (`push_encryption`), so that its
maker's push service reads nothing of it:

    {"title": "欧冠：3 篇新页面", "body": "抽签今日举行\\n…", "url": "/inbox?alert=3",
     "tag": "2f0c…", "lang": "zh-CN"}

A service that says 404 or 410 has given a browser up: it is forgotten. The key by which services
know us is derived from the installation's (`alerts.keyfile`), so that it is stored nowhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from focus.alerts.delivery import webhook
from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.delivery.http_post import WebPoster
from focus.alerts.message import Message
from focus.alerts.settings import DeliverySettings
from focus.i18n import msg, plural, tag, within
from focus.records import FailureKind
from focus.storage.alerts.records import NotifiedBrowser, PushSubscription

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from focus.storage.alerts.records import User

MOST_BYTES = 3000
"""Of what a notification says; a record has room for 3,993."""
SHOWN = 3  # titles in a notification
KEPT_S = 3 * 86400  # by the push service, for a browser that is not there
NOBODY = msg("no browser is to be notified; have one do so in the settings of focus serve")
_GONE = frozenset({404, 410})
_HOPELESS = frozenset({400, 401, 403, 413})
_TITLE_CHARACTERS, _ENDPOINT_CHARACTERS = 200, 2000


class Push(Channel):
    """Notifications of the browsers that one has allowed in the settings of `focus serve`."""

    kind, metavar, help = "push", "", "By notifications of your browsers."
    labels = {
        "zh": "我的浏览器通知（在设置中允许）",
        "en": "Notifications of my browsers (allowed in the settings)",
    }
    may_be_bare = True
    for_accounts = True
    at_once = 4

    def __init__(self, *given: Any, clock: Callable[[], float]) -> None:
        super().__init__(*given, clock=clock)
        self._poster = WebPoster(webhook.limits(self.settings.fetch), clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """It has none: the browsers are those of the alert's owner."""
        return False

    @classmethod
    def of_account(cls, address: str, user: User) -> str | None:
        """Their own browsers."""
        return ""

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Bring one message to all browsers of a person that do not have it yet."""
        browsers = self.store.browsers.of(user)
        left = [each for each in browsers if each.taken != message.id]
        told = payload(message)
        outcomes = await asyncio.gather(*(self._bring(told, message.id, each) for each in left))
        return _in_all(outcomes, had=len(browsers) - len(left))

    async def _bring(self, told: bytes, batch: str, browser: NotifiedBrowser) -> DeliveryOutcome:
        try:
            body, headers = self._sealed(told, browser.leave)
        except ValueError:
            return NotDelivered(within(browser.name, msg("allow it anew")), retry=False)
        headers["Topic"] = batch[:32]  # sent again, it takes the place of itself
        result = await self._poster.post(browser.leave.endpoint, body, headers=headers)
        status = result.status or 0
        if result.failure is None and 200 <= status < 300:
            self.store.browsers.took(browser.id, batch)
            return Delivered()
        if status in _GONE:
            self.store.browsers.remove(browser.id)
        return NotDelivered(
            within(browser.name, result.detail),
            retry=status not in _GONE | _HOPELESS and result.failure is not FailureKind.GUARD,
            retry_after_s=result.retry_after_s,
        )

    def _sealed(self, told: bytes, leave: PushSubscription) -> tuple[bytes, dict[str, str]]:
        """A body and its headers; ValueError for keys that are none, or stay sealed."""
        from focus.alerts.delivery import push_encryption

        body = push_encryption.encrypted(
            told,
            push_encryption.receiver_of(leave.keys),
            own=push_encryption.one_time_key(),
            salt=secrets.token_bytes(push_encryption.SALT_BYTES),
        )
        signed = push_encryption.authorization(
            self._key, leave.endpoint, contact=_contact(self.settings), now=self.clock()
        )
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(KEPT_S),
            "Authorization": signed,
        }
        return body, headers

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        return _key_of(self.settings)

    async def close(self) -> None:
        """End the connections."""
        await self._poster.close()


def _in_all(outcomes: Sequence[DeliveryOutcome], *, had: int) -> DeliveryOutcome:
    """What came of a message to several browsers: tried again while one may still take it."""
    failed = [each for each in outcomes if isinstance(each, NotDelivered)]
    if again := [each for each in failed if each.retry]:
        return max(again, key=lambda each: each.retry_after_s or 0.0)
    if good := had + len(outcomes) - len(failed):
        return Delivered(plural("{n} browser", "{n} browsers", n=good))
    return failed[0] if failed else NotDelivered(NOBODY, retry=False)


def payload(message: Message) -> bytes:
    """What a browser shows, and where a press leads: JSON of at most `MOST_BYTES`.

    The title counts the pages; of a single one the passage follows, of several the best titles.
    """
    items = [item for group in message.groups for item in group.items]
    is_one = len(items) == 1 and not any(group.more for group in message.groups)
    lines = [items[0].snippet.strip()] if is_one else [item.title for item in items[:SHOWN]]
    body = "\n".join(lines) if items else message.text.strip()
    url = "/inbox"
    if is_one:
        url = f"/inbox/{items[0].match.id}/open"
    elif len(message.groups) == 1:
        url = f"/inbox?alert={message.groups[0].number}"
    said = {"url": url, "tag": message.id, "lang": tag(message.language)}
    title = message.subject[:_TITLE_CHARACTERS]
    while len(made := msgspec.json.encode({"title": title, "body": body, **said})) > MOST_BYTES:
        body = body[: len(body) * 9 // 10]
    return made


def leave_of(endpoint: str, point: str, secret: str) -> PushSubscription | None:
    """A browser's leave as it came in a form; None for what is none.

    Push services are reached by https; by http one on this machine, as for trials.
    """
    from focus.alerts.delivery import push_encryption

    leave = PushSubscription(endpoint, f"{point} {secret}")
    try:
        parts = urlsplit(endpoint)
        safe = parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1")
        push_encryption.receiver_of(leave.keys)
    except ValueError:
        return None
    return leave if safe and parts.hostname and len(endpoint) <= _ENDPOINT_CHARACTERS else None


def public_key(settings: DeliverySettings) -> str:
    """By what browsers and their services know this installation, base64url."""
    from focus.alerts.delivery import push_encryption

    return push_encryption.base64url(push_encryption.public(_key_of(settings)))


def _key_of(settings: DeliverySettings) -> EllipticCurvePrivateKey:
    from focus.alerts.delivery import push_encryption

    return push_encryption.sender_key(settings.derived("vapid"))


def _contact(settings: DeliverySettings) -> str:
    """Who runs the installation; push services may want to tell them something."""
    if settings.base_url.startswith("https://"):
        return settings.base_url
    return f"mailto:{settings.mail.sender}" if settings.mail else ""
