"""Finds the region of a node: body, navigation, header, footer or aside.

The nearest ancestor with a known ARIA role, tag, or class or id name decides. The names are
those that site authors use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from focus.html.breadcrumbs import TRAIL_ATTRIBUTES, is_trail
from focus.html.dom import HEADING_LEVELS, Attributes, tag_ids
from focus.records import Region

_REGION_BY_ROLE = {
    "main": Region.BODY,
    "navigation": Region.NAV,
    "banner": Region.HEADER,
    "contentinfo": Region.FOOTER,
    "complementary": Region.ASIDE,
}
_REGION_BY_TAG = {
    "main": Region.BODY,
    "nav": Region.NAV,
    "header": Region.HEADER,
    "footer": Region.FOOTER,
    "aside": Region.ASIDE,
}
# `post-header` is a part of a post, so few words may precede header and footer;
# `has-sidebar` names a layout that has one.
_REGION_NAME = re.compile(
    r"""(?:^|\s)(?:
      (?!has|no|with|layout|content)(?:[^\W_]+[_-]){0,2}(?:main|top|sub|left|right|site)?(?:
        (?P<ASIDE>side-?bars?|aside)
      | (?P<NAV>navs?|navi|navbar|navigation|menus?|menubar|(?:bread)?crumbs?|pagination|pager)
      )
    | (?:main|site|global|top)?[_-]?(?:
        (?P<FOOTER>footer|foot|copyright|colophon|friend-?links?)
      | (?P<HEADER>header|masthead|topbar|banner)
      )
    )(?=$|[\s_-])""",
    re.VERBOSE | re.IGNORECASE,
)
_MAX_NAME_CHARS = 300
_RELEVANT_ATTRIBUTES = frozenset(("role", "class", "id", *TRAIL_ATTRIBUTES))

_CONTAINERS = tag_ids(
    "article aside center div dl footer form header main menu nav ol p section span table td tr ul"
)
_RELEVANT_TAGS = _CONTAINERS.keys() | HEADING_LEVELS.keys()
_SECTIONS = ("main", "article", "section")


class Ancestry(NamedTuple):
    """Region and section of a node, from its ancestors.

    heading_level  of the heading around it, 0 if there is none
    is_in_section  inside main, article or section, whose header and footer are their own
    is_in_trail    inside a breadcrumb
    """

    region: Region = Region.BODY
    heading_level: int = 0
    is_in_section: bool = False
    is_in_trail: bool = False


_ROOT = Ancestry()


class AncestryReader:
    """Finds the ancestry of nodes; every ancestor is read once per page."""

    def __init__(self) -> None:
        self._by_element: dict[int, Ancestry] = {}  # by mem_id: the ancestry of its children

    def ancestry(self, node: LexborNode) -> Ancestry:
        """Return the ancestry of a node."""
        above = node.parent
        if above is None:
            return _ROOT
        known, number = self._by_element, above.mem_id
        ancestry = known.get(number)
        if ancestry is None:
            beyond = above.parent
            ancestry = known.get(beyond.mem_id) if beyond is not None else _ROOT
            if ancestry is None:
                ancestry = self._climb(above)
            if above.tag_id in _RELEVANT_TAGS:
                ancestry = _enter_element(ancestry, above)
            known[number] = ancestry
        return ancestry

    def _climb(self, node: LexborNode) -> Ancestry:
        """Return the ancestry of a node, starting from the nearest known ancestor."""
        known = self._by_element
        unknown: list[tuple[int, LexborNode]] = []
        ancestry, above = None, node.parent
        while above is not None:
            number = above.mem_id
            ancestry = known.get(number)
            if ancestry is not None:
                break
            unknown.append((number, above))
            above = above.parent
        ancestry = ancestry or _ROOT
        for number, element in reversed(unknown):
            if element.tag_id in _RELEVANT_TAGS:
                ancestry = _enter_element(ancestry, element)
            known[number] = ancestry
        return ancestry


def _enter_element(ancestry: Ancestry, element: LexborNode) -> Ancestry:
    """Return the ancestry of the children of a container or heading, given its own."""
    tag_id = element.tag_id
    if tag_id in HEADING_LEVELS:
        return ancestry._replace(heading_level=HEADING_LEVELS[tag_id])
    attributes = element.attributes
    signs = [
        (name, value[:_MAX_NAME_CHARS])
        for name, value in attributes.items()
        if value and name in _RELEVANT_ATTRIBUTES
    ]
    return _enter_container(ancestry, _CONTAINERS[tag_id], *signs)


@lru_cache(maxsize=4096)
def _enter_container(ancestry: Ancestry, tag: str, *signs: tuple[str, str]) -> Ancestry:
    """Return the ancestry inside a container with this tag and these relevant attributes."""
    attributes: Attributes = dict(signs)
    region = element_region(tag, attributes)
    if region is None or (ancestry.is_in_section and region in (Region.HEADER, Region.FOOTER)):
        region = ancestry.region
    is_in_section = ancestry.is_in_section or tag in _SECTIONS
    return Ancestry(
        region, ancestry.heading_level, is_in_section, ancestry.is_in_trail or is_trail(attributes)
    )


def element_region(tag: str, attributes: Attributes) -> Region | None:
    """Return the region that an element opens, or None.

    `<nav>`, `<div role=navigation>` and `<ul class="site-nav">` open NAV; `<main>` returns to BODY
    whatever the wrapper around it is called. In `clearfix site-nav menu-3` the first known name
    decides.
    """
    if not attributes:
        return _REGION_BY_TAG.get(tag)
    region = _REGION_BY_ROLE.get(attributes.get("role") or "", _REGION_BY_TAG.get(tag))
    if region is not None:
        return region
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    match = _REGION_NAME.search(names[:_MAX_NAME_CHARS])
    return Region[match.lastgroup] if match and match.lastgroup else None
