"""Measures precision and recall of each relevance model against labels.

    python -m bench.judges ARCHIVE TOPICS LABELS [ALIASES] [--topic-files DIR] [--names A,B]
        [--models A,B] [--as-published] [--negatives N] [--judgments FILE]
        [--leave-one-out] [--scan] [--keep NAME]

Every labelled page of the archive is judged for every topic that has a label for it, with
its meta keywords and description visible and masked. Means over the topics (macro), and
over all judgements (micro); reliability: of what is judged p, the share that is on topic.

`bayes` needs labelled pages of its own: it is trained on 200 pages of each kind from one
half of the pages (drawn by a hash of their addresses) and judges the other half, both ways.

    --topic-files    DIR/NAME.toml in place of a topic's words, where there is one
    --negatives      so many off-topic pages per topic, drawn by hash, each counting for
                     more: precision keeps its expectation, and the run is shorter
    --judgments      a judgments.tsv of `focus judge` in place of the labels: its topics and pages,
                     each with its weight, ½ for what is partly on topic
    --leave-one-out  also `evidence` with weights fitted to the other topics only
    --scan           also the threshold that would be best by F1 (to tune by, not to quote)
    --keep           put what is visible under this name in bench/results/judge.json, from which
                     `python -m bench.quality` writes its part of docs/quality.md
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from bench.fit_evidence import leave_one_out, read_signs
from bench.judge_section import keep
from bench.labelled import World, documents, open_world
from bench.script import read_options, table
from focus.evaluate.pools import from_tsv
from focus.learn.training import Example, Extractor, TrainingOptions, examples, train_on
from focus.score.matching import Matcher
from focus.score.relevance import RELEVANCE, Document, Model, make_model, model_class
from focus.score.relevance.bayes import Bayes

GRID = [round(0.01 * n, 2) for n in range(1, 100)]
MASKS = ("visible", "masked")
TRAINED_ON = 200
BINS = 10


class Scored(NamedTuple):
    """A page's label (1 on topic, ½ partly, 0 off), what a model said, pages it stands for."""

    label: float
    relevance: float
    times: float


Scores = dict[tuple[str, str, str], list[Scored]]
"""(model, topic, mask) -> all its pages."""


class Wanted(NamedTuple):
    """The label of a page that is to be judged, and how many pages it stands for."""

    label: float
    times: float


WantedPages = dict[str, dict[str, Wanted]]
"""Topic -> page key -> what is wanted of it."""


class Judges:
    """The models of one topic, by name. `bayes` is two: each judges what it has not seen."""

    def __init__(self, matcher: Matcher, names: Sequence[str], *, as_published: bool) -> None:
        self.matcher = matcher
        plain = [name for name in names if model_class(name) is not Bayes]
        self.models = {n: make_model(n, matcher, {}, as_published=as_published) for n in plain}
        self.trained: list[Model] = []

    def model(self, name: str, key: str) -> Model:
        """The model of that name for the page of this key."""
        return self.models[name] if name in self.models else self.trained[half(key)]

    def threshold(self, name: str) -> float:
        """Over it a page counts as relevant."""
        return self.models[name].threshold if name in self.models else Bayes.threshold


def half(key: str) -> int:
    """0 or 1: the half of all pages that a page belongs to."""
    return crc32(key.encode("utf-8", "replace")) & 1


def drawn(labels: Mapping[str, bool], negatives: int | None) -> dict[str, Wanted]:
    """The pages of a topic to be judged: all that are on it, and so many of the others."""
    off = sorted(
        (key for key, on in labels.items() if not on),
        key=lambda key: crc32(key.encode("utf-8", "replace"), 7),
    )
    taken = off if negatives is None else off[:negatives]
    others = Wanted(0.0, len(off) / len(taken) if taken else 1.0)
    return {key: Wanted(1.0, 1.0) for key, on in labels.items() if on} | dict.fromkeys(
        taken, others
    )


def read_pages(world: World, file: Path) -> WantedPages:
    """The pages that were judged by reading, of the topics chosen."""
    found: WantedPages = {}
    for page in from_tsv(file.read_text("utf-8"), file.name):
        if page.topic in world.tasks and page.said:
            wanted = Wanted(page.value, page.weight)
            found.setdefault(page.topic, {})[world.page_of(page.url)] = wanted
    return found


# -- bayes --------------------------------------------------------------------------


