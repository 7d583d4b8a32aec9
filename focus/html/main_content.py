"""Separates the main content of a page from the text of the site around it.

P3 3.3-3.4 splits a page into blocks, drops links, navigation and version lines, keeps blocks with
sentence punctuation and takes the heaviest part of the page. Here the weight of a block is its
number of characters outside links minus those in links, and the main content is the run of blocks
with the largest sum (found in one pass, Kadane). So a table of scores or a poem without a full
stop is included, and a menu between two menus is not.

A page with hardly any text is an index page, whose links are its content. The links of a list are
titles, those of a menu are single words: there a block weighs its length minus `MENU_WORD_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from focus.html.parser import Block, parse_blocks

MAX_LINK_SHARE = 0.6  # of a block in the run; above it, a list of related pages
MAX_GAP = 400  # characters; maximum cost of one interruption, such as a table of contents
MIN_SENTENCE_CHARS = 40  # characters outside links of a sentence without punctuation
IMPRINT_COST = 40  # a copyright line ends the content unless much more text follows
MIN_TEXT_WEIGHT = 200  # a lighter text is replaced by a list of twice its weight
MENU_WORD_BYTES = 10  # UTF-8 bytes of a word in a menu: ten letters, three ideographs
_MAX_IMPRINT = 200

_PUNCTUATION = re.compile("[，。？！；、,?!;]|[.](?=\\s|$)")
_IMPRINT = re.compile(
    "©|copyright|all rights reserved|powered by|theme by|版权所有|版權所有"
    "|备案|许可协议|許可協議|本站总访问|本文链接|转载请注明"
)


def main_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of the main content in document order; [] for a page without any.

    Example, characters outside/in links: menu 0/30, heading 8/0, text 290/5, list of links
    0/60, text 50/0, menu 0/40. Sums: 0, 8, 293, 233, 283, 243: the result is heading and first
    text. With a second text of 80 characters the sum reaches 313, and both texts are in the
    result without the links between them. Nine links of 30 letters and nothing else are no text,
    but a list of weight 9·(30 - 10) = 180, so the result is the links.
    """
    imprints = [_is_imprint(block) for block in blocks]
    first, end, weight = _heaviest_run(
        blocks, [len(b.text) - 2 * b.link_chars for b in blocks], imprints
    )
    max_link_share = MAX_LINK_SHARE
    if weight < MIN_TEXT_WEIGHT:
        title_weights = [len(b.text.encode("utf-8", "replace")) - MENU_WORD_BYTES for b in blocks]
        run = _heaviest_run(blocks, title_weights, imprints)
        if run[2] > 2 * weight:
            first, end, max_link_share = run[0], run[1], 1.0
    return [
        block
        for block, imprint in zip(blocks[first:end], imprints[first:end], strict=True)
        if not imprint and block.link_chars <= max_link_share * len(block.text)
    ]


def main_text_from_html(html: str) -> str:
    """Return the `main_text` of a page, given its source."""
    return main_text(parse_blocks(html))


def main_text(blocks: Sequence[Block]) -> str:
    """Return the text of `main_blocks`, one line per block."""
    return "\n".join(block.text for block in main_blocks(blocks))


def _heaviest_run(
    blocks: Sequence[Block], weights: Iterable[int], imprints: Iterable[bool]
) -> tuple[int, int, int]:
    """Return start, end and sum of the run of blocks with the largest sum.

    Blocks between two sentences cost `MAX_GAP` together at most.
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
    own_chars = len(block.text) - block.link_chars
    return own_chars >= MIN_SENTENCE_CHARS or _PUNCTUATION.search(block.text) is not None


def _is_imprint(block: Block) -> bool:
    if len(block.text) > _MAX_IMPRINT:
        return False
    return _IMPRINT.search(block.text.lower()) is not None
