"""Reads author and dates of a page from its metadata for machines, and from its bylines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import unescape
from itertools import islice
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser

from focus.html.blocks import Block
from focus.html.dom import fold, node_text
from focus.html.json_ld import JsonObject, as_list
from focus.html.publication_date import (
    MetadataSources,
    find_modification,
    find_publication,
    is_foreign,
)

MAX_NAME = 200
"""Characters of the authors' names at most."""

_AUTHOR_METAS = (
    "author", "article:author", "dc.creator", "dcterms.creator", "dc.contributor",
    "parsely-author", "sailthru.author", "byl", "article:author_name", "twitter:creator",
)  # fmt: skip
_AUTHOR_SELECTOR = (
    '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"],'
    ".author-name,.author_name,.byline-name,.byline__name,.p-author,.article-author,.post-author,"
    ".byline,.author"
)
_WEB_ADDRESS = re.compile(r"\s*(?:https?:)?//|\s*www\.|\s*@\w+\s*$", re.I)
_MAIL = re.compile(r"\s*[(<\[]?\S+@\S+\.\w+[)>\]]?\s*")
_MAIL_NAME = re.compile(r"\S+@\S+\.\w+ \(([^()]+)\)")
_TAG = re.compile(r"<[^<>]*>")
_BY = re.compile(
    r"^\W*(?:(?:written |posted |reported )?(?:by|von|par|por|di|door|автор)\b[:\s]+"
    r"|(?:作者|记者|文|编辑)\s*[:：/]\s*)",
    re.I,
)
_BYLINE_END = re.compile(
    r"\s*(?:[|·•,/–—-]\s|\bon\b|\bpublished\b|\bupdated\b|\bposted\b|\d|\n|$).*", re.I | re.S
)
_ENGLISH_BYLINE = re.compile(
    r"^(?i:(?:written |story |words )?by:?) "
    r"((?:[A-Z][\w.'’-]+ ?|(?:and|&|de|van|von|der|la) |, ){1,12})"
)
_NAME_SEPARATOR = re.compile(r"[、,，/　]+|(?<=[一-鿿]) (?=[一-鿿])")
_NAME = r"(?:(?!\w{1,6}\s*[:：])[^\s|｜:：()（）【】\d，、。；/]{2,20})"
_NAMES = rf"(?P<names>{_NAME}(?:[ 、　/]{_NAME}){{0,3}})"
_HAN_NAME = r"(?:(?!\w{1,6}\s*[:：])[一-鿿·]{2,8})"
_HAN_NAMES = rf"(?P<names>{_HAN_NAME}(?:[ 、　/]{_HAN_NAME}){{0,3}})"
_CHINESE_BYLINES = tuple(
    (signs, re.compile(pattern))
    for signs, pattern in (
        ("者", rf"(?:^|[\s|｜【(（])作\s?者\s*[:：]\s*{_NAMES}"),
        (
            "者",
            r"(?:^|[\s|｜【(（])(?:本报|本网|新华社|特约|见习|全媒体)*记者\s*[:：]?\s*"
            rf"{_HAN_NAMES}(?=[)）】|｜\s]|报道|摄|文|$)",
        ),
        ("编編", rf"(?:责任|責任|本文)?(?:编辑|編輯|责编|責編)\s*[:：]\s*{_HAN_NAMES}"),
    )
)
"""The author, the reporter, the editor: the first that a page names counts; each pattern with
signs of which a text that matches has one."""


class PageMetadata(msgspec.Struct, frozen=True):
    """A page's statements about itself; None where it makes none.

    published, modified   with the zone that the page states, else in UTC
    author                names, separated by ", "
    """

    published: datetime | None = None
    modified: datetime | None = None
    author: str | None = None


def read_metadata(html: str, url: str, *, fetched_at: float) -> PageMetadata:
    """Read a page's metadata. Any string is accepted as a page; nothing raises."""
    return metadata_from_sources(MetadataSources(html, url), fetched_at=fetched_at)


