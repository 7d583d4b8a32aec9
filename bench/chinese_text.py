"""Measures main content on Chinese pages that were marked by reading.

    python -m bench.chinese_text [ARCHIVE …] [--half N]

bench/chinese_text.tsv has the marks: URL, and the beginnings of the first and the last block of the
main content. Rules for marking: the content is what the author wrote for this page, from the first
paragraph or sub-heading below the title to the last one before tags, licence, donations, comments
and neighbouring pages; code and references belong to it. On an index page it begins with the
title of the first entry and ends with the last entry. Between the marks everything belongs to it.

Prints the mean F1 of pairs of characters for focus, for the run of blocks with the largest sum
without names of parts, and for trafilatura. `--half` 0 or 1 takes pages by the MD5 of their URL.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from bench.script import read_options
from focus.archive.replay import Archive
from focus.html import main_content
from focus.html.blocks import Block
from focus.html.markdown import to_text
from focus.html.parser import main_text_from_html, parse_blocks
from focus.text.charset import decode

MARKS = Path(__file__).with_suffix(".tsv")


def marked_pages(archives: list[Path], half: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield URL, source and marked text of the pages in the archives."""
    with MARKS.open(encoding="utf-8", newline="") as file:
        marks = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for path in archives:
        with Archive.open(path) as archive:
            for mark in marks:
                digest = int(
                    hashlib.md5(mark["url"].encode(), usedforsecurity=False).hexdigest(), 16
                )
                answer = archive.lookup(mark["url"])
                if answer.failure is None and half in (None, digest % 2):
                    html = decode(answer.body, answer.header("content-type"))[0]
                    yield mark["url"], html, _between(parse_blocks(html), mark)


def _between(blocks: list[Block], mark: dict[str, str]) -> str:
    texts = [block.text for block in blocks]
    start = next(n for n, text in enumerate(texts) if text.startswith(mark["first"]))
    end = max(n for n, text in enumerate(texts) if text.startswith(mark["last"]))
    return "\n".join(texts[start : end + 1])


def pair_f1(text: str, truth: str) -> float:
    """Return F1 of the pairs of characters, white space left out."""
    ours, theirs = (Counter(pairwise("".join(t.split()))) for t in (text, truth))
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


def heaviest_run(html: str) -> str:
    """Return the text of the heaviest run of blocks, as before names of parts were read."""
    blocks = parse_blocks(html)
    is_frame = main_content._find_imprints(blocks)
    return "\n".join(b.text for b in main_content._heaviest_blocks(blocks, is_frame))


def main() -> None:
    """Measure and print."""
    options = read_options(__doc__)
    methods: dict[str, Callable[[str, str], str]] = {
        "focus": lambda html, _: main_text_from_html(html),
        "heaviest run": lambda html, _: heaviest_run(html),
        "trafilatura": to_text,
    }
    scores: dict[str, list[float]] = {name: [] for name in methods}
    for url, html, truth in marked_pages(options.archive, options.half):
        for name, extract in methods.items():
            scores[name].append(pair_f1(extract(html, url), truth))
    for name, values in scores.items():
        print(f"{name}: F1 {sum(values) / len(values):.3f} of {len(values)} pages")


if __name__ == "__main__":
    main()
