"""Measures what delivery costs.

    python -m bench.delivery [--users 200] [--alerts 20] [--hits 5]

Everything found for so many people is due at once and goes to channels that take it without a
network: what is measured is the database's part and the making of the messages. What kills do
to it is bench.watch_kills' question.
"""

import asyncio
import resource
import tempfile
import time
from pathlib import Path
from random import Random

from bench.script import read_options, table
from focus.alerts import outbox_relay, settings
from focus.alerts.delivery import Delivered, DeliveryOutcome
from focus.alerts.message import Message
from focus.storage.alerts import store
from focus.storage.alerts.records import Alert
from focus.storage.alerts.store import AlertStore

_MATCH = """
INSERT INTO alert_match (alert, page, url, title, language, found_at, relevance, snippet, why,
simhash, baseline) VALUES (?, 1, ?, ?, 'zh', ?, ?, ?, '{}', 0, 0) RETURNING id"""
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
        with here.database.transaction() as db:
            user = db.execute(_USER, (f"user{number}",)).fetchone()[0]
        to = channel.format(number=number)
        for name in range(alerts):
            one = Alert(
                f"c{name}", ("https://a.test/",), words="足球", channels=(to,), quiet="03:00-03:01"
            )
            alert = here.alerts.add(user, one, now=0.0)
            with here.database.transaction() as db:
                found = [
                    db.execute(
                        _MATCH,
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
                here.outbox.enqueue(user, alert, matches=found, channels=[to], due_at=0.0)


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
    head = ["messages", "pages told of", "seconds", "ms per message", "idle round ms", "peak MiB"]
    per_message = 1000 * took / max(1, done.sent)
    print(table(head, [[done.sent, done.items, took, per_message, 1000 * idle, round(peak)]]))


def main() -> None:
    given = read_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(cost(Path(folder), users=given.users, alerts=given.alerts, hits=given.hits))


if __name__ == "__main__":
    main()
