"""Notifications reach all browsers of their owner, encrypted for each, and nobody else."""

import base64
import re
from typing import Any

import msgspec
import pytest

pytest.importorskip("cryptography", reason="the extra [serve] is not installed")

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from focus.alerts.delivery import push, push_encryption
from focus.alerts.message import compose_message, trial_message
from focus.alerts.outbox_relay import DeliverySummary
from focus.storage.alerts.records import Alert, MessagePart, OutboxLease
from tests.support.command import runner
from tests.support.outbox import NOON, OutboxFixture, hit
from tests.support.push import PushedBrowser, claims, unbase64
from tests.support.timetravel import OWN_TIME
from tests.support.webhooks import Receiver, receiving

pytestmark = OWN_TIME

# The worked example of RFC 8291, section 5 and appendix A.
TEXT = b"When I grow up, I want to be a watermelon"
RECEIVER = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy"
    "4a-fN"
)


def number_of(text: str) -> int:
    return int.from_bytes(unbase64(text), "big")


def lets(here: OutboxFixture, browser: PushedBrowser, user: int = 1) -> None:
    """Its reader has it notified."""
    now = here.clock()
    here.store.browsers.add(user, browser.leave, "Firefox, Android", limit=20, now=now)


# -- one message for one browser ------------------------------------------------------


def test_encryption_equals_rfc_8291_example() -> None:
    browser = PushedBrowser("https://push.example", number_of(RECEIVER), unbase64(AUTH))
    own = ec.derive_private_key(number_of(SENDER), ec.SECP256R1())
    receiver = push_encryption.parse_receiver(browser.leave.keys)
    body = push_encryption.encrypt(TEXT, receiver, message_key=own, salt=unbase64(SALT))
    assert body == unbase64(BODY)
    assert browser.opened(unbase64(BODY)) == TEXT


def test_other_browser_cannot_decrypt() -> None:
    receiver = push_encryption.parse_receiver(PushedBrowser("https://push.example", 2).leave.keys)
    own = push_encryption.generate_key()
    body = push_encryption.encrypt(TEXT, receiver, message_key=own, salt=bytes(16))
    with pytest.raises(InvalidTag):
        PushedBrowser("https://push.example", 3).opened(body)


@pytest.mark.parametrize(
    ("endpoint", "point", "secret"),
    [
        ("http://push.example/1", "", ""),
        ("ftp://push.example/1", "", ""),
        ("https://[", "", ""),
        ("https://", "", ""),
        ("https://push.example/" + "x" * 2000, "", ""),
        ("", "BAAA", ""),
        ("", base64.urlsafe_b64encode(b"\4" + bytes(64)).decode(), ""),
        ("", "***", ""),
        ("", "", "c2hvcnQ"),
    ],
)
def test_invalid_subscription_is_none(endpoint: str, point: str, secret: str) -> None:
    good = PushedBrowser("https://push.example").form.values()
    assert push.parse_subscription(*good) is not None
    typed = zip((endpoint, point, secret), good, strict=True)
    assert push.parse_subscription(*(bad or given for bad, given in typed)) is None


# -- what it says ---------------------------------------------------------------------


def said(*titles: str, total: int | None = None) -> Any:
    alert = Alert("欧冠", ("https://a.test/",), words="欧冠")
    url, numbered = "https://a.test/{}", enumerate(titles, 7)
    matches = [hit(3, url.format(n), title=title, id=n) for n, title in numbered]
    part = MessagePart(alert, 3, matches, total or len(titles), {})
    lease = OutboxLease("b" * 32, 1, "push", "zh", "Asia/Shanghai", 0, [part])
    return push.payload(compose_message(lease))


def test_notification_of_several_pages_names_the_best() -> None:
    assert msgspec.json.decode(said("一", "二", "三", "四", total=9)) == {
        "title": "欧冠：9 篇新页面",
        "body": "一\n二\n三",
        "url": "/inbox?alert=3",
        "tag": "b" * 32,
        "lang": "zh-CN",
    }


def test_notification_of_one_page_has_snippet_and_link() -> None:
    told = msgspec.json.decode(said("抽签今日举行"))
    assert (told["title"], told["body"]) == ("欧冠：抽签今日举行", "今天足球决赛")
    assert told["url"] == "/inbox/7/open"


@pytest.mark.parametrize("title", ["冠" * 5000, '"\\' * 3000, "\U0001f1e6\u0301" * 3000])
def test_notification_with_long_titles_is_bounded(title: str) -> None:
    assert len(said(title, title, title)) <= push.MAX_BYTES
    assert len(said(title)) <= push.MAX_BYTES


def test_notification_of_trial_has_its_text() -> None:
    told = msgspec.json.decode(push.payload(trial_message("a" * 32, "zh")))
    assert (told["title"], told["url"]) == ("focus 测试消息", "/inbox")


# -- on the way -----------------------------------------------------------------------


