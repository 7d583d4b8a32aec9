"""Sends what is due: outbox rows in, messages out, by all channels at once.

    lease (committed) → send → sent, or failed and when to try again (committed)

Any number of relays may run at once, in one process or several: a lease gives each
message to one of them. Killed anywhere, nothing is lost, and only a message whose receiver
had not answered yet goes out again, under the same id. Or had answered a moment ago: what a
receiver has said is not known here before it was read and committed. To keep that moment
short, messages are leased and written some at a time, before any of them goes out; while
they are under way nothing else is done than to note the answers.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from functools import partial
from random import Random
from typing import Self

import msgspec

from focus.alerts import outbox_lease, unsubscribe
from focus.alerts.delivery import (
    CHANNELS,
    SEALED,
    Channel,
    Delivered,
    DeliveryOutcome,
    NotDelivered,
    check_channel,
    sent_channels,
    split_channel,
)
from focus.alerts.message import Message, of_lease, trial
from focus.alerts.settings import DeliverySettings
from focus.errors import ConfigError, FocusError
from focus.http.network_errors import one_line
from focus.i18n import line_of, msg, within
from focus.storage.alerts.records import DEAD, SENT, DeliveryRecord, OutboxLease
from focus.storage.alerts.store import AlertStore

MAX_TRIES = 5
FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 24 * 3600.0
_GROWTH, _JITTER = 11.0, 0.08  # 1 min, 11 min, 2 h, 22 h: five tries within two days

SHUT = msg("its address was sealed by another key file; name that with --key-file, or type it anew")

PATIENCE_S = 1.0
"""After it others are made ready though some are still under way."""


class Summary(msgspec.Struct):
    """A round of delivery, counted in messages; `items` are the pages in those sent.

    failures  kind of channel -> the last reason why one failed
    """

    sent: int = 0
    items: int = 0
    waiting: int = 0
    dead: int = 0
    failures: dict[str, str] = msgspec.field(default_factory=dict)


class ChannelSenders:
    """The channels that are used in a round, with what they keep open."""

    def __init__(
        self, settings: DeliverySettings, store: AlertStore, *, clock: Callable[[], float]
    ) -> None:
        self._made: dict[str, Channel] = {}
        self._given = partial(_make, settings, store, clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._made.values():
            await each.close()

    async def send(self, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        """Bring one message to one address."""
        kind, address = split_channel(channel)
        if address.startswith(SEALED):
            return NotDelivered(SHUT, retry=False)
        try:
            if kind not in self._made:
                self._made[kind] = self._given(kind)
            return await self._made[kind].deliver(message, address, user=user)
        except FocusError:
            raise
        except Exception as error:  # a border: it may be somebody else's code
            return _unexpected(error)


def _unexpected(error: Exception) -> NotDelivered:
    return NotDelivered(one_line(within(type(error).__name__, line_of(error))))


def _make(
    settings: DeliverySettings, store: AlertStore, clock: Callable[[], float], kind: str
) -> Channel:
    return CHANNELS[kind](settings, store, clock=clock)


async def deliver_due(
    store: AlertStore,
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
    lease_s  how long a message stays with a relay that died; longer than any takes to send
    stop     once it is set, what is under way is brought, and nothing more

    Raises StoreError only; what receivers do is in the summary and in the delivery log.
    """
    async with ChannelSenders(settings, store, clock=clock) as senders:
        round_ = _Round(store, settings, senders, clock=clock, rng=rng, lease_s=lease_s)
        round_.stop = stop or round_.stop
        try:
            async with asyncio.TaskGroup() as group:
                for kind in CHANNELS:
                    group.create_task(round_.work(kind, group))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return round_.summary


