"""What does delivery cost, and what do kills do to it?

    python -m bench.delivery [--users 200] [--alerts 20] [--hits 5] [--kills 50]

First everything found for so many people is due at once and goes to channels that take it
without a network: what is measured is the database's part and the making of the messages.
Then couriers bring signed webhooks to a receiver on the loopback and are killed (SIGKILL)
again and again in the middle of it; the table says what was lost, and what came twice
although the receiver had answered it before the kill.
"""

import argparse
import asyncio
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from aiohttp import web
from aiohttp.test_utils import TestServer

from focus.alerts import outbox, outbox_relay, settings, store
from focus.alerts.alert import Alert
from focus.alerts.delivery import Delivered, DeliveryOutcome
from focus.alerts.message import Message
from focus.alerts.store import AlertStore
from focus.config import FetchConfig

_HIT = """
INSERT INTO hit (alert, page, url, title, language, found_at, relevance, snippet, why, simhash,
baseline) VALUES (?, 1, ?, ?, 'zh', ?, ?, ?, '{}', 0, 0) RETURNING id"""
_USER = """
INSERT INTO user (name, language, zone, quiet, admin, disabled, created_at)
VALUES (?, 'zh', 'Asia/Shanghai', '22:00-07:00', 0, 0, 0) RETURNING id"""


def fill(
    here: AlertStore, *, users: int, alerts: int, hits: int, channel: str, first: int = 0
) -> None:
    """People with alerts, and what was found for each, due since long ago.

    first  number of the first of them
    """
    rng = Random(1)
    for number in range(first, first + users):
        with here.transaction() as db:
            user = db.execute(_USER, (f"user{number}",)).fetchone()[0]
        to = channel.format(number=number)
        for name in range(alerts):
            one = Alert(
                f"c{name}", ("https://a.test/",), words="足球", channels=(to,), quiet="03:00-03:01"
            )
            alert = here.add(user, one, now=0.0)
            with here.transaction() as db:
                found = [
                    db.execute(
                        _HIT,
                        (
                            alert,
                            f"https://a.test/{n}",
                            f"标题 {n}",
                            float(n),
                            rng.random(),
                            "今天足球决赛" * 9,
                        ),
                    ).fetchone()[0]
                    for n in range(hits)
                ]
                outbox.enqueue(db, (user, alert), hits=found, channels=[to], now=0.0)


class Taken(outbox_relay.ChannelSenders):
    """Channels that take everything at once."""

    async def send(self, message: Message, *, user: int, channel: str) -> DeliveryOutcome:
        return Delivered()


async def cost(folder: Path, *, users: int, alerts: int, hits: int) -> None:
    with store.opened(folder / "cost.db", now=0.0, language="zh", zone="UTC") as here:
        fill(here, users=users, alerts=alerts, hits=hits, channel="mail:u{number}@a.test")
        known = settings.read(here, base_url="https://focus.test")
        outbox_relay.ChannelSenders = Taken  # type: ignore[misc]
        begun = time.perf_counter()
        done = await outbox_relay.deliver_due(here, known, clock=lambda: 1.8e9, rng=Random(1))
        took = time.perf_counter() - begun
        begun = time.perf_counter()
        await outbox_relay.deliver_due(here, known, clock=lambda: 1.8e9, rng=Random(1))
        idle = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("| messages | pages told of | seconds | ms per message | idle round ms | peak MiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    print(
        f"| {done.sent} | {done.items} | {took:.2f} | {1000 * took / max(1, done.sent):.2f} "
        f"| {1000 * idle:.1f} | {peak:.0f} |"
    )


class Receiver:
    """Notes which message it has answered while the courier that sent it was alive."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: dict[str, tuple[str, float]] = {}  # id -> courier, when
        self.killed: dict[str, float] = {}  # courier -> when
        self.again: list[float] = []  # repeated although answered: seconds from that to the kill

    async def take(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        name, sender = request.headers["webhook-id"], request.headers["User-Agent"]
        self.asked[name] += 1
        if name in self.answered:
            dead, at = self.answered[name]
            self.again.append(self.killed[dead] - at)
        await asyncio.sleep(0.01)
        response = web.Response(status=204)
        await response.prepare(request)
        await response.write_eof()
        if sender not in self.killed:
            self.answered[name] = sender, time.monotonic()
        return response


async def killed(folder: Path, *, kills: int) -> None:
    """Kill couriers in mid-delivery until so many were, then let one end."""
    path, receiver, rng = folder / "killed.db", Receiver(), Random(2)
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.take)
    server = TestServer(app)
    await server.start_server()
    wanted = 60 * kills
    with store.opened(path, now=0.0, language="zh", zone="UTC") as here:
        address = f"webhook:http://127.0.0.1:{server.port}/{{number}}"
        fill(here, users=wanted, alerts=1, hits=2, channel=address)
    struck = 0
    while struck < kills:
        before = sum(receiver.asked.values())
        process = await asyncio.create_subprocess_exec(sys.executable, __file__, "--courier", path)
        while process.returncode is None and sum(receiver.asked.values()) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(rng.uniform(0.0, 0.15))
        if process.returncode is not None:
            break  # all was delivered
        receiver.killed[str(process.pid)] = time.monotonic()
        os.kill(process.pid, signal.SIGKILL)
        struck += 1
        await process.wait()
    last = await asyncio.create_subprocess_exec(sys.executable, __file__, "--courier", path)
    await last.wait()
    await server.close()
    twice = sum(receiver.asked.values()) - len(receiver.asked)
    print("| kills | messages | lost | came twice | answered before the kill | by ms |")
    print("|---:|---:|---:|---:|---:|---|")
    lost = wanted - len(receiver.asked)
    late = ", ".join(f"{1000 * each:.1f}" for each in sorted(receiver.again)) or "-"
    print(f"| {struck} | {wanted} | {lost} | {twice} | {len(receiver.again)} | {late} |")


async def deliver(path: Path) -> None:
    """One courier, whose claims nobody waits for after its death."""
    with store.opened(path, now=0.0, language="zh", zone="UTC") as here:
        fetch = FetchConfig(user_agent=str(os.getpid()), allow_net=("127.0.0.0/8",))
        known = settings.read(here, fetch=fetch)
        await outbox_relay.deliver_due(here, known, clock=time.time, rng=Random(), lease_s=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, number in (("users", 200), ("alerts", 20), ("hits", 5), ("kills", 50)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--courier", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.courier:
        asyncio.run(deliver(given.courier))
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.users:
            many = {"users": given.users, "alerts": given.alerts, "hits": given.hits}
            asyncio.run(cost(Path(folder), **many))
        if given.kills:
            print()
            asyncio.run(killed(Path(folder), kills=given.kills))


if __name__ == "__main__":
    main()
