"""How good is each relevance model as a judge? Precision and recall against labels.

    python bench/judges.py ARCHIVE TOPICS_JSON LABELS_TSV_GZ [ALIASES_TSV]
        [--models cosine,evidence] [--topic-files DIR] [--as-published] [--scan] [--json FILE]

Every labelled page of the archive is judged for every topic that has a label for it, with
its meta keywords and description visible and masked. Macro means over the topics.

    --topic-files  DIR/NAME.toml in place of a topic's words, where there is one
    --scan         also the threshold that would be best by F1 (to tune by, not to quote)
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from focus.archive import Archive
from focus.charset import decode
from focus.config import AnalysisConfig
from focus.judge import Remarks, canonical, page_key, read_aliases, read_labels, read_topics
from focus.parse import parse
from focus.score.match import Matcher
from focus.score.relevance import RELEVANCE, Document, Model, make_model
from focus.topic import Topic, from_toml
from focus.urls import words

GRID = [round(0.01 * n, 2) for n in range(1, 100)]


class Scored(NamedTuple):
    """A page's label and what a model said of it."""

    label: bool
    relevance: float


Scores = dict[tuple[str, str, bool], list[Scored]]
"""(model, topic, masked) -> all its pages."""


def labelled(
    archive: Archive, known: set[str], aliases: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """(page, URL, decoded source) of every labelled page, each once."""
    for url in archive.urls():
        page = page_key(url)
        if page not in known or page in aliases:
            continue
        answer = archive.lookup(url)
        if answer.failure is None and answer.redirect_to is None:
            yield page, url, decode(answer.body, answer.header("content-type"))[0]


def documents(url: str, source: str) -> dict[bool, Document]:
    """The page as it is, and with its meta data masked."""
    parsed = parse(source, max_links=AnalysisConfig().max_links)
    made: dict[bool, Document] = {}
    for masked in (False, True):
        made[masked] = Document(
            title=parsed.title,
            keywords="" if masked else parsed.keywords,
            description="" if masked else parsed.description,
            headings=parsed.headings,
            links=parsed.links,
            url_words=words(url),
            source=source,
            blocks=parsed.blocks,
        )
    made[True].__dict__["blocks"] = made[False].blocks  # read once
    return made


def judge_all(
    pages: Iterator[tuple[str, str, str]],
    labels: dict[str, dict[str, bool]],
    models: dict[str, dict[str, Model]],
) -> tuple[Scores, dict[str, float]]:
    """All scores, and seconds spent by model."""
    scores: Scores = {}
    spent = dict.fromkeys(models, 0.0)
    for page, url, source in pages:
        made = documents(url, source)
        for name, by_topic in models.items():
            began = time.perf_counter()
            for topic, model in by_topic.items():
                label = labels[topic].get(page)
                if label is None:
                    continue
                for masked, document in made.items():
                    scored = Scored(label, model.judge(document).relevance)
                    scores.setdefault((name, topic, masked), []).append(scored)
            spent[name] += time.perf_counter() - began
    return scores, spent


def precision_recall(scored: Sequence[Scored], threshold: float) -> tuple[float, float]:
    """Of the pages over the threshold the share on topic; of those on topic the share over it."""
    hits = sum(each.label for each in scored if each.relevance > threshold)
    taken = sum(each.relevance > threshold for each in scored)
    return hits / max(1, taken), hits / max(1, sum(each.label for each in scored))


def macro(rates: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Mean precision, mean recall, and their F1."""
    p, r = (sum(column) / len(rates) for column in zip(*rates, strict=True))
    return p, r, 2 * p * r / (p + r) if p + r else 0.0


def topics_of(arguments: argparse.Namespace) -> dict[str, Topic]:
    """The topics by name: of their words, or of their files where there are some."""
    path = Path(arguments.topics)
    found = {task.name: task.topic for task in read_topics(path.read_text("utf-8"), str(path))}
    for name in found:
        file = Path(arguments.topic_files or ".") / f"{name}.toml"
        if arguments.topic_files and file.is_file():
            found[name] = from_toml(file.read_text("utf-8"), str(file))
    return found


def report(
    scores: Scores, models: dict[str, dict[str, Model]], *, scan: bool
) -> list[dict[str, object]]:
    """A row per model and mask, printed and returned."""
    rows: list[dict[str, object]] = []
    for name, by_topic in models.items():
        for masked in (False, True):
            by = {topic: scores[name, topic, masked] for topic in by_topic}
            own = {topic: model.threshold for topic, model in by_topic.items()}
            rates = {topic: precision_recall(scored, own[topic]) for topic, scored in by.items()}
            p, r, f = macro(list(rates.values()))
            row = {"model": name, "masked": masked, "P": p, "R": r, "F1": f, "topics": rates}
            line = (
                f"{name:<10} {'masked' if masked else 'meta':<7} P {p:.3f}  R {r:.3f}  F1 {f:.3f}"
            )
            if scan:
                tried = [(macro([precision_recall(s, t) for s in by.values()]), t) for t in GRID]
                (p, r, f), at = max(tried, key=lambda pair: pair[0][2])
                line += f"   best F1 {f:.3f} at {at:.2f}: P {p:.3f} R {r:.3f}"
                row["best"] = {"threshold": at, "P": p, "R": r, "F1": f}
            print(line, "  ", " ".join(f"{t} {p:.2f}/{r:.2f}" for t, (p, r) in rates.items()))
            rows.append(row)
    return rows


def main() -> None:
    """Judge, print, and write what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("archive", "topics", "labels"):
        parser.add_argument(name)
    parser.add_argument("aliases", nargs="?")
    parser.add_argument("--models", default=",".join(n for n in RELEVANCE if n != "bayes"))
    parser.add_argument("--topic-files")
    parser.add_argument("--as-published", action="store_true")
    parser.add_argument("--scan", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    topics, remarks = topics_of(arguments), Remarks()
    aliases = (
        read_aliases(Path(arguments.aliases).read_text("utf-8"), remarks)
        if arguments.aliases
        else {}
    )
    with gzip.open(arguments.labels, "rt", encoding="utf-8") as lines:
        labels = read_labels(lines.read(), topics, aliases, remarks)
    known = {canonical(page, aliases) for by_page in labels.values() for page in by_page}
    matchers = {name: Matcher(topic) for name, topic in topics.items()}
    published = arguments.as_published
    models = {
        name: {t: make_model(name, m, {}, as_published=published) for t, m in matchers.items()}
        for name in arguments.models.split(",")
    }
    with Archive.open(Path(arguments.archive)) as archive:
        scores, spent = judge_all(labelled(archive, known, aliases), labels, models)
    rows = report(scores, models, scan=arguments.scan)
    judged = {
        name: sum(len(scores[name, t, m]) for t in topics for m in (False, True)) for name in models
    }
    print("ms per judgement:", " ".join(f"{n} {1e3 * s / judged[n]:.3f}" for n, s in spent.items()))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
