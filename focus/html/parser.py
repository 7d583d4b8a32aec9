"""Parses an HTML page: its head, its links and where they stand, its text.

`parse` walks the elements once, in document order (`reader`); each link learns its region
and heading from its ancestors (`regions`). Text, blocks and link contexts cost extra and
are made on demand (`blocks`, `contexts`). Nobody else knows the parser underneath.

The tree is lexbor's, built as by a browser without scripts: `<noscript>` is read,
`<template>` is not. Two shapes of markup cost lexbor quadratic time and are cut off before it
sees them (`size_guard`), cheaply and so not always: whoever parses strangers' pages also needs
a limit on wall time.
"""

from __future__ import annotations

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from focus.html.blocks import Block, BlockReader
from focus.html.breadcrumbs import Crumb
from focus.html.reader import ElementReader, Parsed, RawLink
from focus.html.size_guard import guard

__all__ = ["Block", "Crumb", "Parsed", "RawLink", "blocks_of", "parse"]

_AS_WRITTEN = LexborDocumentOptions.WO_EVENTS.value
"""Without what elements do when they are put in: a `<selectedcontent>` copies the option chosen."""


def parse(
    html: str | bytes, *, max_links: int = 2000, context: bool = False, agent: str = "focus"
) -> Parsed:
    """Read a page. Every string is a page: nothing raises but running out of memory.

    html       as text, or encoded in UTF-8
    max_links  later links are only counted
    context    fill `RawLink.context` too
    agent      our name, as in `<meta name=AGENT content=noindex>`
    """
    source = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    tree = LexborHTMLParser(guard(source), options=_AS_WRITTEN)
    page = Parsed(_tree=tree)
    root = tree.root
    if root is not None:
        ElementReader(page, max_links=max_links, context=context, agent=agent).read(root)
    return page


def blocks_of(html: str) -> list[Block]:
    """The visible text of a page cut into blocks: cheaper than all that `parse` finds."""
    source = guard(html.encode("utf-8", "replace"))
    body = LexborHTMLParser(source, options=_AS_WRITTEN).body
    return BlockReader().read(body) if body is not None else []
