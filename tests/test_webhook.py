"""Webhooks carry a signature that receivers can check, and take no for an answer."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from focus.alerts import outbox_relay
from focus.alerts.delivery import Delivered, NotDelivered, webhook
from focus.alerts.delivery.http_post import WebPoster
from focus.alerts.message import trial
from focus.config import FetchConfig
from focus.records import FailureKind
from focus.storage.alerts.records import DEAD, SENT
from tests.support.outbox import LOOPBACK, NOON, Desk, desk
from tests.support.timetravel import OWN_TIME
from tests.support.webhooks import Got, Receiver, receiving

pytestmark = OWN_TIME


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path) as made:
        yield made


def verified(got: Got, secret: str) -> bool:
    """As a receiver would check it, from the scheme's text."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    head = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}."
    digest = hmac.new(key, head.encode() + got.body, hashlib.sha256).digest()
    return got.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def test_the_schemes_own_example() -> None:
    signed = webhook.sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    with pytest.raises(ValueError, match="base64"):
        webhook.sign("whsec_???", "msg_1", 1, b"")


async def test_a_receiver_that_fails_and_recovers_gets_it_under_one_id(here: Desk) -> None:
    hook = Receiver(answers=[(500, {}), (429, {"Retry-After": "7200"})])
    async with receiving(hook):
        channel = f"webhook:{hook.url}/in?k=1"
        alert = here.alert("足球", channel)
        (number,) = here.finds(alert, "http://a.test/1", published_at=NOON - 60)
        assert (await here.deliver()).waiting == 1
        here.clock.now += 70
        assert (await here.deliver()).waiting == 1
        assert here.store.outbox.next_due() == here.clock.now + 7200
        here.clock.now += 7200
        assert (await here.deliver()).sent == 1
        assert await here.deliver() == outbox_relay.Summary()
    secret = here.settings().webhook_secret(1, channel)
    assert all(verified(got, secret) for got in hook.requests)
    assert len(set(hook.ids)) == 1
    assert len({got.body for got in hook.requests}) == 1
    times = [int(got.headers["webhook-timestamp"]) - int(NOON) for got in hook.requests]
    assert times == [0, 70, 7270], "of each try"
    first = hook.requests[0]
    assert first.path == "/in"
    assert first.headers["content-type"].startswith("application/json")
    assert msgspec.json.decode(first.body) == {
        "type": "pages.found",
        "timestamp": "2026-11-21T09:00:00Z",
        "data": {
            "alerts": [
                {
                    "id": alert,
                    "name": "足球",
                    "more": 0,
                    "items": [
                        {
                            "id": number,
                            "url": "http://a.test/1",
                            "title": "标题 1",
                            "site": "a.test",
                            "published_at": "2026-11-21T08:59:00Z",
                            "found_at": "2026-11-21T09:00:00Z",
                            "relevance": 0.8,
                            "snippet": "今天足球决赛",
                            "words": ["足球"],
                            "similar": 0,
                        }
                    ],
                }
            ]
        },
    }
    assert [line.detail for line in here.store.outbox.deliveries()] == [
        "204 No Content",
        "429 Too Many Requests",
        "500 Internal Server Error",
    ]


async def test_gone_is_gone_for_good(here: Desk) -> None:
    async with receiving(Receiver(answers=[(410, {})])) as hook:
        here.finds(here.alert("足球", f"webhook:{hook.url}"), "http://a.test/1")
        assert (await here.deliver()).dead == 1
    assert here.store.outbox.counts() == {DEAD: 1}


async def test_one_that_fails_does_not_hold_up_the_others(here: Desk) -> None:
    async with receiving(Receiver(delay_s=0.05)) as hook:
        here.finds(here.alert("a", "webhook:http://127.0.0.1:1/"), "http://a.test/1")
        for name in "bcdef":
            here.finds(here.alert(name, f"webhook:{hook.url}/{name}"), "http://a.test/1")
        summary = await here.deliver()
    assert (summary.sent, summary.waiting) == (5, 1)
    assert here.store.outbox.counts() == {0: 1, SENT: 5}
    assert summary.failures == {"webhook": "Connection refused"}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Delivered("200 OK")),
        (204, Delivered("204 No Content")),
        (302, NotDelivered("302 Found")),
        (404, NotDelivered("404 Not Found")),
        (410, NotDelivered("410 Gone: the receiver wants no more", retry=False)),
        (503, NotDelivered("503 Service Unavailable", retry_after_s=9.0)),
    ],
)
async def test_what_an_answer_means(status: int, outcome: Delivered | NotDelivered) -> None:
    headers = {"Retry-After": "9"} if status == 503 else {}
    if status == 302:
        headers = {"Location": "/elsewhere"}
    async with receiving(Receiver(answers=[(status, headers)])) as hook, WebPoster(LOOPBACK) as web:
        got = await webhook.deliver(
            web, trial("1", "en"), hook.url + "/x", secret="whsec_AAAA", now=NOON
        )
    assert got == outcome
    assert [each.path for each in hook.requests] == ["/x"], "redirects are not followed"
    assert msgspec.json.decode(hook.requests[0].body)["type"] == "test"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/"],
)
async def test_addresses_of_the_own_network_are_closed(url: str) -> None:
    async with receiving() as hook, WebPoster(webhook.limits(FetchConfig())) as web:
        outcome = await webhook.deliver(
            web, trial("1", "en"), url.format(port=hook.port), secret="whsec_AAAA", now=NOON
        )
    assert isinstance(outcome, NotDelivered)
    assert not outcome.retry
    assert "not a public address" in outcome.reason
    assert not hook.requests


async def test_an_endless_answer_is_not_read() -> None:
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536
        except OSError:
            writer.close()

    listening = await asyncio.start_server(endless, "127.0.0.1", 0)
    async with listening, WebPoster(webhook.limits(LOOPBACK)) as web:
        port = listening.sockets[0].getsockname()[1]
        result = await web.post(f"http://127.0.0.1:{port}/", b"{}", headers={})
        await asyncio.sleep(0.05)
    assert result.status == 200
    assert sent < 10_000_000


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", FailureKind.RESET),
        (b"SSH-2.0-OpenSSH\r\n\r\n", FailureKind.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99_999 + b"\r\n\r\n", FailureKind.HEADERS_TOO_LARGE),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(answer: bytes, kind: FailureKind) -> None:
    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(odd, "127.0.0.1", 0)
    async with listening, WebPoster(webhook.limits(LOOPBACK)) as web:
        port = listening.sockets[0].getsockname()[1]
        result = await web.post(f"http://127.0.0.1:{port}/", b"{}", headers={})
    assert result.failure is kind


async def test_only_the_web_is_posted_to() -> None:
    async with WebPoster(LOOPBACK) as web:
        for url in ("file:///etc/passwd", "ftp://a.test/", "gopher://a.test/"):
            result = await web.post(url, b"{}", headers={})
            assert result.failure is FailureKind.GUARD


def test_secrets_differ_by_person_and_address_and_stay(here: Desk) -> None:
    known = here.settings()
    made: list[Any] = [
        known.webhook_secret(u, c) for u in (1, 2) for c in ("webhook:a", "webhook:b")
    ]
    assert len(set(made)) == 4
    assert made[0] == here.settings().webhook_secret(1, "webhook:a")
    assert all(len(base64.b64decode(each.removeprefix("whsec_"))) == 32 for each in made)