async def test_message_reaches_each_browser_once(here: OutboxFixture) -> None:
    async with receiving() as hook:
        mine = [PushedBrowser(hook.url, number) for number in (1, 2)]
        for each in mine:
            lets(here, each)
        lets(here, PushedBrowser(hook.url, 3), here.user("eve"))
        here.finds(here.alert("足球", "push"), "http://a.test/1", "http://a.test/2")
        assert (await here.deliver()).sent == 1
        assert await here.deliver() == DeliverySummary()
    assert sorted(got.path for got in hook.requests) == ["/push/1", "/push/2"]
    for got in hook.requests:
        browser = mine[int(got.path[-1]) - 1]
        told = browser.read(got.body)
        assert told["title"] == "足球：2 篇新页面"
        assert got.headers["content-encoding"] == "aes128gcm"
        assert int(got.headers["ttl"]) > 0
        assert re.fullmatch(r"[\w-]{1,32}", got.headers["topic"])
        assert got.headers["topic"] == told["tag"]
        assert len(got.body) < 4096


async def test_vapid_header_identifies_installation(here: OutboxFixture) -> None:
    here.base_url = "https://focus.example.org"
    async with receiving() as hook:
        lets(here, PushedBrowser(hook.url))
        here.finds(here.alert("足球", "push"), "http://a.test/1")
        await here.deliver()
    who = claims(hook.requests[0].headers["authorization"])
    assert who["aud"] == hook.url
    assert NOON < who["exp"] <= NOON + 24 * 3600
    assert who["sub"] == "https://focus.example.org"
    assert who["key"] == push.public_key(here.settings()), "as browsers were told it"


async def test_retry_reaches_only_remaining_browsers(here: OutboxFixture) -> None:
    async with receiving(Receiver(answers=[(201, {}), (503, {"Retry-After": "7200"})])) as hook:
        lets(here, PushedBrowser(hook.url, 1))
        lets(here, PushedBrowser(hook.url, 2))
        here.finds(here.alert("足球", "push"), "http://a.test/1")
        assert (await here.deliver()).waiting == 1
        assert here.store.outbox.next_due_at() == here.clock.now + 7200
        here.clock.now += 7200
        assert (await here.deliver()).sent == 1
    first, failed, again = hook.requests
    assert again.path == failed.path != first.path
    assert again.headers["topic"] == first.headers["topic"]


@pytest.mark.parametrize("status", [404, 410])
async def test_browser_reported_gone_is_deleted(here: OutboxFixture, status: int) -> None:
    async with receiving(Receiver(answers=[(status, {})])) as hook:
        lets(here, PushedBrowser(hook.url))
        alert = here.alert("足球", "push")
        here.finds(alert, "http://a.test/1")
        assert (await here.deliver()).dead == 1
        assert here.store.browsers.list_for_user(1) == []
        here.finds(alert, "http://a.test/2")
        summary = await here.deliver()
    assert len(hook.requests) == 1
    assert summary.failures == {"push": push.NO_BROWSER}


async def test_refused_notification_is_not_retried(here: OutboxFixture) -> None:
    async with receiving(Receiver(answers=[(403, {})])) as hook:
        lets(here, PushedBrowser(hook.url))
        here.finds(here.alert("足球", "push"), "http://a.test/1")
        summary = await here.deliver()
    assert summary.dead == 1
    assert "403" in summary.failures["push"]
    assert len(here.store.browsers.list_for_user(1)) == 1


async def test_private_push_service_is_refused(here: OutboxFixture) -> None:
    lets(here, PushedBrowser("http://10.0.0.1"))
    here.finds(here.alert("足球", "push"), "http://a.test/1")
    assert (await here.deliver()).dead == 1


# -- what is kept ---------------------------------------------------------------------


def test_subscription_is_sealed_in_database(here: OutboxFixture) -> None:
    browser = PushedBrowser("https://push.example")
    lets(here, browser)
    kept = here.column("SELECT endpoint || keys FROM push_subscription")[0]
    for secret in (browser.endpoint, *browser.leave.keys.split()):
        assert secret not in kept
    assert here.store.browsers.list_for_user(1)[0].subscription == browser.leave


def test_browser_of_another_person_is_taken_over(here: OutboxFixture) -> None:
    browser, other = PushedBrowser("https://push.example"), here.user("ben")
    lets(here, browser)
    lets(here, browser, other)
    assert here.store.browsers.list_for_user(1) == []
    expected = [browser.leave]
    assert [each.subscription for each in here.store.browsers.list_for_user(other)] == expected


def test_oldest_browser_over_limit_is_deleted(here: OutboxFixture) -> None:
    for number in (1, 2, 3):
        here.clock.now += 1
        leave = PushedBrowser("https://push.example", number).leave
        here.store.browsers.add(1, leave, str(number), limit=2, now=here.clock())
    assert [each.name for each in here.store.browsers.list_for_user(1)] == ["3", "2"]


def test_command_line_has_no_push_option(capfd: pytest.CaptureFixture[str]) -> None:
    said = runner(capfd)("watch", "add", "--help").out
    assert "--webhook" in said and "--push" not in said
