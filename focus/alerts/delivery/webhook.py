"""Posts a message, signed, to somebody's server.

After the Standard Webhooks scheme: `webhook-id` is the batch, the same when it is sent
again; `webhook-timestamp` the time of this try; `webhook-signature` is `v1,` and the base64
of HMAC-SHA256 over `id.timestamp.body` under the secret; for a day after the secret was changed
a second one under the secret before, a space between them. The body:

    {"type": "pages.found", "timestamp": "2026-11-21T00:30:00Z", "data": {"alerts": [
        {"id": 3, "name": "足球", "more": 0, "items": [
            {"id": 71, "url": …, "title": …, "site": …, "published_at": …, "found_at": …,
             "relevance": 0.93, "snippet": …, "words": ["欧冠"], "similar": 4}]}]}}

`similar` counts near-duplicates, `more` the pages that are in the inbox only; a test has
the type `test` and no alerts.
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

from focus.alerts.delivery import signing_secrets
from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.delivery.http_post import WebPoster
from focus.alerts.message import Message, MessageItem
from focus.alerts.settings import MASK
from focus.config import FetchConfig
from focus.i18n import msg
from focus.records import FailureKind, FetchResult

PREFIX = signing_secrets.PREFIX
GONE = 410
_ANSWER_BYTES = 64 * 1024
_TIME_S = 30.0  # the scheme asks for 15 to 30
_HOPELESS = frozenset({FailureKind.GUARD})


class Webhook(Channel):
    """A signed POST of JSON to a server of yours."""

    kind, metavar, help = "webhook", "URL", "By a signed POST of JSON. Repeatable."
    labels = {"zh": "Webhook 地址，每行一个", "en": "Webhooks, one URL per line"}
    signs = True
    at_once = 8

    def __init__(self, *given: Any, clock: Callable[[], float]) -> None:
        super().__init__(*given, clock=clock)
        self._poster = WebPoster(limits(self.settings.fetch), clock=clock)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether it is a URL of the web."""
        try:
            parts = urlsplit(text)
            return parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            return False

    @classmethod
    def masked(cls, address: str) -> str:
        """Scheme and host: paths and passwords may be secrets."""
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{'/' + MASK if parts.path.strip('/') else ''}"

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Post one message; what the server answers is the outcome."""
        channel, now = f"{self.kind}:{address}", self.clock()
        signers = signing_secrets.current(self.store, self.settings, user, channel, now=now)
        return await deliver(self._poster, message, address, signers=signers, now=now)

    async def close(self) -> None:
        """End the connections."""
        await self._poster.close()


def limits(config: FetchConfig) -> FetchConfig:
    """A crawl's way to the web, with what an answer to a webhook may take of it."""
    return msgspec.structs.replace(
        config,
        total_timeout_s=_TIME_S,
        max_body_bytes=_ANSWER_BYTES,
        max_raw_bytes=2 * _ANSWER_BYTES,
        concurrency=min(config.concurrency, 16),
        connect_to=None,  # a replayed web takes no posts
    )


async def deliver(
    poster: WebPoster, message: Message, url: str, *, signers: Sequence[str], now: float
) -> DeliveryOutcome:
    """Post one message, signed by each secret; what the server answers is the outcome.

    410: never again.
    """
    body = payload(message)
    identity = f"msg_{message.id}"
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "webhook-id": identity,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(sign(each, identity, int(now), body) for each in signers),
    }
    return _outcome(await poster.post(url, body, headers=headers))


def _outcome(result: FetchResult) -> DeliveryOutcome:
    if result.failure is not None:
        return NotDelivered(result.detail, retry=result.failure not in _HOPELESS)
    status = result.status or 0
    if 200 <= status < 300:
        return Delivered(result.detail)
    if status == GONE:
        return NotDelivered(
            msg("{detail}: the receiver wants no more", detail=result.detail), retry=False
        )
    return NotDelivered(result.detail, retry_after_s=result.retry_after_s)


def sign(secret: str, identity: str, timestamp: int, body: bytes) -> str:
    """The signature of a body, as `v1,…`. ValueError for a secret that is none.

    Worked: secret `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`, id `msg_p5jXN8AQM9LWM0D4loKWxJek`,
    timestamp 1614265330 and the body `{"test": 2432232314}` give
    `v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=`.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a webhook's secret is whsec_ and base64") from None
    signed = b".".join((identity.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def payload(message: Message) -> bytes:
    """The body, byte for byte the same whenever the message is."""
    groups = message.groups
    newest = max((item.match.found_at for each in groups for item in each.items), default=None)
    alerts = [
        {
            "id": group.number,
            "name": group.name,
            "more": group.more,
            "items": [_item(item) for item in group.items],
        }
        for group in groups
    ]
    kind = "pages.found" if groups else "test"
    data = {"alerts": alerts} if groups else {"text": message.text.strip()}
    return msgspec.json.encode({"type": kind, "timestamp": _iso(newest), "data": data})


def _item(item: MessageItem) -> dict[str, Any]:
    match = item.match
    return {
        "id": match.id,
        "url": match.url,
        "title": item.title,
        "site": item.site,
        "published_at": _iso(match.published_at),
        "found_at": _iso(match.found_at),
        "relevance": round(match.relevance, 4),
        "snippet": item.snippet,
        "words": list(dict.fromkeys(item.pieces[1::2])),
        "similar": item.similar,
    }


def _iso(moment: float | None) -> str | None:
    """RFC 3339, whole seconds, UTC; None for none, or for one outside the calendar."""
    if moment is None:
        return None
    try:
        text = datetime.fromtimestamp(int(moment), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return text.removesuffix("+00:00") + "Z"
