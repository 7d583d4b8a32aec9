"""Delivery in a separate process, so that a killed run leaves nothing half sent.

    python -m focus.alerts.delivery_process  < order.json

Crawling and scoring need memory, and a system without memory kills the largest process. The
process that delivers is small and outlives the run: it finishes the messages that it has started
and commits their outcomes. On SIGTERM it finishes these and exits.
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

from focus.alerts.outbox_relay import DeliverySummary, deliver_due
from focus.alerts.run import Deliver
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings
from focus.errors import FocusError, StoreError
from focus.i18n import decode_message, encode_message
from focus.storage.alerts.store import AlertStore, open_store

GRACE_S = 10.0  # to finish messages that are being sent when the run is interrupted


class DeliveryOrder(msgspec.Struct, frozen=True):
    """Input of the process: the database and the settings of delivery."""

    db: str
    settings: DeliverySettings


class DeliveryReport(msgspec.Struct, frozen=True):
    """Output of the process; `failure` is the reason if nothing could be done."""

    summary: DeliverySummary
    failure: str = ""


def delivery_in_process(store: AlertStore, settings: DeliverySettings) -> Deliver:
    """Return a function that delivers in a separate process; it raises StoreError only."""

    async def deliver() -> DeliverySummary:
        next_due_at = store.outbox.next_due_at()
        if next_due_at is None or next_due_at > time.time():
            return DeliverySummary()
        return await _run_process(DeliveryOrder(str(store.path.absolute()), settings))

    return deliver


async def _run_process(order: DeliveryOrder) -> DeliverySummary:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "focus.alerts.delivery_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C goes to the run alone, which ends this process
    )
    try:
        output, _ = await process.communicate(msgspec.json.encode(order))
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
        raise
    if process.returncode or not output:
        raise StoreError("the process that sends messages was killed; the rest is sent later")
    report = msgspec.json.decode(output, type=DeliveryReport)
    if report.failure:
        raise StoreError(decode_message(report.failure))
    failures = report.summary.failures
    failures.update({kind: decode_message(reason) for kind, reason in failures.items()})
    return report.summary


# -- the process --------------------------------------------------------------------


async def _deliver(order: DeliveryOrder) -> DeliverySummary:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    sealed = SealedChannels(lambda: order.settings.key)
    path, now = Path(order.db), time.time()
    with open_store(path, now=now, language="en", zone="UTC", channels=sealed) as store:
        return await deliver_due(store, order.settings, clock=time.time, rng=Random(), stop=stop)


def main() -> None:
    """Run the process."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=DeliveryOrder)
    try:
        report = DeliveryReport(asyncio.run(_deliver(order)))
    except FocusError as error:
        report = DeliveryReport(DeliverySummary(), error.message)
    with contextlib.suppress(BrokenPipeError):  # the run has exited
        sys.stdout.buffer.write(msgspec.json.encode(report, enc_hook=encode_message))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
