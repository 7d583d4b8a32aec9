"""Reads who wrote a page, on which site and when, from what it says for machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from itertools import islice
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser

from focus.html.dom import fold
from focus.html.publication_date import modified_at, published_at
from focus.html.size_guard import guard

MAX_NAME = 200
"""Characters of an author's or a site's name."""

_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author",
            "parsely-author", "sailthru.author", "byl")  # fmt: skip
_SITES = ("og:site_name", "application-name", "citation_journal_title", "twitter:site")
_SCRIPTS, _OBJECTS = 20, 200  # JSON-LD read of one page
_ADDRESS = re.compile(r"\s*(?:https?:)?//|\s*www\.", re.I)


class PageMetadata(msgspec.Struct, frozen=True):
    """A page's statements about itself; None where it makes none.

    published, modified   Unix seconds
    author                names, separated by ", "
    site                  the name of the site, or of its publisher
    """

    published: float | None = None
    modified: float | None = None
    author: str | None = None
    site: str | None = None


def metadata_of(html: str, url: str, *, fetched_at: float) -> PageMetadata:
    """Read a page's metadata. Every string is a page: nothing raises."""
    tree = LexborHTMLParser(guard(html.encode("utf-8", "replace")))
    metas = _metas(tree)
    linked = list(islice(_objects(tree), _OBJECTS))
    return PageMetadata(
        published=published_at(html, url, fetched_at=fetched_at, zone=UTC),
        modified=modified_at(html, fetched_at=fetched_at, zone=UTC),
        author=_author(tree, metas, linked),
        site=next((metas[name] for name in _SITES if metas.get(name)), None)
        or next((name for each in linked for name in _names(each.get("publisher"))), None),
    )


def _metas(tree: LexborHTMLParser) -> dict[str, str]:
    """Contents of meta elements by name in lower case, the first of each."""
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        said = node.attributes
        name = (said.get("property") or said.get("name") or said.get("itemprop") or "").lower()
        if name and (content := fold(said.get("content"), MAX_NAME)):
            found.setdefault(name, content)
    return found


def _author(
    tree: LexborHTMLParser, metas: dict[str, str], linked: list[dict[str, Any]]
) -> str | None:
    """By JSON-LD, meta, microdata, rel=author, in this order; an address is no name."""
    names = list(dict.fromkeys(name for each in linked for name in _names(each.get("author"))))
    if names:
        return ", ".join(names)[:MAX_NAME]
    for name in _AUTHORS:
        if (said := metas.get(name)) and not _ADDRESS.match(said):
            return said
    for node in tree.css(
        '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"]'
    ):
        said = fold(node.attributes.get("content") or node.text(), MAX_NAME)
        if said and not _ADDRESS.match(said):
            return said
    return None


def _objects(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    """The objects of a page's JSON-LD, outermost first."""
    for script in islice(tree.css('script[type="application/ld+json"]'), _SCRIPTS):
        try:
            waiting = [msgspec.json.decode(script.text() or "")]
        except (msgspec.DecodeError, RecursionError):
            continue
        while waiting:
            each = waiting.pop(0)
            if isinstance(each, list):
                waiting.extend(each[:_OBJECTS])
            elif isinstance(each, dict):
                yield each
                waiting.extend(each["@graph"] if isinstance(each.get("@graph"), list) else [])


def _names(said: Any) -> Iterator[str]:
    """Names of a person or an organisation, or of several."""
    for each in said if isinstance(said, list) else [said]:
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, str) and (text := fold(name, MAX_NAME)) and not _ADDRESS.match(text):
            yield text
