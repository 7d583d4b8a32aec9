"""Offers to Python what the commands offer: `import focus` gives the names below.

    crawl(...)   a crawl to iterate over, with `for`, with `async for`, or whole with `run()`
    open(path)   a database: its crawls, pages, links, search, export
    read_topic   a Topic of words (`足球,英超:0.8`) or of a topic file

An option of `focus crawl` is an argument of `crawl` here, with `_` for `-`, and means the same.
Only what is passed counts: neither `focus.toml` nor `FOCUS_*` variables are read.
"""

from __future__ import annotations

import asyncio
import queue
import tempfile
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import msgspec

from focus.cli import cli
from focus.commands.settings import CrawlOrder, order, read_topic
from focus.crawler import Crawl, CrawlStore
from focus.errors import ConfigError, FocusError
from focus.html.main_content import main_text_from_html
from focus.records import Batch, PageRow
from focus.report.export import write_rows as write
from focus.session import RunReport, Runtime, Watcher, run
from focus.storage.labels import unpacked
from focus.storage.link_reader import links_of
from focus.storage.reader import DatabaseReader
from focus.storage.results import FIELDS, Selection, columns
from focus.storage.search import Results, search
from focus.storage.search_index import SearchIndex
from focus.storage.views import CrawlSummary, Status, Why
from focus.store import CrawlInfo, CrawlWriter, Store
from focus.topic.topic import Topic

__all__ = [
    "CrawledPage", "Crawling", "Database", "FocusError", "Topic", "crawl", "open", "read_topic",
]  # fmt: skip

AHEAD = 1000  # pages that wait for who iterates before the crawl waits, too


class CrawledPage(msgspec.Struct, frozen=True):
    """A page that a crawl has fetched, judged and stored.

    relevance   the model's number; `relevant`: it is over the model's threshold
    parts       how the relevance came about, by part of the page
    matched     topic words found, by part of the page
    fetched_at  Unix seconds
    request     number of the request that brought it, every request counted, from 1
    priority    what it was taken at; larger = sooner
    packed      its source in UTF-8, compressed; b"" where `keep` left it out
    """

    url: str
    title: str
    relevance: float
    relevant: bool
    description: str
    keywords: str
    language: str
    parts: dict[str, float]
    matched: dict[str, list[str]]
    status: int
    fetched_at: float
    request: int
    priority: float
    packed: bytes

    @property
    def html(self) -> str:
        """The source, "" where it was not kept."""
        return unpacked(self.packed) if self.packed else ""

    @property
    def text(self) -> str:
        """The main text, a block a line, "" where the source was not kept."""
        return main_text_from_html(self.html) if self.packed else ""


def crawl(
    *seeds: str, topic: str | Path | Topic, db: str | Path | None = None, **options: Any
) -> Crawling:
    """A crawl from these seeds for a topic; it begins when it is iterated over or `run`.

    topic    words, a topic file, or a Topic
    db       the database; the same crawl goes on in it. None: a temporary one
    options  those of `focus crawl` (`strategy="bfs"`, `max_pages=100`, `delay="0.5s"`)

    ConfigError for an option that there is not, or that makes no sense.

        for page in focus.crawl("https://a.example/", topic="足球", max_pages=100):
            print(page.relevance, page.url, page.title)
    """
    given = {"seed": seeds, **options}
    if isinstance(topic, Topic):
        given["topic"] = topic
    else:
        given["topic"] = str(topic)
    return Crawling(_options(given), None if db is None else Path(db))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """All options of `focus crawl`: as given, else by default; strings are read as typed."""
    command = cli.commands["crawl"]
    ctx = command.context_class(command, info_name="crawl")
    known = {param.name: param for param in command.params if param.name}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigError(
            "crawl() has no option {unknown!r}; known: {known}",
            unknown=unknown[0],
            known=", ".join(known),
        )
    return {name: _value(ctx, param, given.get(name)) for name, param in known.items()}


def _value(ctx: click.Context, param: click.Parameter, given: Any) -> Any:
    """An option as the command would have it."""
    if given is not None and not isinstance(given, str):
        return tuple(given) if param.multiple and isinstance(given, list) else given
    value = param.get_default(ctx) if given is None else [given] if param.multiple else given
    is_set = isinstance(value, str | int | float | tuple | list | Path)  # click's "unset" is none
    try:
        return param.type_cast_value(ctx, value if is_set else None)
    except click.UsageError as error:
        raise ConfigError("{where}: {what}", where=param.name, what=error.message) from None


