"""Counts what a watch loses, and tells twice, whose visits are made by a cluster that is killed.

    python -m bench.watch_cluster [--kills 30] [--workers 2] [--seed 1] [--pause 3.0]

A RabbitMQ of its own, two workers, and a site that publishes an article every few seconds;
`focus watch run --now --amqp` is called again and again, as cron does, and a webhook takes what it
tells. Drawn from a seed, the process that watches or one of the workers is killed (SIGKILL) in the
middle, and started again. In the end there is a run in peace. Lost is what was published and never
told; twice, what came by two messages of different ids.
"""

import asyncio
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import AsyncExitStack
from pathlib import Path
from subprocess import Popen

from bench.push import publish
from bench.script import read_options
from focus.cluster.private_broker import PrivateBroker
from tests.support.processes import descendants, kill, start
from tests.support.web import TinyWeb
from tests.support.webhooks import Receiver, receiving

PATIENCE_S = 120.0


class Bed:
    """The roles of one measurement."""

    def __init__(self, folder: Path, broker: str, address: str, workers: int) -> None:
        self.folder = folder
        self._at = ("--connect-to", address, "--allow-net", "127.0.0.0/8")
        self._amqp = ("--amqp", broker, "--cluster", "watch")
        self._db = ("--db", str(folder / "focus.db"))
        self.workers = [self._worker() for _ in range(workers)]

    def _worker(self) -> "Popen[bytes]":
        options = ("cluster", "worker", "--slots", "8", "--processes", "1")
        return start([*options, *self._amqp, *self._at], self.folder / "workers")

    def watch(self, *arguments: str) -> "Popen[bytes]":
        """A `focus watch`."""
        given = (*self._at, *self._amqp) if arguments[0] == "run" else ()
        return start(["watch", *arguments, *given, *self._db], self.folder / "watch")

    def kill_worker(self, number: int) -> None:
        """One worker and all that it has started; another takes its place."""
        process = self.workers[number]
        kill(process, descendants(process.pid))
        self.workers[number] = self._worker()

    def close(self) -> None:
        """End them all."""
        for process in self.workers:
            kill(process, descendants(process.pid))


async def ended(process: "Popen[bytes]") -> int:
    """Its exit code, when it has come to its end by itself."""
    async with asyncio.timeout(PATIENCE_S):
        while process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return int(process.returncode)


async def measure(*, kills: int, workers: int, seed: int, pause: float) -> str:
    """One line: what came of so many kills."""
    rng, web, published, whom = random.Random(seed), TinyWeb(), 0, Counter[str]()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(PrivateBroker())
        address = await stack.enter_async_context(web.serve())
        hook = await stack.enter_async_context(receiving())
        bed = Bed(folder, broker.url, address, workers)
        stack.callback(bed.close)
        publish(web, 0)
        what = ("--site", "http://news.test/", "--words", "足球", "--every", "1m")
        await ended(bed.watch("add", "足球", *what, "--webhook", hook.url))
        assert await ended(bed.watch("run", "--now")) == 0, (folder / "watch").read_text()
        began, codes = time.monotonic(), Counter[int]()
        while sum(whom.values()) < kills:
            published += 1
            publish(web, published)
            rested(folder / "focus.db")
            run = bed.watch("run", "--now")
            await asyncio.sleep(rng.uniform(0.3, pause))
            if rng.random() < 0.5:
                is_over = run.poll() is not None
                kill(run, descendants(run.pid))
                whom["watch after its end" if is_over else "watch"] += not is_over
            else:
                bed.kill_worker(rng.randrange(workers))
                whom["worker"] += 1
                codes[await ended(run)] += 1
        for _ in range(2):
            rested(folder / "focus.db")
            codes[await ended(bed.watch("run", "--now"))] += 1
        took = time.monotonic() - began
        lost, twice, repeats = verdict(hook, published)
    killed = ", ".join(f"{number} × {name}" for name, number in sorted(whom.items()))
    return (
        f"{sum(whom.values())} kills ({killed}): {published} published, lost {lost}, told twice "
        f"{twice} by other messages, {repeats} messages came again under their id; "
        f"{len(web.log)} requests in {took:.0f} s; ends {dict(codes)}"
    )


def rested(path: Path) -> None:
    """As if the time between two visits had gone by."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path, timeout=30)) as db, db:
        db.execute("UPDATE site SET visited_at = visited_at - 60, free_at = 0")


def verdict(hook: Receiver, published: int) -> tuple[int, int, int]:
    """Articles never told, articles told by two messages, messages that came again."""
    told: dict[int, set[str]] = defaultdict(set)
    for got in hook.requests:
        for number in re.findall(rb"http://news\.test/(\d+)", got.body):
            told[int(number)].add(got.headers["webhook-id"])
    lost = sum(number not in told for number in range(1, published + 1))
    return lost, sum(len(ids) > 1 for ids in told.values()), len(hook.ids) - len(set(hook.ids))


def main() -> None:
    """Print what came of it."""
    given = read_options(__doc__)
    how = {"kills": given.kills, "workers": given.workers, "seed": given.seed}
    print(asyncio.run(measure(**how, pause=given.pause)))


if __name__ == "__main__":
    main()
