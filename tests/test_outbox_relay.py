"""Everything that is due reaches its receiver once, whatever breaks on the way."""

import asyncio
import os
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from pytest import MonkeyPatch

from focus.alerts import outbox_lease, outbox_relay, settings, unsubscribe
from focus.alerts.delivery import (
    CHANNELS,
    Delivered,
    DeliveryOutcome,
    NotDelivered,
    apprise,
    mail,
    mask_channel,
)
from focus.alerts.message import Message
from focus.alerts.outbox_relay import ChannelSenders
from focus.errors import ConfigError
from focus.i18n import chain_messages, msg, translate
from focus.storage.alerts.records import FAILED, SENT, WAITING, User
from tests.support.cases import cases
from tests.support.outbox import NOON, OutboxFixture, outbox
from tests.support.webhooks import Receiver, receiving

PERSON = User(2, "ana", "ana@a.test", None, "en", "UTC", "", False, None, ())
ME, YOU = "mail:me@a.test", "mail:you@a.test"


class Post:
    """Stands for all channels: what was sent, and what each answer shall be."""

    def __init__(self) -> None:
        self.outcomes: list[DeliveryOutcome | BaseException] = []
        self.sent: list[tuple[str, Message]] = []

    async def send(self, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        self.sent.append((channel, message))
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0) if self.outcomes else Delivered()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    @property
    def ids(self) -> list[str]:
        return [message.id for _, message in self.sent]


@pytest.fixture
def post(monkeypatch: MonkeyPatch) -> Post:
    """Deliveries to all channels; `outcomes` are those of the next messages."""
    post = Post()
    monkeypatch.setattr(ChannelSenders, "send", post.send)
    return post


# -- what goes into a message -------------------------------------------------------


async def test_digest_groups_pages_by_alert(here: OutboxFixture, post: Post) -> None:
    football = here.alert("足球", ME, YOU, "inbox", "feed")
    travel = here.alert("旅游", ME)
    here.finds(football, "http://a.test/1", "http://a.test/2")
    here.finds(travel, "http://a.test/3")
    summary = await here.deliver()
    assert summary == outbox_relay.DeliverySummary(sent=2, items=5)
    urls = {
        channel: {
            group.name: [item.match.url for item in group.items] for group in message.sections
        }
        for channel, message in post.sent
    }
    both = ["http://a.test/1", "http://a.test/2"]
    assert urls == {ME: {"足球": both, "旅游": ["http://a.test/3"]}, YOU: {"足球": both}}
    assert await here.deliver() == outbox_relay.DeliverySummary()


async def test_immediate_alert_sends_pages_alone(here: OutboxFixture, post: Post) -> None:
    here.finds(here.alert("足球", ME, digest=False), "http://a.test/1", "http://a.test/2")
    here.finds(here.alert("旅游", ME), "http://a.test/3", "http://a.test/4")
    assert (await here.deliver()).sent == 3
    sizes = [sum(len(group.items) for group in message.sections) for _, message in post.sent]
    assert sorted(sizes) == [1, 1, 2]


async def test_digest_lists_best_pages_and_rest(here: OutboxFixture, post: Post) -> None:
    alert = here.alert("足球", ME, max_items=2)
    here.finds(alert, "http://a.test/1", relevance=0.5)
    (best,) = here.finds(alert, "http://a.test/2", relevance=0.9)
    here.finds(alert, "http://a.test/3", relevance=0.7)
    with here.store.database.transaction() as db:
        db.execute("UPDATE alert_match SET duplicate_of = ? WHERE url = 'http://a.test/1'", (best,))
    assert (await here.deliver()).items == 3
    (group,) = post.sent[0][1].sections
    assert [item.match.relevance for item in group.items] == [0.9, 0.7]
    assert (group.more, group.items[0].similar) == (1, 1)
    assert here.column("SELECT state FROM outbox") == [SENT] * 3


async def test_match_is_enqueued_once_per_channel(here: OutboxFixture) -> None:
    alert = here.alert("足球", ME, "inbox", "feed")
    (number,) = here.finds(alert, "http://a.test/1")
    with here.store.transaction():
        enqueue = partial(here.store.outbox.enqueue, channels=[ME, YOU], due_at=NOON)
        assert enqueue(1, alert, matches=[number]) == 1
    assert here.column("SELECT channel FROM outbox ORDER BY id") == [ME, YOU]


