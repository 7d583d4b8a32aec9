"""Recognises the parts of a page that are not its main content, and those that enclose it.

    element_role  what an element is: by tag, ARIA role, schema.org property, class and id
    PARTS         the parts around a main content, each with the share of a page that it may have

The names are those that site authors use. A name alone proves little: a framework may call every
element `widget`, and the posts of a forum are comments. A part is therefore left out only if it has
no more than its share of the text that remains after the parts before it (`excluded_parts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from focus.html.dom import Attributes, tag_ids

PARTS = {
    "consent": 1.0, "hidden": 0.6, "noscript": 0.5,
    "nav": 0.7, "menu": 0.7, "footer": 0.8, "aside": 0.5, "form": 0.5, "select": 0.7,
    "button": 0.5, "dialog": 0.9, "figcaption": 0.3, "role": 0.8,
    "overlay": 0.8, "navigation": 0.5, "imprint": 0.4, "sidebar": 0.4, "comments": 0.5,
    "reviews": 0.6, "related": 0.4, "promotion": 0.3, "sharing": 0.3, "byline": 0.3,
    "caption": 0.3, "toolbar": 0.3, "tags": 0.3,
}  # fmt: skip
"""Maximum share of the text by part, in the order in which they are left out."""

_BITS = {name: 1 << at for at, name in enumerate(PARTS)}
HIDDEN, COMMENTS = _BITS["hidden"], _BITS["comments"]
INVISIBLE = HIDDEN | _BITS["noscript"]
"""Parts that a reader does not see."""
_LISTS = sum(map(_BITS.__getitem__, ("nav", "footer", "aside", "sidebar", "navigation")))
FOREIGN = _LISTS | _BITS["imprint"] | COMMENTS | _BITS["related"]
"""Parts that contain texts of other authors and pages."""
MIN_ARTICLE_CHARS = 2000
"""Characters outside comments that make comments of any length a part of their own."""

_TAG_PARTS = {
    tag: _BITS.get(name, _BITS["select"])
    for tag, name in tag_ids(
        "noscript nav menu footer aside form select textarea button dialog figcaption"
    ).items()
}
_ROOT_TAGS = tag_ids("article main")
_OUTSIDE_ROLES = frozenset(
    "navigation contentinfo complementary search menu menubar dialog alertdialog banner".split()
)
# Patterns of names in lower case; IGNORECASE would double their time.
_PART_NAME = re.compile(
    r"""(?:^|[\s_-])(?:
      (?P<consent>cookies?|consent|gdpr|onetrust|sr-only|visually-?hidden
        |screen-?reader(?:-text)?|skip-?link)
    | (?P<navigation>nav|navbar|navigation|menu|breadcrumbs?|crumbs?|pagination|pager|paging|toc)
    | (?P<imprint>footer|foot|copyright|colophon)
    | (?P<sidebar>side-?bar|aside|rail)
    | (?P<comments>comments?|respond|disqus|replies|pinglun)
    | (?P<reviews>(?:product|customer|user)?-?reviews|review-?list|yotpo|bazaarvoice|okendo
        |judgeme|jdgm|loox|stamped)
    | (?P<related>related|recommend\w*|recirc\w*|more-?(?:news|stories|articles|from|on|in)
        |read-?(?:more|next)|most-?(?:read|popular)|popular|trending|also-?(?:like|read)|outbrain
        |taboola|xiangguan|tuijian)
    | (?P<promotion>promo\w*|newsletter|subscri\w+|sign-?up|paywall|login|signin|advert\w*|ads?
        |sponsor\w*|banner)
    | (?P<sharing>shar(?:e|ing)\w*|social\w*|follow-?us|addthis|sharedaddy|addtoany|bdshare\w*)
    | (?P<overlay>modal|popup|overlay|lightbox)
    | (?P<byline>byline|author-?(?:info|bio|box|name|meta)?|post-?meta|entry-?meta|article-?meta
        |meta|dateline|timestamp|posted-on|credits?|zebian|signature)
    | (?P<caption>caption|wp-caption-text)
    | (?P<toolbar>toolbar|print)
    | (?P<tags>tags?|tag-?list|tags-?links|cat-links)
    )(?=$|[\s_-])""",
    re.VERBOSE,
)
_BODY_NAME = re.compile(
    r"""(?:^|[\s_-])(?:
      article-?(?:body|content|text|copy)|(?:post|entry|story|page|news|blog|main|single)-?
      (?:body|content|text)|articlebody|storybody|rich-?text|prose
    )(?=$|[\s_-])""",
    re.VERBOSE,
)
_OPENED_NAME = re.compile(
    r"tab(?:bed|s)?[-_]*(?:pan|content|body|widget)|accordion|collaps|expand|toggle|faq|answer"
    r"|item-\d+-content",
    re.I,
)
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_NAME_KEYS = ("class", "id", "role")
_MAX_NAME_CHARS = 260


class ElementRole(NamedTuple):
    """What an element encloses.

    part  bit of the part in `PARTS`, 0 for none
    root  how surely it encloses the main content: 3 an article's text by schema.org, 2 by its
          name, 1 `<main>` and `<article>`, 0 not at all
    """

    part: int = 0
    root: int = 0


PLAIN = ElementRole()


def hidden_elements(body: LexborNode) -> set[int]:
    """Return the `mem_id` of each element that its own attributes hide.

    Example: `<p hidden>` and `<div style="display: none">`. A tab or an answer that a reader opens
    by a click is not hidden: `<div class="tab-panel" style="display: none">`.
    """
    return {
        node.mem_id
        for node in body.css('[hidden],[style*="none" i],[style*="hidden" i]')
        if (
            "hidden" in (attributes := node.attributes)
            or _HIDING_STYLE.search(attributes.get("style") or "")
        )
        and not _OPENED_NAME.search(" ".join(str(attributes.get(key)) for key in _NAME_KEYS))
    }


def element_role(tag_id: int, attributes: Attributes) -> ElementRole:
    """Return the role of an element with attributes.

    Example: `<ul class="post-tags">` is a part with tags, `<div class="article-body">` encloses
    the main content.
    """
    get = attributes.get
    css_class, css_id = get("class"), get("id")
    if len(attributes) == (css_class is not None) + (css_id is not None):
        return _role_by_names(tag_id, css_class, css_id)
    return _role_by_names(tag_id, css_class, css_id, get("role"), get("itemprop"))


@lru_cache(maxsize=256)
def role_by_tag(tag_id: int) -> ElementRole:
    """Return the role of an element without attributes."""
    part = _TAG_PARTS.get(tag_id, 0)
    root = 1 if tag_id in _ROOT_TAGS else 0
    return ElementRole(part, root) if part or root else PLAIN


@lru_cache(maxsize=16384)
def _role_by_names(
    tag_id: int,
    css_class: str | None,
    css_id: str | None,
    role: str | None = None,
    item_property: str | None = None,
) -> ElementRole:
    name = f"{css_class or ''} {css_id or ''}"[:_MAX_NAME_CHARS].lower()
    by_tag = role_by_tag(tag_id)
    if role in _OUTSIDE_ROLES:
        return ElementRole(_BITS["role"], 0)
    if item_property == "articleBody":
        return ElementRole(0, 3)
    if by_tag.part:
        return ElementRole(by_tag.part, 0)
    if _BODY_NAME.search(name):
        return ElementRole(0, 2)
    match = None if by_tag.root else _PART_NAME.search(name)
    if match and match.lastgroup:
        return ElementRole(_BITS[match.lastgroup], 0)
    root = by_tag.root or int(role in ("main", "article"))
    return ElementRole(0, root) if root else PLAIN


def enter(parts: int, role: ElementRole) -> int:
    """Return the bits of the parts inside an element, given those around it.

    What encloses the main content is in no part, whatever the wrapper around it is called.
    """
    if role.root:
        return parts & INVISIBLE
    return parts | role.part


def excluded_parts(sums: Mapping[int, tuple[int, int]], *, has_marked_text: bool = False) -> int:
    """Return the bits of the parts to leave out of a page.

    sums   by the parts of a block: characters outside links, and size of the text
    has_marked_text  an element that encloses main content has text: the links of sidebars and
                     footers, such as a cloud of tags, do not count then

    Example: navigation of 300 characters beside a text of 700 is left out. In a page with 700
    characters in elements named `caption` and 300 elsewhere captions are no part.
    """
    excluded = present = 0
    for parts in sums:
        present |= parts
    own_left, size_left = (sum(total[at] for total in sums.values()) for at in (0, 1))
    for name, max_share in PARTS.items():
        bit = _BITS[name]
        if not present & bit:
            continue
        part = [total for parts, total in sums.items() if parts & bit and not parts & excluded]
        own, size = (sum(total[at] for total in part) for at in (0, 1))
        is_list = has_marked_text and bit & _LISTS  # its links do not count
        is_small = own <= max_share * own_left and (is_list or size <= max_share * size_left)
        if is_small or (bit == COMMENTS and own_left - own >= MIN_ARTICLE_CHARS):
            excluded |= bit
            own_left, size_left = own_left - own, size_left - size
    return excluded
