"""Makes the inputs of a comparison from a crawl: a recorded web, topics and labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus.archive.recorder import packed_record, warc_date
from focus.errors import ConfigError
from focus.storage.labels import load_labels, load_pages, load_redirects
from focus.storage.reader import DatabaseReader
from focus.storage.whole_file import open_whole, write_whole
from focus.topic.topic import from_builtins
from focus.topic.topic_file import to_toml

PAGES_PER_READ = 200


class CrawlInputs(NamedTuple):
    """The files of a comparison; `labels` is None if `focus label` was not used for the topic."""

    archive: Path
    topics: Path
    labels: Path | None
    seeds: int
    relevance: str


def write_inputs(database: Path, crawl: str, folder: Path) -> CrawlInputs:
    """Write the inputs of a comparison on the pages of a crawl; equal crawls give equal files.

    Raises ConfigError if the database holds no page with its source.
    """
    with DatabaseReader(database) as reader:
        number = reader.crawl_id(crawl)
        settings = reader.load_config(number)
        topic = from_builtins(settings.analysis.topic)
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder / "web.warc.gz"
        with open_whole(archive) as file:
            pages = 0
            for record in _iter_records(reader, number):
                file.write(record)
                pages += 1
        labels = reader.read(partial(load_labels, topic=topic.name))
    if not pages:
        raise ConfigError(
            "{database}: has no page with its source; crawl with --keep all", database=database
        )
    write_whole(folder / "topic.toml", to_toml(topic).encode())
    entry = {"name": topic.name, "file": "topic.toml", "seeds": settings.seeds}
    write_whole(folder / "topics.json", msgspec.json.format(msgspec.json.encode([entry])))
    text = io.StringIO()
    rows = csv.writer(text, delimiter="\t", lineterminator="\n")
    rows.writerow(("url", "topic", "label", "evidence"))
    rows.writerows((label.url, topic.name, int(label.is_relevant), "person") for label in labels)
    write_whole(folder / "labels.tsv", text.getvalue().encode())
    return CrawlInputs(
        archive,
        folder / "topics.json",
        folder / "labels.tsv" if labels else None,
        len(settings.seeds),
        settings.analysis.relevance,
    )


def _iter_records(reader: DatabaseReader, crawl: int) -> Iterator[bytes]:
    """Yield pages and redirects of a crawl as WARC records, without the time of the crawl."""
    after = -1
    while pages := reader.read(partial(load_pages, crawl=crawl, after=after, limit=PAGES_PER_READ)):
        after = pages[-1].request_number
        for page in pages:
            if page.html:
                head = b"200 OK\r\nContent-Type: text/html; charset=utf-8"
                yield _record(page.url, head, page.html.encode("utf-8", "replace"))
    for url, target in reader.read(partial(load_redirects, crawl=crawl)):
        yield _record(url, b"302 Found\r\nLocation: " + target.encode(), b"")


def _record(url: str, head: bytes, body: bytes) -> bytes:
    fields = [
        ("WARC-Type", "response"),
        ("WARC-Target-URI", url),
        ("WARC-Date", warc_date(0.0)),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    return packed_record(fields, b"HTTP/1.1 " + head + b"\r\n\r\n", body)
