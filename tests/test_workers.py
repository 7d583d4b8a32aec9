"""The scorer pool: every page answered, only the guilty blamed, nothing left over."""

import asyncio
import gc
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from focus.config import SILENCE_FACTOR, AnalysisConfig
from focus.errors import FocusError
from focus.records import FailureKind, Link, Page
from focus.workers import InlineScorer, WorkerPool
from focus.workers.child import FLUSH_INTERVAL_S
from focus.workers.messages import FrameDecoder, Job, Ready, Reply, ScoredPages, encode_frame
from focus.workers.pool import MAX_BATCH, MAX_BATCHES_PER_WORKER
from tests.support.cases import cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and pidfd of Linux")

HANG_S = 600.0  # longer than anything here lasts on any machine
LIMIT_S = 60.0
SILENCE_S = SILENCE_FACTOR * LIMIT_S
HOOKED = "tests.support.analysts.Hooked"
Run = Callable[[Callable[[], Awaitable[None]]], None]
AsyncTest = Callable[..., Awaitable[None]]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function on a loop of either kind, and looks for leftovers."""
    if request.param == "uvloop":
        factory = pytest.importorskip("uvloop").new_event_loop
    else:
        factory = asyncio.new_event_loop

    def runner(main: Callable[[], Awaitable[None]]) -> None:
        async def timed() -> None:
            async with asyncio.timeout(HANG_S):
                await main()

        with asyncio.Runner(loop_factory=factory) as loop:
            loop.run(warm_up())  # what a loop opens once per process is no leak
        gc.collect()
        before, children_before = descriptors(), children()
        with asyncio.Runner(loop_factory=factory) as loop:
            loop.run(timed())
        gc.collect()
        assert descriptors() <= before
        assert children() <= children_before

    return runner


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes only by `wait`, however long a worker takes."""

    now = 0.0

    def time(self) -> float:
        return self.now

    async def wait(self, seconds: float, *, until: Callable[[], bool] = bool) -> None:
        """So much time passes, or less if that comes true."""
        end = self.now + seconds
        while self.now < end and not until():
            self.now += 0.5
            await turns(2)


def is_given_up(workers: WorkerPool) -> bool:
    """Whether all its workers were found silent for too long."""
    return bool(workers._workers) and all(worker.reason for worker in workers._workers)


async def replaced(workers: WorkerPool) -> None:
    """Until those that were given up have ended: so long they hold their end of a gate."""
    while any(worker.reason for worker in workers._workers):
        await turns(1)


def on_each_loop(test: AsyncTest) -> Callable[..., None]:
    """Run a test on a loop of either kind, and look for leftovers."""
    return copy_fixtures(test, lambda run, **fixtures: run(lambda: test(**fixtures)), ["run"])


def pooled(workers: int = 1, *, limit_s: float = 60.0, may_be_silent: bool = False) -> Any:
    """Run a test with a pool of this many workers, on a loop of either kind."""

    def decorate(test: AsyncTest) -> Callable[..., None]:
        def run_test(run: Run, monkeypatch: MonkeyPatch, **fixtures: Any) -> None:
            async def main() -> None:
                async with pool(workers, limit_s=limit_s) as started:
                    await test(started, **fixtures)

            if may_be_silent:
                monkeypatch.setattr("focus.workers.pool.SILENCE_FACTOR", 10 * HANG_S)
            run(main)

        return copy_fixtures(test, run_test, ["run", "monkeypatch"], skipped=1)

    return decorate


def by_hand(test: AsyncTest) -> Callable[..., None]:
    """Run a test with a pool of one worker and a clock that the test puts forward."""

    def run_test(**fixtures: Any) -> None:
        async def main() -> None:
            async with pool() as workers:
                await test(workers, runner.get_loop(), **fixtures)

        with MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=Clock) as runner:
            # An old uvicorn leaves uvloop's policy behind, by which no process could start here.
            patch.setattr(asyncio.events, "_event_loop_policy", None, raising=False)
            runner.run(main())

    return copy_fixtures(test, run_test, [], skipped=2)


def copy_fixtures(
    test: AsyncTest, run_test: Callable[..., None], own: list[str], skipped: int = 0
) -> Callable[..., None]:
    """Give `run_test` a test's name and fixtures, but the first ones, besides its own."""
    named = [Parameter(name, Parameter.KEYWORD_ONLY) for name in own]
    more = [*signature(test).parameters.values()][skipped:]
    parameters = named + [item.replace(kind=Parameter.KEYWORD_ONLY) for item in more]
    wraps(test)(run_test).__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run_test


