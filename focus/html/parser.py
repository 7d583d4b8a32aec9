"""Parses an HTML page: head, links with their position, text.

`parse` walks the elements once, in document order (`reader`); each link gets its region and
heading from its ancestors (`regions`). Text, blocks and link contexts take more time and are
computed on demand (`blocks`, `contexts`). No other package uses the parser library.

The tree is built by lexbor as by a browser without scripts: `<noscript>` is read, of `<template>`
only the links. Two shapes of markup cost lexbor quadratic time and are cut off first
(`size_guard`). That check is cheap and can be evaded, so parsing pages from the web also needs a
time limit.
"""

from __future__ import annotations

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from focus.html.blocks import Block
from focus.html.main_content import main_text, read_blocks
from focus.html.reader import ElementReader, ParsedPage
from focus.html.size_guard import limit_markup

_WITHOUT_EVENTS = LexborDocumentOptions.WO_EVENTS.value
"""Disables side effects of inserting elements: a `<selectedcontent>` copies the chosen option."""


def parse(
    html: str | bytes,
    *,
    max_links: int = 2000,
    context: bool = False,
    agent: str = "focus",
    routes: bool = False,
) -> ParsedPage:
    """Parse a page. Any string is accepted; only running out of memory raises.

    html       as text, or encoded in UTF-8
    max_links  later links are only counted
    context    whether to fill `RawLink.context`
    agent      our product token, as in `<meta name=AGENT content=noindex>`
    routes     whether `#/route` is a link; else such links are counted
    """
    tree = parse_tree(html)
    page = ParsedPage(_tree=tree)
    root = tree.root
    if root is not None:
        ElementReader(page, max_links=max_links, context=context, agent=agent, routes=routes).read(
            root
        )
    return page


def parse_blocks(html: str) -> list[Block]:
    """Return the visible text of a page in blocks; cheaper than `parse`."""
    body = parse_tree(html).body
    return read_blocks(body)[0] if body is not None else []


def parse_tree(html: str | bytes) -> LexborHTMLParser:
    """Return the tree of a page as text or in UTF-8, cut by `size_guard`."""
    source = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    return LexborHTMLParser(limit_markup(source), options=_WITHOUT_EVENTS)


def main_text_from_html(html: str) -> str:
    """Return the `main_text` of a page, given its source."""
    return main_text(parse_blocks(html))
