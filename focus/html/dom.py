"""Small helpers on DOM nodes: names, attributes, text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

HTTP_SPACE = "\t\n\f\r "
MAX_ANCHOR = 200
MAX_NODES = 1000
"""Nodes visited for the text of one anchor, heading or context at most."""

Attributes = dict[str, str | None]


def tag_ids(names: str) -> dict[int, str]:
    """Return lexbor's number of each tag; comparing numbers is faster than comparing strings."""
    tree = LexborHTMLParser("")
    return {tree.create_node(name).tag_id: name for name in names.split()}


TEXT = LexborHTMLParser("x").body.first_child.tag_id  # type: ignore[union-attr]
A, BODY, BR, IMG, NOSCRIPT, P, SVG = tag_ids("a body br img noscript p svg")
HEADING_LEVELS = {tag: int(name[1]) for tag, name in tag_ids("h1 h2 h3 h4 h5 h6").items()}
BLOCKS = tag_ids(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main"
    " menu nav ol optgroup option p pre section select summary table tbody td tfoot th thead tr ul"
)
HIDDEN = tag_ids("script style noscript template iframe object svg noframes")
_BREAKS = BLOCKS.keys() | {BR}
_SCRIPT_TAGS = tag_ids("script style")
_BOUNDARIES = _BREAKS | _SCRIPT_TAGS.keys()
_MAX_SIMPLE_ELEMENTS = 20  # elements in a link or heading whose text lexbor may join


def fold(text: str | None, limit: int) -> str:
    """Return a text with white space folded to single spaces, cut at `limit` characters."""
    if not text:
        return ""
    if len(text) <= limit:
        return text if text.isalnum() else " ".join(text.split())
    return " ".join(text.split(maxsplit=limit)[:limit])[:limit].rstrip()


def node_text(node: LexborNode, limit: int = MAX_ANCHOR) -> str:
    """Return the text of an element: `<b>foot</b>ball` is one word, `<p>a</p><p>b</p>` are two."""
    child = node.first_child
    if child is None:
        return ""
    if child.tag_id == TEXT and child.next is None:
        return fold(child.text_content, limit)
    inside = [inner.tag_id for inner in islice(node.traverse(), 1, _MAX_SIMPLE_ELEMENTS)]
    if len(inside) < _MAX_SIMPLE_ELEMENTS - 1 and _BOUNDARIES.isdisjoint(inside):
        return fold(node.text(), limit)
    return fold("".join(_text_pieces(node)), limit)


def _text_pieces(node: LexborNode) -> Iterator[str]:
    for inner in islice(node.traverse(include_text=True), MAX_NODES):
        before = inner.prev
        if inner.tag_id in _BREAKS or (before is not None and before.tag_id in _BREAKS):
            yield " "
        if inner.tag_id == TEXT:
            above = inner.parent
            if above is None or above.tag_id not in _SCRIPT_TAGS:
                yield inner.text_content or ""
