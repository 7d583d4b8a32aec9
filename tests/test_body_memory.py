"""Bodies in memory: how many bytes of them, who waits, and that no server is blamed for it."""

import asyncio
from typing import cast

import pytest
import rjieba

from focus.config import FetchConfig
from focus.engine.body_memory import BodyMemory, Reserve
from focus.engine.transports import LiveTransport
from focus.fetch import WebFetcher
from focus.http.connection import Exchange, _CountingHandler
from focus.records import FetchResult, Page, Task
from focus.text import tokenisation
from focus.text.tokenisation import make_rjieba_cut
from focus.workers.messages import Job
from tests.test_fetch import Raw, answer, config, serving

MIB = 1024 * 1024


async def waits(bodies: BodyMemory, owner: object, size: int) -> asyncio.Task[None] | None:
    """A task that waits for room; None if there is."""
    reservation = bodies.reserve(owner, size)
    if reservation is None:
        return None
    task = asyncio.ensure_future(reservation)
    await asyncio.sleep(0)
    return cast("asyncio.Task[None]", task)


async def test_reserve_without_room_waits_until_release() -> None:
    bodies = BodyMemory(10)
    assert await waits(bodies, "first", 6) is None
    assert await waits(bodies, "second", 4) is None
    task = await waits(bodies, "second", 1)
    assert not task.done()
    bodies.free("first")
    await task
    assert bodies.total == 5
    bodies.free("second")
    bodies.free("second")
    assert bodies.total == 0


async def test_reserve_oldest_body_never_waits() -> None:
    bodies = BodyMemory(10)
    assert await waits(bodies, "first", 6) is None
    assert await waits(bodies, "second", 4) is None
    assert await waits(bodies, "first", 100) is None
    later = await waits(bodies, "second", 1)
    third = await waits(bodies, "third", 1)
    assert later is not None
    assert third is not None
    bodies.free("first")
    await asyncio.gather(later, third)
    assert bodies.total == 6


class Pages:
    """A web of pages of 6 MiB, and scorers that wait to be told to go on."""

    def __init__(self) -> None:
        self.read = 0
        self.scored = 0
        self.go = asyncio.Event()

    async def fetch(self, url: str, *, grow: Reserve, **_: object) -> FetchResult:
        if (room := grow(6 * MIB)) is not None:
            await room
        self.read += 1
        return FetchResult(url, 0.0, status=200, body=bytes(6 * MIB))

    async def score(self, job: Job) -> Page:
        await self.go.wait()
        self.scored += 1
        return Page()

    async def update(self, payload: bytes) -> None:
        pass

    async def close(self) -> None:
        pass


async def test_body_memory_counts_until_scored() -> None:
    pages = Pages()
    live = LiveTransport(pages, pages, clock=lambda: 0.0, bodies=BodyMemory(20 * MIB))
    for number in range(8):
        live.send(Task(number, f"http://a.test/{number}", "a.test"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert (pages.read, pages.scored) == (3, 0), "18 of 20 MiB"
    pages.go.set()
    results = []
    while len(results) < 8:
        results += await live.receive(None)
    assert pages.read == 8
    assert {len(result.fetch.body) for result in results} == {0}, "nobody needs it any more"
    await live.close()


async def test_fetcher_reports_growth_of_body() -> None:
    sizes: list[int] = []
    body = b"<title>x</title>" + b"y" * 300_000
    wide = config(max_body_bytes=MIB, max_raw_bytes=MIB)
    async with serving(Raw(answer(body))) as port, WebFetcher(wide) as web:
        result = await web.fetch(f"http://127.0.0.1:{port}/", grow=lambda n: sizes.append(n))
    assert sum(sizes) == len(result.body) == len(body)
    assert len(sizes) > 1


async def test_pause_during_wait_extends_time_limits() -> None:
    exchange, go = Exchange(FetchConfig()), asyncio.Event()
    exchange.start(asyncio.get_running_loop().time())
    exchange._handler = cast(_CountingHandler, object())

    async def room() -> None:
        await go.wait()

    task = asyncio.create_task(exchange.pause_during(room()))
    await asyncio.sleep(0)
    exchange.check_time(asyncio.get_running_loop().time() + 1e6)
    assert exchange.failure is None
    go.set()
    await task


@pytest.mark.parametrize(("words", "is_shared"), [(["机器学习"], True), ([], False)])
def test_make_rjieba_cut_same_words_share_dictionary(
    monkeypatch: pytest.MonkeyPatch, words: list[str], is_shared: bool
) -> None:
    monkeypatch.setattr(tokenisation, "_DEFAULT_WORDS", [frozenset({"机器学习"})])
    used = make_rjieba_cut(words).__self__  # type: ignore[attr-defined]
    assert (used is rjieba._DEFAULT_JIEBA) is is_shared
    assert make_rjieba_cut(iter(words)).__self__ is used  # type: ignore[attr-defined]
