"""Finds the breadcrumb of a page: the path to it from the home page of its site.

    is_trail        whether an element is a breadcrumb, by its names, label or schema.org type
    is_trail_start  whether a link begins a breadcrumb, by its text and the separator after it
    parse_crumbs    the crumbs of a BreadcrumbList in JSON-LD

A trail is short. An element with more than `MAX_TRAIL_LINKS` links is a wrapper named after the
trail inside it; none of its links counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from focus.html.dom import MAX_ANCHOR, TEXT, Attributes, fold

MAX_TRAIL_LINKS = 8
"""Links in a trail at most."""

TRAIL_ATTRIBUTES = ("class", "id", "aria-label", "itemtype", "typeof")
_TRAIL_NAME = re.compile(r"(?<!has-)(?<!no-)(?<!with-)(?:bread[-_]?crumb|\bcrumbs?\b)|面包屑", re.I)
_HOME_TEXTS = frozenset(("首页", "首頁", "主页", "网站首页", "home"))
_MAX_HOME_TEXT = max(map(len, _HOME_TEXTS))
_SEPARATORS = frozenset((">", "»", "›", "→", ">>", "»»"))


class Crumb(NamedTuple):
    """A link of a trail: its URL as written, and its text."""

    href: str
    name: str


def is_trail(attributes: Attributes) -> bool:
    """Return whether an element is a breadcrumb.

    Example: `<ol class="breadcrumb">`, `<nav aria-label="Breadcrumb">`, `<div id="crumbs">` and
    `<ul itemtype="https://schema.org/BreadcrumbList">` are, `<div class="has-breadcrumb">` is not.
    """
    names = filter(None, map(attributes.get, TRAIL_ATTRIBUTES))
    return any(_TRAIL_NAME.search(name[:MAX_ANCHOR]) for name in names)


def is_trail_start(node: LexborNode, anchor: str) -> bool:
    """Return whether a link to the home page begins an unnamed trail: 首页 &gt; 体育 &gt; 足球."""
    if len(anchor) > _MAX_HOME_TEXT or anchor.lower() not in _HOME_TEXTS:
        return False
    after = node.next
    return (
        after is not None
        and after.tag_id == TEXT
        and (after.text_content or "").strip() in _SEPARATORS
    )


def parse_crumbs(thing: dict[str, object]) -> Iterator[Crumb]:
    """Yield the crumbs of a JSON-LD object if it is a BreadcrumbList, except those without a URL.

    Example: `{"@type": "ListItem", "name": "足球", "item": "/c/5"}` and `{"@type": "ListItem",
    "item": {"@id": "/c/5", "name": "足球"}}` both give `Crumb("/c/5", "足球")`.
    """
    items = thing.get("itemListElement")
    if thing.get("@type") != "BreadcrumbList" or not isinstance(items, list):
        return
    for entry in islice(items, MAX_TRAIL_LINKS):
        item = entry.get("item") if isinstance(entry, dict) else None
        inner = item if isinstance(item, dict) else {}
        href = (inner.get("@id") or inner.get("url")) if inner else item
        name = entry.get("name") or inner.get("name") if item else None
        if isinstance(href, str) and isinstance(name, str) and href.strip():
            yield Crumb(href.strip(), fold(name, MAX_ANCHOR))
