"""Python interface of the commands; `import focus` provides the names below.

    crawl(...)   a crawl to iterate over with `for` or `async for`, or to complete with `run()`
    open(path)   a database: its crawls, pages, links, search, export
    read_topic   a Topic from words (`足球,英超:0.8`) or a topic file

An option of `focus crawl` is an argument of `crawl` with `_` instead of `-`, and has the same
meaning. Neither `focus.toml` nor `FOCUS_*` variables are read.
"""

from __future__ import annotations

import asyncio
import queue
import tempfile
import threading
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing
from functools import cached_property
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import click
import msgspec

from focus.cli import cli
from focus.commands.llm import with_llm_terms
from focus.commands.options.value_types import parse_instant, parse_instant_end
from focus.commands.settings import CrawlPlan, plan_crawl, read_topic
from focus.crawler import Crawl, CrawlStore
from focus.errors import ConfigError, FocusError
from focus.html.parser import main_text_from_html
from focus.i18n import Msg, msg, translate
from focus.records import Batch, PageRow
from focus.report.export import choose_format, write_rows
from focus.session import RunReport, Runtime, Watcher, run
from focus.storage.labels import decompress_source
from focus.storage.link_reader import iter_links
from focus.storage.reader import DatabaseReader
from focus.storage.results import FIELDS, Selection, field_types
from focus.storage.search import SearchResults, search
from focus.storage.search_index import SearchIndex
from focus.storage.views import CrawlStatus, CrawlSummary, Why
from focus.store import CrawlInfo, CrawlWriter, Store
from focus.topic.topic import Topic

__all__ = [
    "CrawledPage", "Crawling", "Database", "FocusError", "Topic", "crawl", "open", "read_topic",
]  # fmt: skip

MAX_QUEUED_PAGES = 1000  # unread pages of an iteration at which the crawl pauses


class CrawledPage(msgspec.Struct, frozen=True):
    """Page that a crawl has fetched, scored and stored.

    relevance   number of the relevance model
    relevant    whether it is over the threshold of the model
    parts       relevance by part of the page
    matched     words of the topic found, by part of the page
    fetched_at  Unix seconds
    request     number of its request among all requests of the crawl, from 1
    priority    priority when it was dequeued; larger is sooner
    packed      source in UTF-8, compressed; empty if `keep` excludes it
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

    def __repr__(self) -> str:
        return f"CrawledPage({self.url!r}, {self.title!r}, relevance={self.relevance:.2f})"

    @property
    def html(self) -> str:
        """The source of the page; empty if it was not stored."""
        return decompress_source(self.packed) if self.packed else ""

    @property
    def text(self) -> str:
        """The main text, one line per block; empty if the source was not stored."""
        return main_text_from_html(self.html) if self.packed else ""


def crawl(
    *seeds: str, topic: str | Path | Topic, db: str | Path | None = None, **options: Any
) -> Crawling:
    """Return a crawl from these seeds; it starts when it is iterated over or `run`.

    Args:
        seeds: URLs or hosts to start from.
        topic: Words, a topic file, or a Topic.
        db: The database, in which the same crawl is continued. None: a temporary one.
        options: Options of `focus crawl` (`strategy="bfs"`, `max_pages=100`, `delay="0.5s"`).

    Raises:
        ConfigError: An option does not exist or has an invalid value.

    Example:
        for page in focus.crawl("https://a.example/", topic="足球", max_pages=100):
            print(page.relevance, page.url, page.title)
    """
    all_options = {"seed": seeds, **_read_instants(options)}
    if isinstance(topic, Topic):
        all_options["topic"] = topic
    else:
        all_options["topic"] = str(topic)
    return Crawling(_parse_options(all_options), None if db is None else Path(db))


def _parse_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return all options of `focus crawl`, with defaults for missing ones; strings are parsed."""
    command = cli.commands["crawl"]
    ctx = command.context_class(command, info_name="crawl")
    known = {param.name: param for param in command.params if param.name}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ConfigError(
            "crawl() has no option {unknown!r}; known: {known}",
            unknown=unknown[0],
            known=", ".join(known),
        )
    return {name: _parse_option(ctx, param, options.get(name)) for name, param in known.items()}


