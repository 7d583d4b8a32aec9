"""Reads topics, labels and relevance judgments (qrels) from files, for evaluation only.

Labels never reach a crawl: they are read after the fetching, in another process than the one that
fetched. The files (tab-separated, one header line):

    topics.json   [{"name", "keywords": [word or "word:0.8"], "seeds": [URL]}, …];
                  "file" may name a topic file in place of keywords, "model" the file that
                  `focus research train` wrote, both relative to the folder of topics.json
    labels.tsv    url, topic, label (1 relevant, 0 not), evidence; or relevance judgments in
                  TREC's qrels format: topic, iteration, url, grade, separated by white space,
                  no header
    hubs.tsv      url, topic, note: index pages, whose labels are removed
    aliases.tsv   url, canonical_url, kind: variants of a page, counted once

Input that cannot be used is counted and reported (`Remarks`), never ignored silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from focus.errors import ConfigError, TopicError, refuse_deep_nesting
from focus.i18n import mark, msg
from focus.topic.topic import Topic, from_words
from focus.topic.topic_file import read_topic_file
from focus.urls.normal_form import seed_candidates

_URL = re.compile(r"https?://([^/?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_QREL = re.compile(r"(\S+)\s+\S+\s+(https?://\S+)\s+(-?\d+)\s*")
_DEFAULT_PORT = re.compile(r":(?:80|443)?\Z")


def page_key(url: str) -> str:
    """Return the key of a URL in label files: `A.com:80/%E8%B6%B3#top` -> `a.com/足`.

    Scheme, user, fragment and a default port are dropped; the host is in lower case, the path is
    percent-decoded (bytes that are not UTF-8 stay distinct).
    """
    match = _URL.match(url.strip())
    if match is None:
        return url.strip()
    host, path, query = match.groups("")
    name = _DEFAULT_PORT.sub("", host.rpartition("@")[2].lower())
    return name + unquote_to_bytes(path or "/").decode("utf-8", "surrogateescape") + query


class Remark(msgspec.Struct):
    """A kind of input that could not be used, how often it occurred, and an example."""

    what: str
    count: int
    example: str


class Remarks:
    """Remarks on the input, one per kind."""

    def __init__(self) -> None:
        self._remarks: dict[str, Remark] = {}

    def add(self, what: str, example: str, *, count: int = 1) -> None:
        """Add `count` occurrences of a kind."""
        if count:
            remark = self._remarks.setdefault(what, Remark(what, 0, example))
            remark.count += count

    def as_list(self) -> list[Remark]:
        """Return all remarks in the order in which their kinds first occurred."""
        return list(self._remarks.values())


class TopicTask(msgspec.Struct, frozen=True):
    """A topic to crawl for, with its seeds."""

    topic: Topic
    seeds: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the topic in the label files."""
        return self.topic.name


class _TopicEntry(msgspec.Struct):
    name: str
    keywords: list[str] = []
    seeds: list[str] = []
    file: str | None = None
    model: str | None = None


def read_topics(text: str, where: str, folder: Path = Path()) -> list[TopicTask]:
    """Return the topics of a topics.json in `folder`; unknown keys are ignored.

    Raises TopicError for a file or an entry that cannot be used.
    """
    try:
        with refuse_deep_nesting():
            entries = msgspec.json.decode(text, type=list[_TopicEntry])
    except ValueError as error:
        raise TopicError("{where}: {what}", where=where, what=error) from None
    tasks = [_make_task(entry, where, folder) for entry in entries]
    names = [task.name for task in tasks]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None or not tasks:
        raise TopicError(
            "{where}: {what}",
            where=where,
            what=msg("topic {name!r} stands twice", name=duplicate) if tasks else msg("no topic"),
        )
    return tasks


def _make_task(entry: _TopicEntry, where: str, folder: Path) -> TopicTask:
    at = f"{where}: topic {entry.name!r}"
    try:
        topic = _make_topic(entry, folder)
        for seed in entry.seeds:
            seed_candidates(seed)
    except ConfigError as error:
        raise TopicError("{where}: {what}", where=at, what=error) from None
    seeds = tuple(entry.seeds) or topic.seeds
    if not seeds:
        raise TopicError("{at} has no seed", at=at)
    model = str(folder / entry.model) if entry.model is not None else topic.model
    return TopicTask(msgspec.structs.replace(topic, name=entry.name, model=model), seeds)


def _make_topic(entry: _TopicEntry, folder: Path) -> Topic:
    """Return the topic of an entry, from its file or its keywords."""
    if entry.file is None:
        return from_words(",".join(entry.keywords))
    if entry.keywords:
        raise TopicError('has both "keywords" and "file"; give one of them')
    return read_topic_file(folder / entry.file)


