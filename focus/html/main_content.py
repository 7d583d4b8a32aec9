"""Separates the main content of a page from the text of the site around it.

P3 3.3-3.4 splits a page into blocks, drops links, navigation and version lines, keeps
what holds sentence punctuation and takes the part of the page that weighs most. Here a
block weighs its characters outside links minus those in links, and the own text is the
run of blocks with the largest sum (found in one pass, Kadane). So a table of scores or
a poem without any full stop stays in, and a menu between two menus does not.

A page with hardly any text is a list: then its links are what it says. Those of a list
are titles, those of a menu are single words: a block weighs its length over `MENU`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from focus.html.parser import Block, blocks_of

MAX_LINK_SHARE = 0.6  # of a block within the text: more is a list of related pages
MAX_GAP = 400  # characters: what one interruption (a table of contents) can cost
SENTENCE = 40  # characters that make a block a sentence without punctuation
IMPRINT_COST = 40  # a copyright line ends the text unless much more follows
LISTING = 200  # a text that weighs less gives way to a list of twice its weight
MENU = 10  # bytes of UTF-8 that a menu's word has: ten letters, three ideographs
_MAX_IMPRINT = 200

_PUNCTUATION = re.compile("[，。？！；、,?!;]|[.](?=\\s|$)")
_IMPRINT = re.compile(
    "©|copyright|all rights reserved|powered by|theme by|版权所有|版權所有"
    "|备案|许可协议|許可協議|本站总访问|本文链接|转载请注明"
)


def main_blocks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page's own text, in document order; [] for a page of links only.

    Worked, characters outside/in links: menu 0/30, heading 8/0, text 290/5, list of links
    0/60, text 50/0, menu 0/40. Sums: 0, 8, 293, 233, 283, 243: heading and first text are
    it. With a second text of 80 characters the sum reaches 313, and both texts are; the
    links between them are left out. Nine links of 30 letters and nothing else: no text, but
    as a list 9·(30 - 10) = 180, so they are it.
    """
    imprints = [_is_imprint(block) for block in blocks]
    first, end, weight = _heaviest_run(
        blocks, [len(b.text) - 2 * b.link_chars for b in blocks], imprints
    )
    share = MAX_LINK_SHARE
    if weight < LISTING:
        titles = [len(b.text.encode("utf-8", "replace")) - MENU for b in blocks]
        run = _heaviest_run(blocks, titles, imprints)
        if run[2] > 2 * weight:
            first, end, share = run[0], run[1], 1.0
    return [
        block
        for block, imprint in zip(blocks[first:end], imprints[first:end], strict=True)
        if not imprint and block.link_chars <= share * len(block.text)
    ]


def own_text(html: str) -> str:
    """The own text of a page by its source: `main_text` of its blocks."""
    return main_text(blocks_of(html))


def main_text(blocks: Sequence[Block]) -> str:
    """The text of `main_blocks`, a line each."""
    return "\n".join(block.text for block in main_blocks(blocks))


def _heaviest_run(
    blocks: Sequence[Block], weights: Iterable[int], imprints: Iterable[bool]
) -> tuple[int, int, int]:
    """Where the run of blocks with the largest sum begins and ends, and that sum.

    What stands between two sentences costs `MAX_GAP` at most, however much it is.
    """
    best = total = gap = 0
    first = end = start = 0
    for at, (weight, imprint) in enumerate(zip(weights, imprints, strict=True)):
        if total <= 0:
            total, start, gap = 0, at, 0
        if imprint:
            weight = -IMPRINT_COST
        if weight < 0:
            weight = max(weight, gap - MAX_GAP)
            gap -= weight
        elif gap and _is_sentence(blocks[at]):
            gap = 0
        total += weight
        if total > best:
            best, first, end = total, start, at + 1
    return first, end, best


def _is_sentence(block: Block) -> bool:
    free = len(block.text) - block.link_chars
    return free >= SENTENCE or _PUNCTUATION.search(block.text) is not None


def _is_imprint(block: Block) -> bool:
    if len(block.text) > _MAX_IMPRINT:
        return False
    return _IMPRINT.search(block.text.lower()) is not None
