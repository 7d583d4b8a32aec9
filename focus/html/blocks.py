"""Splits a page into blocks of text, each with its share of link text and the parts it is in."""

from __future__ import annotations

import re

import msgspec
from selectolax.lexbor import LexborNode

from focus.html import page_parts
from focus.html.dom import BLOCKS, BR, HIDDEN, TEXT, A, P, tag_ids
from focus.html.page_parts import PLAIN, element_role, hidden_elements, role_by_tag
from focus.text.visible import fold_white_space

_TEXT_TAGS = frozenset((TEXT, BR))
_UNREAD_TAGS = (HIDDEN.keys() | tag_ids("rt rp video audio canvas").keys()) - tag_ids(
    "noscript"
).keys()
_UNNAMED_TAGS = tag_ids(
    "a abbr acronym b bdi bdo big code dd del dt em font h1 h2 h3 h4 h5 h6 i ins kbd li mark q ruby"
    " s samp small strike strong sub sup tbody td th thead tr tt u var wbr"
)
"""Elements whose names tell nothing; not to read their attributes saves a quarter of the time. In
code, comments are elements with that name."""
_DIGITS = "0123456789"
_NON_WORD = re.compile(r"[\W_]")


class Block(msgspec.Struct, gc=False):
    """A run of text in one block element (`p`, `li`, `td`…), white space folded.

    link_chars  number of characters that are link text; in a menu (首页 | 社会 | 足球) all of them,
                because the separators between links belong to the links
    parts       bits of the parts of the page that it is in (`page_parts.PARTS`)
    is_main     whether it belongs to the main content
    """

    text: str
    link_chars: int
    tag: str
    parts: int = 0
    is_main: bool = True

    @property
    def is_linked(self) -> bool:
        """Whether at least half of the text is link text, as in a menu or a list."""
        return 2 * self.link_chars >= len(self.text)


class Root(msgspec.Struct, gc=False):
    """A run of blocks in an element that may enclose the main content."""

    certainty: int  # `ElementRole.root`
    kind: str  # tag and first class: equal for the posts of a forum
    start: int
    end: int = 0


class _Context(msgspec.Struct, gc=False):
    """The block element around a text: its tag and the parts that it is in."""

    tag: str
    parts: int


class BlockReader:
    """Collects text nodes into blocks while walking the body in document order.

    The walk goes from child to sibling itself: asking each node of a traversal for its parent
    takes nearly twice as long.

    start_nodes   the first text node of each block
    roots         elements that may enclose the main content
    """

    def __init__(self) -> None:
        self.start_nodes: list[LexborNode] = []
        self.roots: list[Root] = []
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._linked_pieces: list[str] = []
        self._current = _Context("", 0)  # of the collected pieces

    def read(self, body: LexborNode) -> list[Block]:
        """Return the text under a node, block by block."""
        node, pieces, linked = body.first_child, self._pieces, self._linked_pieces
        context, is_linked, hidden = _Context("body", 0), False, hidden_elements(body)
        pending: list[tuple[LexborNode | None, _Context, bool, Root | None]] = []  # siblings
        while node is not None or pending:
            if node is None:
                node, context, is_linked, root = pending.pop()
                if root is not None:
                    self._end_block()
                    root.end = len(self._blocks)
                continue
            tag_id = node.tag_id
            if tag_id in _TEXT_TAGS:
                if pieces and context is not self._current:
                    self._end_block()
                if pieces or not node.is_empty_text_node:  # `isspace` knows more kinds of space
                    text = " " if tag_id == BR else node.text_content or ""
                    if not pieces and not text.isspace():  # white space begins no block
                        self.start_nodes.append(node)
                        self._current = context
                    if self._current is context:
                        pieces.append(text)
                        if is_linked:
                            linked.append(text)
                node = node.next
                continue
            child = None if tag_id in _UNREAD_TAGS else node.first_child
            is_hidden = bool(hidden) and node.mem_id in hidden
            if child is None or (is_hidden and tag_id not in BLOCKS):
                node = node.next
                continue
            inner, root = context, None
            if is_hidden or (tag_id not in _UNNAMED_TAGS and context.tag != "pre"):
                inner, root = self._enter(node, context, is_hidden=is_hidden)
            elif tag_id in BLOCKS:
                inner = _Context(BLOCKS[tag_id], context.parts)
            if (after := node.next) is not None or root is not None:
                pending.append((after, context, is_linked, root))
            node, context, is_linked = child, inner, is_linked or tag_id == A
        self._end_block()
        return self._blocks

    def _enter(
        self, node: LexborNode, context: _Context, *, is_hidden: bool
    ) -> tuple[_Context, Root | None]:
        """Return the context inside an element, and its root if it is one."""
        tag_id, attributes = node.tag_id, node.attributes
        if is_hidden:
            return _Context(BLOCKS[tag_id], context.parts | page_parts.HIDDEN), None
        role = element_role(tag_id, attributes) if attributes else role_by_tag(tag_id)
        tag = BLOCKS.get(tag_id)
        if role is PLAIN:
            return (context if tag is None else _Context(tag, context.parts)), None
        root = None
        if role.root and tag_id != P:
            self._end_block()
            first_class = (attributes.get("class") or "").split(maxsplit=1)[:1]
            kind = f"{tag_id} {first_class[0].rstrip(_DIGITS) if first_class else ''}"
            root = Root(role.root, kind, len(self._blocks))
            self.roots.append(root)
        return _Context(tag or context.tag, page_parts.enter(context.parts, role)), root

    def _end_block(self) -> None:
        """Make a block of the collected pieces."""
        pieces, linked, context = self._pieces, self._linked_pieces, self._current
        if not pieces:
            return
        self._current = _Context("", 0)
        if text := _fold_pieces(pieces):
            link_chars = len(text) if len(linked) == len(pieces) else 0
            if linked and not link_chars:
                link_chars = len(_fold_pieces(linked))
                signs = len(_NON_WORD.findall(text)) if len(text) < 4 * link_chars else 0
                if signs and len(text) - signs <= link_chars:
                    link_chars = len(text)
            self._blocks.append(Block(text, link_chars, context.tag, context.parts))
        else:
            self.start_nodes.pop()
        pieces.clear()
        linked.clear()


def _fold_pieces(pieces: list[str]) -> str:
    return fold_white_space(pieces[0] if len(pieces) == 1 else "".join(pieces))