async def test_unwritable_message_stops_no_other(here: OutboxFixture, post: Post) -> None:
    here.finds(here.alert("bad", ME), "http://[no-address/")
    here.finds(here.alert("good", YOU), "http://a.test/1")
    summary = await here.deliver()
    assert (summary.sent, summary.waiting) == (1, 1)
    assert summary.failures == {"mail": "ValueError: Invalid IPv6 URL"}
    assert [channel for channel, _ in post.sent] == [YOU]


# -- when it goes -------------------------------------------------------------------


async def test_alert_quiet_hours_delay_it(here: OutboxFixture, post: Post) -> None:
    # Nine o'clock UTC is 17:00 in Shanghai.
    here.finds(here.alert("足球", ME, quiet="16:30-18:00"), "http://a.test/1")
    here.finds(here.alert("旅游", ME), "http://a.test/2")
    assert (await here.deliver()).items == 1
    assert here.store.outbox.next_due_at() == NOON + 3600
    here.clock.now += 3599
    assert (await here.deliver()).items == 0
    here.clock.now += 1
    assert (await here.deliver()).items == 1
    assert [message.sections[0].name for _, message in post.sent] == ["旅游", "足球"]


async def test_quiet_hours_of_person_hold_alert_messages(here: OutboxFixture, post: Post) -> None:
    person = here.user("b", quiet="08:00-10:00", zone="UTC")
    here.finds(here.alert("足球", ME, user=person), "http://a.test/1")
    here.finds(here.alert("旅游", ME, user=person, quiet="23:00-01:00"), "http://a.test/2")
    assert (await here.deliver()).items == 1
    assert here.store.outbox.next_due_at() == NOON + 3600


async def test_retry_in_quiet_hours_waits(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("busy")]
    here.finds(here.alert("足球", ME, quiet="17:01-18:00"), "http://a.test/1")
    here.finds(here.alert("旅游", ME), "http://a.test/2")
    assert (await here.deliver()).waiting == 1
    here.clock.now += 120
    assert (await here.deliver()).sent == 0
    here.clock.now = NOON + 3600
    assert (await here.deliver()).items == 2
    assert len(set(post.ids)) == 1


# -- failing ------------------------------------------------------------------------


async def test_retries_are_spaced_and_end(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered(f"no {n}") for n in range(9)]
    here.finds(here.alert("足球", ME), "http://a.test/1")
    waits = []
    for _ in range(4):
        assert (await here.deliver()).waiting == 1
        due = here.store.outbox.next_due_at()
        waits.append(due - here.clock.now)
        here.clock.now = due - 1
        assert await here.deliver() == outbox_relay.DeliverySummary()
        here.clock.now = due
    last = await here.deliver()
    assert (last.dead, last.failures) == (1, {"mail": "no 4"})
    assert here.store.outbox.next_due_at() is None
    assert len(set(post.ids)) == 1, "a message keeps its id"
    assert len(post.ids) == outbox_relay.MAX_TRIES
    assert all(60 <= wait <= 86400 for wait in waits)
    assert [round(wait / 60) for wait in waits] == sorted(round(wait / 60) for wait in waits)
    assert waits[0] < 66 and waits[-1] > 20 * 3600
    lines = here.store.outbox.list_deliveries()
    assert [line.state for line in lines] == [FAILED, *[WAITING] * 4]
    assert [line.detail for line in lines] == [f"no {n}" for n in (4, 3, 2, 1, 0)]
    assert here.store.outbox.count_by_state() == {FAILED: 1}


def test_failure_reason_is_in_the_readers_language() -> None:
    where = msg("mail server {address}", address="127.0.0.1:25")
    detail = chain_messages(where, msg("Connection refused"))
    assert translate(detail, "en") == "mail server 127.0.0.1:25: Connection refused"
    assert translate(detail, "zh-CN") == "邮件服务器 127.0.0.1:25：连接被拒绝"
    assert translate(mail.NO_MAIL_SERVER, "zh").startswith("尚未设置邮件服务器")


def test_retry_delay_stays_within_bounds() -> None:
    for seed in range(200):
        waits = [outbox_relay.retry_delay_s(tries, Random(seed)) for tries in range(1, 5)]
        assert waits == sorted(waits)
        assert 60 <= waits[0] <= waits[-1] <= 86400


async def test_retry_after_lengthens_delay(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("slow down", retry_after_s=7200.0)]
    here.finds(here.alert("足球", ME), "http://a.test/1")
    await here.deliver()
    assert here.store.outbox.next_due_at() == NOON + 7200


