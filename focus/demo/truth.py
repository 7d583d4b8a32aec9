"""Writes the labels of a generated web as files: topics.json and label tables.

The formats are those of the recorded web that strategies are compared on, so that
one reader serves both: `topics.json`, `labels.tsv` (url, topic, label, evidence),
`hubs.tsv` (url, topic, note) and `aliases.tsv` (url, canonical_url, kind).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from focus.demo.hosts import TOPICS
from focus.demo.plan import Article
from focus.demo.site import DemoWeb


def write_truth(web: DemoWeb, folder: Path) -> None:
    """Write the four files into `folder`, which is made if needed. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    topics = json.dumps(web.topics(), ensure_ascii=False, indent=1)
    (folder / "topics.json").write_text(topics + "\n", encoding="utf-8")
    _write(folder / "labels.tsv", ("url", "topic", "label", "evidence"), _labels(web))
    _write(folder / "hubs.tsv", ("url", "topic", "note"), _hubs(web))
    aliases = ((url, page, "redirect-301") for url, page in web.aliases().items())
    _write(folder / "aliases.tsv", ("url", "canonical_url", "kind"), aliases)


def _write(path: Path, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in (head, *rows))


def _labels(web: DemoWeb) -> Iterator[tuple[str, ...]]:
    for topic, subjects in TOPICS.items():
        for url, label in web.labels(topic).items():
            evidence = _evidence(web.article_at(url), subjects)
            yield url, topic, str(int(label)), evidence


def _evidence(article: Article | None, subjects: frozenset[str]) -> str:
    """Why the generator says so: the part that the subject plays in the article."""
    if article is None:
        return "generator:no-article"
    draft = article.draft
    if draft.subject in subjects:
        return f"generator:subject:{draft.subject}"
    if draft.second in subjects:
        return f"generator:second-subject:{draft.second}"
    if draft.mention in subjects:
        return f"generator:mentioned-in-passing:{draft.subject}"
    return f"generator:other-subject:{draft.subject}"


def _hubs(web: DemoWeb) -> Iterator[tuple[str, ...]]:
    for topic in TOPICS:
        for url in web.hubs(topic):
            yield url, topic, "list, tag page, channel or special of the topic"
