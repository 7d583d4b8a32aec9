"""A worker of a cluster whose pages are made up, so that fetching costs nothing.

    python -m bench.cluster.made --amqp URL [--slots 256] [--hosts 1000] [--links 97] [--new 10]

All of `focus cluster worker` but fetcher and scorer: an task is answered half a second later
by a page of so many links, some of which nobody has seen before. About a tenth of the pages is
relevant, and a tenth of the links looks as if it led to such a page.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

import uvloop

from bench.script import read_options
from focus.cluster import worker
from focus.cluster.broker import read_address
from focus.cluster.executor import TaskExecutor
from focus.cluster.messages import WorkerSetup
from focus.config import AnalysisConfig
from focus.engine.transports import Clock
from focus.records import FetchResult, Link, Page, Result, Task
from focus.urls.normal_form import fingerprint, url_pattern

BYTES = 32_000  # of a page on the wire
RELEVANT = 0.1
ANSWER_S = 0.5


def host_name(number: int) -> str:
    """Ten hosts of a domain."""
    return f"h{number % 10}.made{number // 10}.example"


def _number_of(url: str) -> int:
    """The number of a URL's host."""
    return int(url.removeprefix("http://h")[0]) + 10 * int(url.partition("made")[2].split(".")[0])


def _address(url: str) -> str:
    """Each host has an address of its own: few requests at once go to one."""
    number = _number_of(url)
    return f"198.18.{number // 256 % 256}.{number % 256}"


class MadeWeb:
    """Pages by their number; the first page of each host comes first."""

    def __init__(self, hosts: int, links: int, new: int, seed: int = 1) -> None:
        self._hosts, self._links, self._new = hosts, links, new
        self._known = 1
        self._rng = random.Random(seed)

    def page(self, url: str, analysis: AnalysisConfig) -> Page:
        """A page as a scorer gives it back."""
        rng = self._rng
        host = _number_of(url)
        fresh = range(self._known, self._known + self._new)
        self._known += self._new
        old = [self._old(host) for _ in range(self._links - self._new)]
        relevant = rng.random() < RELEVANT
        return Page(
            title=f"关于第{rng.randrange(10**6)}场比赛的报道",
            description="昨天晚上的比赛吸引了许多观众到场观看，双方各进一球。",
            language="zh",
            charset="utf-8",
            relevance=rng.uniform(0.5, 1.0) if relevant else rng.uniform(0.0, 0.4),
            relevant=relevant,
            parts={"title": round(rng.random(), 3), "body": round(rng.random(), 3)},
            matched={"title": ["比赛"], "body": ["比赛", "足球"]} if relevant else {},
            links=[self._link(each, analysis) for each in (*fresh, *old)],
            simhash=rng.getrandbits(63) if relevant else 0,
        )

    def _old(self, host: int) -> int:
        rng = self._rng
        if rng.random() < 0.5 and self._known > 2 * self._hosts:
            return host + self._hosts * rng.randrange(self._known // self._hosts)
        return int(self._known * rng.random() ** 2)  # low numbers are popular

    def _link(self, number: int, analysis: AnalysisConfig) -> Link:
        rng, host = self._rng, host_name(number % self._hosts)
        path = "/" if number < self._hosts else f"/p{number % 7}/{number}.html"
        url = f"http://{host}{path}"
        score = rng.random() if rng.random() < RELEVANT else 0.0
        return Link(
            url=url,
            key=fingerprint(url),
            host=host,
            anchor=f"第{number}页的标题",
            anchor_score=score,
            context_score=score if analysis.contexts else 0.0,
            cosine_score=score if analysis.cosines else 0.0,
            pattern=url_pattern(url) if analysis.url_patterns else "",
        )


class MadeTransport:
    """In place of `LiveTransport`."""

    def __init__(self, web: MadeWeb, analysis: AnalysisConfig) -> None:
        self._web, self._analysis = web, analysis
        self.now = Clock()
        self._departed: list[tuple[Task, float]] = []
        self._sent: list[Task] = []
        self._ready = asyncio.Event()

    def send(self, task: Task) -> None:
        asyncio.get_running_loop().call_later(ANSWER_S, self._answer, task)

    def _answer(self, task: Task) -> None:
        self._sent.append(task)
        self._ready.set()

    async def receive(self, until: float | None) -> list[Result]:
        await asyncio.sleep(0)
        while not self._sent:
            self._ready.clear()
            await self._ready.wait()
        sent, self._sent = self._sent, []
        return [self._result(task) for task in sent]

    def _result(self, task: Task) -> Result:
        if task.tell:
            self._departed.append((task, self.now()))
        kind = (("content-type", "text/html; charset=utf-8"),)
        if task.id is None:
            fetch = FetchResult(task.url, self.now(), status=200, body=b"User-agent: *\nAllow: /\n")
            return Result(task, fetch)
        fetch = FetchResult(
            task.url,
            self.now(),
            status=200,
            headers=kind,
            raw_bytes=BYTES,
            address=_address(task.url),
        )
        return Result(task, fetch, self._web.page(task.url, self._analysis))

    def departed(self) -> list[tuple[Task, float]]:
        departed, self._departed = self._departed, []
        return departed

    def answered(self) -> list[tuple[Task, FetchResult]]:
        return []

    async def update(self, payload: bytes) -> None:
        """Made pages are judged by chance."""

    def cancel(self) -> None:
        self._sent.clear()

    async def close(self) -> None:
        """Nothing is open."""


def engine_of(web: MadeWeb) -> type[TaskExecutor]:
    """An engine whose pages are that web's."""

    class MadeEngine(TaskExecutor):
        async def open(
            self,
            setup: WorkerSetup,
            *,
            processes: int,
            stack: AsyncExitStack,
            observe: Callable[[FetchResult], object] | None = None,
        ) -> None:
            self._live = MadeTransport(web, setup.analysis)  # type: ignore[assignment]

    return MadeEngine


def main() -> None:
    """Work until told to stop."""
    given = read_options(__doc__)
    web = MadeWeb(given.hosts, given.links, given.new)
    worker.TaskExecutor = engine_of(web)  # type: ignore[misc]
    role = worker.WorkerRole(
        read_address(given.amqp), worker.WorkerOptions(given.slots, 1), say=print
    )
    uvloop.run(role.run())


if __name__ == "__main__":
    main()
