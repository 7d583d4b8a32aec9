"""Cuts a page into blocks of text, each with the share of it that is links."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from selectolax.lexbor import LexborNode

from focus.html.dom import BLOCKS, BR, HIDDEN, TEXT, A


class Block(msgspec.Struct, frozen=True, gc=False):
    """A run of text in one block element (`p`, `li`, `td`…), white space folded.

    link_chars  how many of its characters are the text of links; of a menu (首页 | 社会 | 足球)
                all: what stands between links and is no word belongs to them
    """

    text: str
    link_chars: int
    tag: str


class _Place(NamedTuple):
    """Where the text in an element belongs: to which block, and to a link or not."""

    block: int
    tag: str
    linked: bool


class BlockReader:
    """Gathers text nodes into blocks while walking the body in document order.

    From child to sibling by hand: asking each node of a traversal for its parent takes
    nearly twice as long.
    """

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._block = -1
        self._tag = ""
        self._pieces: list[str] = []
        self._linked: list[str] = []

    def read(self, body: LexborNode) -> list[Block]:
        """The visible text under a node, block by block."""
        place, blocks = _Place(0, "body", False), 0
        rest: list[tuple[LexborNode | None, _Place]] = []  # where to go on after an element
        node = body.first_child
        while node is not None or rest:
            if node is None:
                node, place = rest.pop()
                continue
            tag_id = node.tag_id
            child = None
            if tag_id == TEXT:
                self._add(node.text_content or "", place)
            elif tag_id == BR:
                self._add(" ", place)
            elif tag_id not in HIDDEN:
                child = node.first_child
            if child is None:
                node = node.next
                continue
            rest.append((node.next, place))
            node = child
            if tag_id in BLOCKS:
                blocks += 1
                place = _Place(blocks, BLOCKS[tag_id], place.linked)
            elif tag_id == A:
                place = _Place(place.block, place.tag, True)
        self._end()
        return self._done

    def _add(self, text: str, place: _Place) -> None:
        if place.block != self._block:
            self._end()
            self._block, self._tag = place.block, place.tag
        self._pieces.append(text)
        if place.linked:
            self._linked.append(text)

    def _end(self) -> None:
        text = " ".join("".join(self._pieces).split())
        if text:
            link_chars = len(" ".join("".join(self._linked).split()))
            if len(text) < 4 * link_chars and sum(map(str.isalnum, text)) <= link_chars:
                link_chars = len(text)
            self._done.append(Block(text, link_chars, self._tag))
        self._pieces.clear()
        self._linked.clear()