def metadata_from_sources(sources: MetadataSources, *, fetched_at: float) -> PageMetadata:
    """Return the metadata of a parsed page."""
    return PageMetadata(
        published=find_publication(sources, fetched_at=fetched_at, zone=UTC),
        modified=find_modification(sources, fetched_at=fetched_at, zone=UTC),
        author=_find_author(sources),
    )


def _find_author(sources: MetadataSources) -> str | None:
    """Return the names of the authors.

    Sources in this order: JSON-LD of the page's article, citation_author, other meta elements,
    JSON-LD of the WebPage, microdata and elements named as an author, bylines in the text. URLs and
    mail addresses are not names.
    """
    by_id = {thing["@id"]: thing for thing in sources.objects if isinstance(thing.get("@id"), str)}
    nodes, pages = sources.own_nodes, sources.page_nodes
    metas = [sources.metas[name] for name in _AUTHOR_METAS if name in sources.metas]
    candidates: Iterable[Iterable[str]] = (
        (
            name
            for key in ("author", "creator")
            for node in nodes
            for name in _entity_names(node.get(key), by_id)
        ),
        (
            node.attributes.get("content") or ""
            for node in sources.tree.css('[name="citation_author" i]')
        ),
        *([meta] for meta in metas),
        (name for node in pages for name in _entity_names(node.get("author"), by_id)),
    )
    for names in candidates:
        if author := _join_names(names):
            return author
    return _shown_author(sources.tree) or _byline(sources.blocks)


def _entity_names(value: Any, by_id: dict[str, JsonObject]) -> Iterator[str]:
    """Yield the names of one or several persons or organisations."""
    entities = (inner for entity in as_list(value) for inner in as_list(entity))
    for entity in entities:
        if isinstance(entity, dict):
            named = entity if "name" in entity else by_id.get(str(entity.get("@id")), {})
            yield from (name for name in as_list(named.get("name")) if isinstance(name, str))
        elif isinstance(entity, str):
            yield entity


def _join_names(names: Iterable[str]) -> str | None:
    """Return cleaned names, each once, separated by commas; None if there is none."""
    cleaned = dict.fromkeys(filter(None, map(_clean_name, names)))
    return ", ".join(cleaned)[:MAX_NAME] or None


def _clean_name(name: str) -> str:
    """Return a name without HTML, mail address and "By"; "" for a URL."""
    text = fold(_TAG.sub(" ", unescape(name)), MAX_NAME)
    if match := _MAIL_NAME.fullmatch(text):
        text = match[1]
    text = _BY.sub("", _MAIL.sub(" ", text)).strip(" ,;|·-–—:：")
    return "" if _WEB_ADDRESS.match(text) else " ".join(text.split())


def _shown_author(tree: LexborHTMLParser) -> str | None:
    """Return the names in the first element with the property or name of an author."""
    for node in islice(tree.css(_AUTHOR_SELECTOR), 20):
        text = node.attributes.get("content") or node_text(node, MAX_NAME)
        name = _clean_name(_BYLINE_END.sub("", _BY.sub("", text)))
        if 1 < len(name) <= 80 and not is_foreign(node):
            return name
    return None


def _byline(blocks: list[Block]) -> str | None:
    """Return the names in a line such as 作者：李雷, （记者 李雷） or By Jane Doe."""
    texts = [block.text for block in blocks]
    for signs, pattern in _CHINESE_BYLINES:
        for text in (text for text in texts for sign in signs if sign in text):
            if match := pattern.search(text[:120]) or pattern.search(text[-60:]):
                return _join_names(_NAME_SEPARATOR.split(match["names"]))
    for text in texts:
        if match := _ENGLISH_BYLINE.match(text[:120]):
            return _join_names(re.split(r"\s*(?:,|\band\b|&)\s*", match[1]))
    return None
