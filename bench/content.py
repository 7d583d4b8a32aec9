"""Compares the main content that we take out of a page with trafilatura's, and its cost.

    python -m bench.content ARCHIVE [--pages 200] [--seed 0] [--worst 10] [--json FILE]

On pages drawn from a recorded web: overlap of words (a multiset: n times there, n times
here) with trafilatura's result, as F1; trafilatura must be installed (pip install
trafilatura), no part of focus needs it. Pages for which both find nothing count as 1, for
which one does as 0. And CPU milliseconds beyond the parse, per page and per 30 KB of it,
blocks included.
"""

import json
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import trafilatura

from bench.labelled import LabelledPage, sample
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.html.main_content import main_text
from focus.html.parser import parse
from focus.text.tokenisation import Segmenter


class Compared(NamedTuple):
    """One page: precision and recall of our words against theirs, F1, sizes, cost."""

    url: str
    precision: float
    recall: float
    f1: float
    ours: int
    theirs: int
    kilobytes: float
    blocks_ms: float
    content_ms: float


def compare(page: LabelledPage, segmenter: Segmenter) -> Compared:
    """Our main text and trafilatura's."""
    parsed = parse(page.source)
    began = time.process_time()
    blocks = parsed.blocks()
    between = time.process_time()
    text = main_text(blocks)
    ended = time.process_time()
    other = trafilatura.extract(page.source, include_comments=False) or ""
    ours, theirs = (Counter(segmenter.tokens(each)) for each in (text, other))
    common, a, b = (sum(each.values()) for each in (ours & theirs, ours, theirs))
    alike = 0.0 if a or b else 1.0
    return Compared(
        url=page.url,
        precision=common / a if a else alike,
        recall=common / b if b else alike,
        f1=2 * common / (a + b) if a or b else alike,
        ours=a,
        theirs=b,
        kilobytes=len(page.source.encode("utf-8", "replace")) / 1000,
        blocks_ms=1000 * (between - began),
        content_ms=1000 * (ended - between),
    )


def summary(pages: Sequence[Compared]) -> list[tuple[str, float, float]]:
    """Mean and median of each number."""
    size = sum(each.kilobytes for each in pages)
    found: list[tuple[str, float, float]] = []
    for name in ("f1", "precision", "recall", "kilobytes", "blocks_ms", "content_ms"):
        values = [getattr(each, name) for each in pages]
        found.append((name, statistics.fmean(values), statistics.median(values)))
    for name in ("blocks_ms", "content_ms"):
        total = sum(getattr(each, name) for each in pages)
        rates = [30 * getattr(each, name) / each.kilobytes for each in pages]
        found.append((f"{name} per 30 KB", 30 * total / size, statistics.median(rates)))
    return found


def main() -> None:
    """Compare, print, and write what was asked for."""
    arguments = read_options(__doc__)
    with Archive.open(arguments.archive) as archive:
        drawn = sample(archive, arguments.pages, seed=arguments.seed)
    segmenter = Segmenter()
    found = [compare(page, segmenter) for page in drawn]
    print(table(["", "mean", "median"], summary(found)))
    print(f"\nF1 under 0.5: {sum(each.f1 < 0.5 for each in found)} of {len(found)}; the worst:\n")
    worst = sorted(found, key=lambda each: each.f1)[: arguments.worst]
    head = ["F1", "P", "R", "our words", "theirs", "page"]
    print(table(head, [(c.f1, c.precision, c.recall, c.ours, c.theirs, c.url) for c in worst]))
    if arguments.json:
        rows = [each._asdict() for each in found]
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