def train_bayes(world: World, judges: Mapping[str, Judges]) -> None:
    """Two classifiers per topic: the first of pages of half 1, the second of half 0."""
    wanted = {name: _training(world.labels[name]) for name in judges}
    found: dict[str, tuple[list[Example], list[Example]]] = {n: ([], []) for n in wanted}
    extractors = {name: Extractor(each.matcher.segmenter) for name, each in judges.items()}
    for page in world.pages():
        names = [name for name, keys in wanted.items() if page.key in keys]
        if names:
            visible, _ = documents(page)
            for name in names:
                label = world.labels[name][page.key]
                one = examples([visible], label, extractors[name])
                found[name][1 - half(page.key)].extend(one)
    for name, both in found.items():
        for pages in both:
            model = Bayes(judges[name].matcher, {})
            trained = train_on(pages, extractors[name], TrainingOptions())
            model.adopt(msgspec.msgpack.encode(trained.classifier()))
            judges[name].trained.append(model)


def _training(labels: Mapping[str, bool]) -> set[str]:
    """Keys of at most `TRAINED_ON` pages of each kind and half."""
    ordered = sorted(labels, key=lambda key: crc32(key.encode("utf-8", "replace"), 3))
    return {
        key
        for on in (True, False)
        for part in (0, 1)
        for key in [k for k in ordered if labels[k] is on and half(k) == part][:TRAINED_ON]
    }


# -- judging ------------------------------------------------------------------------


def judge_all(
    world: World, judges: Mapping[str, Judges], names: Sequence[str], wanted: WantedPages
) -> tuple[Scores, dict[str, float]]:
    """All scores, and milliseconds per judgement by model."""
    scores: Scores = {}
    spent, judged = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
    labels = {topic: dict.fromkeys(pages, True) for topic, pages in wanted.items()}
    for page in world._replace(labels=labels).pages():
        topics = [topic for topic, pages in wanted.items() if page.key in pages]
        both = documents(page)
        for name in names:
            began = time.perf_counter()
            for topic in topics:
                model = judges[topic].model(name, page.key)
                _judge(scores, (name, topic), model, (both, wanted[topic][page.key]))
            spent[name] += time.perf_counter() - began
            judged[name] += 2 * len(topics)
    return scores, {name: 1000 * spent[name] / max(1, judged[name]) for name in names}


def _judge(
    scores: Scores,
    where: tuple[str, str],
    model: Model,
    page: tuple[tuple[Document, Document], Wanted],
) -> None:
    both, (label, times) = page
    for mask, document in zip(MASKS, both, strict=True):
        scored = Scored(label, model.judge(document).relevance, times)
        scores.setdefault((*where, mask), []).append(scored)


class Rates(NamedTuple):
    """Precision and recall, and what they are made of."""

    precision: float
    recall: float
    hits: float
    taken: float
    wanted: float


def rates(scored: Sequence[Scored], threshold: float) -> Rates:
    """Of the pages over the threshold the share on topic; of those on topic the share over it."""
    taken = [each for each in scored if each.relevance > threshold]
    hits, weight = sum(e.times * e.label for e in taken), sum(e.times for e in taken)
    wanted = sum(e.times * e.label for e in scored)
    return Rates(hits / (weight or 1.0), hits / (wanted or 1.0), hits, weight, wanted)


def f1(precision: float, recall: float) -> float:
    """Their harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def macro(found: Sequence[Rates]) -> tuple[float, float, float]:
    """Mean precision, mean recall, mean F1 over topics."""
    n = len(found)
    return (
        sum(r.precision for r in found) / n,
        sum(r.recall for r in found) / n,
        sum(f1(r.precision, r.recall) for r in found) / n,
    )


def micro(found: Sequence[Rates]) -> tuple[float, float]:
    """Precision and recall over all judgements of all topics."""
    hits = sum(r.hits for r in found)
    return hits / (sum(r.taken for r in found) or 1.0), hits / (sum(r.wanted for r in found) or 1.0)


class Bin(NamedTuple):
    """Pages of about the same relevance: how many, their mean, the share on topic.

    judged   so many were judged, and stand for `weight`
    """

    weight: float
    said: float
    true: float
    judged: int


def reliability(scored: Sequence[Scored]) -> list[Bin]:
    """Ten bins of equal width over 0…1, empty ones left out; a relevance of 0 is no judgement."""
    bins = []
    for n in range(BINS):
        low, high = n / BINS, (n + 1) / BINS
        of = [e for e in scored if low < e.relevance <= high]
        if weight := sum(e.times for e in of):
            said = sum(e.relevance * e.times for e in of) / weight
            true = sum(e.times * e.label for e in of) / weight
            bins.append(Bin(weight, said, true, len(of)))
    return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: Σ weight·|said - true| / Σ weight.

    Worked: 3 judged .9 of which 2 are on topic, 1 judged .1 that is not: (3·.233 + .1)/4 = .2.
    """
    weight = sum(each.weight for each in bins)
    return sum(e.weight * abs(e.said - e.true) for e in bins) / weight if weight else 0.0


# -- the report ---------------------------------------------------------------------


