"""Tells the region that a node stands in: body, navigation, header, footer or aside.

Told by the nearest ancestor that has a telling ARIA role, tag, or one of the class and
id names that site authors use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from focus.html.breadcrumbs import TRAIL_SIGNS, is_trail
from focus.html.dom import LEVELS, Attributes, tag_ids
from focus.records import Region

_ROLES = {
    "main": Region.BODY,
    "navigation": Region.NAV,
    "banner": Region.HEADER,
    "contentinfo": Region.FOOTER,
    "complementary": Region.ASIDE,
}
_TAGS = {
    "main": Region.BODY,
    "nav": Region.NAV,
    "header": Region.HEADER,
    "footer": Region.FOOTER,
    "aside": Region.ASIDE,
}
# `post-header` is a part of a post, so few words may stand before header and footer;
# `has-sidebar` names a layout that has one.
_NAMES = re.compile(
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
_MAX_NAMES = 300
_SIGNS = frozenset(("role", "class", "id", *TRAIL_SIGNS))

_CONTAINERS = tag_ids(
    "article aside center div dl footer form header main menu nav ol p section span table td tr ul"
)
_TELLING = _CONTAINERS.keys() | LEVELS.keys()
_SECTIONS = ("main", "article", "section")


class Ancestry(NamedTuple):
    """Region and section of a node, by its ancestors.

    level      of the heading it stands in, 0 = in none
    sectioned  inside main, article or section, whose header and footer are their own
    trail      inside a breadcrumb
    """

    region: Region = Region.BODY
    level: int = 0
    sectioned: bool = False
    trail: bool = False


_OUTSIDE = Ancestry()


class AncestryReader:
    """Finds the place of nodes; every ancestor is looked at once per page."""

    def __init__(self) -> None:
        self._known: dict[int, Ancestry] = {}  # by mem_id: the place inside that element

    def of(self, node: LexborNode) -> Ancestry:
        """The place that a node's ancestors make."""
        above = node.parent
        if above is None:
            return _OUTSIDE
        known, number = self._known, above.mem_id
        place = known.get(number)
        if place is None:
            beyond = above.parent
            place = known.get(beyond.mem_id) if beyond is not None else _OUTSIDE
            if place is None:
                place = self._climbed(above)
            if above.tag_id in _TELLING:
                place = _inside(place, above)
            known[number] = place
        return place

    def _climbed(self, node: LexborNode) -> Ancestry:
        """`of`, from further up."""
        known = self._known
        unknown: list[tuple[int, LexborNode]] = []
        place, above = None, node.parent
        while above is not None:
            number = above.mem_id
            place = known.get(number)
            if place is not None:
                break
            unknown.append((number, above))
            above = above.parent
        place = place or _OUTSIDE
        for number, element in reversed(unknown):
            if element.tag_id in _TELLING:
                place = _inside(place, element)
            known[number] = place
        return place


def _inside(place: Ancestry, element: LexborNode) -> Ancestry:
    """The place of the children of a container or heading, given its own."""
    tag_id = element.tag_id
    if tag_id in LEVELS:
        return place._replace(level=LEVELS[tag_id])
    said = element.attributes
    signs = [(name, value[:_MAX_NAMES]) for name, value in said.items() if value and name in _SIGNS]
    return _opened(place, _CONTAINERS[tag_id], *signs)


@lru_cache(maxsize=4096)
def _opened(place: Ancestry, tag: str, *signs: tuple[str, str]) -> Ancestry:
    """The place inside a container of this tag and these telling attributes."""
    attributes: Attributes = dict(signs)
    region = region_of(tag, attributes)
    if region is None or (place.sectioned and region in (Region.HEADER, Region.FOOTER)):
        region = place.region
    sectioned = place.sectioned or tag in _SECTIONS
    return Ancestry(region, place.level, sectioned, place.trail or is_trail(attributes))


def region_of(tag: str, attributes: Attributes) -> Region | None:
    """The region that an element opens, None if it says nothing.

    `<nav>`, `<div role=navigation>` and `<ul class="site-nav">` open NAV; `<main>` goes
    back to BODY, whatever the wrapper around it is called. Of `clearfix site-nav menu-3` the
    first telling name wins.
    """
    if not attributes:
        return _TAGS.get(tag)
    region = _ROLES.get(attributes.get("role") or "", _TAGS.get(tag))
    if region is not None:
        return region
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    match = _NAMES.search(names[:_MAX_NAMES])
    return Region[match.lastgroup] if match and match.lastgroup else None
