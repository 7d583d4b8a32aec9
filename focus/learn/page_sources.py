"""Loading of the pages that a user names: files, folders and URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from focus.config import AnalysisConfig
from focus.learn.corpus import HTML_SUFFIXES, TEXT_SUFFIXES, ReportProblem, read_named_pages
from focus.learn.memory_crawl import PageSource, fetch_pages
from focus.learn.topic_building import SourcedPage, make_sourced_page
from focus.score.analysis import PageScorer
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.topic.topic import Topic, from_words, to_builtins
from focus.urls.normal_form import read_url, url_fingerprint

_FILE_URL = "http://file.invalid/page.html"  # the address of a file, which tells nothing
_SUFFIXES = HTML_SUFFIXES | TEXT_SUFFIXES | {".jsonl", ".toml"}


class StoredCrawls(msgspec.Struct, frozen=True):
    """Crawls of a database from which pages are loaded; the newest with a page is used."""

    db: Path
    crawl: str = "latest"


class PageSources(msgspec.Struct, frozen=True):
    """Sources of pages by URL: stored crawls if there are any, otherwise the web."""

    web: PageSource
    stored: StoredCrawls | None = None


def collect_pages(
    places: Sequence[str], sources: PageSources, topic: Topic, report_problem: ReportProblem
) -> list[SourcedPage]:
    """Return the pages of files, folders and URLs, in this order.

    Pages that cannot be read or fetched are passed to `report_problem` and skipped. Raises
    ConfigError for a file that does not exist or an invalid URL.
    """
    urls = [place for place in places if _is_url(place)]
    for url in urls:
        read_url(url)
    pages = _load_urls(urls, sources, topic, report_problem) if urls else {}
    samples: list[SourcedPage] = []
    for place in places:
        if place in urls:
            samples += [pages[place]] if place in pages else []
        else:
            samples += [
                SourcedPage(name, "", page, html)
                for name, page, html in read_named_pages(Path(place), report_problem)
            ]
    return samples


def find_index_pages(pages: Sequence[SourcedPage]) -> list[str]:
    """Return the sources of the pages that list others, such as archives and home pages."""
    topic = to_builtins(from_words("x"))
    scorer = PageScorer(AnalysisConfig(topic=topic, url_patterns=True))
    sources = [
        (page.source, page.source if page.host else _FILE_URL, page.html.encode())
        for page in pages
        if page.html
    ]
    return [
        source
        for source, url, html in sources
        if scorer.score(url, html, "text/html; charset=utf-8", software=None).is_index_page
    ]


def _is_url(place: str) -> bool:
    """Return whether a place is on the web: `http://…`, or a bare host that is not a file."""
    if "://" in place:
        return True
    host, path = place.partition("/")[0], Path(place)
    return "." in host.strip(".") and not path.exists() and path.suffix.lower() not in _SUFFIXES


def _load_urls(
    urls: Sequence[str], sources: PageSources, topic: Topic, report_problem: ReportProblem
) -> dict[str, SourcedPage]:
    if sources.stored is not None:
        return dict(_load_stored(urls, sources.stored, report_problem))
    gathered = asyncio.run(fetch_pages(list(urls), sources.web, topic))
    pages = {page.seed: make_sourced_page(page.url, page.html) for page in gathered.pages}
    for url in urls:
        if url not in pages:
            reason = gathered.failures.get(url, "nothing came of it; is it the page of another?")
            report_problem(f"{url}: {reason}")
    return pages


def _load_stored(
    urls: Sequence[str], stored: StoredCrawls, report_problem: ReportProblem
) -> Iterator[tuple[str, SourcedPage]]:
    with DatabaseReader(stored.db) as reader:
        crawls = reader.crawl_ids(stored.crawl)[::-1]
        for url in urls:
            page = _find_stored_page(reader, crawls, url)
            if page is None:
                report_problem(f"{url}: no such page in {stored.db} (crawl {stored.crawl})")
            elif not page.html:
                report_problem(f"{url}: its text was not kept (see `focus crawl --keep`)")
            else:
                yield url, make_sourced_page(page.url, page.html)


def _find_stored_page(
    reader: DatabaseReader, crawls: Sequence[int], url: str
) -> labels.ScoredPage | None:
    target = read_url(url)
    for crawl in crawls:
        find = partial(labels.find_page_row, crawl=crawl, url=url, key=url_fingerprint(target))
        row = reader.read(find)
        if row is not None:
            return reader.read(partial(labels.load_page, row=row))
    return None
