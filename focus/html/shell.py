"""Detects shell pages: pages that need scripts to show their content.

`detect_shell` checks five signs, only on pages with little content of their own: fewer than
`MIN_OWN_LINKS` links in their body and text narrower than `MIN_TEXT_WIDTH`.

    empty-root  the root element of a JavaScript framework is empty: `<div id=app></div>`
    template    placeholders without values: `{{ item.title }}`, `v-for=`
    noscript    `<noscript>` asks for JavaScript for the page, not only for its comments
    empty-list  an element named as a list is empty
    no-text     scripts, and next to no text and links

The last three signs need a page with at most two links of its own. Of 3,000 pages of two recorded
webs, where scripts produce next to nothing, 17 are then detected as shells, otherwise 123.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from focus.html.dom import HIDDEN, TEXT
from focus.html.reader import ParsedPage, RawLink
from focus.records import Region, Rendering

MIN_OWN_LINKS = 8
MIN_TEXT_WIDTH = 600
"""In characters; an ideograph counts twice, because it says about as much as two letters."""
MAX_EMPTY_TEXT_CHARS = 80
_MAX_PLACEHOLDER_CHARS = 24  # text of an empty element at most: "Loading, please wait…"
_MAX_NODES = 5_000  # visited for the text of a page
_MAX_NOTE_CHARS, _MAX_NAME_CHARS = 2_000, 200  # characters read of a note, and of names
_ROOT_SELECTOR = (
    "#app,#root,#__next,#__nuxt,#___gatsby,#gatsby-focus-wrapper,#q-app,#svelte,#main-app,"
    "#app-root,#react-root,#vue-app,#ember-app,#application,[data-reactroot],[ng-view],[ui-view],"
    "[data-v-app],app-root,router-outlet,my-app"
)
_LIST_SELECTOR = "ul,ol,dl,tbody,main,div,section"
_LIST_NAME = re.compile(r"(?<![a-z])(?:lists?|items|feeds?|articles|posts|news)(?![a-z])", re.I)
_SCRIPT_WORDS = re.compile(r"java\s*script|\bjs\b|脚本|腳本", re.I)
_FEATURE_WORDS = re.compile("comment|disqus|评论|留言|best|更好|analytics|统计", re.I)
_PLACEHOLDER = re.compile(r"\{\{[^{}]{1,80}\}\}|<%=[^%]{1,80}%>")
_LOOP_ATTRIBUTE = re.compile(rb"\s(?:v-for|ng-repeat|data-ng-repeat|\*ngFor|x-for)\s*=")
_LOOP_NAMES = [re.compile(name) for name in (rb"v-for", rb"ng-repeat", rb"\*ngFor", rb"x-for")]
"""Names that occur in the attributes of `_LOOP_ATTRIBUTE`; searching them first takes a tenth."""
_BODY = Region.BODY  # in Python 3.11 reading it from its class takes eight times as long
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]+")


def detect_shell(page: ParsedPage, source: bytes) -> Rendering:
    """Return why a page needs scripts; `Rendering.NONE` if it is complete as it is.

    source   the page in UTF-8, as parsed
    """
    body = page.body
    if body is None or (b"<script" not in source and b"<SCRIPT" not in source):
        return Rendering.NONE
    links = sum(1 for _ in islice(_own_links(page), MIN_OWN_LINKS))
    if links == MIN_OWN_LINKS:
        return Rendering.NONE
    text = _visible_text(body)
    if _text_width(text) >= MIN_TEXT_WIDTH:
        return Rendering.NONE
    if any(map(_is_empty, body.css(_ROOT_SELECTOR))):
        return Rendering.EMPTY_ROOT
    has_loop = any(name.search(source) for name in _LOOP_NAMES) and _LOOP_ATTRIBUTE.search(source)
    if has_loop or _PLACEHOLDER.search(text):
        return Rendering.TEMPLATE
    return _detect_bare_shell(body, text, is_bare=not page.links) if links <= 2 else Rendering.NONE


def _detect_bare_shell(body: LexborNode, text: str, *, is_bare: bool) -> Rendering:
    """Check the three signs for pages with hardly a link, which other pages have as well."""
    if any(_requires_scripts(note.text()[:_MAX_NOTE_CHARS]) for note in body.css("noscript")):
        return Rendering.NOSCRIPT
    if any(_is_named_list(node) and _is_empty(node) for node in body.css(_LIST_SELECTOR)):
        return Rendering.EMPTY_LIST
    return Rendering.NO_TEXT if is_bare and len(text) < MAX_EMPTY_TEXT_CHARS else Rendering.NONE


def _own_links(page: ParsedPage) -> Iterator[RawLink]:
    """Yield the links in the body region."""
    return (link for link in page.links if link.region is _BODY)


def _is_named_list(node: LexborNode) -> bool:
    """Return whether id or class name an element as a list."""
    names = f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"
    return _LIST_NAME.search(names[:_MAX_NAME_CHARS]) is not None


def _requires_scripts(note: str) -> bool:
    """Return whether a note asks for scripts for the whole page, not for a feature of it."""
    return _SCRIPT_WORDS.search(note) is not None and _FEATURE_WORDS.search(note) is None


def _is_empty(node: LexborNode) -> bool:
    """Return whether an element shows nothing but a short text such as "Loading…"."""
    return (
        node.css_first("a[href],img,input,iframe") is None
        and len(_visible_text(node)) <= _MAX_PLACEHOLDER_CHARS
    )


def _visible_text(node: LexborNode) -> str:
    """Return the beginning of an element's visible text, white space folded."""
    return " ".join(filter(None, _visible_pieces(node)))


def _visible_pieces(top: LexborNode) -> Iterator[str]:
    """Yield visible texts in document order until their width reaches `MIN_TEXT_WIDTH`."""
    size = width = 0  # characters in the source, and the width of the folded text
    nodes = islice(top.traverse(include_text=True, skip_empty=True), 1, _MAX_NODES)
    for node in nodes:
        tag_id = node.tag_id
        if tag_id == TEXT:
            written = (node.text_content or "").strip()
            text = " ".join(written.split())
            yield text
            size += len(written)
            width += _text_width(text)
            if max(size, width) >= MIN_TEXT_WIDTH:
                return
        elif tag_id in HIDDEN:
            descendants = islice(node.traverse(include_text=True, skip_empty=True), 1, _MAX_NODES)
            hidden_count = sum(1 for _ in descendants)
            next(islice(nodes, hidden_count, hidden_count), None)


def _text_width(text: str) -> int:
    """Return the number of characters, with ideographs counted twice."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _WIDE.findall(text)))
