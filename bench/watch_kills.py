"""Counts what people get of `focus watch run` and `focus serve` that are killed while delivering.

    python -m bench.watch_kills [--kills 50] [--each 60] [--programs run,serve]
        [--channels webhook,mail] [--victims main,all] [--latency 0.05] [--seed 1]

For each program and channel: so many times messages become due, the program is started as its
users start it, and gets SIGKILL at a moment drawn while it delivers; in a second round all its
processes get it, the one that delivers as well. After the last kill one more run delivers the rest.
Receivers are real: an HTTP server and a mail server on loopback, which answer after
`--latency` seconds, more or less.

Counted are messages that never came (lost), and those that came again: *unanswered*, when
their receiver had not answered before the kill (nobody can know then whether they arrived),
and *twice*, when it had: then the answer was sent, and the kill came before it was read and
noted; the last column says how many milliseconds lay between the two.
"""

from __future__ import annotations

import asyncio
import math
import re
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from aiohttp import web
from aiohttp.test_utils import TestServer
from aiosmtpd.smtp import SMTP, Envelope, Session

from bench.delivery import fill
from bench.script import read_options
from focus.storage.alerts import store
from tests.support.processes import descendants, is_alive

START_S = 30.0  # until a program has begun to deliver
REST_S = 300.0  # for the process that a killed `focus serve` leaves to end by itself
_NEVER = 4e9  # Unix seconds: no alert is due, so that no site is visited
_ID = re.compile(rb"^Message-ID: <([^@>]+)@", re.I | re.M)


class Receiver:
    """Takes messages and answers; remembers when, and in which life of their sender.

    Lives are counted from 1; `killed` says when each ended by a kill. All instants are of the
    system's monotonic clock, so that they compare with those of the process that kills.
    """

    def __init__(self, latency_s: float, rng: Random) -> None:
        self.came: dict[str, list[int]] = defaultdict(list)  # person -> lives
        self.ids: dict[str, set[str]] = defaultdict(set)
        self.answered: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self.life = 0
        self.killed: dict[int, float] = {}
        self._latency_s, self._rng = latency_s, rng

    @property
    def messages(self) -> int:
        """How many came, repeated ones too."""
        return sum(map(len, self.came.values()))

    async def takes(self, person: str, name: str) -> int:
        """A message came in whole; some time later it may be answered. The sender's life."""
        life = self.life
        self.came[person].append(life)
        self.ids[person].add(name)
        await asyncio.sleep(self._rng.uniform(0.2, 1.8) * self._latency_s)
        return life

    def has_answered(self, person: str, life: int) -> None:
        """The answer is handed to the network."""
        self.answered[person].append((life, time.monotonic()))

    def heard(self, person: str) -> list[float]:
        """Seconds from each answer that went to a living sender to the end of its life."""
        ends = ((self.killed.get(life, math.inf) - at) for life, at in self.answered[person])
        return [end for end in ends if end > 0]

    def twice(self) -> list[float]:
        """Milliseconds from an answer to the kill, of messages that came again nevertheless."""
        return sorted(1000 * end for each in self.came for end in self.heard(each)[:-1])