def _read_instants(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with each time as Unix seconds; ConfigError for what is not a time."""
    for name in arguments.keys() & {"since", "since_published", "until_published"}:
        when, read = arguments[name], parse_instant_end if "until" in name else parse_instant
        is_number = isinstance(when, Real) and not isinstance(when, bool) and isfinite(when)
        try:
            arguments = arguments | {name: when if is_number or when is None else read(str(when))}
        except ConfigError as error:
            raise ConfigError("{where}: {what}", where=name, what=error.message) from None
    return arguments


def _parse_option(ctx: click.Context, param: click.Parameter, argument: Any) -> Any:
    """Return the value of an option as the command would receive it."""
    if argument is not None and not isinstance(argument, str):
        return tuple(argument) if param.multiple and isinstance(argument, list) else argument
    value = (
        param.get_default(ctx) if argument is None else [argument] if param.multiple else argument
    )
    is_set = isinstance(value, str | int | float | tuple | list | Path)  # click's "unset" is none
    try:
        return param.type_cast_value(ctx, value if is_set else None)
    except click.UsageError as error:
        raise ConfigError("{where}: {what}", where=param.name, what=error.message) from None


class _StoppingWatcher(Watcher):
    """Watcher that can stop its crawl, even before the crawl has started."""

    def __init__(self) -> None:
        self._crawl: Crawl | None = None
        self.is_wanted = True

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        del info
        self._crawl = crawl
        if not self.is_wanted:
            crawl.stop("stopped")

    def stop(self) -> None:
        """Stop the crawl after the requests in flight."""
        self.is_wanted = False
        if self._crawl is not None:
            self._crawl.stop("stopped")


class _ForwardingWriter(CrawlWriter):
    """Store that passes the pages of each batch to `forward` after writing them."""

    def __init__(self, store: Store, crawl: int, forward: Callable[[PageRow], Any]) -> None:
        super().__init__(store, crawl)
        self._forward = forward

    async def write(self, batch: Batch) -> None:
        await super().write(batch)
        for row in batch.pages:
            await self._forward(row)


class _ForwardingRuntime(Runtime):
    """Runtime whose store passes its pages to `forward`."""

    def __init__(self, forward: Callable[[PageRow], Any]) -> None:
        self._forward = forward

    def make_crawl_store(self, store: Store, info: CrawlInfo) -> CrawlStore:
        return _ForwardingWriter(store, info.id, self._forward)


class Crawling:
    """One run of a crawl, created by `crawl`: iterate over it or `run` it, once.

    report   report of the run after its end; None before
    """

    def __init__(self, options: dict[str, Any], db: Path | None) -> None:
        self.report: RunReport | None = None
        self._db = db
        self._options = options | {"db": db or Path("focus.db")}
        self._order: CrawlPlan = plan_crawl(self._options)
        self._is_started = False

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        return self._iter_pages()

    def __iter__(self) -> Iterator[CrawledPage]:
        """Yield pages as they are stored, while the crawl runs in a thread."""
        pages: queue.Queue[CrawledPage | BaseException | None] = queue.Queue(MAX_QUEUED_PAGES)
        ended = threading.Event()

        async def work() -> None:
            async with aclosing(self._iter_pages()) as stored_pages:
                async for page in stored_pages:
                    if ended.is_set():
                        return
                    await asyncio.to_thread(pages.put, page)

        def thread() -> None:
            last: BaseException | None = None
            try:
                asyncio.run(work())
            except BaseException as error:  # raised again by the iteration
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
            while not is_over:  # make room for pages that the thread still adds
                is_over = not isinstance(pages.get(), CrawledPage)
            runner.join()

    def run(self) -> RunReport:
        """Crawl to the end and return the report. Ctrl-C stops it in good order.

        Where an event loop runs already, as in a notebook, the crawl runs in a thread.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.arun())
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self._arun(handle_signals=False)).result()

    async def arun(self) -> RunReport:
        """Crawl to the end in the running event loop and return the report."""
        return await self._arun(handle_signals=True)

    async def _arun(self, *, handle_signals: bool) -> RunReport:
        async with AsyncExitStack() as stack:
            await self._start(stack)
            config, paths, judge = self._order.config, self._order.paths, self._order.judge
            self.report = await run(
                config, paths, Watcher(), judge=judge, handle_signals=handle_signals
            )
        return self.report

    async def _iter_pages(self) -> AsyncGenerator[CrawledPage, None]:
        pages: asyncio.Queue[PageRow | None] = asyncio.Queue(MAX_QUEUED_PAGES)
        stop = _StoppingWatcher()

        async def hand_on(row: PageRow) -> None:
            if stop.is_wanted:
                await pages.put(row)

        async def work() -> RunReport:
            try:
                paths = self._order.paths
                return await run(
                    self._order.config,
                    paths,
                    stop,
                    runtime=_ForwardingRuntime(hand_on),
                    judge=self._order.judge,
                    handle_signals=False,
                )
            finally:
                if stop.is_wanted:
                    await pages.put(None)

        async with AsyncExitStack() as stack:
            await self._start(stack)
            task = asyncio.create_task(work())
            try:
                while (row := await pages.get()) is not None:
                    yield _crawled_page(row)
            finally:
                stop.stop()
                while not pages.empty():  # make room for a batch that waits
                    pages.get_nowait()
                self.report = await task
                # Whoever iterates over pages does not look at the report.
                for seed, reason in self.report.seed_failures.items():
                    _warn(msg("seed {seed}: {reason}", seed=seed, reason=reason))

    async def _start(self, stack: AsyncExitStack) -> None:
        """Mark the run as started; create a temporary database if the user gave none."""
        if self._is_started:
            raise ConfigError(
                "this crawl has already run; create another one with focus.crawl(...)"
            )
        self._is_started = True
        if self._db is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="focus-"))
            self._order = plan_crawl(self._options | {"db": Path(folder) / "focus.db"})
        self._order = await with_llm_terms(self._order, _warn)


