"""Notifications in browsers (Web Push, RFC 8030).

People allow it for each browser in the settings of `focus serve`; the channel `push` sends to all
browsers of the alert's owner. A message is encrypted for the browser (`push_encryption`), so that
the push service cannot read it:

    {"title": "欧冠：3 篇新页面", "body": "抽签今日举行\\n…", "url": "/inbox?alert=3",
     "tag": "2f0c…", "lang": "zh-CN"}

A subscription is deleted when the push service responds with 404 or 410. The key that identifies
the installation to push services is derived from the key file (`alerts.keyfile`) and not stored.
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
from focus.alerts.message import Message
from focus.alerts.settings import DeliverySettings
from focus.fetch import WebPoster
from focus.i18n import chain_messages, language_tag, msg, plural
from focus.records import FailureKind
from focus.storage.alerts.records import NotifiedBrowser, PushSubscription

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from focus.storage.alerts.records import User

MAX_BYTES = 3000
"""Size of the JSON of a notification; a record has room for 3,993 bytes."""
MAX_TITLES = 3  # in a notification
TTL_S = 3 * 86400  # how long a push service stores a message for a browser that is offline
NO_BROWSER = msg(
    "no browser is set up for notifications; set one up in the settings of focus serve"
)
_GONE = frozenset({404, 410})
_PERMANENT = frozenset({400, 401, 403, 413})
_TITLE_CHARACTERS, _ENDPOINT_CHARACTERS = 200, 2000


class Push(Channel):
    """Notifications in the browsers that a person allowed."""

    kind, metavar, help = "push", "", "By notifications of your browsers."
    labels = {
        "zh": "我的浏览器通知（在设置中允许）",
        "en": "Notifications of my browsers (allowed in the settings)",
    }
    can_be_bare = True
    is_for_accounts = True
    concurrency = 4

    def __init__(self, *arguments: Any, clock: Callable[[], float]) -> None:
        super().__init__(*arguments, clock=clock)
        self._poster = WebPoster(webhook.webhook_limits(self.settings.fetch), clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return False: the channel has no address but the browsers of the alert's owner."""
        return False

    @classmethod
    def account_address(cls, address: str, user: User) -> str | None:
        return ""

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Send one message to all browsers of a person that do not have it yet."""
        browsers = self.store.browsers.list_for_user(user)
        pending = [browser for browser in browsers if browser.last_message != message.id]
        notification = payload(message)
        outcomes = await asyncio.gather(
            *(self._send_to(notification, message.id, browser) for browser in pending)
        )
        return _combine_outcomes(outcomes, already_delivered=len(browsers) - len(pending))

    async def _send_to(
        self, notification: bytes, batch: str, browser: NotifiedBrowser
    ) -> DeliveryOutcome:
        try:
            body, headers = self._encrypt(notification, browser.subscription)
        except ValueError:
            return NotDelivered(
                chain_messages(browser.name, msg("allow notifications again")), retry=False
            )
        headers["Topic"] = batch[:32]  # a repeated message replaces itself
        result = await self._poster.call(
            browser.subscription.endpoint, body, headers=headers, reads_body=False
        )
        status = result.status or 0
        if result.failure is None and 200 <= status < 300:
            self.store.browsers.set_last_message(browser.id, batch)
            return Delivered()
        if status in _GONE:
            self.store.browsers.remove(browser.id)
        return NotDelivered(
            chain_messages(browser.name, result.detail),
            retry=status not in _GONE | _PERMANENT and result.failure is not FailureKind.GUARD,
            retry_after_s=result.retry_after_s,
        )

    def _encrypt(
        self, notification: bytes, subscription: PushSubscription
    ) -> tuple[bytes, dict[str, str]]:
        """Return body and headers. Raises ValueError for keys that are invalid or stay sealed."""
        from focus.alerts.delivery import push_encryption

        body = push_encryption.encrypt(
            notification,
            push_encryption.parse_receiver(subscription.keys),
            message_key=push_encryption.generate_key(),
            salt=secrets.token_bytes(push_encryption.SALT_BYTES),
        )
        authorization = push_encryption.vapid_authorization(
            self._installation_key,
            subscription.endpoint,
            contact=_contact(self.settings),
            now=self.clock(),
        )
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(TTL_S),
            "Authorization": authorization,
        }
        return body, headers

    @cached_property
    def _installation_key(self) -> EllipticCurvePrivateKey:
        return _sender_key(self.settings)

    async def close(self) -> None:
        await self._poster.close()


def _combine_outcomes(
    outcomes: Sequence[DeliveryOutcome], *, already_delivered: int
) -> DeliveryOutcome:
    """Return the outcome for several browsers: a retry while one of them may still accept."""
    failed = [outcome for outcome in outcomes if isinstance(outcome, NotDelivered)]
    if retries := [outcome for outcome in failed if outcome.retry]:
        return max(retries, key=lambda outcome: outcome.retry_after_s or 0.0)
    if delivered := already_delivered + len(outcomes) - len(failed):
        return Delivered(plural("{n} browser", "{n} browsers", n=delivered))
    return failed[0] if failed else NotDelivered(NO_BROWSER, retry=False)


def payload(message: Message) -> bytes:
    """Return the notification as JSON of at most `MAX_BYTES`.

    The title counts the pages. For a single page the body is its snippet and the URL leads to it;
    for several pages the body is the best titles.
    """
    items = [item for section in message.sections for item in section.items]
    is_one = len(items) == 1 and not any(section.more for section in message.sections)
    lines = [items[0].snippet.strip()] if is_one else [item.title for item in items[:MAX_TITLES]]
    body = "\n".join(lines) if items else message.text.strip()
    url = "/inbox"
    if is_one:
        url = f"/inbox/{items[0].match.id}/open"
    elif len(message.sections) == 1:
        url = f"/inbox?alert={message.sections[0].number}"
    fields = {"url": url, "tag": message.id, "lang": language_tag(message.language)}
    title = message.subject[:_TITLE_CHARACTERS]
    while len(encoded := msgspec.json.encode({"title": title, "body": body, **fields})) > MAX_BYTES:
        body = body[: len(body) * 9 // 10]
    return encoded


def parse_subscription(endpoint: str, p256dh: str, auth: str) -> PushSubscription | None:
    """Return a browser's subscription from the fields of a form, or None if it is invalid.

    Push services are reached over https; http is accepted for tests on this machine only.
    """
    from focus.alerts.delivery import push_encryption

    subscription = PushSubscription(endpoint, f"{p256dh} {auth}")
    try:
        parts = urlsplit(endpoint)
        is_safe = parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1")
        push_encryption.parse_receiver(subscription.keys)
    except ValueError:
        return None
    return (
        subscription
        if is_safe and parts.hostname and len(endpoint) <= _ENDPOINT_CHARACTERS
        else None
    )


def public_key(settings: DeliverySettings) -> str:
    """Return the public key of this installation in base64url, as browsers expect it."""
    from focus.alerts.delivery import push_encryption

    return push_encryption.encode_base64url(push_encryption.public_point(_sender_key(settings)))


def _sender_key(settings: DeliverySettings) -> EllipticCurvePrivateKey:
    from focus.alerts.delivery import push_encryption

    return push_encryption.sender_key(settings.derive_secret("vapid"))


def _contact(settings: DeliverySettings) -> str:
    """Return an address of the operator that push services may write to, or an empty string."""
    if settings.base_url.startswith("https://"):
        return settings.base_url
    return f"mailto:{settings.mail.sender}" if settings.mail else ""