class Gate:
    """Where a page waits in its worker until the test lets it go on: `url(1, gate.query)`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"gate{next(_gates)}"
        os.mkfifo(self.path)
        self.query = f"gate={self.path}"
        self._fd = -1

    async def reached(self) -> None:
        """Until a worker waits there."""
        self._fd = await asyncio.to_thread(os.open, self.path, os.O_WRONLY)

    def open(self) -> None:
        os.close(self._fd)


_gates = count()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


async def turns(number: int) -> None:
    """So many turns of the loop."""
    for _ in range(number):
        await asyncio.sleep(0)


async def warm_up() -> None:
    await (await asyncio.create_subprocess_exec("true")).wait()


def descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def children() -> set[str]:
    """Child processes, zombies too (other tests of this process may have left some)."""
    pids: set[str] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since
            pids.update(file.read_text().split())
    return pids


def pool(workers: int = 1, *, limit_s: float = 60.0, analyst: str = HOOKED) -> WorkerPool:
    return WorkerPool(AnalysisConfig(), workers=workers, limit_s=limit_s, scorer=analyst)


def url(number: int = 0, query: str = "") -> str:
    return f"http://h/{number}?{query}"


def score(workers: WorkerPool, number: int = 0, query: str = "") -> asyncio.Task[Page]:
    return asyncio.create_task(workers.score(Job(url(number, query), b"", None)))


async def score_all(scorer: WorkerPool | InlineScorer, urls: list[str]) -> list[Page]:
    return await asyncio.gather(*(scorer.score(Job(item, b"body", None)) for item in urls))


def failures(pages: list[Page]) -> list[FailureKind | None]:
    return [page.failure for page in pages]


# Ordinary work


@pooled()
async def test_score_returns_complete_page(workers: WorkerPool) -> None:
    begun = time.perf_counter()
    page = await workers.score(Job("http://h/a", b"\0" * 3_000_000, "text/html; charset=gbk"))
    elapsed_s = time.perf_counter() - begun
    assert page.title == "http://h/a"
    assert page.description == "3000000 text/html; charset=gbk"
    assert page.links == [Link(url="http://h/a", key=b"k" * 16, host="h")]
    assert 0.0 < page.worker_s < elapsed_s
    assert page.failure is None


@pooled(2)
async def test_score_many_pages_return_own_results_from_all_workers(workers: WorkerPool) -> None:
    urls = [url(n) for n in range(200)]
    pages = await score_all(workers, urls)
    assert [page.title for page in pages] == urls
    counts = [[page.charset for page in pages].count(pid) for pid in {p.charset for p in pages}]
    assert len(counts) == 2 and min(counts) >= MAX_BATCH * MAX_BATCHES_PER_WORKER


@pooled(2)
async def test_score_does_not_wait_for_other_pages(workers: WorkerPool, gate: Gate) -> None:
    await score(workers)
    slow = score(workers, 1, gate.query)
    await gate.reached()
    await score(workers, 2)
    assert not slow.done()
    gate.open()
    await slow


@pooled()
async def test_score_slow_batch_returns_single_results(workers: WorkerPool, gate: Gate) -> None:
    slow = 2 * FLUSH_INTERVAL_S
    urls = [url(0, f"sleep={slow}"), url(1, gate.query), url(2), url(3)]
    tasks = [asyncio.create_task(workers.score(Job(item, b"", None))) for item in urls]
    await tasks[0]
    await gate.reached()
    assert not any(task.done() for task in tasks[1:])
    gate.open()
    await asyncio.gather(*tasks)


@pooled(limit_s=0.5, may_be_silent=True)
async def test_time_limit_applies_to_page_not_batch(workers: WorkerPool) -> None:
    pages = await score_all(workers, [url(n, "burn=0.2") for n in range(4)])
    assert failures(pages) == [None] * 4


@by_hand
async def test_silence_counts_from_last_reply(
    workers: WorkerPool, clock: Clock, tmp_path: Path
) -> None:
    gates = [Gate(tmp_path) for _ in range(3)]
    queries = [f"{gate.query}&sleep={2 * FLUSH_INTERVAL_S}" for gate in gates]
    tasks = [score(workers, 0, query) for query in queries]
    for gate, task in zip(gates, tasks, strict=True):
        await gate.reached()
        await clock.wait(0.8 * SILENCE_S)
        gate.open()
        await task
    assert failures(await asyncio.gather(*tasks)) == [None] * 3
    assert len({task.result().charset for task in tasks}) == 1


@pooled(limit_s=0.1, may_be_silent=True)
async def test_time_limit_ignores_time_without_cpu(workers: WorkerPool) -> None:
    page = await score(workers, 1, "sleep=0.5")
    assert page.failure is None


@pooled(2)
async def test_score_large_and_small_bodies_in_one_pool(workers: WorkerPool) -> None:
    sizes = [0, 5_000_000, 1, 900_000, 900_000, 2, 3_000_000] * 3
    pages = await asyncio.gather(
        *(workers.score(Job(url(n), b"x" * size, None)) for n, size in enumerate(sizes))
    )
    assert [page.description for page in pages] == [f"{size} None" for size in sizes]


@pooled(2)
async def test_update_applies_to_later_pages_in_every_worker(workers: WorkerPool) -> None:
    before = [score(workers, n) for n in range(40)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await workers.update(b"second")
    after = await score_all(workers, [url(n) for n in range(100)])
    assert {page.keywords for page in after} == {"second"}
    assert AnalysisConfig().relevance in {page.keywords for page in await asyncio.gather(*before)}
    await score_all(workers, [url(n, f"kill={signal.SIGKILL}") for n in range(2)])
    again = await score_all(workers, [url(n) for n in range(100)])
    assert {page.keywords for page in again} == {"second"}


@pooled()
async def test_worker_output_of_libraries_does_not_break_replies(workers: WorkerPool) -> None:
    pages = await score_all(workers, [url(n, "print=hello") for n in range(5)])
    assert failures(pages) == [None] * 5


# Guilty pages


@pooled()
async def test_score_exception_returns_failed_page(workers: WorkerPool) -> None:
    (page, second) = await score_all(workers, [url(0, "fail=a%0Ab"), url(1)])
    assert page.failure is FailureKind.PARSE_CRASH
    assert page.detail == "ValueError: a b"
    assert second.failure is None and second.charset != ""


@cases(
    "query, detail",
    (f"kill={signal.SIGSEGV}", "SIGSEGV"),
    (f"kill={signal.SIGKILL}", "SIGKILL"),
    ("exit=3", "exit code 3"),
    ("exit=0", "exit code 0"),
    ("babble=100", "nonsense"),
    ("babble=3&exit=1", "exit code 1"),
)
@pooled(2)
async def test_score_crash_fails_that_page(workers: WorkerPool, query: str, detail: str) -> None:
    urls = [url(n) for n in range(40)]
    urls[17] = url(17, query)
    pages = await score_all(workers, urls)
    guilty = pages.pop(17)
    assert failures(pages) == [None] * 39
    assert guilty.failure is FailureKind.PARSE_CRASH
    assert detail in guilty.detail
    assert failures(await score_all(workers, [url(n) for n in range(9)])) == [None] * 9


@pooled(2, limit_s=0.3, may_be_silent=True)
async def test_score_endless_computation_fails_that_page(workers: WorkerPool) -> None:
    urls = [url(n) for n in range(3 * MAX_BATCH)]
    urls[5] = url(5, "spin=1")
    pages = await score_all(workers, urls)
    guilty = pages.pop(5)
    assert failures(pages) == [None] * (3 * MAX_BATCH - 1)
    assert guilty.failure is FailureKind.PARSE_TIMEOUT
    assert guilty.detail == "over 0.3 s of computing"


@by_hand
async def test_score_hang_fails_that_page(workers: WorkerPool, clock: Clock, gate: Gate) -> None:
    urls = [url(n) for n in range(3 * MAX_BATCH)]
    urls[20] = url(20, gate.query)
    tasks = [asyncio.create_task(workers.score(Job(item, b"", None))) for item in urls]
    for _ in range(2):  # it is tried once more, alone
        await gate.reached()
        await clock.wait(1.2 * SILENCE_S, until=lambda: is_given_up(workers))
        assert is_given_up(workers)
        await replaced(workers)
        gate.open()
    pages = await asyncio.gather(*tasks)
    guilty = pages.pop(20)
    assert failures(pages) == [None] * (3 * MAX_BATCH - 1)
    assert guilty.failure is FailureKind.PARSE_TIMEOUT
    assert guilty.detail == "silent for 600 s"


@pooled()
async def test_score_page_after_first_crash_is_retried(workers: WorkerPool, tmp_path: Path) -> None:
    marker = tmp_path / "crashed"
    page = await score(workers, 1, f"kill_once={marker}")
    assert marker.exists()
    assert page.failure is None


@pytest.mark.skipif(sys.platform != "linux", reason="address space limits of Linux")
@pooled()
async def test_score_memory_bomb_returns_failed_page(workers: WorkerPool) -> None:
    page, second = await score_all(workers, [url(0, "allocate=100000"), url(1)])
    assert (page.failure, second.failure) == (FailureKind.PARSE_CRASH, None)
    assert "MemoryError" in page.detail


@pooled(2)
async def test_score_all_pages_crash_returns_failed_pages(workers: WorkerPool) -> None:
    pages = await score_all(workers, [url(n, "exit=1") for n in range(6)])
    assert set(failures(pages)) == {FailureKind.PARSE_CRASH}


@by_hand
async def test_silence_ignores_stopped_parent(
    workers: WorkerPool, clock: Clock, gate: Gate
) -> None:
    first = await score(workers)
    task = score(workers, 1, gate.query)
    await gate.reached()
    clock.now += 10 * SILENCE_S  # the whole group was stopped
    gate.open()
    page = await task
    assert page.failure is None
    assert page.charset == first.charset


@by_hand
async def test_stopped_worker_is_replaced(workers: WorkerPool, clock: Clock) -> None:
    first = await score(workers)
    os.kill(int(first.charset), signal.SIGSTOP)
    task = score(workers, 1)
    await turns(5)
    await clock.wait(1.2 * SILENCE_S, until=lambda: is_given_up(workers))
    page = await task
    assert page.failure is None
    assert page.charset != first.charset


@pooled()
async def test_worker_ignores_ctrl_c_and_sigterm(workers: WorkerPool) -> None:
    first = await score(workers)
    assert os.getpgid(int(first.charset)) != os.getpgid(0)
    os.kill(int(first.charset), signal.SIGINT)
    os.kill(int(first.charset), signal.SIGTERM)
    page = await score(workers, 1)
    assert page.charset == first.charset


# Beginning and end


@cases(
    "analyst, reason",
    ("tests.support.analysts.Unwilling", "ImportError: No module named 'dictionary'"),
    ("tests.support.analysts.Dying", "SIGKILL"),
    ("no.such.Thing", "ModuleNotFoundError: No module named 'no'"),
)
@on_each_loop
async def test_start_failure_raises_one_line_error(analyst: str, reason: str) -> None:
    with pytest.raises(FocusError) as error:
        await pool(2, analyst=analyst).start()
    assert str(error.value).startswith(f"cannot start a scorer worker ({reason})")
    assert "\n" not in str(error.value)


@on_each_loop
async def test_score_before_workers_are_ready_waits() -> None:
    workers = pool(2)
    workers.start_in_background()
    assert failures(await score_all(workers, [url(n) for n in range(3)])) == [None] * 3
    await workers.close()


@on_each_loop
async def test_score_workers_cannot_start_raises() -> None:
    workers = pool(1, analyst="no.such.Thing")
    workers.start_in_background()
    with pytest.raises(FocusError, match="cannot start a scorer worker"):
        await score(workers)
    await workers.close()


@on_each_loop
async def test_start_without_interpreter_is_one_line(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FocusError, match="No such file"):
        await pool(2).start()


@on_each_loop
async def test_score_workers_cannot_be_replaced_raises(tmp_path: Path) -> None:
    file = tmp_path / "there"
    file.touch()
    config = AnalysisConfig(topic={"file": str(file)})
    async with WorkerPool(config, workers=1, scorer="tests.support.analysts.Mortal") as workers:
        assert (await score(workers)).failure is None
        file.unlink()
        for item in (url(1, "exit=1"), url(2)):
            with pytest.raises(FocusError, match="the file is gone"):
                await workers.score(Job(item, b"", None))


@pooled(2)
async def test_idle_worker_that_dies_is_replaced(workers: WorkerPool) -> None:
    for _ in range(4):
        page = await score(workers)
        os.kill(int(page.charset), signal.SIGKILL)
        await asyncio.to_thread(gone, int(page.charset))
    assert (await score(workers)).failure is None


@on_each_loop
async def test_score_after_idle_worker_died(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr("focus.workers.pool.MAX_CRASHES", 1)  # who is blamed once has failed
    async with pool(1) as workers:
        pid = int((await score(workers)).charset)
        os.kill(pid, signal.SIGKILL)
        gone(pid)  # in the loop's own thread: it has heard of nothing yet
        assert (await score(workers)).failure is None


@on_each_loop
async def test_close_busy_pool_cancels_pages(gate: Gate) -> None:
    workers = pool(2, limit_s=3600.0)
    await workers.start()
    tasks = [
        asyncio.create_task(workers.score(Job(url(n, gate.query), b"x" * 100_000, None)))
        for n in range(60)
    ]
    await gate.reached()
    await workers.close()
    await workers.close()
    gate.open()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(item, asyncio.CancelledError) for item in done)
    with pytest.raises(FocusError, match="not running"):
        await score(workers)


@on_each_loop
async def test_close_during_replacement_leaves_no_process() -> None:
    async with pool(2) as workers:
        tasks = [score(workers, n, "exit=1") for n in (1, 2)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*tasks, return_exceptions=True)


@on_each_loop
async def test_start_cancelled_leaves_no_process() -> None:
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    for number in (1, 2, 3, 5, 10, 20):
        starting = asyncio.create_task(pool(2).start())
        await turns(number)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    del starting
    gc.collect()
    assert not errors


@pooled()
async def test_score_cancelled_pages_are_skipped(workers: WorkerPool, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    first = score(workers, 1, gate.query)
    await gate.reached()
    note = tmp_path / "note"
    second = score(workers, 2, f"note={note}")
    await turns(5)
    second.cancel()
    await turns(1)
    gate.open()
    await first
    await score(workers, 3)
    assert not note.exists()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_worker_ends_with_its_parent(tmp_path: Path, loop: str) -> None:
    pytest.importorskip(loop)
    note, gate = tmp_path / "worker", Gate(tmp_path)
    program = f"""