class _Stop(Watcher):
    """Ends a crawl when nobody wants its pages any more."""

    def __init__(self) -> None:
        self._crawl: Crawl | None = None
        self.wanted = True

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        del info
        self._crawl = crawl
        if not self.wanted:
            crawl.stop("stopped")

    def stop(self) -> None:
        """Let what is under way come home, and end."""
        self.wanted = False
        if self._crawl is not None:
            self._crawl.stop("stopped")


class _Tapped(CrawlWriter):
    """A store that hands on the pages of each batch, once they are written."""

    def __init__(self, store: Store, crawl: int, hand_on: Callable[[PageRow], Any]) -> None:
        super().__init__(store, crawl)
        self._hand_on = hand_on

    async def write(self, batch: Batch) -> None:
        await super().write(batch)
        for row in batch.pages:
            await self._hand_on(row)


class _Tap(Runtime):
    """A runtime whose stored pages are handed on."""

    def __init__(self, hand_on: Callable[[PageRow], Any]) -> None:
        self._hand_on = hand_on

    def make_crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        return _Tapped(store, info.id, self._hand_on)


class Crawling:
    """One run of a crawl, made by `crawl`. Iterate over it, or `run` it; once.

    report   what the run came to, once it has ended; None before
    """

    def __init__(self, options: dict[str, Any], db: Path | None) -> None:
        self.report: RunReport | None = None
        self._db = db
        self._options = options | {"db": db or Path("focus.db")}
        self._order: CrawlOrder = order(self._options)
        self._begun = False

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        return self._pages()

    def __iter__(self) -> Iterator[CrawledPage]:
        """The pages as they are stored; the crawl runs in a thread meanwhile."""
        pages: queue.Queue[CrawledPage | BaseException | None] = queue.Queue(AHEAD)
        ended = threading.Event()

        async def work() -> None:
            async with aclosing(self._pages()) as found:
                async for page in found:
                    if ended.is_set():
                        return
                    await asyncio.to_thread(pages.put, page)

        def thread() -> None:
            last: BaseException | None = None
            try:
                asyncio.run(work())
            except BaseException as error:  # whatever it is, who iterates shall meet it
                last = error
            pages.put(last)

        runner = threading.Thread(target=thread, name="focus-crawl", daemon=True)
        runner.start()
        is_over = False
        try:
            while isinstance(page := pages.get(), CrawledPage):
                yield page
            is_over = True
            if page is not None:
                raise page
        finally:
            ended.set()
            while not is_over:  # room for what is still on its way
                is_over = not isinstance(pages.get(), CrawledPage)
            runner.join()

    def run(self) -> RunReport:
        """Crawl to the end in this thread; what came of it. Ctrl-C stops it in good order."""
        return asyncio.run(self.arun())

    async def arun(self) -> RunReport:
        """The same for who has an event loop."""
        async with AsyncExitStack() as stack:
            self._begin(stack)
            self.report = await run(self._order.config, self._order.paths, Watcher())
        return self.report

    async def _pages(self) -> AsyncGenerator[CrawledPage, None]:
        pages: asyncio.Queue[PageRow | None] = asyncio.Queue(AHEAD)
        stop = _Stop()

        async def hand_on(row: PageRow) -> None:
            if stop.wanted:
                await pages.put(row)

        async def work() -> RunReport:
            try:
                paths = self._order.paths
                return await run(
                    self._order.config, paths, stop, runtime=_Tap(hand_on), handle_signals=False
                )
            finally:
                if stop.wanted:
                    await pages.put(None)

        async with AsyncExitStack() as stack:
            self._begin(stack)
            task = asyncio.create_task(work())
            try:
                while (row := await pages.get()) is not None:
                    yield _page_of(row)
            finally:
                stop.stop()
                while not pages.empty():  # a batch that waits for room may go on
                    pages.get_nowait()
                self.report = await task

    def _begin(self, stack: AsyncExitStack) -> None:
        """Once only; a crawl without a database of the user's has one for as long as it runs."""
        if self._begun:
            raise ConfigError("this crawl has been run; make another by focus.crawl(...)")
        self._begun = True
        if self._db is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="focus-"))
            self._order = order(self._options | {"db": Path(folder) / "focus.db"})


