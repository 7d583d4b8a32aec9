"""Webhooks carry a signature that receivers can check, and take no for an answer."""

import asyncio
import base64
import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest
import standardwebhooks
from msgspec.structs import replace

from focus.alerts import outbox_relay
from focus.alerts.alert import validate_alert
from focus.alerts.delivery import Delivered, NotDelivered, mask_channel, signing_secrets, webhook
from focus.alerts.message import trial_message
from focus.config import FetchConfig
from focus.fetch import WebPoster
from focus.records import FailureKind, FetchResult
from focus.storage.alerts.records import FAILED, SENT
from tests.support.cases import cases
from tests.support.outbox import LOOPBACK, NOON, OutboxFixture, outbox
from tests.support.timetravel import OWN_TIME
from tests.support.webhooks import Got, Receiver, receiving

pytestmark = OWN_TIME


class Then(datetime):
    """A receiver's clock."""

    at = NOON

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromtimestamp(cls.at, tz)


def verified(got: Got, secret: str) -> bool:
    """Whether the scheme's own library takes it, with a clock that shows when it was sent."""
    Then.at = float(got.headers["webhook-timestamp"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("standardwebhooks.webhooks.datetime", Then)
        try:
            standardwebhooks.Webhook(secret).verify(got.body, got.headers)
        except standardwebhooks.WebhookVerificationError:
            return False
    return True


def documented_code(language: str) -> str:
    """The lines of docs/watch.md that verify a signature."""
    text = (Path(__file__).parents[1] / "docs" / "watch.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.S)
    return code


def documented(got: Got, secret: str) -> bool:
    names: dict[str, Any] = {}
    exec(documented_code("python"), names)  # our own page
    return bool(names["is_ours"](secret, got.headers, got.body))


def documented_for_node(got: Got, secret: str) -> bool:
    arguments = json.dumps([secret, got.headers, base64.b64encode(got.body).decode()])
    run = f"const [s, h, b] = {arguments}; console.log(isOurs(s, h, Buffer.from(b, 'base64')));"
    command = ["node", "-e", documented_code("js") + run]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return ran.stdout.strip() == "true"


GONE = "410 Gone: the receiver does not accept messages any more"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def post(web: WebPoster, url: str) -> Delivered | NotDelivered:
    secrets, trial = ["whsec_AAAA"], trial_message("1", "en")
    return await webhook.post_message(web, trial, url, secrets=secrets, now=NOON)


def signers(here: OutboxFixture, user: int, channel: str) -> list[str]:
    now = here.clock()
    return signing_secrets.current_secrets(here.store, here.settings(), user, channel, now=now)


def test_signature_equals_standard_webhooks_example() -> None:
    secret, message_id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signed = webhook.sign_body(secret, message_id, 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    with pytest.raises(ValueError, match="base64"):
        webhook.sign_body("whsec_???", "msg_1", 1, b"")


async def test_webhook_retried_after_failure_keeps_its_id(here: OutboxFixture) -> None:
    async with receiving(Receiver(answers=[(500, {}), (429, {"Retry-After": "7200"})])) as hook:
        channel = f"webhook:{hook.url}/收件?k=a b"
        alert = here.alert("足球", channel)
        (number,) = here.finds(alert, "http://a.test/1", published_at=NOON - 60)
        assert (await here.deliver()).waiting == 1
        here.clock.now += 70
        assert (await here.deliver()).waiting == 1
        assert here.store.outbox.next_due_at() == here.clock.now + 7200
        here.clock.now += 7200
        assert (await here.deliver()).sent == 1
        assert await here.deliver() == outbox_relay.DeliverySummary()
    (secret,) = signers(here, 1, channel)
    assert all(verified(got, secret) for got in hook.requests)
    assert (len(set(hook.ids)), len({got.body for got in hook.requests})) == (1, 1)
    times = [int(got.headers["webhook-timestamp"]) - int(NOON) for got in hook.requests]
    assert times == [0, 70, 7270], "of each try"
    first = hook.requests[0]
    assert first.path == "/%E6%94%B6%E4%BB%B6?k=a%20b"
    assert first.headers["content-type"].startswith("application/json")
    item = {
        "id": number, "url": "http://a.test/1", "title": "标题 1", "site": "a.test",
        "published_at": "2026-11-21T08:59:00Z", "found_at": "2026-11-21T09:00:00Z",
        "relevance": 0.8, "snippet": "今天足球决赛", "words": ["足球"], "similar": 0,
    }  # fmt: skip
    body = msgspec.json.decode(first.body)
    assert (body.pop("type"), body.pop("timestamp")) == ("pages.found", "2026-11-21T09:00:00Z")
    alerts = [{"id": alert, "name": "足球", "more": 0, "items": [item]}]
    assert body == {"data": {"alerts": alerts}}
    expected = ["204 No Content", "429 Too Many Requests", "500 Internal Server Error"]
    assert [line.detail for line in here.store.outbox.list_deliveries()] == expected


async def test_status_410_is_not_retried(here: OutboxFixture) -> None:
    async with receiving(Receiver(answers=[(410, {})])) as hook:
        here.finds(here.alert("足球", f"webhook:{hook.url}"), "http://a.test/1")
        assert (await here.deliver()).dead == 1
    assert here.store.outbox.count_by_state() == {FAILED: 1}


async def test_failing_webhook_does_not_delay_others(here: OutboxFixture) -> None:
    async with receiving(Receiver(delay_s=0.05)) as hook:
        here.finds(here.alert("a", "webhook:http://127.0.0.1:1/"), "http://a.test/1")
        for name in "bcdef":
            here.finds(here.alert(name, f"webhook:{hook.url}/{name}"), "http://a.test/1")
        summary = await here.deliver()
    assert (summary.sent, summary.waiting) == (5, 1)
    assert here.store.outbox.count_by_state() == {0: 1, SENT: 5}
    assert summary.failures == {"webhook": "Connection refused"}


@cases(
    "status, headers, outcome",
    (200, {}, Delivered("200 OK")),
    (204, {}, Delivered("204 No Content")),
    (302, {"Location": "/elsewhere"}, NotDelivered("302 Found")),
    (404, {}, NotDelivered("404 Not Found")),
    (410, {}, NotDelivered(GONE, retry=False)),
    (503, {"Retry-After": "9"}, NotDelivered("503 Service Unavailable", retry_after_s=9.0)),
)
async def test_status_decides_outcome(
    status: int, headers: dict[str, str], outcome: Delivered | NotDelivered
) -> None:
    async with receiving(Receiver(answers=[(status, headers)])) as hook, WebPoster(LOOPBACK) as web:
        assert await post(web, hook.url + "/x") == outcome
    assert [request.path for request in hook.requests] == ["/x"], "redirects are not followed"
    assert msgspec.json.decode(hook.requests[0].body)["type"] == "test"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_private_address_is_refused(host: str) -> None:
    async with receiving() as hook, WebPoster(webhook.webhook_limits(FetchConfig())) as web:
        outcome = await post(web, f"http://{host}:{hook.port}/")
    assert isinstance(outcome, NotDelivered) and not outcome.retry
    assert "address is not public" in outcome.reason
    assert not hook.requests


async def call(server: Handler) -> FetchResult:
    """The result of a request to a server that this function acts out."""
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    async with listening, WebPoster(webhook.webhook_limits(LOOPBACK)) as web:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        result = await web.call(url, b"{}", headers={}, reads_body=False)
        await asyncio.sleep(0.05)
    return result


async def test_endless_response_body_is_not_read() -> None:
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

    assert (await call(endless)).status == 200
    assert sent < 10_000_000


@cases(
    "answer, kind",
    (b"", FailureKind.RESET),
    (b"SSH-2.0-OpenSSH\r\n\r\n", FailureKind.PROTOCOL),
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99_999 + b"\r\n\r\n", FailureKind.HEADERS_TOO_LARGE),
)
async def test_invalid_response_is_a_failure(answer: bytes, kind: FailureKind) -> None:
    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    assert (await call(odd)).failure is kind


async def test_url_of_other_scheme_is_no_address() -> None:
    async with WebPoster(LOOPBACK) as web:
        for url in ("file:///etc/passwd", "ftp://a.test/", "gopher://a.test/"):
            result = await web.call(url, b"{}", headers={}, reads_body=False)
            assert result.failure is FailureKind.GUARD


def test_secret_differs_by_person_and_address(here: OutboxFixture) -> None:
    result = [signers(here, u, c)[0] for u in (1, 2) for c in ("webhook:a", "webhook:b")]
    assert len(set(result)) == 4
    assert result[0] == signers(here, 1, "webhook:a")[0]
    assert all(len(base64.b64decode(item.removeprefix("whsec_"))) == 32 for item in result)


async def test_rotated_secret_signs_for_one_more_day(here: OutboxFixture) -> None:
    async with receiving() as hook:
        channel = f"webhook:{hook.url}/in"
        alert = here.alert("足球", channel)
        (old,) = signers(here, 1, channel)
        new = signing_secrets.rotate_secret(here.store, here.settings(), 1, channel, now=NOON)
        assert signers(here, 1, channel) == [new, old]
        here.finds(alert, "http://a.test/1")
        await here.deliver()
        here.clock.now += signing_secrets.OVERLAP_S
        here.finds(alert, "http://a.test/2")
        await here.deliver()
    both, later = hook.requests
    assert [verified(both, item) for item in (old, new)] == [True, True]
    assert [verified(later, item) for item in (old, new)] == [False, True]
    assert documented(both, new) and documented(both, old) and documented(later, new)
    assert not documented(later, old)
    assert not documented(later._replace(body=b"{}"), new)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
def test_node_example_verifies_signature() -> None:
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", '{"a": "足"}'.encode()
    signed = webhook.sign_body(secret, "msg_1", int(NOON), body)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(NOON))}
    got = Got("/", {**headers, "webhook-signature": f"v1,AAAA {signed}"}, body)
    assert verified(got, secret) and documented_for_node(got, secret)
    forged = got._replace(body=body + b" ")
    assert not verified(forged, secret) and not documented_for_node(forged, secret)


def test_rotation_of_one_secret_keeps_others(here: OutboxFixture) -> None:
    others = [(1, "webhook:b"), (2, "webhook:a")]
    before = [signers(here, *item) for item in others]
    signing_secrets.rotate_secret(here.store, here.settings(), 1, "webhook:a", now=NOON)
    assert [signers(here, *item) for item in others] == before


# -- addresses are secrets ----------------------------------------------------------


async def test_address_with_token_is_sealed_in_database(here: OutboxFixture) -> None:
    async with receiving() as hook:
        channel = f"webhook:{hook.url}/T0KEN"
        alert = here.alert("足球", channel, "mail:me@a.test", "apprise:tgram://T0KEN/1")
        here.store.users.set_channels(1, [channel])
        here.finds(alert, "http://a.test/1")
        await here.deliver()
        assert [got.path for got in hook.requests] == ["/T0KEN"]
    assert here.store.users.find_active(1).channels == (channel,)  # type: ignore[union-attr]
    assert channel in {line.channel for line in here.store.outbox.list_deliveries()}
    with closing(sqlite3.connect(here.store.path)) as raw:
        dump = "\n".join(raw.iterdump())
    assert "T0KEN" not in dump
    assert "mail:me@a.test" in dump and "webhook:sealed:2:" in dump


async def test_address_sealed_with_other_key_is_masked_and_not_sent_to(here: OutboxFixture) -> None:
    here.finds(here.alert("足球", "webhook:https://a.test/T0KEN"), "http://a.test/1")
    here.store.path.with_name("watch.db.key").unlink()
    with outbox(here.store.path.parent) as second:
        (owned,) = second.store.alerts.list_alerts(1)
        assert [mask_channel(channel) for channel in owned.alert.channels] == ["webhook:***"]
        assert (await second.deliver()).failures == {"webhook": outbox_relay.SEALED_WITH_OTHER_KEY}
        result = replace(owned.alert, name="renamed")
        second.store.alerts.replace(owned.id, validate_alert(result), now=NOON)
