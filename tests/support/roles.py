"""Runs the roles of a cluster for a measurement, as processes on a cable each.

    with crew(server, folder, workers=3) as crew: …

The broker is a private one. A role may have a clock that is wrong by `skews` seconds.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from focus.cluster.private_broker import PrivateBroker
from focus.demo.server import DemoServer
from tests.support.cables import Cable, Cables
from tests.support.processes import crawl_options, descendants, kill, start

END_S = 20.0
DONE = (0, 3)  # a shard without a page is none the worse
NO_BROKER, PAUSE_S = 7, 1.0
_SKEWED = (
    "import runpy, sys, time; true = time.time; "
    "time.time = lambda: true() + {skew}; "
    "runpy.run_module('focus', run_name='__main__', alter_sys=True)"
)


class Role:
    """A process that can be killed and started again. `at` is its cable."""

    def __init__(
        self, name: str, arguments: Sequence[str], cable: Cable, said: Path, *, skew: float = 0.0
    ) -> None:
        self.name, self.at, self.said = name, cable, said
        how = ["-c", _SKEWED.format(skew=skew)] if skew else ["-m", "focus"]
        self._program, self._arguments = how, arguments
        self.starts_at: float | None = None
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return start(self._arguments, self.said, program=self._program)

    @property
    def code(self) -> int | None:
        """What it has ended with."""
        return self.process.poll()

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def kill(self, after_s: float) -> None:
        """SIGKILL, to its children as well; it starts again `after_s` later."""
        kill(self.process, descendants(self.process.pid))
        self.starts_at = time.monotonic() + after_s

    def freeze(self, *, is_frozen: bool) -> None:
        """Stop it where it is, as a paused virtual machine would; or let it go on."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGSTOP if is_frozen else signal.SIGCONT)

    def look(self) -> None:
        """Start it again when it is time."""
        if self.starts_at is not None and time.monotonic() >= self.starts_at:
            self.starts_at = None
            self.process = self._start()

    def end(self) -> None:
        """SIGTERM, and SIGKILL if that does not do."""
        if self.is_up:
            self.freeze(is_frozen=False)
            self.process.terminate()
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill(0.0)
        self.starts_at = None


class Crew:
    """Broker, frontiers and workers."""

    def __init__(self, broker: PrivateBroker, cables: Cables, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self._cables = cables
        self.frontiers: list[Role] = []
        self.workers: list[Role] = []
        self.breakdowns = 0

    def add(self, kind: str, arguments: Sequence[str], *, skew: float = 0.0) -> Role:
        """One more role: `focus cluster KIND …`, at the broker by a cable of its own."""
        among = self.frontiers if kind == "frontier" else self.workers
        name, cable = f"{kind} {len(among) + 1}", self._cables.lay()
        reach = ["--amqp", f"amqp://guest:guest@127.0.0.1:{cable.port}/"]
        said = self.folder / f"{name.replace(' ', '')}.said"
        role = Role(name, ["cluster", kind, *reach, *arguments], cable, said, skew=skew)
        among.append(role)
        return role

    @property
    def roles(self) -> list[Role]:
        """All but the broker."""
        return [*self.frontiers, *self.workers]

    @property
    def is_done(self) -> bool:
        """Whether all frontiers have come to their end."""
        return all(role.code in DONE and role.starts_at is None for role in self.frontiers)

    def look(self) -> None:
        """Start what is to start, as systemd would; counts roles that broke down."""
        for role in self.roles:
            role.look()
            if role.starts_at is None and role.code not in (None, *DONE):
                role.starts_at = time.monotonic() + PAUSE_S
                self.breakdowns += role.code != NO_BROKER

    def end(self) -> None:
        """End all roles."""
        for role in self.roles:
            role.end()

    @property
    def db(self) -> Path:
        """The database of the frontier."""
        return self.folder / "frontier.db"

    def said(self) -> str:
        """All that the roles have said."""
        return "".join(
            f"-- {role.name}\n{role.said.read_text(encoding='utf-8')}"
            for role in self.roles
            if role.said.exists()
        )


@contextmanager
def crew(
    server: DemoServer,
    folder: Path,
    *,
    workers: int,
    slots: int = 32,
    more: Sequence[str] = (),
    skews: Sequence[float] = (0.0,),
) -> Iterator[Crew]:
    """A crawl of the served web by so many roles, begun; all are gone afterwards."""
    with ExitStack() as stack:
        broker = stack.enter_context(PrivateBroker(folder / "broker"))
        cables = stack.enter_context(Cables(broker.port))
        crew_of_roles = Crew(broker, cables, folder)
        stack.callback(crew_of_roles.end)
        clocks = random.Random(0).choices(skews, k=1 + workers)
        options = [
            option
            for option in crawl_options(server, folder / "frontier.db", *more)[1:]
            if not option.startswith("--concurrency")
        ]
        crew_of_roles.add("frontier", options, skew=clocks[0])
        for number in range(workers):
            arguments = ["--slots", str(slots), "--processes", "1", "--name", f"w{number + 1}"]
            arguments += ["--connect-to", f"127.0.0.1:{server.port}", "--allow-net", "127.0.0.0/8"]
            crew_of_roles.add("worker", arguments, skew=clocks[1 + number])
        yield crew_of_roles