class Hooks:
    """Webhooks over HTTP."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        app = web.Application()
        app.router.add_post("/{person}", self._take)
        self._server = TestServer(app)

    async def __aenter__(self) -> Hooks:
        await self._server.start_server()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._server.close()

    @property
    def channel(self) -> str:
        return f"webhook:http://127.0.0.1:{self._server.port}/{{number}}"

    @property
    def options(self) -> list[str]:
        return []

    async def _take(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        person = request.match_info["person"]
        life = await self._receiver.takes(person, request.headers["webhook-id"])
        response = web.Response(status=204)
        await response.prepare(request)
        await response.write_eof()
        self._receiver.has_answered(person, life)
        return response


class Mails:
    """Mail over SMTP."""

    channel = "mail:person{number}@b.test"

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._server: asyncio.Server | None = None
        self._port = 0

    async def __aenter__(self) -> Mails:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._made, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()

    def _made(self) -> SMTP:
        return _Answering(self._receiver, self, hostname="mail.test", enable_SMTPUTF8=False)

    @property
    def options(self) -> list[str]:
        return ["--smtp-url", f"smtp://127.0.0.1:{self._port}", "--mail-from", "focus@a.test"]

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        person = envelope.rcpt_tos[0].removeprefix("person").partition("@")[0]
        assert isinstance(envelope.content, bytes)
        found = _ID.search(envelope.content)
        life = await self._receiver.takes(person, found[1].decode() if found else "")
        return f"250 taken for {person} {life}"


class _Answering(SMTP):
    """Says when the answer to DATA has been handed to the network."""

    def __init__(self, receiver: Receiver, *rest: object, **more: object) -> None:
        super().__init__(*rest, **more)  # type: ignore[arg-type]
        self._receiver = receiver

    async def push(self, status: str | bytes) -> None:
        await super().push(status)
        text = status if isinstance(status, str) else status.decode()
        if text.startswith("250 taken for "):
            person, life = text.split()[-2:]
            self._receiver.has_answered(person, int(life))


class Outcome(NamedTuple):
    """A row of the table."""

    program: str
    channel: str
    whole: bool
    kills: int
    messages: int
    lost: int
    unanswered: int
    twice: list[float]
    other_ids: int
    rows: dict[int, int]


class Trial:
    """One program and one channel, killed again and again; `whole`: with all its processes."""

    def __init__(
        self, path: Path, program: str, way: Hooks | Mails, receiver: Receiver, *, whole: bool
    ) -> None:
        self.path, self.program, self.way, self.receiver = path, program, way, receiver
        self.whole = whole
        self.people = 0

    def becomes_due(self, messages: int) -> None:
        """Something was found for so many more people."""
        with store.opened(self.path, now=0.0, language="zh", zone="UTC") as here:
            fill(
                here,
                users=messages,
                alerts=1,
                hits=2,
                channel=self.way.channel,
                first=self.people,
            )
            with here.database.transaction() as db:
                db.execute("UPDATE alert SET next_at = ?", (_NEVER,))
        self.people += messages

    async def life(self, rng: Random) -> bool:
        """Start the program and kill it while it delivers; False: it was done before that."""
        receiver, before = self.receiver, self.receiver.messages
        receiver.life += 1
        process = await self._started()
        begun = time.monotonic()
        while receiver.messages == before and time.monotonic() < begun + START_S:
            if process.returncode is not None:
                return False
            await asyncio.sleep(0.002)
        children = descendants(process.pid)
        victims = [process.pid, *(children if self.whole else ())]
        at = await _killed(victims, rng.uniform(0.0, 0.4))
        was_done = await process.wait() >= 0
        if self.whole and not was_done:
            receiver.killed[receiver.life] = at
        await _ended(children)
        self._lease_ends()
        return not was_done

    async def _started(self) -> asyncio.subprocess.Process:
        options = ["--db", str(self.path), "--allow-net", "127.0.0.0/8", *self.way.options]
        more = ["watch", "run"] if self.program == "run" else ["serve", "--port", str(_free())]
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "focus", *more, *options, stderr=asyncio.subprocess.DEVNULL
        )

    def _lease_ends(self) -> None:
        """Five minutes go by after a kill: what was under way may be claimed again."""
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE outbox SET due_at = 0 WHERE state = 0")

    def waiting(self) -> int:
        """Rows that are still to go out."""
        with closing(sqlite3.connect(self.path)) as db:
            return int(db.execute("SELECT count(*) FROM outbox WHERE state = 0").fetchone()[0])

    async def finish(self) -> None:
        """Deliver the rest in peace."""
        self.receiver.life += 1
        self._lease_ends()
        process = await self._started()
        begun = time.monotonic()
        while self.waiting() and process.returncode is None:
            assert time.monotonic() < begun + REST_S, "it does not come to an end"
            await asyncio.sleep(0.05)
        children = descendants(process.pid)
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()
        await _ended(children)

    def outcome(self, kills: int) -> Outcome:
        """What the receivers saw, and what the outbox says."""
        receiver = self.receiver
        with closing(sqlite3.connect(self.path)) as db:
            rows = dict(db.execute("SELECT state, count(*) FROM outbox GROUP BY 1"))
        twice = receiver.twice()
        return Outcome(
            self.program,
            self.way.channel.partition(":")[0],
            self.whole,
            kills,
            self.people,
            self.people - len(receiver.answered),
            receiver.messages - len(receiver.came) - len(twice),
            twice,
            sum(len(ids) > 1 for ids in receiver.ids.values()),
            rows,
        )


class Plan(NamedTuple):
    """What is to be tried; see the options."""

    kills: int
    each: int
    latency_s: float
    seed: int


async def trial(folder: Path, program: str, channel: str, plan: Plan, *, whole: bool) -> Outcome:
    """Kill a program so many times while it delivers by a channel."""
    rng = Random(f"{plan.seed} {program} {channel}")
    receiver = Receiver(plan.latency_s, rng)
    path = folder / f"{program}-{channel}-{whole}.db"
    async with Hooks(receiver) if channel == "webhook" else Mails(receiver) as way:
        tried = Trial(path, program, way, receiver, whole=whole)
        struck = 0
        while struck < plan.kills:
            tried.becomes_due(plan.each)
            struck += await tried.life(rng)
        await tried.finish()
        return tried.outcome(struck)


_KILLER = """
import os, sys, time
time.sleep(float(sys.argv[1]))
for pid in sys.argv[2:]:
    try:
        os.kill(int(pid), 9)
    except ProcessLookupError:
        pass
