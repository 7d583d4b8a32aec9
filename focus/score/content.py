"""Which part of a page is its own text, and which belongs to the site around it?

P3 3.3-3.4 splits a page into blocks, drops links, navigation and version lines, keeps
what holds sentence punctuation and takes the part of the page that weighs most. Here a
block weighs its characters outside links minus those in links, and the own text is the
run of blocks with the largest sum (found in one pass, Kadane). So a table of scores or
a poem without any full stop stays in, and a menu between two menus does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from focus.parse import Block

MAX_LINK_SHARE = 0.6  # of a block within the text: more is a list of related pages
MAX_GAP = 400  # characters: what one interruption (a table of contents) can cost
SENTENCE = 40  # characters that make a block a sentence without punctuation
IMPRINT_COST = 40  # a copyright line ends the text unless much more follows
_MAX_IMPRINT = 200

_PUNCTUATION = re.compile("[，。？！；、,?!;]|[.](?=\\s|$)")
_IMPRINT = re.compile(
    "©|copyright|all rights reserved|powered by|theme by|版权所有|版權所有|备案|许可协议"
    "|許可協議|本站总访问|本文链接|转载请注明",
    re.IGNORECASE,
)


def main_blocks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page's own text, in document order; [] for a page of links only.

    Worked, characters outside/in links: menu 0/30, heading 8/0, text 90/5, list of links
    0/60, text 50/0, menu 0/40. Sums: 0, 8, 93, 33, 83, 43: heading and first text are it.
    With a second text of 80 characters the sum reaches 113, and both texts are; the links
    between them are left out.
    """
    first, end = _heaviest_run(blocks)
    return [
        block
        for block in blocks[first:end]
        if block.link_chars <= MAX_LINK_SHARE * len(block.text) and not _is_imprint(block)
    ]


def main_text(blocks: Sequence[Block]) -> str:
    """The text of `main_blocks`, a line each."""
    return "\n".join(block.text for block in main_blocks(blocks))


def _heaviest_run(blocks: Sequence[Block]) -> tuple[int, int]:
    """Where the run of blocks with the largest sum begins and ends.

    Links between two sentences cost `MAX_GAP` at most, however many they are.
    """
    best = total = gap = 0
    first = end = start = 0
    for at, block in enumerate(blocks):
        if total <= 0:
            total, start, gap = 0, at, 0
        weight = _weight(block)
        if weight < 0:
            weight = max(weight, gap - MAX_GAP)
            gap -= weight
        elif gap and _is_sentence(block):
            gap = 0
        total += weight
        if total > best:
            best, first, end = total, start, at + 1
    return first, end


def _weight(block: Block) -> int:
    return -IMPRINT_COST if _is_imprint(block) else len(block.text) - 2 * block.link_chars


def _is_sentence(block: Block) -> bool:
    free = len(block.text) - block.link_chars
    return free >= SENTENCE or _PUNCTUATION.search(block.text) is not None


def _is_imprint(block: Block) -> bool:
    return len(block.text) <= _MAX_IMPRINT and _IMPRINT.search(block.text) is not None
