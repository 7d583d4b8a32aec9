"""Delivery of everything that is due, through all channels at the same time.

    lease (committed) -> send -> sent, or failed with the time of the next attempt (committed)

Any number of relays may run at the same time, in one process or several: a lease gives each
message to one of them. After a kill nothing is lost, and only a message whose outcome was not
committed is sent again, under the same id. To keep that window short, messages are leased and
composed in groups before any of them is sent; while they are being sent, only outcomes are
committed.
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
from focus.alerts.message import Message, compose_message, trial_message
from focus.alerts.settings import DeliverySettings
from focus.errors import ConfigError, FocusError
from focus.http.network_errors import to_one_line
from focus.i18n import chain_messages, error_message, msg
from focus.storage.alerts.records import FAILED, SENT, DeliveryRecord, OutboxLease
from focus.storage.alerts.store import AlertStore

MAX_TRIES = 5
FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 24 * 3600.0
_GROWTH, _JITTER = 11.0, 0.08  # 1 min, 11 min, 2 h, 22 h: five attempts within two days

SEALED_WITH_OTHER_KEY = msg(
    "its address was encrypted with another key file; set FOCUS_KEY_FILE to it, or enter the "
    "address again"
)

REFILL_INTERVAL_S = 1.0
"""Time after which more messages are prepared although some are still being sent."""


class DeliverySummary(msgspec.Struct):
    """Result of a round of delivery, in messages; `items` is the number of pages in those sent.

    failures  Kind of channel -> reason of its last failure.
    """

    sent: int = 0
    items: int = 0
    waiting: int = 0
    dead: int = 0
    failures: dict[str, str] = msgspec.field(default_factory=dict)

    def add(self, later: DeliverySummary) -> None:
        """Add the result of a later round; messages that wait are those after that round."""
        self.sent += later.sent
        self.items += later.items
        self.dead += later.dead
        self.waiting = later.waiting
        self.failures |= later.failures


class ChannelSenders:
    """Channels used in a round of delivery; they are closed at its end."""

    def __init__(
        self, settings: DeliverySettings, store: AlertStore, *, clock: Callable[[], float]
    ) -> None:
        self._channels: dict[str, Channel] = {}
        self._create_channel = partial(_create_channel, settings, store, clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def send(self, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        """Send one message to one address."""
        kind, address = split_channel(channel)
        if address.startswith(SEALED):
            return NotDelivered(SEALED_WITH_OTHER_KEY, retry=False)
        try:
            if kind not in self._channels:
                self._channels[kind] = self._create_channel(kind)
            return await self._channels[kind].deliver(message, address, user=user)
        except FocusError:
            raise
        except Exception as error:  # a channel of another package may raise anything
            return _unexpected_failure(error)


def _unexpected_failure(error: Exception) -> NotDelivered:
    return NotDelivered(to_one_line(chain_messages(type(error).__name__, error_message(error))))


def _create_channel(
    settings: DeliverySettings, store: AlertStore, clock: Callable[[], float], kind: str
) -> Channel:
    return CHANNELS[kind](settings, store, clock=clock)


async def deliver_due(
    store: AlertStore,
    settings: DeliverySettings,
    *,
    clock: Callable[[], float],
    rng: Random,
    stop: asyncio.Event | None = None,
) -> DeliverySummary:
    """Send everything that is due now.

    clock  Unix seconds; leases are taken by it.
    rng    Spreads the times of further attempts.
    stop   Once it is set, messages that are being sent are finished and no others are started.

    Raises StoreError only; the failures of receivers are in the summary and in the delivery log.
    """
    async with ChannelSenders(settings, store, clock=clock) as senders:
        delivery_round = _DeliveryRound(store, settings, senders, clock=clock, rng=rng)
        delivery_round.stop = stop or delivery_round.stop
        try:
            async with asyncio.TaskGroup() as group:
                for kind in CHANNELS:
                    group.create_task(delivery_round.work(kind, group))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return delivery_round.summary


class _DeliveryRound:
    """One round of delivery."""

    def __init__(
        self,
        store: AlertStore,
        settings: DeliverySettings,
        senders: ChannelSenders,
        *,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        self.summary = DeliverySummary()
        self._store, self._settings, self._senders = store, settings, senders
        self._clock, self._rng = clock, rng
        self._due = clock()
        self._blocked: dict[str, NotDelivered] = {}
        self.stop = asyncio.Event()

    async def work(self, kind: str, group: asyncio.TaskGroup) -> None:
        """Send all messages of a kind of channel that are due."""
        sending: set[asyncio.Task[None]] = set()
        try:
            free_slots = CHANNELS[kind].concurrency
        except ConfigError as error:  # its package cannot be imported; the other channels go on
            self.summary.failures[kind] = str(error)
            return
        while True:
            ready = [prepared async for prepared in self._prepare(kind, free_slots - len(sending))]
            sending |= {group.create_task(self._send(kind, *prepared)) for prepared in ready}
            if not sending:
                return
            _, sending = await asyncio.wait(sending, timeout=REFILL_INTERVAL_S)

    async def _prepare(
        self, kind: str, free_slots: int
    ) -> AsyncIterator[tuple[OutboxLease, Message]]:
        """Lease and compose the next messages, at most `free_slots`."""
        while free_slots and not self.stop.is_set() and (lease := self._lease(kind)) is not None:
            if (failed := self._blocked.get(kind)) is not None:
                self._record_outcome(
                    lease, kind, failed
                )  # counts as an attempt of every message due
            else:
                try:
                    message = self._compose(lease)
                except FocusError:
                    raise
                except Exception as error:  # only this message fails
                    self._record_outcome(lease, kind, _unexpected_failure(error))
                else:
                    free_slots -= 1
                    yield lease, message
            await asyncio.sleep(0)  # let other tasks commit their outcomes

    def _lease(self, kind: str) -> OutboxLease | None:
        return outbox_lease.lease_message(self._store, kind, due=self._due, now=self._clock())

    def _compose(self, lease: OutboxLease) -> Message:
        url = ""
        if lease.channel.startswith("mail:"):
            user, channel, now = lease.user, lease.channel, self._clock()
            url = unsubscribe.unsubscribe_url(
                self._store, self._settings, user=user, channel=channel, now=now
            )
        return compose_message(lease, base_url=self._settings.base_url, unsubscribe=url)

    async def _send(self, kind: str, lease: OutboxLease, message: Message) -> None:
        """Send one message and commit the outcome at once."""
        outcome = await self._senders.send(message, user=lease.user, channel=lease.channel)
        if isinstance(outcome, NotDelivered) and outcome.blocks_channel:
            self._blocked[kind] = outcome
        self._record_outcome(lease, kind, outcome)

    def _record_outcome(self, lease: OutboxLease, kind: str, outcome: DeliveryOutcome) -> None:
        now, summary, outbox = self._clock(), self.summary, self._store.outbox
        if isinstance(outcome, Delivered):
            outbox.record_end(lease, SENT, now=now, detail=outcome.detail)
            summary.sent += 1
            summary.items += lease.page_count
            return
        summary.failures[kind] = outcome.reason
        tries = lease.tries + 1
        if not outcome.retry or tries >= MAX_TRIES:
            outbox.record_end(lease, FAILED, now=now, detail=outcome.reason)
            summary.dead += 1
            return
        wait = max(
            retry_delay_s(tries, self._rng), min(outcome.retry_after_s or 0.0, LONGEST_WAIT_S)
        )
        outbox.record_retry(lease, now=now, due_at=now + wait, reason=outcome.reason)
        summary.waiting += 1


def retry_delay_s(tries: int, rng: Random) -> float:
    """Return the seconds until the next attempt: 1 min, 11 min, 2 h, 22 h after 1 to 4 attempts."""
    spread = 1.0 + _JITTER * rng.random()
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * _GROWTH ** (tries - 1) * spread)


async def send_test_message(
    store: AlertStore,
    settings: DeliverySettings,
    *,
    user: int,
    channel: str,
    clock: Callable[[], float],
) -> DeliveryOutcome:
    """Send a test message to a channel now and write it to the delivery log.

    A channel to which no messages are sent counts as delivered. Raises ConfigError for an invalid
    channel.
    """
    check_channel(channel)
    if not sent_channels([channel]):
        return Delivered()
    owner = store.users.find_active(user)
    message = trial_message(uuid.uuid4().hex, owner.language if owner else "")
    async with ChannelSenders(settings, store, clock=clock) as senders:
        outcome = await senders.send(message, user=user, channel=channel)
    is_delivered = isinstance(outcome, Delivered)
    state = SENT if is_delivered else FAILED
    detail = outcome.detail if isinstance(outcome, Delivered) else outcome.reason
    store.outbox.add_delivery(DeliveryRecord(clock(), user, channel, message.id, 0, state, detail))
    return outcome
