"""Reads author and dates of a page from its metadata for machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from itertools import islice
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser

from focus.html.dom import fold
from focus.html.publication_date import read_modification_time, read_publication_time
from focus.html.size_guard import limit_markup

MAX_NAME = 200
"""Characters of an author's name at most."""

_AUTHOR_METAS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author",
            "parsely-author", "sailthru.author", "byl")  # fmt: skip
_MAX_SCRIPTS, _MAX_OBJECTS = 20, 200  # scripts and objects of JSON-LD read per page
_WEB_ADDRESS = re.compile(r"\s*(?:https?:)?//|\s*www\.", re.I)


class PageMetadata(msgspec.Struct, frozen=True):
    """A page's statements about itself; None where it makes none.

    published, modified   Unix seconds
    author                names, separated by ", "
    """

    published: float | None = None
    modified: float | None = None
    author: str | None = None


def read_metadata(html: str, url: str, *, fetched_at: float) -> PageMetadata:
    """Read a page's metadata. Any string is accepted as a page; nothing raises."""
    tree = LexborHTMLParser(limit_markup(html.encode("utf-8", "replace")))
    metas = _meta_contents(tree)
    objects = list(islice(_json_ld_objects(tree), _MAX_OBJECTS))
    return PageMetadata(
        published=read_publication_time(html, url, fetched_at=fetched_at, zone=UTC),
        modified=read_modification_time(html, fetched_at=fetched_at, zone=UTC),
        author=_find_author(tree, metas, objects),
    )


def _meta_contents(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the contents of meta elements by name in lower case, the first of each name."""
    contents: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = (
            attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        ).lower()
        if name and (content := fold(attributes.get("content"), MAX_NAME)):
            contents.setdefault(name, content)
    return contents


def _find_author(
    tree: LexborHTMLParser, metas: dict[str, str], objects: list[dict[str, Any]]
) -> str | None:
    """Return the author from JSON-LD, meta, microdata or rel=author, in this order.

    A URL is not accepted as a name.
    """
    names = list(
        dict.fromkeys(name for thing in objects for name in _entity_names(thing.get("author")))
    )
    if names:
        return ", ".join(names)[:MAX_NAME]
    for name in _AUTHOR_METAS:
        if (author := metas.get(name)) and not _WEB_ADDRESS.match(author):
            return author
    for node in tree.css(
        '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"]'
    ):
        author = fold(node.attributes.get("content") or node.text(), MAX_NAME)
        if author and not _WEB_ADDRESS.match(author):
            return author
    return None


def _json_ld_objects(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    """Yield the objects in a page's JSON-LD, outermost first."""
    for script in islice(tree.css('script[type="application/ld+json"]'), _MAX_SCRIPTS):
        try:
            pending = [msgspec.json.decode(script.text() or "")]
        except (msgspec.DecodeError, RecursionError):
            continue
        while pending:
            value = pending.pop(0)
            if isinstance(value, list):
                pending.extend(value[:_MAX_OBJECTS])
            elif isinstance(value, dict):
                yield value
                pending.extend(value["@graph"] if isinstance(value.get("@graph"), list) else [])


def _entity_names(value: Any) -> Iterator[str]:
    """Yield the names of one or several persons or organisations."""
    for entity in value if isinstance(value, list) else [value]:
        name = entity.get("name") if isinstance(entity, dict) else entity
        if (
            isinstance(name, str)
            and (text := fold(name, MAX_NAME))
            and not _WEB_ADDRESS.match(text)
        ):
            yield text