def select_topics(tasks: Iterable[TopicTask], names: Iterable[str]) -> list[TopicTask]:
    """Return the topics with these names, or all topics without names.

    Raises TopicError if one is missing.
    """
    by_name = {task.name: task for task in tasks}
    selected = list(dict.fromkeys(names)) or list(by_name)
    for name in selected:
        if name not in by_name:
            raise TopicError(
                "--topic {name}: not in the topics file; it has: {known}",
                name=name,
                known=", ".join(by_name),
            )
    return [by_name[name] for name in selected]


class Judge:
    """The judge of whether a page is relevant to a topic: labels, or a relevance model.

    Args:
        kind: "labels", or "self-judged: MODEL" if a model replaces labels.
        labels: Topic -> page -> whether it is relevant; a missing page is unlabelled.
        aliases: Page -> the page of which it is a variant.
    """

    def __init__(
        self, kind: str, labels: Mapping[str, Mapping[str, bool]], aliases: Mapping[str, str]
    ) -> None:
        self.kind = kind
        self._labels = labels
        self._aliases = aliases

    def canonical_page(self, url: str) -> str:
        """Return the page that a URL is counted as."""
        return resolve_alias(page_key(url), self._aliases)

    def topic_labels(self, topic: str) -> Mapping[str, bool]:
        """Return the labels of a topic, by page."""
        return self._labels.get(topic, {})

    def labelled_pages(self) -> set[str]:
        """Return every page that has a label."""
        return {page for labels in self._labels.values() for page in labels}


def resolve_alias(page: str, aliases: Mapping[str, str]) -> str:
    """Return the last page of a chain of aliases, or `page` if the chain is a circle."""
    chain = [page]
    while (page := aliases.get(page, page)) not in chain:
        chain.append(page)
    return page if page == chain[-1] else chain[0]


def read_aliases(text: str, remarks: Remarks) -> dict[str, str]:
    """Return page -> canonical page from an aliases.tsv."""
    rows = _read_rows(text, 2, "aliases", remarks)
    return {page_key(url): page_key(canonical_url) for url, canonical_url, *_ in rows}


def read_labels(
    text: str, topics: Iterable[str], aliases: Mapping[str, str], remarks: Remarks
) -> dict[str, dict[str, bool]]:
    """Return topic -> page -> label from a labels.tsv or a file of TREC's qrels.

    A page labelled 1 and 0 counts as 1.
    """
    labels: dict[str, dict[str, bool]] = {topic: {} for topic in topics}
    for url, topic, label, *_ in _parse_qrels(text, remarks) or _read_rows(
        text, 3, "labels", remarks
    ):
        if label not in ("0", "1"):
            remarks.add(mark("labels that are neither 0 nor 1"), f"{label!r} of {url}")
        elif topic not in labels:
            remarks.add(mark("labels of unknown topics"), topic)
        else:
            page, is_on = resolve_alias(page_key(url), aliases), label == "1"
            if labels[topic].setdefault(page, is_on) != is_on:
                remarks.add(mark("pages labelled both 0 and 1 (counted as 1)"), page)
                labels[topic][page] = True
    return labels


def _parse_qrels(text: str, remarks: Remarks) -> list[tuple[str, str, str]]:
    """Return URL, topic and label of each relevance judgment, none if `text` is no qrels file.

    Example: `football 0 http://a.test/ 2` gives `("http://a.test/", "football", "1")`; a grade of
    0 or less gives the label 0.
    """
    if not _QREL.fullmatch(text.partition("\n")[0]):
        return []
    judgments = []
    for line in filter(str.strip, text.splitlines()):
        if match := _QREL.fullmatch(line):
            topic, url, grade = match.groups()
            judgments.append((url, topic, "1" if int(grade) > 0 else "0"))
        else:
            remarks.add("broken lines in the labels", line[:80])
    return judgments


def remove_hub_labels(
    labels: dict[str, dict[str, bool]], text: str, aliases: Mapping[str, str], remarks: Remarks
) -> None:
    """Remove the labels of the index pages that a hubs.tsv lists."""
    for url, topic, *_ in _read_rows(text, 2, "hubs", remarks):
        if topic not in labels:
            remarks.add(mark("hubs of unknown topics"), topic)
        elif labels[topic].pop(resolve_alias(page_key(url), aliases), None) is not None:
            remarks.add(mark("labelled pages that are hubs (left out)"), url)


def _read_rows(text: str, min_fields: int, what: str, remarks: Remarks) -> Iterator[list[str]]:
    """Yield the fields of each line after the header."""
    for line in text.split("\n")[1:]:
        fields = line.rstrip("\r").split("\t")
        if len(fields) >= min_fields and all(field.strip() for field in fields[:min_fields]):
            yield fields
        elif line.strip():
            remarks.add(f"broken lines in the {what}", line[:80])


def describe_topic(task: TopicTask) -> dict[str, Any]:
    """Return name, keywords and seeds of a topic as plain data, for reports."""
    return {
        "name": task.name,
        "keywords": [
            f"{k.text}:{k.weight:g}" if k.weight != 1 else k.text for k in task.topic.keywords
        ],
        "seeds": list(task.seeds),
    }
