"""Splits a page into blocks of text, each with its share of link text and the parts it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from selectolax.lexbor import LexborNode

from focus.html import page_parts
from focus.html.dom import BLOCKS, BR, HIDDEN, TEXT, A, tag_ids
from focus.html.page_parts import PLAIN, ElementRole, element_role, role_by_tag
from focus.text.visible import fold_white_space

_TEXT_TAGS = frozenset((TEXT, BR))
_UNREAD_TAGS = (HIDDEN.keys() | tag_ids("rt rp").keys()) - tag_ids("noscript").keys()
_FORMATTING_TAGS = tag_ids(
    "a abbr acronym b bdi bdo big code del em font i ins kbd mark q ruby s samp small strike strong"
    " sub sup tt u var wbr"
)
_NON_WORD = re.compile(r"[\W_]")
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_HIDDEN_TAGS = frozenset((b"script", b"style", b"title"))
_EMPTY_BOUNDARY_TAGS = frozenset(b"html head body base link meta textarea".split())
_BOUNDARY_TAGS = _HIDDEN_TAGS | _EMPTY_BOUNDARY_TAGS | set(map(str.encode, BLOCKS.values()))


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
    forum_names   number of elements with the name of a forum
    """

    def __init__(self) -> None:
        self.start_nodes: list[LexborNode] = []
        self.roots: list[Root] = []
        self.forum_names = 0
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._linked_pieces: list[str] = []
        self._current: _Context | None = None  # of the collected pieces
        self._start_node: LexborNode | None = None

    def read(self, body: LexborNode) -> list[Block]:
        """Return the text under a node, block by block."""
        context, is_linked = _Context("body", 0), False
        pending: list[tuple[LexborNode | None, _Context, bool, Root | None]] = []  # siblings
        node = body.first_child
        while node is not None or pending:
            if node is None:
                node, context, is_linked, root = pending.pop()
                if root is not None:
                    self._end_block()
                    root.end = len(self._blocks)
                continue
            tag_id = node.tag_id
            if tag_id in _TEXT_TAGS:
                self._add_text(node, context, is_linked=is_linked)
                node = node.next
                continue
            child = None if tag_id in _UNREAD_TAGS else node.first_child
            if child is None:
                node = node.next
                continue
            root, outer = None, context
            if tag_id not in _FORMATTING_TAGS:
                attributes = node.attributes
                role = element_role(tag_id, attributes) if attributes else role_by_tag(tag_id)
                if role.part == page_parts.HIDDEN and tag_id not in BLOCKS:
                    node = node.next
                    continue
                if role is not PLAIN:
                    root = self._enter_role(role)
                    context = _Context(
                        BLOCKS.get(tag_id, context.tag), page_parts.enter(context.parts, role)
                    )
                elif tag_id in BLOCKS:
                    context = _Context(BLOCKS[tag_id], context.parts)
            pending.append((node.next, outer, is_linked, root))
            node, is_linked = child, is_linked or tag_id == A
        self._end_block()
        return self._blocks

    def _add_text(self, node: LexborNode, context: _Context, *, is_linked: bool) -> None:
        """Add a text node or a `<br>` to the block of its context."""
        text = " " if node.tag_id == BR else node.text_content or ""
        if context is not self._current:
            self._end_block()
            self._current, self._start_node = context, node
        if self._pieces or not text.isspace():  # white space between elements begins no block
            self._pieces.append(text)
            if is_linked:
                self._linked_pieces.append(text)

    def _enter_role(self, role: ElementRole) -> Root | None:
        """Count an element with a role; return its root, which begins with the next block."""
        self.forum_names += role.is_forum
        if not role.root:
            return None
        self._end_block()
        self.roots.append(Root(role.root, len(self._blocks)))
        return self.roots[-1]

    def _end_block(self) -> None:
        """Make a block of the collected pieces."""
        pieces, linked, context = self._pieces, self._linked_pieces, self._current
        self._current = None
        if not pieces or context is None:
            return
        if text := _fold_pieces(pieces):
            link_chars = len(text) if len(linked) == len(pieces) else 0
            if linked and not link_chars:
                link_chars = len(_fold_pieces(linked))
                signs = len(_NON_WORD.findall(text)) if len(text) < 4 * link_chars else 0
                if signs and len(text) - signs <= link_chars:
                    link_chars = len(text)
            self._blocks.append(Block(text, link_chars, context.tag, context.parts))
            assert self._start_node is not None
            self.start_nodes.append(self._start_node)
        pieces.clear()
        linked.clear()


def find_runs(source: bytes, words: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the markup between two block boundaries wherever it contains one of the words.

    Boundaries are found by their tags alone, at a tenth of the cost of parsing the blocks:
    `<a href=/x>足球</a> 12` in `<ul><li><a href=/x>足球</a> 12</ul>`. Text of titles, scripts and
    of the boundary tags themselves is skipped.
    """
    for word in words:
        search = re.compile(re.escape(word)).search  # takes a third of the time of `find`
        match = search(source)
        while match:
            at = match.start()
            tag, opens = _find_boundary_before(source, at)
            begin = source.find(b">", tag, at) + 1 if tag >= 0 else 0
            if tag >= 0 and not begin:  # the word is inside that tag
                end = source.find(b">", at)
                end = end if end >= 0 else len(source)
            else:
                end = _find_boundary_after(source, at)
                if opens not in _HIDDEN_TAGS:
                    yield source[begin:end]
            match = search(source, end)


def _find_boundary_before(source: bytes, at: int) -> tuple[int, bytes]:
    """Return position and opened tag of the last boundary before `at`; (-1, b"") if none."""
    while (at := source.rfind(b"<", 0, at)) >= 0:
        tag = _TAG.match(source, at)
        if tag and (name := tag[2].lower()) in _BOUNDARY_TAGS:
            return at, b"" if tag[1] else name
    return -1, b""


def _find_boundary_after(source: bytes, at: int) -> int:
    """Return the position of the next boundary, or the end of the source."""
    while (at := source.find(b"<", at)) >= 0:
        tag = _TAG.match(source, at)
        if tag and tag[2].lower() in _BOUNDARY_TAGS:
            return at
        at += 1
    return len(source)


def _fold_pieces(pieces: list[str]) -> str:
    return fold_white_space(pieces[0] if len(pieces) == 1 else "".join(pieces))