class _Round:
    """One round of delivery."""

    def __init__(
        self,
        store: AlertStore,
        settings: DeliverySettings,
        senders: ChannelSenders,
        *,
        clock: Callable[[], float],
        rng: Random,
        lease_s: float,
    ) -> None:
        self.summary = Summary()
        self._store, self._settings, self._senders = store, settings, senders
        self._clock, self._rng, self._lease_s = clock, rng, lease_s
        self._due = clock()
        self._blocked: dict[str, NotDelivered] = {}
        self.stop = asyncio.Event()

    async def work(self, kind: str, group: asyncio.TaskGroup) -> None:
        """Send all that is due of a kind."""
        going: set[asyncio.Task[None]] = set()
        try:
            most = CHANNELS[kind].concurrency
        except ConfigError as error:  # a package that cannot be imported holds up no other
            self.summary.failures[kind] = str(error)
            return
        while True:
            ready = [each async for each in self._made_ready(kind, most - len(going))]
            going |= {group.create_task(self._send(kind, *each)) for each in ready}
            if not going:
                return
            _, going = await asyncio.wait(going, timeout=PATIENCE_S)

    async def _made_ready(self, kind: str, most: int) -> AsyncIterator[tuple[OutboxLease, Message]]:
        """The next messages, so many at most, leased and written."""
        while most and not self.stop.is_set() and (lease := self._lease(kind)) is not None:
            if (failed := self._blocked.get(kind)) is not None:
                self._note(lease, kind, failed)  # counts as a try for all that are due now
            else:
                try:
                    message = self._written(lease)
                except FocusError:
                    raise
                except Exception as error:  # one message that cannot be written stops no other
                    self._note(lease, kind, _unexpected(error))
                else:
                    most -= 1
                    yield lease, message
            await asyncio.sleep(0)  # let others note their answers

    def _lease(self, kind: str) -> OutboxLease | None:
        now = self._clock()
        return outbox_lease.lease(self._store, kind, due=self._due, now=now, lease_s=self._lease_s)

    def _written(self, lease: OutboxLease) -> Message:
        stop = ""
        if lease.channel.startswith("mail:"):
            user, channel, now = lease.user, lease.channel, self._clock()
            stop = unsubscribe.link(
                self._store, self._settings, user=user, channel=channel, now=now
            )
        return of_lease(lease, base_url=self._settings.base_url, unsubscribe=stop)

    async def _send(self, kind: str, lease: OutboxLease, message: Message) -> None:
        """Bring one message, and note what came of it at once."""
        outcome = await self._senders.send(message, user=lease.user, channel=lease.channel)
        if isinstance(outcome, NotDelivered) and outcome.blocks_channel:
            self._blocked[kind] = outcome
        self._note(lease, kind, outcome)

    def _note(self, lease: OutboxLease, kind: str, outcome: DeliveryOutcome) -> None:
        now, summary, outbox = self._clock(), self.summary, self._store.outbox
        if isinstance(outcome, Delivered):
            outbox.ended(lease, SENT, now=now, detail=outcome.detail)
            summary.sent += 1
            summary.items += lease.items
            return
        summary.failures[kind] = outcome.reason
        tries = lease.tries + 1
        if not outcome.retry or tries >= MAX_TRIES:
            outbox.ended(lease, DEAD, now=now, detail=outcome.reason)
            summary.dead += 1
            return
        wait = max(wait_s(tries, self._rng), min(outcome.retry_after_s or 0.0, LONGEST_WAIT_S))
        outbox.retried(lease, now=now, due_at=now + wait, reason=outcome.reason)
        summary.waiting += 1


def wait_s(tries: int, rng: Random) -> float:
    """Seconds to the next try after so many that failed: 1 min, 11 min, 2 h, 22 h."""
    spread = 1.0 + _JITTER * rng.random()
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * _GROWTH ** (tries - 1) * spread)


async def send_test(
    store: AlertStore,
    settings: DeliverySettings,
    *,
    user: int,
    channel: str,
    clock: Callable[[], float],
) -> DeliveryOutcome:
    """Send a test message by a channel at once; it stands in the delivery log.

    Nothing to do for a channel that is not sent to; ConfigError for a channel that is none.
    """
    check_channel(channel)
    if not sent_channels([channel]):
        return Delivered()
    owner = store.users.active(user)
    message = trial(uuid.uuid4().hex, owner.language if owner else "")
    async with ChannelSenders(settings, store, clock=clock) as senders:
        outcome = await senders.send(message, user=user, channel=channel)
    good = isinstance(outcome, Delivered)
    state = SENT if good else DEAD
    detail = outcome.detail if isinstance(outcome, Delivered) else outcome.reason
    store.outbox.log(DeliveryRecord(clock(), user, channel, message.id, 0, state, detail))
    return outcome