def _page_of(row: PageRow) -> CrawledPage:
    page = row.page
    return CrawledPage(
        url=row.url,
        status=row.status,
        fetched_at=row.fetched_at,
        request=row.request_number,
        priority=row.priority,
        packed=page.body_zstd,
        title=page.title,
        relevance=page.relevance,
        relevant=page.is_relevant,
        description=page.description,
        keywords=page.keywords,
        language=page.language,
        parts=page.part_scores,
        matched=page.matched_terms,
    )


def open(path: str | Path) -> Database:
    """A database that `focus crawl` made, to read; StoreError if there is none."""
    return Database(Path(path))


class Database:
    """Pages, links and status in a database, which a crawl may be writing; close it (or `with`).

    `crawl` is an id, "latest" or "all" wherever it is asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        self._reader = DatabaseReader(self._path)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()
        if "_index" in self.__dict__:
            self._index.close()

    @cached_property
    def _index(self) -> SearchIndex:
        return SearchIndex(self._path)

    def crawls(self) -> list[CrawlSummary]:
        """All crawls, oldest first."""
        return self._reader.crawls()

    def status(self, crawl: int | str = "latest") -> Status:
        """How a crawl stands; ConfigError when there is none."""
        return self._reader.status(self._reader.crawl_id(str(crawl)))

    def pages(
        self, crawl: int | str = "latest", *, fields: Sequence[str] = FIELDS, **which: Any
    ) -> Iterator[dict[str, Any]]:
        """The pages of a crawl as dicts with these fields, one at a time.

        which   as in `Selection`: relevant, min_relevance, since (Unix seconds), host, sort,
                limit, duplicates
        """
        for row in self._reader.rows(self._selection(crawl, which), fields):
            values = [
                msgspec.json.decode(each) if isinstance(each, msgspec.Raw) else each for each in row
            ]
            yield dict(zip(fields, values, strict=True))

    def table(
        self, crawl: int | str = "latest", *, fields: Sequence[str] = FIELDS, **which: Any
    ) -> dict[str, list[Any]]:
        """The same by column, as `pandas.DataFrame` and others take it."""
        rows = list(self.pages(crawl, fields=fields, **which))
        return {name: [row[name] for row in rows] for name in fields}

    def links(self, crawl: int | str = "latest") -> Iterator[tuple[str, str]]:
        """(URL, URL that it links to) of every link that was followed up, by page."""
        number = self._reader.crawl_id(str(crawl))
        yield from self._reader.run(lambda db: links_of(db, number))

    def search(self, query: str, *, limit: int = 10, offset: int = 0, **which: Any) -> Results:
        """Pages by their words, the best first; what is new is indexed before."""
        self._index.update()
        chosen = self._selection(which.pop("crawl", "all"), which)
        return search(self._index, query, chosen, limit=limit, offset=offset)

    def why(self, url: str, crawl: int | str = "latest") -> Why:
        """Why a URL is where it is: fetched, waiting, failed, dropped, or never seen."""
        return self._reader.why(self._reader.crawl_id(str(crawl)), url)

    def export(
        self,
        out: str | Path,
        crawl: int | str = "latest",
        *,
        format: str = "jsonl",
        fields: Sequence[str] = FIELDS,
        **which: Any,
    ) -> int:
        """Write pages to a file (`jsonl`, `csv`, `parquet`, `sqlite`); how many. It appears
        whole or not."""
        rows = self._reader.rows(self._selection(crawl, which), fields)
        return write(rows, columns(fields), format=format, out=Path(out))

    def _selection(self, crawl: int | str, which: dict[str, Any]) -> Selection:
        known = set(Selection.__struct_fields__) - {"crawl"}
        if unknown := sorted(set(which) - known):
            raise ConfigError(
                "no such selection {unknown!r}; known: {known}",
                unknown=unknown[0],
                known=", ".join(sorted(known)),
            )
        return Selection(crawl=str(crawl), **which)
