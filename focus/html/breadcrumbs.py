"""Finds the breadcrumb of a page: the way down to it from its site's home, as links show it.

    is_trail     whether an element is one, by its names, label or schema.org type
    begins_trail whether a link is the first of one, by its text and the sign behind it
    crumbs_in    those of a BreadcrumbList as JSON-LD

A trail is short. What has more than `MOST` links is a wrapper that is called after the trail
inside it, and none of its links counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from focus.html.dom import MAX_ANCHOR, TEXT, Attributes, fold

MOST = 8
"""Links of a trail."""

TRAIL_SIGNS = ("class", "id", "aria-label", "itemtype", "typeof")
_TRAIL = re.compile(r"(?<!has-)(?<!no-)(?<!with-)(?:bread[-_]?crumb|\bcrumbs?\b)|面包屑", re.I)
_HOMES = frozenset(("首页", "首頁", "主页", "网站首页", "home"))
_LONGEST_HOME = max(map(len, _HOMES))
_ONWARD = frozenset((">", "»", "›", "→", ">>", "»»"))


class Crumb(NamedTuple):
    """A link of a trail: its address as written, and what it is called."""

    href: str
    name: str


def is_trail(attributes: Attributes) -> bool:
    """Whether an element is a breadcrumb.

    Worked: `<ol class="breadcrumb">`, `<nav aria-label="Breadcrumb">`, `<div id="crumbs">` and
    `<ul itemtype="https://schema.org/BreadcrumbList">` are, `<div class="has-breadcrumb">` is not.
    """
    names = filter(None, map(attributes.get, TRAIL_SIGNS))
    return any(_TRAIL.search(name[:MAX_ANCHOR]) for name in names)


def begins_trail(node: LexborNode, anchor: str) -> bool:
    """Whether a link is the home of a trail that no name tells: 首页 &gt; 体育 &gt; 足球."""
    if len(anchor) > _LONGEST_HOME or anchor.lower() not in _HOMES:
        return False
    after = node.next
    return (
        after is not None and after.tag_id == TEXT and (after.text_content or "").strip() in _ONWARD
    )


def crumbs_in(thing: dict[str, object]) -> Iterator[Crumb]:
    """The crumbs of an object of JSON-LD if it is a BreadcrumbList; those without address left out.

    Worked: `{"@type": "ListItem", "name": "足球", "item": "/c/5"}` and `{"@type": "ListItem",
    "item": {"@id": "/c/5", "name": "足球"}}` both give `Crumb("/c/5", "足球")`.
    """
    items = thing.get("itemListElement")
    if thing.get("@type") != "BreadcrumbList" or not isinstance(items, list):
        return
    for each in islice(items, MOST):
        item = each.get("item") if isinstance(each, dict) else None
        inner = item if isinstance(item, dict) else {}
        href = (inner.get("@id") or inner.get("url")) if inner else item
        name = each.get("name") or inner.get("name") if item else None
        if isinstance(href, str) and isinstance(name, str) and href.strip():
            yield Crumb(href.strip(), fold(name, MAX_ANCHOR))
