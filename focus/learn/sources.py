"""Loads the pages that a user names: files, folders and URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from focus.learn.corpus import HTML, TEXT, Complain, read_named
from focus.learn.memory_crawl import PageSource, fetch_pages
from focus.learn.topics import SourcedPage, sample
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.topic.topic import Topic
from focus.urls.normal_form import seed_candidates, url_fingerprint

_FILES = HTML | TEXT | {".jsonl", ".toml"}


class StoredCrawls(msgspec.Struct, frozen=True):
    """Crawls of a database that pages may come from, the first that has one."""

    db: Path
    crawl: str = "latest"


class Sources(msgspec.Struct, frozen=True):
    """The sources of pages by URL: these crawls if they are given, else that web."""

    web: PageSource
    stored: StoredCrawls | None = None


def collect(
    places: Sequence[str], sources: Sources, topic: Topic, complain: Complain
) -> list[SourcedPage]:
    """The pages of files, folders and URLs, in this order.

    What cannot be read or fetched is complained of, the rest is kept. ConfigError for a file
    that is not there, and for what is no URL.
    """
    urls = [place for place in places if _is_url(place)]
    for url in urls:
        seed_candidates(url)
    found = _pages_of(urls, sources, topic, complain) if urls else {}
    samples: list[SourcedPage] = []
    for place in places:
        if place in urls:
            samples += [found[place]] if place in found else []
        else:
            samples += [SourcedPage(w, "", page) for w, page in read_named(Path(place), complain)]
    return samples


def _is_url(place: str) -> bool:
    """Whether a place is on the web: `http://…`, or a bare host that no file is named like."""
    if "://" in place:
        return True
    host, path = place.partition("/")[0], Path(place)
    return "." in host.strip(".") and not path.exists() and path.suffix.lower() not in _FILES


def _pages_of(
    urls: Sequence[str], sources: Sources, topic: Topic, complain: Complain
) -> dict[str, SourcedPage]:
    if sources.stored is not None:
        return dict(_stored(urls, sources.stored, complain))
    gathered = asyncio.run(fetch_pages(list(urls), sources.web, topic))
    found = {page.seed: sample(page.url, page.html) for page in gathered.pages}
    for url in urls:
        if url not in found:
            reason = gathered.failures.get(url, "nothing came of it; is it the page of another?")
            complain(f"{url}: {reason}")
    return found


def _stored(
    urls: Sequence[str], stored: StoredCrawls, complain: Complain
) -> Iterator[tuple[str, SourcedPage]]:
    with DatabaseReader(stored.db) as reader:
        crawls = reader.ids(stored.crawl)[::-1]
        for url in urls:
            page = _stored_page(reader, crawls, url)
            if page is None:
                complain(f"{url}: no such page in {stored.db} (crawl {stored.crawl})")
            elif not page.html:
                complain(f"{url}: its text was not kept (see `focus crawl --keep`)")
            else:
                yield url, sample(page.url, page.html)


def _stored_page(
    reader: DatabaseReader, crawls: Sequence[int], url: str
) -> labels.JudgedPage | None:
    target = seed_candidates(url)[0]
    for crawl in crawls:
        find = partial(labels.row_of, crawl=crawl, url=url, key=url_fingerprint(target))
        row = reader.run(find)
        if row is not None:
            return reader.run(partial(labels.page, row=row))
    return None
