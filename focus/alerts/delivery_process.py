"""Delivers in a process of its own, so that a run that is killed leaves nothing half done.

    python -m focus.alerts.delivery_process  < order.json

Visiting and judging take memory, and what a system short of it kills is the largest process.
So delivery is a process of its own: small, and it lives on until what it has begun is
answered and noted, whoever else dies. SIGTERM: it brings what is under way and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from pathlib import Path
from random import Random

import msgspec

from focus.alerts.outbox_relay import Summary, deliver_due
from focus.alerts.run import Deliver
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings
from focus.errors import FocusError, StoreError
from focus.i18n import read_stored, stored
from focus.storage.alerts.store import AlertStore, opened

GRACE_S = 10.0  # for what is under way, when the run is interrupted


class DeliveryOrder(msgspec.Struct, frozen=True):
    """A run's order to the process: which database, and how to send."""

    db: str
    settings: DeliverySettings


class DeliveryReport(msgspec.Struct, frozen=True):
    """The outcome of an order; `failure`: why nothing could be done."""

    summary: Summary
    failure: str = ""


def sender(store: AlertStore, settings: DeliverySettings) -> Deliver:
    """What has a process of its own deliver what is due; it raises StoreError only."""

    async def deliver() -> Summary:
        waiting = store.outbox.next_due()
        if waiting is None or waiting > time.time():
            return Summary()
        return await _sent_out(DeliveryOrder(str(store.path.absolute()), settings))

    return deliver


async def _sent_out(order: DeliveryOrder) -> Summary:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "focus.alerts.delivery_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the run, which ends it
    )
    try:
        said, _ = await process.communicate(msgspec.json.encode(order))
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
        raise
    if process.returncode or not said:
        raise StoreError("the process that delivers was killed; what is left is delivered later")
    report = msgspec.json.decode(said, type=DeliveryReport)
    if report.failure:
        raise StoreError(read_stored(report.failure))
    failures = report.summary.failures
    failures.update({kind: read_stored(reason) for kind, reason in failures.items()})
    return report.summary


# -- the process --------------------------------------------------------------------


async def _deliver(order: DeliveryOrder) -> Summary:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows loops have none
        loop.add_signal_handler(signal.SIGTERM, stop.set)
    sealed = SealedChannels(lambda: order.settings.key)
    path, now = Path(order.db), time.time()
    with opened(path, now=now, language="en", zone="UTC", channels=sealed) as store:
        return await deliver_due(store, order.settings, clock=time.time, rng=Random(), stop=stop)


def main() -> None:
    """The process."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=DeliveryOrder)
    try:
        report = DeliveryReport(asyncio.run(_deliver(order)))
    except FocusError as error:
        report = DeliveryReport(Summary(), error.line)
    with contextlib.suppress(BrokenPipeError):  # who sent us is no more
        sys.stdout.buffer.write(msgspec.json.encode(report, enc_hook=stored))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