async def test_new_pages_after_failure_are_a_batch(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("busy")]
    alert = here.alert("足球", ME)
    here.finds(alert, "http://a.test/1")
    await here.deliver()
    here.finds(alert, "http://a.test/2")
    here.clock.now += 70
    assert (await here.deliver()).sent == 2
    assert post.ids[0] in post.ids[1:]
    assert len(set(post.ids)) == 2


async def test_unreachable_mail_server_is_tried_once(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("no connection", blocks_channel=True)]
    for name in "abc":
        here.finds(here.alert(name, f"mail:{name}@a.test"), f"http://a.test/{name}")
    assert (await here.deliver()).waiting == 3
    assert len(post.sent) == 1
    assert [line.detail for line in here.store.outbox.list_deliveries()] == ["no connection"] * 3


# -- what must not go any more ------------------------------------------------------


async def test_removed_channel_gets_nothing(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("busy")]
    alert = here.alert("足球", ME)
    here.finds(alert, "http://a.test/1")
    await here.deliver()
    definition = here.store.alerts.get(1, "足球").alert
    changed = msgspec.structs.replace(definition, channels=("inbox",))
    here.store.alerts.replace(alert, changed, now=here.clock())
    here.clock.now += 100
    assert await here.deliver() == outbox_relay.DeliverySummary()
    assert len(post.sent) == 1
    assert here.store.outbox.list_deliveries()[0].detail == "the channel was removed from the alert"


