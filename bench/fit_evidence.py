"""Fits the weights of `evidence` to labels of a recorded web.

    python -m bench.fit_evidence ARCHIVE TOPICS LABELS [ALIASES] [--topic-files DIR] [--names A,B]
        [--spread 3.2] [--precision 0.88] [--json FILE]

MAP logistic regression over the parts that the model itself gives its pages, visible and
masked. What is believed beforehand (`BELIEFS`) was set by hand: a title says more than a
word in the text. Each topic weighs the same, however many pages it has, and so do its
on-topic pages (a quarter of its weight); no label insists alone.

The bias then moves until the mean precision over topics at a relevance of 0.5 is what was
asked for. Leave one topic out: weights and bias by nine topics, judged on the tenth.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.labelled import World, documents, open_world
from bench.script import read_options, table
from focus.metrics.measures import judge_quality
from focus.score.matching import Matcher
from focus.score.relevance import make_model
from focus.score.relevance.evidence import Evidence
from focus.score.statistics.logistic import fit, sigmoid

BELIEFS = {
    "title": 2.5,
    "keywords": 2.5,
    "description": 1.0,
    "url": 1.5,
    "section": 3.0,
    "breadcrumb": 3.0,
    "cited": 4.5,
    "text": 4.0,
    "lead": 1.0,
    "tag": 4.0,
    "anchors": 2.0,
}
"""Weights believed before any label was seen."""

BIAS = -3.0
POSITIVE = 0.25
"""Share of a topic's weight that its on-topic pages have."""

STEPS = 10
"""Parts are rounded to so many steps: pages that say the same are one row."""

Row = tuple[float, ...]


class Sign(NamedTuple):
    """A page's parts as a row for one topic (1 for the bias first), and its label."""

    row: Row
    label: bool


Signs = dict[str, list[Sign]]
"""Topic -> its labelled pages."""

LeftOut = dict[str, tuple[tuple[float, float], tuple[float, float]]]
"""Topic -> (precision, recall) visible and masked."""


class Fitted(NamedTuple):
    """Bias and weights, in the order of BELIEFS."""

    weights: list[float]

    def relevance(self, row: Row) -> float:
        """As the model would have it: 0 without any sign."""
        return sigmoid(self.sum(row)) if any(row[1:]) else 0.0

    def sum(self, row: Row) -> float:
        """Σ weight·part."""
        return sum(map(float.__mul__, self.weights, row))


def read_signs(world: World) -> tuple[Signs, Signs]:
    """The parts of every labelled page, visible and masked."""
    models = {n: make_model("evidence", Matcher(t.topic), {}) for n, t in world.tasks.items()}
    found: tuple[Signs, Signs] = ({n: [] for n in models}, {n: [] for n in models})
    for page in world.pages():
        both = documents(page)
        for name, model in models.items():
            label = world.labels[name].get(page.key)
            for document, signs in zip(both, found, strict=True):
                if label is not None:
                    signs[name].append(Sign(row_of(model.judge(document).parts), label))
    return found


def row_of(parts: Mapping[str, float]) -> Row:
    """The numbers of a page, a 1 for the bias first."""
    return (1.0, *(float(parts.get(name, 0.0)) for name in BELIEFS))


def fitted(topics: Iterable[Sequence[Sign]], spread: float, precision: float) -> Fitted:
    """The weights that these topics call for; each is a list of pages."""
    topics = [topic for topic in topics if any(each.label for each in topic)]
    weights: Counter[tuple[Row, bool]] = Counter()
    for topic in topics:
        positive = sum(each.label for each in topic)
        shares = {True: POSITIVE / positive, False: (1 - POSITIVE) / (len(topic) - positive or 1)}
        for each in topic:
            coarse = tuple(round(x * STEPS) / STEPS for x in each.row)
            weights[coarse, each.label] += shares[each.label]  # type: ignore[assignment]
    found = fit(
        [row for row, _ in weights],
        [float(label) for _, label in weights],
        prior=[BIAS, *BELIEFS.values()],
        spread=[1e3, *[spread] * len(BELIEFS)],
        times=list(weights.values()),
    )
    return with_precision(Fitted(found), topics, precision)


def with_precision(found: Fitted, topics: Sequence[Sequence[Sign]], precision: float) -> Fitted:
    """The same weights with the largest bias whose mean precision is what was asked for."""
    _, *rest = found.weights
    unbiased = Fitted([0.0, *rest])
    reached = [
        [(unbiased.sum(each.row), each.label) for each in topic if any(each.row[1:])]
        for topic in topics
    ]
    for step in range(200):
        bias = -1.0 - 0.05 * step
        taken = [[label for z, label in topic if z + bias > 0.0] for topic in reached]
        if sum(sum(each) / len(each) for each in taken if each) >= precision * len(topics):
            return Fitted([bias, *rest])
    return found


def quality(signs: Sequence[Sign], model: Fitted) -> tuple[float, float]:
    """Precision and recall on a topic's pages."""
    found = judge_quality([(model.relevance(s.row) > 0.5, s.label) for s in signs])
    return found.precision, found.recall


def leave_one_out(visible: Signs, masked: Signs, spread: float, precision: float) -> LeftOut:
    """Topic -> (precision, recall) visible and masked, by weights of the other topics."""
    found = {}
    for name in visible:
        others = [signs[other] for other in visible if other != name for signs in (visible, masked)]
        model = fitted(others, spread, precision)
        found[name] = (quality(visible[name], model), quality(masked[name], model))
    return found


def main() -> None:
    """Fit, leave one out, print."""
    arguments = read_options(__doc__)
    visible, masked = read_signs(open_world(arguments))
    settings = (arguments.spread, arguments.precision)
    model = fitted([signs[n] for n in visible for signs in (visible, masked)], *settings)
    out = leave_one_out(visible, masked, *settings)
    print(table(["weight", "believed", "fitted", "shipped"], list(_weights(model))))
    print()
    print(table(["left out", "P", "R", "P masked", "R masked"], list(_rates(out))))
    if arguments.json:
        found = {"weights": dict(zip(["bias", *BELIEFS], model.weights, strict=True)), "out": out}
        arguments.json.write_text(json.dumps(found, ensure_ascii=False, indent=1))


def _weights(model: Fitted) -> Iterable[tuple[str, float, float, float]]:
    names, believed = ["bias", *BELIEFS], [BIAS, *BELIEFS.values()]
    for name, before, after in zip(names, believed, model.weights, strict=True):
        yield name, before, after, Evidence.defaults[name]


def _rates(out: LeftOut) -> Iterable[tuple[str | float, ...]]:
    rows = [(*visible, *masked) for visible, masked in out.values()]
    for name, row in zip(out, rows, strict=True):
        yield name, *row
    yield "mean", *(sum(column) / len(rows) for column in zip(*rows, strict=True))


if __name__ == "__main__":
    main()
