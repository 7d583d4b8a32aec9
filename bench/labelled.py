"""Opens a recorded web with its labelled pages, for the scripts that measure relevance models.

    world = open_world(arguments)          ARCHIVE TOPICS LABELS [ALIASES] and two options
    for page in world.pages(): …           each labelled page once, decoded
    documents(page)                        as it is, and with its meta data masked

Not a script. Whatever sees labels here never reaches a crawl.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from focus.archive.replay import Archive
from focus.config import AnalysisConfig
from focus.evaluate.judgments import (
    Remarks,
    TopicTask,
    canonical,
    page_key,
    read_aliases,
    read_labels,
    read_topics,
)
from focus.html.parser import parse
from focus.score.relevance import Document
from focus.text.charset import decode
from focus.topic.topic import from_toml
from focus.urls.normal_form import words


class LabelledPage(NamedTuple):
    """A page that has a label for some topic; `key` is what labels call it by."""

    key: str
    url: str
    source: str


class World(NamedTuple):
    """A recorded web, its topics and its labels (topic -> page key -> on topic?)."""

    path: Path
    tasks: dict[str, TopicTask]
    labels: dict[str, dict[str, bool]]
    aliases: dict[str, str]

    def pages(self) -> Iterator[LabelledPage]:
        """Every labelled page of the archive, each once."""
        known = {page for by_page in self.labels.values() for page in by_page}
        with Archive.open(self.path) as archive:
            for url in archive.urls():
                key = page_key(url)
                if key in known and key not in self.aliases:
                    answer = archive.lookup(url)
                    if answer.failure is None and answer.redirect_to is None:
                        source, _ = decode(answer.body, answer.header("content-type"))
                        yield LabelledPage(key, url, source)

    def page_of(self, url: str) -> str:
        """What labels call a URL."""
        return canonical(page_key(url), self.aliases)


def open_world(arguments: Any) -> World:
    """Read the files of a recorded web; DIR/NAME.toml in place of a topic's words."""
    remarks = Remarks()
    tasks = {task.name: task for task in read_topics(_text(arguments.topics), "topics")}
    wanted = arguments.names.split(",") if arguments.names else list(tasks)
    chosen = {name: _with_file(tasks[name], arguments.topic_files) for name in wanted}
    aliases = read_aliases(_text(arguments.aliases), remarks) if arguments.aliases else {}
    labels = read_labels(_text(arguments.labels), tasks, aliases, remarks)
    return World(arguments.archive, chosen, {name: labels[name] for name in chosen}, aliases)


def _with_file(task: TopicTask, folder: Path | None) -> TopicTask:
    file = folder / f"{task.name}.toml" if folder is not None else None
    if file is None or not file.is_file():
        return task
    return TopicTask(from_toml(file.read_text("utf-8"), str(file)), task.seeds)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")


def documents(page: LabelledPage) -> tuple[Document, Document]:
    """The page as it is, and with its meta keywords and description masked."""
    parsed = parse(page.source, max_links=AnalysisConfig().max_links)
    visible, masked = (
        Document(
            title=parsed.title,
            keywords=parsed.keywords if shown else "",
            description=parsed.description if shown else "",
            headings=parsed.headings,
            links=parsed.links,
            crumbs=parsed.crumbs,
            url_words=words(page.url),
            url=page.url,
            source=page.source.encode("utf-8", "replace"),
            blocks=parsed.blocks,
            region=parsed.region,
        )
        for shown in (True, False)
    )
    for name in ("blocks", "main", "source"):
        masked.__dict__[name] = getattr(visible, name)  # read once
    return visible, masked


def sample(archive: Archive, number: int, *, seed: int, at_least: int = 0) -> list[LabelledPage]:
    """So many HTML pages drawn from an archive, of at least so many bytes; labelled or not."""
    urls = list(archive.urls())
    Random(seed).shuffle(urls)
    found = []
    for url in urls:
        answer = archive.lookup(url)
        kind = (answer.header("content-type") or "").lower()
        if answer.redirect_to is None and "html" in kind and len(answer.body) >= at_least:
            source, _ = decode(answer.body, kind)
            found.append(LabelledPage(page_key(url), url, source))
            if len(found) == number:
                break
    return found
