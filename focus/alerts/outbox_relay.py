"""Who brings what is due to people? Outbox rows in, messages out, by all channels at once.

    claim (committed) → send → sent, or failed and when to try again (committed)

Any number of couriers may run at once, in one process or several: a claim gives each
message to one of them. Killed anywhere, nothing is lost, and only a message whose receiver
had not answered yet goes out again, under the same id. Or had answered a moment ago: what a
receiver has said is not known here before it was read and committed. To keep that moment
short, messages are claimed and written some at a time, before any of them goes out; while
they are under way nothing else is done than to note the answers.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Self

import msgspec

from focus.alerts import outbox, outbox_lease, unsubscribe
from focus.alerts.alert import check_channel
from focus.alerts.delivery import Delivered, DeliveryOutcome, NotDelivered, apprise, sms, webhook
from focus.alerts.delivery.http_post import WebPoster
from focus.alerts.delivery.mail import Mailer
from focus.alerts.message import Message, of_claim, trial
from focus.alerts.outbox import Logged, OutboxLease
from focus.alerts.settings import DeliverySettings
from focus.alerts.store import AlertStore

AT_ONCE = {"mail": 1, "webhook": 8, "apprise": 2, "sms": 1}
"""Kinds of channel that are sent to -> messages under way at once."""

PATIENCE_S = 1.0
"""After it others are made ready though some are still under way."""


class Summary(msgspec.Struct):
    """What a round of delivery came to, in messages; `items` are the pages in those sent.

    trouble  kind of channel -> the last reason why one failed
    """

    sent: int = 0
    items: int = 0
    waiting: int = 0
    dead: int = 0
    trouble: dict[str, str] = msgspec.field(default_factory=dict)


class ChannelSenders:
    """The channels, with what they keep open."""

    def __init__(self, settings: DeliverySettings, *, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._mailer = Mailer(settings.mail)
        self._poster = WebPoster(webhook.limits(settings.fetch), clock=clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._mailer.close()
        await self._poster.close()

    async def send(self, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        """Bring one message to one address."""
        kind, _, address = channel.partition(":")
        now = self._clock()
        if kind == "mail":
            return await self._mailer.deliver(message, address, now=now)
        if kind == "apprise":
            return await apprise.deliver(message, address)
        if kind == "sms":
            return await sms.deliver(message, address, gateway=self._settings.sms)
        secret = self._settings.webhook_secret(user, channel)
        return await webhook.deliver(self._poster, message, address, secret=secret, now=now)


async def deliver_due(
    book: AlertStore,
    settings: DeliverySettings,
    *,
    clock: Callable[[], float],
    rng: Random,
    lease_s: float = outbox_lease.LEASE_S,
    stop: asyncio.Event | None = None,
) -> Summary:
    """Send everything that is due when it is called.

    clock    Unix seconds; a message is leased by it
    rng      spreads the times of the next tries
    lease_s  how long a message stays with a courier that died; longer than any takes to send
    stop     once it is set, what is under way is brought, and nothing more

    Raises StoreError only; what receivers do is in the summary and in the delivery log.
    """
    async with ChannelSenders(settings, clock=clock) as ways:
        round_ = _Round(book, settings, ways, clock=clock, rng=rng, lease_s=lease_s)
        round_.stop = stop or round_.stop
        try:
            async with asyncio.TaskGroup() as group:
                for kind in AT_ONCE:
                    group.create_task(round_.work(kind, group))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return round_.summary


class _Round:
    """One round of delivery."""

    def __init__(
        self,
        book: AlertStore,
        settings: DeliverySettings,
        ways: ChannelSenders,
        *,
        clock: Callable[[], float],
        rng: Random,
        lease_s: float,
    ) -> None:
        self.summary = Summary()
        self._book, self._settings, self._ways = book, settings, ways
        self._clock, self._rng, self._lease_s = clock, rng, lease_s
        self._due = clock()
        self._blocked: dict[str, NotDelivered] = {}
        self.stop = asyncio.Event()

    async def work(self, kind: str, group: asyncio.TaskGroup) -> None:
        """Send all that is due of a kind."""
        going: set[asyncio.Task[None]] = set()
        while True:
            ready = [each async for each in self._made_ready(kind, AT_ONCE[kind] - len(going))]
            going |= {group.create_task(self._carry(kind, *each)) for each in ready}
            if not going:
                return
            _, going = await asyncio.wait(going, timeout=PATIENCE_S)

    async def _made_ready(self, kind: str, most: int) -> AsyncIterator[tuple[OutboxLease, Message]]:
        """The next messages, so many at most, claimed and written."""
        while most and not self.stop.is_set() and (claim := self._claim(kind)) is not None:
            if (failed := self._blocked.get(kind)) is not None:
                self._note(claim, kind, failed)  # counts as a try for all that are due now
            else:
                most -= 1
                yield claim, self._written(claim)
            await asyncio.sleep(0)  # let others note their answers

    def _claim(self, kind: str) -> OutboxLease | None:
        now = self._clock()
        return outbox_lease.claim(self._book, kind, due=self._due, now=now, lease_s=self._lease_s)

    def _written(self, claim: OutboxLease) -> Message:
        stop = ""
        if claim.channel.startswith("mail:"):
            user, channel = claim.user, claim.channel
            now = self._clock()
            stop = unsubscribe.link(self._book, self._settings, user=user, channel=channel, now=now)
        return of_claim(claim, base_url=self._settings.base_url, unsubscribe=stop)

    async def _carry(self, kind: str, claim: OutboxLease, message: Message) -> None:
        """Bring one message, and note what came of it at once."""
        outcome = await self._ways.send(message, user=claim.user, channel=claim.channel)
        if isinstance(outcome, NotDelivered) and outcome.everyone:
            self._blocked[kind] = outcome
        self._note(claim, kind, outcome)

    def _note(self, claim: OutboxLease, kind: str, outcome: DeliveryOutcome) -> None:
        now, summary = self._clock(), self.summary
        if isinstance(outcome, Delivered):
            outbox.sent(self._book, claim, now=now, detail=outcome.detail)
            summary.sent += 1
            summary.items += claim.items
            return
        summary.trouble[kind] = outcome.reason
        state = outbox.DEAD
        if outcome.retry:
            wait = outbox.wait_s(claim.tries + 1, self._rng)
            wait = max(wait, min(outcome.retry_after_s or 0.0, outbox.LONGEST_WAIT_S))
            state = outbox.failed(self._book, claim, now=now, wait=wait, reason=outcome.reason)
        else:
            outbox.dead(self._book, claim, now=now, reason=outcome.reason)
        if state == outbox.DEAD:
            summary.dead += 1
        else:
            summary.waiting += 1


async def send_test(
    book: AlertStore,
    settings: DeliverySettings,
    *,
    user: int,
    channel: str,
    clock: Callable[[], float],
) -> DeliveryOutcome:
    """Send a test message by a channel at once; it stands in the delivery log.

    Nothing to do for inbox and feed; ConfigError for a channel that is none.
    """
    check_channel(channel)
    kind = channel.partition(":")[0]
    if kind not in AT_ONCE:
        return Delivered()
    language = book.rows("SELECT language FROM user WHERE id = ?", (user,))[0][0]
    message = trial(uuid.uuid4().hex, language)
    async with ChannelSenders(settings, clock=clock) as ways:
        outcome = await ways.send(message, user=user, channel=channel)
    good = isinstance(outcome, Delivered)
    state = outbox.SENT if good else outbox.DEAD
    detail = outcome.detail if isinstance(outcome, Delivered) else outcome.reason
    with book.transaction() as db:
        outbox.log(db, Logged(clock(), user, channel, message.id, 0, state, detail))
    return outcome
