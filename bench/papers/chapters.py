"""Measures what P3's chapters 3 and 4 say: a page's content, and a classifier with entities.

    python -m bench.papers.chapters ARCHIVE LABELS [--pages 200] [--on 足球] [--off 机器学习]

Chapter 3 is held against trafilatura (pip install trafilatura) on so many pages drawn from the
recorded web; chapter 4 is five-fold cross-validation on all labelled pages of two topics, and
the mean of ten draws of few training pages, with the knowledge base that comes with focus.
bench/results/p3-chapters.json is written, which `write.py` puts on docs/results.md.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

from bench import content
from bench.bayes_p3 import DRAWS, fetch, labelled, tested
from bench.labelled import sample
from bench.script import read_options
from focus.archive.replay import Archive
from focus.learn.kb.base import shipped
from focus.learn.training import (
    Example,
    Extractor,
    TrainingOptions,
    examples,
    telling,
    with_entities,
)
from focus.metrics.significance import mean
from focus.score.matching import Matcher
from focus.score.statistics.naive_bayes import assess, chooser, folds, validate
from focus.text.tokenisation import Segmenter
from focus.topic.topic import from_words

RESULTS = Path(__file__).parents[1] / "results" / "p3-chapters.json"
FEW = (5, 20)


def main() -> None:
    """Measure both chapters and write what came out."""
    given = read_options(__doc__)
    with Archive.open(given.archive) as archive:
        drawn = sample(archive, given.pages, seed=0)
        pages, entities = _examples(given, archive)
    segmenter = Segmenter()
    found = [content.compare(page, segmenter) for page in drawn]
    result = {
        "content": {
            "pages": len(found),
            **{
                name: mean([getattr(c, name) for c in found])
                for name in ("precision", "recall", "f1")
            },
        },
        "classifier": {
            "on": given.on,
            "off": given.off,
            "pages": [sum(page.is_on for page in pages), sum(not page.is_on for page in pages)],
            "rows": [*_crossed(pages, entities), *_few(pages, entities)],
        },
    }
    RESULTS.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _examples(given: Any, archive: Archive) -> tuple[list[Example], set[str]]:
    segmenter = Matcher(from_words(given.on)).segmenter
    extractor = Extractor(segmenter, shipped(segmenter))
    on = labelled(given.labels, given.on, "1")
    off = sorted(set(labelled(given.labels, given.off, "1")) - set(on))
    found = [
        example
        for urls, is_on in ((on, True), (off, False))
        for example in examples(fetch(archive, urls, 600, mask=False), is_on, extractor)
    ]
    pages = telling(found, extractor)
    return pages, {each for page in pages for each in page.expansion}


def _crossed(pages: list[Example], entities: set[str]) -> list[dict[str, Any]]:
    """P, R and F of five-fold cross-validation, with and without entities."""
    plan, rows = TrainingOptions("ig", 500), []
    for with_them in (False, True):
        samples = [page.sample(entities=with_them) for page in pages]
        choose = with_entities(plan, entities) if with_them else chooser(plan.select, plan.number)
        parts = folds(samples, plan.parts, Random(plan.seed))
        raw, _ = assess(validate(samples, parts, choose), parts)
        p, r, f = raw.quality
        rows.append({"train": "four fifths", "entities": with_them, "p": p, "r": r, "f": f})
    return rows


def _few(pages: list[Example], entities: set[str]) -> list[dict[str, Any]]:
    """F with few training pages of each kind, tested on all the others."""
    plan, rows = TrainingOptions("ig", 500), []
    on, off = ([p for p in pages if p.is_on is kind] for kind in (True, False))
    for number in FEW:
        for with_them in (False, True):
            scores = []
            for draw in range(DRAWS):
                rng = Random(draw)
                taken = {id(p) for each in (on, off) for p in rng.sample(each, number)}
                samples = [(p.sample(entities=with_them), id(p) in taken) for p in pages]
                scores.append(tested(samples, plan, entities if with_them else None))
            rows.append({"train": f"{number} of each", "entities": with_them, "f": mean(scores)})
    return rows


if __name__ == "__main__":
    main()
