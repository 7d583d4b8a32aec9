"""Delivery as a signed POST of JSON to a server of the user.

Requests follow the Standard Webhooks specification. `webhook-id` is the batch, so that it is the
same when a message is sent again; `webhook-timestamp` is the time of this attempt;
`webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body` under the
secret. For a day after the secret was rotated, a second signature under the previous secret
follows after a space. The body:

    {"type": "pages.found", "timestamp": "2026-11-21T00:30:00Z", "data": {"alerts": [
        {"id": 3, "name": "足球", "more": 0, "items": [
            {"id": 71, "url": …, "title": …, "site": …, "published_at": …, "found_at": …,
             "relevance": 0.93, "snippet": …, "words": ["欧冠"], "similar": 4}]}]}}

`similar` is the number of near-duplicates, `more` the number of pages that are only in the inbox.
A test message has the type `test` and a text instead of alerts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.alerts.addresses import is_web_address
from focus.alerts.delivery import signing_secrets
from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import Message, MessageItem
from focus.alerts.settings import MASK
from focus.config import FetchConfig
from focus.fetch import WebPoster
from focus.i18n import msg
from focus.records import FailureKind, FetchResult

PREFIX = signing_secrets.PREFIX
GONE = 410
_MAX_RESPONSE_BYTES = 64 * 1024
_TIMEOUT_S = 30.0  # the specification asks for 15 to 30
_PERMANENT = frozenset({FailureKind.GUARD})


class Webhook(Channel):
    """Signed POST of JSON to a server of the user."""

    kind, metavar, help = "webhook", "URL", "Send a signed POST with JSON to this URL (repeatable)."
    labels = {"zh": "Webhook 地址，每行一个", "en": "Webhooks, one URL per line"}
    is_signed = True
    concurrency = 8

    def __init__(self, *arguments: Any, clock: Callable[[], float]) -> None:
        super().__init__(*arguments, clock=clock)
        self._poster = WebPoster(webhook_limits(self.settings.fetch), clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return whether a text is an http or https URL."""
        return is_web_address(text)

    @classmethod
    def mask(cls, address: str) -> str:
        """Return scheme and host alone: path and password may be secret."""
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{'/' + MASK if parts.path.strip('/') else ''}"

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        channel, now = f"{self.kind}:{address}", self.clock()
        secrets = signing_secrets.current_secrets(self.store, self.settings, user, channel, now=now)
        return await post_message(self._poster, message, address, secrets=secrets, now=now)

    async def close(self) -> None:
        await self._poster.close()


def webhook_limits(config: FetchConfig) -> FetchConfig:
    """Return the settings of fetches with the limits for responses to webhooks."""
    return msgspec.structs.replace(
        config,
        total_timeout_s=_TIMEOUT_S,
        max_body_bytes=_MAX_RESPONSE_BYTES,
        max_raw_bytes=2 * _MAX_RESPONSE_BYTES,
        concurrency=min(config.concurrency, 16),
        connect_to=None,  # a recorded web accepts no POST
    )


async def post_message(
    poster: WebPoster, message: Message, url: str, *, secrets: Sequence[str], now: float
) -> DeliveryOutcome:
    """POST one message, signed with each secret; the response determines the outcome.

    Status 410 ends deliveries to the URL: the message is not retried.
    """
    body = payload(message)
    message_id = f"msg_{message.id}"
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(
            sign_body(secret, message_id, int(now), body) for secret in secrets
        ),
    }
    return _delivery_outcome(await poster.call(url, body, headers=headers, reads_body=False))


def _delivery_outcome(result: FetchResult) -> DeliveryOutcome:
    if result.failure is not None:
        return NotDelivered(result.detail, retry=result.failure not in _PERMANENT)
    status = result.status or 0
    if 200 <= status < 300:
        return Delivered(result.detail)
    if status == GONE:
        return NotDelivered(
            msg("{detail}: the receiver does not accept messages any more", detail=result.detail),
            retry=False,
        )
    return NotDelivered(result.detail, retry_after_s=result.retry_after_s)


def sign_body(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a body, as `v1,…`. Raises ValueError for an invalid secret.

    Example: secret `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`, id `msg_p5jXN8AQM9LWM0D4loKWxJek`,
    timestamp 1614265330 and the body `{"test": 2432232314}` give
    `v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=`.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a webhook's secret is whsec_ and base64") from None
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def payload(message: Message) -> bytes:
    """Return the body, which is the same bytes whenever the message is the same."""
    sections = message.sections
    newest = max(
        (item.match.found_at for section in sections for item in section.items), default=None
    )
    alerts = [
        {
            "id": section.number,
            "name": section.name,
            "more": section.more,
            "items": [_item_fields(item) for item in section.items],
        }
        for section in sections
    ]
    kind = "pages.found" if sections else "test"
    data = {"alerts": alerts} if sections else {"text": message.text.strip()}
    return msgspec.json.encode({"type": kind, "timestamp": _rfc3339(newest), "data": data})


def _item_fields(item: MessageItem) -> dict[str, Any]:
    match = item.match
    return {
        "id": match.id,
        "url": match.url,
        "title": item.title,
        "site": item.site,
        "published_at": _rfc3339(match.published_at),
        "found_at": _rfc3339(match.found_at),
        "relevance": round(match.relevance, 4),
        "snippet": item.snippet,
        "words": list(dict.fromkeys(item.pieces[1::2])),
        "similar": item.similar,
    }


def _rfc3339(moment: float | None) -> str | None:
    """Return a time in whole seconds, UTC; None for no time or one that the calendar lacks."""
    if moment is None:
        return None
    try:
        text = datetime.fromtimestamp(int(moment), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return text.removesuffix("+00:00") + "Z"