class Row(NamedTuple):
    """A model under a mask: its rates by topic at its own threshold."""

    model: str
    mask: str
    threshold: float
    topics: dict[str, Rates]
    best: tuple[float, float, float, float] | None


def rows_of(
    scores: Scores, judges: Mapping[str, Judges], names: Sequence[str], *, scan: bool
) -> list[Row]:
    found = []
    for name in names:
        for mask in MASKS:
            by = {topic: scores[name, topic, mask] for topic in judges}
            own = {topic: each.threshold(name) for topic, each in judges.items()}
            at_own = {topic: rates(scored, own[topic]) for topic, scored in by.items()}
            tried = [(*macro([rates(s, t) for s in by.values()]), t) for t in GRID] if scan else []
            best = max(tried, key=lambda each: each[2], default=None)
            found.append(Row(name, mask, next(iter(own.values())), at_own, best))
    return found


def print_report(rows: Sequence[Row], *, scan: bool) -> None:
    head = ["model", "meta", "threshold", "P", "R", "F1", "P micro", "R micro"]
    lines: list[tuple[object, ...]] = [
        (
            r.model,
            r.mask,
            f"{r.threshold:g}",
            *macro(list(r.topics.values())),
            *micro(list(r.topics.values())),
        )
        for r in rows
    ]
    if scan:
        head += ["best F1", "at", "P", "R"]
        lines = [
            (*line, r.best[2], r.best[3], *r.best[:2])
            for line, r in zip(lines, rows, strict=True)
            if r.best
        ]
    print(table(head, lines))
    topics = list(rows[0].topics)
    print("\nP / R by topic\n")
    print(
        table(
            ["model", "meta", *topics],
            [
                (
                    r.model,
                    r.mask,
                    *(f"{r.topics[t].precision:.2f} / {r.topics[t].recall:.2f}" for t in topics),
                )
                for r in rows
            ],
        )
    )


def print_reliability(scores: Scores, names: Sequence[str]) -> None:
    print("\nReliability: judged, said, on topic; expected calibration error\n")
    for name in names:
        for mask in MASKS:
            bins = reliability(all_of(scores, name, mask))
            told = "; ".join(f"{e.weight:.0f} {e.said:.2f} {e.true:.2f}" for e in bins)
            print(f"{name}, meta {mask}: error {calibration_error(bins):.3f} ({told})")


def all_of(scores: Scores, name: str, mask: str) -> list[Scored]:
    """What a model said of the pages of all topics."""
    return [e for (m, _, k), of in scores.items() if (m, k) == (name, mask) for e in of]


def summary(row: Row, scored: Sequence[Scored]) -> dict[str, Any]:
    """What docs/quality.md tells of a model: means over topics, and its reliability."""
    precision, recall, f = macro(list(row.topics.values()))
    bins = reliability(scored)
    return {
        "topics": {name: [of.precision, of.recall] for name, of in row.topics.items()},
        "judged": len(scored),
        "precision": precision,
        "recall": recall,
        "f1": f,
        "error": calibration_error(bins),
        "bins": [each._asdict() for each in bins],
    }


def left_out(world: World) -> list[tuple[object, ...]]:
    """`evidence` with weights of the other topics: a row per topic, and the mean."""
    found = leave_one_out(*read_signs(world), spread=3.2, precision=0.88)
    rows = [(*visible, *masked) for visible, masked in found.values()]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return [*((t, *r) for t, r in zip(found, rows, strict=True)), ("mean", *mean)]


def main() -> None:
    """Judge, print, and write what was asked for."""
    arguments = read_options(__doc__)
    world, names = open_world(arguments), (arguments.models or ",".join(RELEVANCE)).split(",")
    wanted = (
        read_pages(world, arguments.judgments)
        if arguments.judgments
        else {topic: drawn(of, arguments.negatives) for topic, of in world.labels.items()}
    )
    judges = {
        name: Judges(Matcher(world.tasks[name].topic), names, as_published=arguments.as_published)
        for name in wanted
    }
    if "bayes" in names:
        train_bayes(world, judges)
    scores, spent = judge_all(world, judges, names, wanted)
    rows = rows_of(scores, judges, names, scan=arguments.scan)
    print_report(rows, scan=arguments.scan)
    print_reliability(scores, names)
    print("\nms per judgement:", ", ".join(f"{n} {ms:.2f}" for n, ms in spent.items()))
    if arguments.leave_one_out:
        print("\n`evidence`, weights of the other topics\n")
        print(table(["left out", "P", "R", "P masked", "R masked"], left_out(world)))
    if arguments.keep:
        visible = [row for row in rows if row.mask == MASKS[0]]
        found = {r.model: summary(r, all_of(scores, r.model, r.mask)) for r in visible}
        keep(arguments.keep, found)


if __name__ == "__main__":
    main()
