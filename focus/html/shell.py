"""Tells empty shells: pages on which scripts make what people see.

`lack` looks for five signs, only on pages that have little of their own to show, which is fewer
than `FEW_LINKS` links in their body and less than `LITTLE_TEXT` of text:

    empty-root  the element into which a framework draws is empty: `<div id=app></div>`
    template    places for values that nobody has filled: `{{ item.title }}`, `v-for=`
    noscript    `<noscript>` asks for JavaScript, for the page and not for its comments
    empty-list  an element that names itself a list is empty
    no-text     scripts, and next to no text and links

The last three need a page with hardly a link of its own: of 3,000 pages of two recorded webs, where
scripts make next to nothing, 17 are taken for shells then, else 123.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from focus.html.dom import HIDDEN, TEXT
from focus.html.reader import Parsed, RawLink
from focus.records import Region, Rendering

FEW_LINKS = 8
LITTLE_TEXT = 600
"""Characters; one of Chinese counts twice, as it says about as much as two of others."""
NEXT_TO_NO_TEXT = 80
_WAITING = 24  # characters that an empty element may have: "Loading, please wait…"
_MAX_NODES = 5_000  # looked at for the text of a page
_NOTE, _NAMES = 2_000, 200  # characters that are looked at of a note, and of names
_ROOTS = (
    "#app,#root,#__next,#__nuxt,#___gatsby,#gatsby-focus-wrapper,#q-app,#svelte,#main-app,"
    "#app-root,#react-root,#vue-app,#ember-app,#application,[data-reactroot],[ng-view],[ui-view],"
    "[data-v-app],app-root,router-outlet,my-app"
)
_HOLDERS = "ul,ol,dl,tbody,main,div,section"
_LISTS = re.compile(r"(?<![a-z])(?:lists?|items|feeds?|articles|posts|news)(?![a-z])", re.I)
_ASKS = re.compile(r"java\s*script|\bjs\b|脚本|腳本", re.I)
_ELSE = re.compile("comment|disqus|评论|留言|best|更好|analytics|统计", re.I)
_PLACES = re.compile(r"\{\{[^{}]{1,80}\}\}|<%=[^%]{1,80}%>")
_REPEATS = re.compile(rb"\s(?:v-for|ng-repeat|data-ng-repeat|\*ngFor|x-for)\s*=")
_REPEATING = [re.compile(name) for name in (rb"v-for", rb"ng-repeat", rb"\*ngFor", rb"x-for")]
"""One of these is in each of those, and all are looked for at a tenth of what that costs."""
_BODY = Region.BODY  # asked of its class, a member takes Python 3.11 eight times as long
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]+")


def lack(page: Parsed, source: bytes) -> Rendering:
    """What a page lacks until its scripts have run; `Rendering.NONE` if it is whole as it is.

    source   the page in UTF-8, as it was parsed
    """
    body = page.body
    if body is None or (b"<script" not in source and b"<SCRIPT" not in source):
        return Rendering.NONE
    links = sum(1 for _ in islice(_own(page), FEW_LINKS))
    if links == FEW_LINKS:
        return Rendering.NONE
    text = _beginning(body)
    if _width(text) >= LITTLE_TEXT:
        return Rendering.NONE
    if any(map(_is_empty, body.css(_ROOTS))):
        return Rendering.EMPTY_ROOT
    repeats = any(name.search(source) for name in _REPEATING) and _REPEATS.search(source)
    if repeats or _PLACES.search(text):
        return Rendering.TEMPLATE
    return _of_little(body, text, is_bare=not page.links) if links <= 2 else Rendering.NONE


def _of_little(body: LexborNode, text: str, *, is_bare: bool) -> Rendering:
    """What a page lacks that has hardly a link of its own: signs that others have as well."""
    if any(_asks(note.text()[:_NOTE]) for note in body.css("noscript")):
        return Rendering.NOSCRIPT
    if any(_is_list(node) and _is_empty(node) for node in body.css(_HOLDERS)):
        return Rendering.EMPTY_LIST
    return Rendering.NO_TEXT if is_bare and len(text) < NEXT_TO_NO_TEXT else Rendering.NONE


def _own(page: Parsed) -> Iterator[RawLink]:
    """Links that are not the site's frame."""
    return (link for link in page.links if link.region is _BODY)


def _is_list(node: LexborNode) -> bool:
    """Whether an element names itself a list."""
    names = f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"
    return _LISTS.search(names[:_NAMES]) is not None


def _asks(note: str) -> bool:
    """Whether a note says that without scripts the page is missed, not what is below it."""
    return _ASKS.search(note) is not None and _ELSE.search(note) is None


def _is_empty(node: LexborNode) -> bool:
    """Whether an element shows nothing, or that it is waited for ("Loading…")."""
    return node.css_first("a[href],img,input,iframe") is None and len(_beginning(node)) <= _WAITING


def _beginning(node: LexborNode) -> str:
    """Visible text of an element, white space folded; enough of it to see whether it is little."""
    return " ".join(filter(None, _texts(node)))


def _texts(top: LexborNode) -> Iterator[str]:
    """Texts that are shown, each folded, in document order, until that is more than little."""
    size = shown = 0  # characters as written, and their width
    nodes = islice(top.traverse(include_text=True, skip_empty=True), 1, _MAX_NODES)
    for node in nodes:
        tag_id = node.tag_id
        if tag_id == TEXT:
            written = (node.text_content or "").strip()
            text = " ".join(written.split())
            yield text
            size += len(written)
            shown += _width(text)
            if max(size, shown) >= LITTLE_TEXT:
                return
        elif tag_id in HIDDEN:
            inside = islice(node.traverse(include_text=True, skip_empty=True), 1, _MAX_NODES)
            hidden = sum(1 for _ in inside)
            next(islice(nodes, hidden, hidden), None)


def _width(text: str) -> int:
    """Characters, those of Chinese counted twice."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _WIDE.findall(text)))
