"""Measures what entities add to naive Bayes, as P3 4.5 has it, on labelled pages.

    python -m bench.bayes_p3 --archive FILE --labels FILE [--on 足球] [--off 机器学习] [--kb FILE]
        [--features 500] [--select ig] [--pages 600] [--mask]

Two classes of a recorded web by its labels (url, topic, label), as P3 takes two classes of
a news corpus. Prints P, R, F with and without entities: five-fold cross-validation on all
pages, then with few training pages (mean of several draws) and the rest as test; and the
Brier score and the number of distinct relevances, raw and calibrated.
"""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from bench.script import read_options
from focus.archive.replay import Archive
from focus.learn.corpus import of_html
from focus.learn.kb.base import KnowledgeBase, shipped
from focus.learn.training import (
    Example,
    Extractor,
    TrainingOptions,
    examples,
    telling,
    with_entities,
)
from focus.score.matching import Matcher
from focus.score.relevance import Document
from focus.score.statistics.feature_selection import LabelledWords, count
from focus.score.statistics.naive_bayes import (
    RAW,
    Chooser,
    ClassifierTest,
    assess,
    chooser,
    folds,
    train,
    validate,
    verdict,
)
from focus.text.charset import decode
from focus.topic.topic import from_words

FEW = (5, 10, 20, 50)
DRAWS = 10


def labelled(path: Path, topic: str, label: str) -> list[str]:
    """URLs with this label, sorted."""
    packed = path.suffix == ".gz"
    with (
        gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as lines
    ):
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return sorted({row[0] for row in rows if len(row) > 2 and row[1:3] == [topic, label]})


def fetch(archive: Archive, urls: Sequence[str], number: int, *, mask: bool) -> Iterator[Document]:
    """Pages of these URLs, a fixed sample of them if there are more."""
    chosen = sorted(Random(0).sample(urls, number)) if len(urls) > number else urls
    for url in chosen:
        result = archive.lookup(url)
        if result.body and result.failure is None:
            page = of_html(decode(result.body, result.header("content-type"))[0])
            if mask:
                page.keywords = page.description = ""
            yield page


def show(name: str, found: ClassifierTest) -> None:
    p, r, f = found.quality
    print(f"  {name:32} P {p:6.1%}  R {r:6.1%}  F {f:6.1%}", end="  ")
    print(f"Brier {found.brier:.4f}  distinct {found.distinct}")


def crossed(pages: Sequence[Example], plan: TrainingOptions, brought: set[str]) -> None:
    """Cross-validation on all pages."""
    for name, entities in (("words", False), ("words and entities", True)):
        samples = [page.sample(entities=entities) for page in pages]
        choose = with_entities(plan, brought) if entities else chooser(plan.select, plan.number)
        parts = folds(samples, plan.parts, Random(plan.seed))
        raw, calibrated = assess(validate(samples, parts, choose), parts)
        show(name, raw)
        show(f"{name}, calibrated", calibrated)


def few(pages: Sequence[Example], plan: TrainingOptions, brought: set[str]) -> None:
    """Training on n pages of each kind, tested on all the others."""
    on, off = ([p for p in pages if p.is_on is kind] for kind in (True, False))
    for number in FEW:
        if 2 * number > min(len(on), len(off)):
            break
        found = {False: 0.0, True: 0.0}
        for draw in range(DRAWS):
            rng = Random(draw)
            taken = {id(p) for each in (on, off) for p in rng.sample(each, number)}
            for entities in found:
                samples = [(p.sample(entities=entities), id(p) in taken) for p in pages]
                found[entities] += tested(samples, plan, brought if entities else None) / DRAWS
        print(f"  {number:3} training pages of each kind     F {found[False]:6.1%}", end="  ")
        print(f"with entities {found[True]:6.1%}")


def tested(
    samples: Sequence[tuple[LabelledWords, bool]], plan: TrainingOptions, brought: set[str] | None
) -> float:
    """F on the pages that were not trained on."""
    choose: Chooser = (
        chooser(plan.select, plan.number) if brought is None else with_entities(plan, brought)
    )
    counts = count(sample for sample, seen in samples if seen)
    model = train(counts, choose(counts))
    rest = [sample for sample, seen in samples if not seen]
    probabilities = [RAW.probability(model.log_odds(words)) for words, _ in rest]
    return verdict(probabilities, [is_on for _, is_on in rest]).quality.f1


def main() -> None:
    options = read_options(__doc__)
    plan = TrainingOptions(options.select, options.features)
    segmenter = Matcher(from_words(options.on)).segmenter
    kb = KnowledgeBase.open(options.kb, segmenter) if options.kb else shipped(segmenter)
    on = labelled(options.labels, options.on, "1")
    if options.off == "other":
        off = labelled(options.labels, options.on, "0")
    else:
        off = sorted(set(labelled(options.labels, options.off, "1")) - set(on))
    extractor = Extractor(segmenter, kb)
    with Archive.open(options.archive) as archive:
        found = [
            example
            for urls, is_on in ((on, True), (off, False))
            for example in examples(
                fetch(archive, urls, options.pages, mask=options.mask), is_on, extractor
            )
        ]
    pages = telling(found, extractor)
    number = sum(page.is_on for page in pages)
    print(f"{options.on} ({number} pages) against {options.off} ({len(pages) - number}),", end=" ")
    print(f"{options.features} features by {options.select}")
    brought = {each for page in pages for each in page.expansion}
    crossed(pages, plan, brought)
    few(pages, plan, brought)


if __name__ == "__main__":
    main()
