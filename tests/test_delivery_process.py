"""The delivery process: what it is told, what it tells, and what it ends though others die."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from focus.alerts import delivery_process
from focus.alerts.outbox_relay import DeliverySummary
from focus.errors import StoreError
from focus.storage.alerts.records import SENT, WAITING
from tests.support.outbox import OutboxFixture
from tests.support.webhooks import Receiver, receiving


def find(here: OutboxFixture, url: str, messages: int) -> None:
    """So many messages are due."""
    for number in range(messages):
        here.finds(here.alert(str(number), f"webhook:{url}/{number}"), "http://a.test/1")
    here.store.database.fetch_rows("UPDATE outbox SET due_at = 0")


async def test_process_delivers_due_messages(here: OutboxFixture) -> None:
    async with receiving(Receiver(answers=[(500, {})])) as hook:
        find(here, hook.url, 2)
        summary = await delivery_process.delivery_in_process(here.store, here.settings())()
    assert (summary.sent, summary.waiting, summary.items) == (1, 1, 1)
    assert "500" in summary.failures["webhook"]
    assert here.store.outbox.count_by_state() == {SENT: 1, WAITING: 1}


async def test_nothing_due_no_process(here: OutboxFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    deliver = delivery_process.delivery_in_process(here.store, here.settings())
    assert await deliver() == DeliverySummary()
    find(here, "http://127.0.0.1:9", 1)
    here.store.database.fetch_rows("UPDATE outbox SET due_at = 9e9")
    assert await deliver() == DeliverySummary()


async def test_process_failure_raises_store_error(here: OutboxFixture, tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all" * 99)
    order = delivery_process.DeliveryOrder(str(broken), here.settings())
    with pytest.raises(StoreError, match=r"broken\.db"):
        await delivery_process._run_process(order)


_RUN = """
import asyncio, sys
import msgspec
from focus.alerts import delivery_process
delivery_process.GRACE_S = 600.0
order = msgspec.json.decode(sys.stdin.buffer.read(), type=delivery_process.DeliveryOrder)
asyncio.run(delivery_process._run_process(order))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_process_survives_run(
    here: OutboxFixture, tmp_path: Path, number: signal.Signals
) -> None:
    async with receiving(Receiver(delay_s=0.5)) as hook:
        find(here, hook.url, 4)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _RUN,
            stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        order = delivery_process.DeliveryOrder(str(tmp_path / "watch.db"), here.settings())
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        await hook.has(1)
        os.kill(process.pid, number)
        await process.stderr.read()  # which ends with the last that has it: the delivery process
        await process.wait()
    assert here.store.outbox.count_by_state() == {SENT: 4}
    assert len(set(hook.ids)) == len(hook.ids) == 4