print(time.monotonic())
"""


async def _killed(pids: list[int], delay_s: float) -> float:
    """Kill processes after a while, by a process of its own: one that answers and kills would
    do both at the same moment whenever it has been waiting for its turn. When it was.
    """
    order = [sys.executable, "-I", "-S", "-c", _KILLER, str(delay_s), *map(str, pids)]
    killer = await asyncio.create_subprocess_exec(*order, stdout=asyncio.subprocess.PIPE)
    said, _ = await killer.communicate()
    return float(said)


async def _ended(pids: list[int]) -> None:
    """Wait for processes that are not our children."""
    deadline = time.monotonic() + REST_S
    while any(map(is_alive, pids)) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


def _free() -> int:
    """A port that nobody listens on."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def main() -> int:
    """Print a row per program and channel; 1 if anything was lost, or sent under another id."""
    given = read_options(__doc__)
    plan = Plan(given.kills, given.each, given.latency, given.seed)
    head = "killed | channel | kills | messages | lost | again, unanswered | twice | by ms"
    print(f"| {head} |\n|---|---|---:|---:|---:|---:|---:|---|")
    bad = False
    for program, channel, victims in product(
        given.programs.split(","), given.channels.split(","), given.victims.split(",")
    ):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            found = asyncio.run(trial(Path(folder), program, channel, plan, whole=victims == "all"))
        print(row(found), flush=True)
        if found.other_ids or set(found.rows) - {1}:
            print(f"  under another id: {found.other_ids}; outbox: {found.rows}")
        bad |= bool(found.lost or found.other_ids or set(found.rows) - {1})
    return int(bad)


def row(found: Outcome) -> str:
    """A line of the table."""
    name = "focus watch run" if found.program == "run" else "focus serve"
    late = ", ".join(f"{ms:.1f}" for ms in found.twice) or "-"
    return (
        f"| `{name}`{', all its processes' * found.whole} | {found.channel} | {found.kills} "
        f"| {found.messages} | {found.lost} | {found.unanswered} | {len(found.twice)} | {late} |"
    )


if __name__ == "__main__":
    sys.exit(main())
