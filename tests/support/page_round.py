"""Follows one page from seed to export and counts the modules of focus that it passes.

    python -m tests.support.page_round

A real crawl of a small recorded web runs under `sys.setprofile`, with its store and an export
behind it; the loop, the store's thread and the reader are all watched. Counted are

    called    modules of which a function was called, from sowing the seed to the last exported row
    passed    those of them that a seed's page itself passes: a function of them is handed one of
              its forms (`FORMS`: URL, task, answer, page, row, what ends it, the store's batch)
    moves     of one result, from `Crawl._take_in` on: pairs of modules of which one calls the other
    climbs    those of them that go up, from a module to one that imports it: a callback
    returns   those of them that come to a module which was there before

A pair counts once, however many links the page has, so that figures tell of the house and not
of the page.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from focus.archive.recorder import Recorder
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.records import Batch, FetchResult, Outcome, Page, PageRow, Result, Task, UrlRow
from focus.report.export import export
from focus.scheduling.queues import Candidate
from focus.score.strategy import Parent
from focus.session import SessionStore
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection, columns
from focus.store import Store
from focus.workers import InlineScorer
from tests.support.recorded import page
from tests.test_house import own_imports

SEED = "http://a.test/"
FIELDS = ("url", "title", "relevance")
PAGES = {
    SEED: page("足球", "/1", "http://b.test/", text="足球 " * 20),
    f"{SEED}1": page("足球 1", "/", text="足球 " * 20),
}


FORMS = (UrlRow, Candidate, Task, FetchResult, Result, Page, Parent, PageRow, Outcome, Batch)


class Round(NamedTuple):
    """What a page passes: modules in the order of coming, pairs of those of its result."""

    called: list[str]
    passed: list[str]
    moves: list[tuple[str, str]]

    @property
    def climbs(self) -> list[tuple[str, str]]:
        """Moves up to a module that imports the one that calls it, through others or itself."""
        return [(one, other) for one, other in self.moves if one in reached(other)]

    @property
    def returns(self) -> list[tuple[str, str]]:
        """Moves to a module that was there before."""
        seen, found = {self.moves[0][0]}, []
        for one, other in self.moves:
            if other in seen:
                found.append((one, other))
            seen.add(other)
        return found


@cache
def reached(module: str) -> frozenset[str]:
    """All that a module imports, through others or itself."""
    found: set[str] = set()
    new = own_imports(module)
    while new:
        found |= new
        new = set().union(*map(own_imports, new)) - found
    return frozenset(found)


class _Finger:
    """Notes calls, in every thread."""

    def __init__(self) -> None:
        self.called: dict[str, None] = {}
        self.passed: dict[str, None] = {}
        self.moves: dict[tuple[str, str], None] = {}
        self._is_counted = False

    @contextmanager
    def down(self) -> Iterator[None]:
        """What is called now belongs to the round."""
        self._is_counted = True
        try:
            yield
        finally:
            self._is_counted = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self._is_counted:
            return
        module = _module(frame)
        if module is None:
            return
        self.called.setdefault(module)
        if module not in self.passed and any(map(_is_form, _arguments(frame))):
            self.passed.setdefault(module)
        caller, above = None, frame.f_back
        while above is not None:
            name = _module(above)
            caller = caller or name
            if above.f_code.co_name == "_take_in" and name == "crawler":
                if caller is not None and caller != module:
                    self.moves.setdefault((caller, module))
                return
            above = above.f_back


def _arguments(frame: FrameType) -> list[object]:
    """What a function is called with; a method of a form passes nothing on."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = [frame.f_locals[name] for name in names if name in frame.f_locals]
    return [] if values and names[0] == "self" and isinstance(values[0], FORMS) else values


def _is_form(value: object) -> bool:
    """Whether it is the seed's page, on some stage of its way, or some of several that may be."""
    if isinstance(value, list):
        return any(map(_is_form, value))
    if isinstance(value, Page | Batch):
        return True
    if isinstance(value, Parent | Outcome):
        return value.id == 0
    if isinstance(value, Result):
        return value.task.url == SEED
    return isinstance(value, FORMS) and value.url == SEED


def _module(frame: FrameType) -> str | None:
    name: str = frame.f_globals.get("__name__", "")
    return name.removeprefix("focus.") if name.startswith("focus.") else None


async def _crawl(folder: Path, finger: _Finger) -> None:
    with Recorder(folder / "web.warc.gz", software="test", new_id=lambda: "urn:x:1") as recorder:
        for url, body in PAGES.items():
            kind = (("content-type", "text/html"),)
            recorder.record(FetchResult(url, 1.0, 200, kind, body, len(body)))
    topic = {"name": "football", "keywords": [{"text": "足球"}]}
    config = CrawlConfig(concurrency=1, analysis=AnalysisConfig(topic=topic))
    async with Store.open(folder / "x.db", now=1.0, pid=1) as store:
        info = await store.begin_crawl({"seeds": [SEED]}, "{}", fresh=False, now=1.0)
        with Archive.open(folder / "web.warc.gz", limits=config.fetch) as archive:
            scorer = InlineScorer(config.analysis)
            crawl_store = SessionStore(store, info.id)
            crawl = Crawl(config, ReplayTransport(archive, scorer), crawl_store=crawl_store)
            with finger.down():
                crawl.sow([SEED])
                await crawl.run()


def follow(folder: Path) -> Round:
    """The round of a page, in an empty folder."""
    finger = _Finger()
    before: Callable[..., object] | None = sys.getprofile()
    threading.setprofile(finger)
    sys.setprofile(finger)
    try:
        asyncio.run(_crawl(folder, finger))
        with DatabaseReader(folder / "x.db") as reader, finger.down():
            rows = reader.rows(Selection(), FIELDS)
            export(rows, columns(FIELDS), format="jsonl", out=folder / "out.jsonl")
    finally:
        sys.setprofile(before)  # type: ignore[arg-type]
        threading.setprofile(None)  # type: ignore[arg-type]
    assert "足球" in (folder / "out.jsonl").read_text(encoding="utf-8")
    return Round(list(finger.called), list(finger.passed), list(finger.moves))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = follow(Path(name))
    print(f"modules called               {len(found.called)}: {', '.join(found.called)}")
    print(f"passed by the page itself    {len(found.passed)}: {', '.join(found.passed)}")
    print(f"moves of a result            {len(found.moves)}")
    for one, other in found.moves:
        marks = " climb" * ((one, other) in found.climbs)
        print(f"    {one} -> {other}{marks}{' return' * ((one, other) in found.returns)}")
    print(f"climbs                       {len(found.climbs)}")
    print(f"returns                      {len(found.returns)}")