async def test_deleted_page_leaves_its_batch(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [NotDelivered("busy")]
    here.finds(here.alert("足球", ME), "http://a.test/1", "http://a.test/2")
    await here.deliver()
    with here.store.database.transaction() as db:
        db.execute("UPDATE alert_match SET deleted = 1 WHERE url = 'http://a.test/1'")
    here.clock.now += 100
    assert (await here.deliver()).items == 1
    assert [item.match.url for item in post.sent[1][1].sections[0].items] == ["http://a.test/2"]


async def test_disabled_account_gets_none(here: OutboxFixture, post: Post) -> None:
    off, plain = here.user("off", disabled=1), here.user("plain")
    here.finds(here.alert("a", ME, user=off), "http://a.test/1")
    here.finds(here.alert("b", "apprise:json://a.test", user=plain), "http://a.test/2")
    here.finds(here.alert("c", "apprise:json://a.test"), "http://a.test/3")
    assert (await here.deliver()).sent == 1
    assert [message.sections[0].name for _, message in post.sent] == ["c"]
    details = {line.detail for line in here.store.outbox.list_deliveries()}
    assert details >= {"the account is disabled", "apprise channels are for administrators"}


async def test_unsubscribe_removes_channel(here: OutboxFixture, post: Post) -> None:
    here.base_url = "https://focus.a.test"
    alert = here.alert("足球", ME, YOU)
    here.finds(alert, "http://a.test/1")
    await here.deliver()
    link = dict(post.sent)[ME].unsubscribe
    assert link.startswith("https://focus.a.test/unsubscribe/")
    token = link.rpartition("/")[2]
    assert token not in str(here.store.database.fetch_rows("SELECT * FROM token"))
    assert unsubscribe.find_unsubscription(here.store, "wrong", now=NOON) is None
    stopped = unsubscribe.unsubscribe(here.store, token, now=NOON)
    assert stopped == (1, ME, ["足球"])
    assert here.store.alerts.get(1, "足球").alert.channels == (YOU,)
    again = unsubscribe.unsubscribe(here.store, token, now=NOON)
    assert again.alerts == []


# -- several couriers, and killed ones ----------------------------------------------


async def test_concurrent_relays_send_once(tmp_path: Path, post: Post) -> None:
    with outbox(tmp_path) as here, outbox(tmp_path) as there:
        for number in range(20):
            channel = f"webhook:http://a.test/{number}"
            here.finds(here.alert(str(number), channel), "http://a.test/1")
        first, second = await asyncio.gather(here.deliver(), there.deliver())
    assert first.sent + second.sent == 20
    assert first.sent and second.sent
    assert Counter(channel for channel, _ in post.sent).most_common(1)[0][1] == 1


class Killed(BaseException):
    """The process ends here."""


async def test_kill_before_send_loses_none(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [Killed()]
    here.finds(here.alert("足球", ME), "http://a.test/1", "http://a.test/2")
    with pytest.raises(Killed):
        await here.deliver()
    here.finds(here.store.alerts.get(1, "足球").id, "http://a.test/3")
    here.clock.now += outbox_lease.LEASE_S - 1
    assert (await here.deliver()).items == 1, "only what is new: the rest is still leased"
    here.clock.now += 1
    assert (await here.deliver()).items == 2
    assert [sum(len(g.items) for g in message.sections) for _, message in post.sent] == [2, 1, 2]
    assert post.ids[0] == post.ids[2] != post.ids[1]


@pytest.mark.parametrize("step", ["leased", "sent"])
async def test_kill_around_commit_keeps_message_id(
    here: OutboxFixture, post: Post, monkeypatch: MonkeyPatch, step: str
) -> None:
    here.finds(here.alert("足球", ME), "http://a.test/1")

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if step == "leased":
            patch.setattr(outbox_relay, "compose_message", killed)
        else:
            patch.setattr(here.store.outbox, "record_end", killed)
        with pytest.raises(Killed):
            await here.deliver()
    (batch,) = here.column("SELECT batch FROM outbox")
    here.clock.now += outbox_lease.LEASE_S
    assert (await here.deliver()).sent == 1
    assert set(post.ids) == {batch}
    assert await here.deliver() == outbox_relay.DeliverySummary()


async def test_late_outcome_does_not_override_other_relay(here: OutboxFixture) -> None:
    here.finds(here.alert("足球", ME), "http://a.test/1")
    slow = outbox_lease.lease_message(here.store, "mail", due=NOON, now=NOON)
    later = NOON + outbox_lease.LEASE_S
    quick = outbox_lease.lease_message(here.store, "mail", due=later, now=later)
    assert slow.batch == quick.batch
    here.store.outbox.record_end(quick, SENT, now=later, detail="")
    here.store.outbox.record_retry(slow, now=later + 1, due_at=later + 61, reason="timed out")
    assert here.store.outbox.count_by_state() == {SENT: 1}
    assert len(here.store.outbox.list_deliveries()) == 1


_RELAY = """
import asyncio, sys, time
from pathlib import Path
from random import Random
from focus.config import FetchConfig
from focus.alerts import outbox_lease, outbox_relay, settings
from focus.alerts.sealed_channels import SealedChannels
from focus.storage.alerts.store import open_store
async def run(path):
    outbox_lease.LEASE_S = 0.0
    sealed = SealedChannels.from_key_file(Path(path))
    with open_store(Path(path), now=0.0, language="zh", zone="UTC", channels=sealed) as here:
        known = settings.read(here, fetch=FetchConfig(allow_net=("127.0.0.0/8",)))
        print("ready", flush=True)
        await outbox_relay.deliver_due(here, known, clock=time.time, rng=Random())
asyncio.run(run(sys.argv[1]))
"""


@pytest.mark.slow
async def test_sigkill_during_delivery_loses_nothing(tmp_path: Path) -> None:
    """Each of 60 messages arrives; twice only what was under way when the axe fell."""
    expected, workers = 60, CHANNELS["webhook"].concurrency
    async with receiving(Receiver(delay_s=0.02)) as hook:
        with outbox(tmp_path) as here:
            for number in range(expected):
                alert = here.alert(str(number), f"webhook:{hook.url}/{number}")
                here.finds(alert, "http://a.test/1")
            here.store.database.fetch_rows("UPDATE outbox SET due_at = 0")
        kills = 0
        for more in (1, 3, 2, 5, 0):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _RELAY, str(tmp_path / "watch.db"),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            await process.stdout.readline()
            if more:
                await hook.has(len(hook.requests) + more)
                kills += process.returncode is None
                os.kill(process.pid, signal.SIGKILL)
            assert await process.wait() in (0, -signal.SIGKILL)
        ids = Counter(hook.ids)
    repeated = sum(ids.values()) - len(ids)
    assert len(ids) == expected
    assert kills and repeated <= kills * workers


# -- trying a channel, settings -----------------------------------------------------


async def test_test_message_is_logged(here: OutboxFixture, post: Post) -> None:
    post.outcomes = [Delivered("fine"), NotDelivered("no")]
    send = partial(
        outbox_relay.send_test_message, here.store, here.settings(), user=1, clock=here.clock
    )
    for _ in range(2):
        await send(channel=ME)
    assert post.sent[0][1].subject == "focus 测试消息"
    lines = [(line.state, line.detail) for line in here.store.outbox.list_deliveries()]
    assert lines == [(FAILED, "no"), (SENT, "fine")]
    with pytest.raises(ConfigError, match="pigeon"):
        await send(channel="pigeon:x")


def test_apprise_address_needs_administrator(monkeypatch: MonkeyPatch) -> None:
    address = "tgram://12345:secret/1"
    assert CHANNELS["apprise"].account_address(address, PERSON) is None
    assert CHANNELS["apprise"].account_address(address, PERSON._replace(admin=True)) == address
    monkeypatch.setattr(apprise, "is_installed", lambda: False)
    with pytest.raises(ConfigError, match=r"pip install") as error:
        CHANNELS["apprise"].check_new_address(address)
    assert "secret" not in str(error.value)


async def test_missing_apprise_is_reported(here: OutboxFixture, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(apprise, "is_installed", lambda: False)
    here.finds(here.alert("a", "apprise:json://a.test"), "http://a.test/1")
    assert (await here.deliver()).failures == {"apprise": apprise.NOT_INSTALLED}


@pytest.mark.filterwarnings("ignore")  # of a library of many hands
async def test_apprise_delivers_to_json_service(here: OutboxFixture) -> None:
    pytest.importorskip("apprise")
    async with receiving() as hook:
        address = f"json://127.0.0.1:{hook.port}/x"
        CHANNELS["apprise"].check_new_address(address)
        with pytest.raises(ConfigError, match="does not know the service"):
            CHANNELS["apprise"].check_new_address("nosuch://a")
        here.finds(here.alert("足球", f"apprise:{address}"), "http://a.test/1")
        assert (await here.deliver()).sent == 1
        hook.answers = [(500, {})]
        here.finds(here.store.alerts.get(1, "足球").id, "http://a.test/2")
        assert (await here.deliver()).waiting == 1
    data = msgspec.json.decode(hook.requests[0].body)
    assert data["title"] == "足球：标题 1"
    assert "http://a.test/1" in data["message"]


def test_settings_are_stored_and_masked(here: OutboxFixture) -> None:
    first = settings.read(here.store)
    assert settings.read(here.store).key == first.key
    with here.store.transaction():
        url = "smtp://me:pass%20word@mail.a.test"
        settings.store_sealed(here.store, "smtp", {"url": url, "from": "focus@a.test"}, first.key)
        here.store.settings.set("base_url", "https://focus.a.test/")
    read = settings.read(here.store)
    assert (read.mail.password, read.mail.port, read.mail.tls) == ("pass word", 587, "starttls")
    assert read.base_url == "https://focus.a.test"
    options = {"smtp_url": "smtps://other.test", "mail_from": "x@a.test"}
    stored = settings.read(here.store, options=options)
    assert (stored.mail.host, stored.mail.port, stored.mail.tls) == ("other.test", 465, "always")
    for text in (repr(read), str(settings.masked_settings(here.store, read.key)), repr(read.mail)):
        assert "pass" not in text.replace("pass=", "")
        assert read.key.hex() not in text


@cases(
    "url, sender, reason",
    ("mail.a.test", "a@a.test", "write it like smtp://"),
    ("smtp://a.test:x", "a@a.test", "write it like smtp://"),
    ("smtp://a.test/path", "a@a.test", "write it like smtp://"),
    ("smtp://me:geheim@a.test", "", "set FOCUS_MAIL_FROM"),
    ("smtp://a.test", "a@a.test\r\nBcc: b@b.test", "set FOCUS_MAIL_FROM"),
    ("smtp://a.test?starttls=maybe", "a@a.test", "on or off"),
    ("smtp://a.test?tls=1", "a@a.test", "unknown 'tls'"),
    ("smtp://me:geheim@a.test?starttls=off", "a@a.test", "unencrypted"),
)
def test_invalid_mail_url_raises(url: str, sender: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        settings.parse_mail_url(url, sender)
    assert "geheim" not in str(error.value)


def test_mail_server_without_user_has_a_sender_of_this_machine() -> None:
    assert settings.parse_mail_url("smtp://a.test", "").sender.startswith("focus@")


@cases("url", "focus.a.test", "ftp://a.test", "https://a.test/\r\nX: y", "http://", "http://[")
def test_invalid_base_url_raises(url: str) -> None:
    with pytest.raises(ConfigError, match="write it like https://"):
        settings.normalise_base_url(url)


@cases(
    "channel, shown",
    ("mail:a@b.test", "mail:a@b.test"),
    ("webhook:https://u:p@a.test:8443/T0/secret?k=1", "webhook:https://a.test:8443/***"),
    ("webhook:https://a.test", "webhook:https://a.test"),
    ("apprise:tgram://123:abc/5", "apprise:tgram://***"),
    ("inbox", "inbox"),
)
def test_masked_channel_has_no_secret(channel: str, shown: str) -> None:
    assert mask_channel(channel) == shown