def _warn(message: Msg) -> None:
    warnings.warn(translate(message), UserWarning, stacklevel=2)


def _crawled_page(row: PageRow) -> CrawledPage:
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
    """Open a database of `focus crawl` for reading; StoreError if there is none."""
    return Database(Path(path))


class Database:
    """Pages, links and status in a database; to be closed, or used in a `with` statement.

    A crawl may be writing to the database. Arguments named `crawl` are an id, "latest" or "all".
    """

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        self._reader = DatabaseReader(self._path)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        if "_index" in self.__dict__:
            self._index.close()

    @cached_property
    def _index(self) -> SearchIndex:
        return SearchIndex(self._path)

    def crawls(self) -> list[CrawlSummary]:
        """Return all crawls, oldest first."""
        return self._reader.crawls()

    def status(self, crawl: int | str = "latest") -> CrawlStatus:
        """Return the status of a crawl; ConfigError if it does not exist."""
        return self._reader.status(self._reader.crawl_id(str(crawl)))

    def pages(
        self, crawl: int | str = "latest", *, fields: Sequence[str] = FIELDS, **which: Any
    ) -> Iterator[dict[str, Any]]:
        """Yield the pages of a crawl as dicts with these fields.

        which   fields of `Selection`: relevant, min_relevance, since, since_published,
                until_published, host, sort, limit, duplicates. A time is Unix seconds, a date, a
                datetime (UTC without a time zone) or text as `--since` takes it
        """
        for row in self._reader.iter_rows(self._selection(crawl, which), fields):
            values = [
                msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
                for value in row
            ]
            yield dict(zip(fields, values, strict=True))

    def table(
        self, crawl: int | str = "latest", *, fields: Sequence[str] = FIELDS, **which: Any
    ) -> dict[str, list[Any]]:
        """Return the pages of a crawl by column, for `pandas.DataFrame` and similar types."""
        rows = list(self.pages(crawl, fields=fields, **which))
        return {name: [row[name] for row in rows] for name in fields}

    def links(self, crawl: int | str = "latest") -> Iterator[tuple[str, str]]:
        """Yield (URL, URL of a link target) of all followed links, by page."""
        number = self._reader.crawl_id(str(crawl))
        yield from self._reader.read(lambda db: iter_links(db, number))

    def search(
        self, query: str, *, limit: int = 10, offset: int = 0, **which: Any
    ) -> SearchResults:
        """Search the text of pages, best results first; new pages are indexed before."""
        self._index.update()
        chosen = self._selection(which.pop("crawl", "all"), which)
        return search(self._index, query, chosen, limit=limit, offset=offset)

    def why(self, url: str, crawl: int | str = "latest") -> Why:
        """Explain the state of a URL: fetched, waiting, failed, dropped, or unknown."""
        return self._reader.why(self._reader.crawl_id(str(crawl)), url)

    def export(
        self,
        out: str | Path,
        crawl: int | str = "latest",
        *,
        format: str | None = None,
        fields: Sequence[str] = FIELDS,
        **which: Any,
    ) -> int:
        """Write pages to a file (`jsonl`, `csv`, `parquet`, `sqlite`); return their number.

        The format is that of the file's extension by default. The file is written completely or
        not at all.
        """
        rows = self._reader.iter_rows(self._selection(crawl, which), fields)
        file_format = choose_format(format, Path(out))
        return write_rows(rows, field_types(fields), format=file_format, out=Path(out))

    def _selection(self, crawl: int | str, which: dict[str, Any]) -> Selection:
        known = set(Selection.__struct_fields__) - {"crawl"}
        if unknown := sorted(set(which) - known):
            raise ConfigError(
                "unknown selection {unknown!r}; known: {known}",
                unknown=unknown[0],
                known=", ".join(sorted(known)),
            )
        return Selection(crawl=str(crawl), **_read_instants(which))
