"""Reads JSON-LD as sites write it, and finds the node that describes the page.

parse_json_ld   the outermost objects of a script
own_nodes       the nodes of the page itself: its article, else its WebPage
schema_types    the schema.org types of an object
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

MAX_JSON_LD = 300_000
"""Characters of the longest script that is read."""

_STRING_OR_JUNK = re.compile(
    r'("(?:[^"\\]|\\.)*+"?)|/\*.*?(?:\*/|\Z)|//[^\n]*|<!--|-->|<!\[CDATA\[|\]\]>|,\s*(?=[}\]])',
    re.S,
)
"""A string, or what is not JSON: comments of JavaScript, HTML and XML, a comma before a bracket."""
_WRONG_ESCAPE = re.compile(r'\\(\\|[^"/bfnrtu])')
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)
_OWN_TYPE = re.compile(
    "(?:Article|Posting|Report|Review|Recipe|Product|Event|Question|Course|Book|Dataset"
    "|CreativeWork|Thesis)$"
)
_MEDIA_TYPES = frozenset(("VideoObject", "AudioObject", "PodcastEpisode", "Photograph"))
_PAGE_TYPE = re.compile("Page$")

JsonObject = dict[str, Any]


def parse_json_ld(text: str) -> Iterator[JsonObject]:
    """Yield the outermost objects of a JSON-LD script; none if it cannot be read.

    Comments, CDATA, text around it, several objects, raw line breaks and wrong escapes in strings
    and commas before a closing bracket are accepted.
    """
    if len(text) > MAX_JSON_LD:
        return
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        value = [*_decode_leniently(text)]
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict) and isinstance(item.get("@graph"), list | dict):
            item = item["@graph"]
        if isinstance(item, list):
            pending += reversed(item)
        elif isinstance(item, dict):
            yield item


def _decode_leniently(text: str) -> Iterator[object]:
    """Yield the values of a script one after the other, up to the first that cannot be read."""
    text = unescape(text) if "&quot;" in text and '"' not in text else text
    plain = _STRING_OR_JUNK.sub(_clean_string, text)
    end = 0
    try:
        while start := _OPENING.search(plain, end):
            value, end = _DECODER.raw_decode(plain, start.start())
            yield value
    except (ValueError, RecursionError):
        return


def _clean_string(match: re.Match[str]) -> str:
    """Return a string without wrong escapes, and nothing for a comment."""
    return _WRONG_ESCAPE.sub(lambda m: m[0] if m[1] == "\\" else m[1], match[1] or "")


def schema_types(json_object: JsonObject) -> Iterator[str]:
    """Yield the schema.org types of an object, not those of its parts.

    Example: `{"@type": ["CollectionPage"], "hasPart": {"@type": "Article"}}` gives CollectionPage.
    """
    yield from (name for name in as_list(json_object.get("@type")) if isinstance(name, str))


def own_nodes(objects: Iterable[JsonObject], url: str) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the nodes of the page's article, the best first, and those of its WebPage.

    Members of lists, comments, articles with another URL and reviews beside an article are not the
    page's. If every article has another URL and there is only one, it is the page's, under its
    canonical address.
    """
    articles: list[tuple[float, JsonObject]] = []
    pages: list[JsonObject] = []
    for node in objects:
        types = list(schema_types(node))
        if any(map(_PAGE_TYPE.search, types)):
            pages.append(node)
            node = node.get("mainEntity") or {}
            types = list(schema_types(node)) if isinstance(node, dict) else ["ItemList"]
        if not isinstance(node, dict) or not node:
            continue
        if not types or any(map(_OWN_TYPE.search, types)):
            is_review = any(name.endswith("Review") for name in types)
            articles.append((_match_url(node, url) - is_review / 2, node))
        elif not _MEDIA_TYPES.isdisjoint(types):
            pages.append(node)
    if len(articles) > 1:
        articles = [(score, node) for score, node in articles if score >= 0]
    articles.sort(key=lambda entry: -entry[0])
    return [node for _, node in articles], pages


def _match_url(node: JsonObject, url: str) -> int:
    """Return 1 if a node has the page's URL, -1 if it has another, 0 if it has none."""
    page = node.get("mainEntityOfPage")
    values = (node.get("url"), page.get("@id") if isinstance(page, dict) else page, node.get("@id"))
    addresses = [value for value in values if isinstance(value, str) and "/" in value]
    if not addresses:
        return 0
    return 1 if any(_address(value) == _address(url) for value in addresses) else -1


def _address(url: str) -> str:
    """Return host and path of a URL, for comparison."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.netloc.removeprefix('www.')}{unquote(parts.path).rstrip('/')}".lower()


def as_list(value: object) -> list[Any]:
    """Return a list as it is, and anything else in a list."""
    return value if isinstance(value, list) else [value]
