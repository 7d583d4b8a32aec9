"""Which blocks of text does a page show, and how much of each is links?"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from selectolax.lexbor import LexborNode

from focus.parse.dom import BLOCKS, BR, HIDDEN, TEXT, A


class Block(msgspec.Struct, frozen=True, gc=False):
    """A run of text in one block element (`p`, `li`, `td`…), white space folded.

    link_chars  how many of its characters are the text of links
    """

    text: str
    link_chars: int
    tag: str


class _Home(NamedTuple):
    """Where the text in an element belongs: to which block, and to a link or not."""

    block: int  # mem_id
    tag: str
    linked: bool


_NOWHERE = _Home(0, "", False)


class BlockReader:
    """Gathers text nodes into blocks while walking the body in document order."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._home = _NOWHERE
        self._pieces: list[str] = []
        self._linked: list[str] = []

    def read(self, body: LexborNode) -> list[Block]:
        """The visible text under a node, block by block."""
        homes = {body.mem_id: _Home(body.mem_id, "body", False)}
        for node in body.traverse(include_text=True):
            above = node.parent
            home = homes.get(above.mem_id) if above is not None else None
            if home is None:  # the body itself, or under something hidden
                continue
            tag_id = node.tag_id
            if tag_id == TEXT:
                self._add(node.text_content or "", home)
            elif tag_id == BR:
                self._add(" ", home)
            elif tag_id in BLOCKS:
                homes[node.mem_id] = _Home(node.mem_id, BLOCKS[tag_id], home.linked)
            elif tag_id not in HIDDEN:
                homes[node.mem_id] = home._replace(linked=True) if tag_id == A else home
        self._end()
        return self._done

    def _add(self, text: str, home: _Home) -> None:
        if home.block != self._home.block:
            self._end()
            self._home = home
        self._pieces.append(text)
        if home.linked:
            self._linked.append(text)

    def _end(self) -> None:
        text = " ".join("".join(self._pieces).split())
        if text:
            link_chars = len(" ".join("".join(self._linked).split()))
            self._done.append(Block(text, link_chars, self._home.tag))
        self._pieces.clear()
        self._linked.clear()