import asyncio, {loop}
from focus.config import AnalysisConfig
from focus.workers import WorkerPool, pool

from focus.workers.messages import Job, Job
pool.SILENCE_FACTOR = {HANG_S}
async def main():
    async with WorkerPool(AnalysisConfig(), workers=2, limit_s=0.5, scorer={HOOKED!r}) as workers:
        await workers.score(Job("http://h/?note={note}", b"", None))
        print("up", flush=True)
        await workers.score(Job("http://h/?{gate.query}&spin=1", b"", None))
{loop}.run(main())
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout.readline() == b"up\n"
        asyncio.run(gate.reached())
        gate.open()
        parent.kill()
    gone(int(note.read_text()))


def gone(pid: int) -> None:
    """Until a process has ended, whoever's child it is."""
    with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid)) as end:
        select.select([end], [], [])


# The same without processes


@on_each_loop
async def test_inline_scorer_has_interface_of_pool() -> None:
    scorer = InlineScorer(AnalysisConfig(), scorer=HOOKED)
    page = await scorer.score(Job(url(1), b"body", "text/html"))
    assert (page.title, page.description) == (url(1), "4 text/html")
    assert page.worker_s > 0.0
    await scorer.update(b"second")
    assert (await scorer.score(Job(url(2), b"", None))).keywords == "second"
    failed = await scorer.score(Job(url(3, "fail=x"), b"", None))
    assert (failed.failure, failed.detail) == (FailureKind.PARSE_CRASH, "ValueError: x")


# The wire


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), max_size=30), st.lists(st.text(max_size=50), max_size=5))
def test_frame_decoder_any_split_gives_replies(cuts: list[int], titles: list[str]) -> None:
    replies: list[Reply] = [
        Ready(),
        *(ScoredPages([Page(title=title), Page()]) for title in titles),
    ]
    stream = b"".join(encode_frame(reply) for reply in replies)
    unpacker, replies_found = FrameDecoder(), []
    for cut in cuts:
        replies_found += unpacker.decode(stream[:cut])
        stream = stream[cut:]
    assert replies_found + unpacker.decode(stream) == replies


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_frame_decoder_invalid_bytes_raise_value_error(data: bytes) -> None:
    with suppress(ValueError):
        FrameDecoder().decode(data)
    with pytest.raises(ValueError):
        FrameDecoder().decode(len(data + b"\xc1").to_bytes(4, "little") + b"\xc1" + data)
