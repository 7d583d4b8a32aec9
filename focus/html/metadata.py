"""Reads the authors of a page from its metadata for machines, and from its bylines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from focus.html.blocks import Block
from focus.html.dom import fold, node_text
from focus.html.json_ld import JsonObject, as_list
from focus.html.page_parts import FOREIGN
from focus.html.publication_date import MetadataSources, is_foreign

MAX_NAME = 200
"""Characters of the authors' names at most."""

_AUTHOR_METAS = (
    "author", "article:author", "dc.contributor", "parsely-author", "sailthru.author", "byl",
    "article:author_name",
)  # fmt: skip
_CITATION_METAS = ("citation_author", "citation_authors", "dc.creator", "dcterms.creator")
_CITATION_SELECTOR = ",".join(f'[name="{name}" i]' for name in _CITATION_METAS)
_FAMILY_FIRST = re.compile(
    r"([^,，]+)[,，](?!\s*(?:M\.?D|Ph\.?D|MSc|MBA|[JS]r)\b)([^,，]+)(?:,( (?:[JS]r\.?|I{2,3}|IV)))?"
)
_FAMILY = re.compile(
    "[一-鿿]|欧阳|歐陽|司马|司馬|上官|诸葛|諸葛|夏侯|皇甫|慕容|司徒|令狐|尉迟|东方|端木"
)
_AUTHOR_SELECTOR = (
    '[itemprop~="author"] [itemprop~="name"],[itemprop~="author"],[rel~="author"],'
    ".author-name,.author_name,.byline-name,.byline__name,.p-author,.article-author,.post-author,"
    ".byline,.author"
)
_WEB_ADDRESS = re.compile(r"\s*(?:https?:)?//|\s*www\.|\s*@\w+\s*$|#", re.I)
_MAIL = re.compile(r"\s*(?:mailto:)?[(<\[]?\S+@\S+\.\w+[)>\]]?\s*")
_MAIL_NAME = re.compile(r"\S+@\S+\.\w+ \(([^()]+)\)")
_TAG = re.compile(r"<[^<>]*>")
_NO_NAME = re.compile(
    r"(?:admin(?:istrator)?|root|anonym(?:ous|e)?|unknown|author|editor|null|none|undefined|guest"
    r"|佚名|匿名|未知|管理员|管理員|小编|编辑|作者)?",
    re.I,
)
_BY_WORD = "(?:(?:written|post(?:ed)?|story|words|text|guide|review(?:ed)?|report(?:ed)?) )?"
_BY = re.compile(
    rf"^\W*(?:{_BY_WORD}(?:by|von|par|por|di|door|author|autor(?:in|e)?|auteur|автор)\b[:\s]+"
    r"|(?:作者|记者|記者|文|编辑|編輯)\s*[:：/|｜\s]\s*)",
    re.I,
)
_BYLINE_END = re.compile(
    r"\s*(?:[|·•»,/–—-]\s|\bon\b|\bpublished\b|\bupdated\b|\bposted\b|\d|\n|$).*", re.I | re.S
)
_LATIN_WORD = r"[A-ZÀ-ÞА-Я][\w.'’-]+"
_LATIN_NAMES = (
    rf"(?P<names>{_LATIN_WORD}(?: (?:{_LATIN_WORD}|and|und|et|&|de|van|von|der|la|di|da)|,"
    rf"(?= {_LATIN_WORD} {_LATIN_WORD}))*)"
)
_FAMILY_NAME_FIRST = (
    rf"(?:(?:de|van|von|der|la|di|da) )*{_LATIN_WORD}, {_LATIN_WORD}"
    rf"(?: [A-ZÀ-Þ]\.?| {_LATIN_WORD})?"
)
_NEXT_FAMILY_NAME_FIRST = rf"(?:(?:,? (?:and|und|et|y|e|&)|;) {_FAMILY_NAME_FIRST})"
_FAMILY_NAMES_FIRST = re.compile(
    rf"{_FAMILY_NAME_FIRST}{_NEXT_FAMILY_NAME_FIRST}*"
    r"(?=\s*(?:$|[|·•»–—(\n\d-]|(?i:on|published|updated)\b))"
)
"""Names such as Doe, Jane and Roe, John; a name before the comma is one word."""
_NATIONALITY = r"(?:[\[【（(〔][一-鿿]{1,3}[\]】）)〕]\s*)?"
_NAME_START = (
    r"(?!编辑|編輯|[责責摄攝图]|来源|來源|校对|审核|通讯员|报道|報道|報導|实习|发布"
    r"|\w{1,6}\s*[:：|｜])"
)
_NAME = rf"(?:{_NAME_START}[^\s|｜:：()（）【】\[\]\d，、。；/]{{2,20}})"
_HAN_NAME = rf"(?:{_NAME_START}[一-鿿]{{1,8}}(?:·[一-鿿]{{1,8}})+|{_NAME_START}[一-鿿]{{2,4}})"
_START, _SIGN = r"(?:^|[\s|｜【\[(（])", r"\s*[:：/|｜丨]\s*"
_BYLINES = tuple(
    (signs, re.compile(pattern, re.M))
    for signs, pattern in (
        (
            "者文稿",
            rf"{_START}(?:本文)?(?:作\s?者|撰文|撰稿|文字?|图文){_SIGN}"
            rf"{_NATIONALITY}(?P<names>{_NAME}(?:[ 、　/]{_NAME}){{0,3}})"
            rf"|^(?:本文)?作者\s+(?P<names2>{_HAN_NAME})(?=\s|$)",
        ),
        (
            "者员",
            rf"{_START}(?:(?:本报|本网|新华社|特约|见习|全媒体)*(?:记者|記者)|通讯员)\s*[:：|｜]?\s*"
            rf"(?P<names>{_HAN_NAME}(?:[ 、　/]{_HAN_NAME}){{0,3}})"
            r"(?=[)）】|｜\s／/]|报道|報導|報道|摄|攝|文|$)",
        ),
        (
            "编編稿者",
            rf"{_START}(?:责任|責任|本文)?(?:编辑|編輯|责编|責編|供稿|发布者){_SIGN}"
            rf"(?P<names>{_HAN_NAME}(?:[ 、　/]{_HAN_NAME}){{0,3}})(?=[^\w，。]|$)",
        ),
        (
            "",
            rf"^(?i:{_BY_WORD}(?:by|von|par|por|di|door)|author)\s*:? "
            rf"(?P<names>{_FAMILY_NAME_FIRST}{_NEXT_FAMILY_NAME_FIRST}+)",
        ),
        (
            "",
            rf"^(?:(?i:{_BY_WORD}(?:by|von|par|por|di|door))"
            r" (?=\S*\w (?:(?:de|van|von|der|la|di|da)\b|[A-ZÀ-ÞА-Я]))"
            r"|(?i:(?:written )?by|author|autor(?:in|e)?|auteur|автор)\s*: ?)"
            rf"{_LATIN_NAMES}(?= ?(?:$|[|·•»,–—(-]|\d|(?i:on|published|updated|for)\b))",
        ),
    )
)
"""The author, the reporter, the editor, a byline in another script: the first that a page names
counts. A text that matches has one of the signs."""
_HAN_SEPARATOR = re.compile(r"[、,，/;；|｜　]+|(?<=[一-鿿])\s+(?=[一-鿿])")
_HAN = re.compile("[一-鿿]")
_AND = re.compile(r"\s*,?\s+(?:and|und|et|y|e|&)\s+|\s*[;|]\s*", re.I)


def find_author(sources: MetadataSources) -> str | None:
    """Return the names of the authors, separated by ", "; None if the page names none.

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
        _citation_authors(sources),
        *([meta] for meta in metas),
        (name for node in pages for name in _entity_names(node.get("author"), by_id)),
    )
    for names in candidates:
        if author := _join_names(names):
            return author
    return _shown_author(sources.tree) or _byline(sources.blocks)


def _citation_authors(sources: MetadataSources) -> Iterator[str]:
    """Yield the authors of a paper, of which there may be a meta element for each."""
    if not sources.metas.keys().isdisjoint(_CITATION_METAS):
        for node in sources.tree.css(_CITATION_SELECTOR):
            names = re.split("[;；]", node.attributes.get("content") or "")
            yield from map(_given_name_first, names)


def _entity_names(value: Any, by_id: dict[str, JsonObject]) -> Iterator[str]:
    """Yield the names of one or several persons or organisations."""
    for entity in (inner for outer in as_list(value) for inner in as_list(outer)):
        named = entity if isinstance(entity, dict) else by_id.get(str(entity), {"name": entity})
        if "name" not in named:
            named = by_id.get(str(named.get("@id")), named)
        name = named.get("name") or f"{named.get('givenName', '')} {named.get('familyName', '')}"
        yield from (name for name in as_list(name) if isinstance(name, str))


def _given_name_first(name: str) -> str:
    """Return `Na Li` for `Li, Na`, and 李娜 for 李, 娜; other names as they are."""
    if not (match := _FAMILY_FIRST.fullmatch(name)):
        return name
    family, first_name = match[1].strip(), match[2].strip()
    if _HAN.search(family):
        return family + first_name if _FAMILY.fullmatch(family) else name
    return f"{first_name} {family}{match[3] or ''}"


def _join_names(names: Iterable[str]) -> str | None:
    """Return cleaned names, each once, separated by commas; None if there is none."""
    cleaned = (_clean_name(name) for text in names for name in _split_names(text))
    return ", ".join(dict.fromkeys(filter(None, cleaned)))[:MAX_NAME] or None


def _split_names(text: str) -> list[str]:
    """Return the names in a text: 李雷、韩梅梅, Jane Doe and John Roe, but not Food & Wine."""
    text = _BY.sub("", fold(_TAG.sub(" ", unescape(text)), MAX_NAME))
    if _HAN.search(text):
        return _HAN_SEPARATOR.split(text)
    names = _AND.split(text)
    if _FAMILY_NAMES_FIRST.fullmatch(text):
        return [*map(_given_name_first, names)]
    return names if all(" " in name for name in names) else [text]


def _clean_name(name: str) -> str:
    """Return a name without mail address and "By"; "" for a URL and for "admin"."""
    if match := _MAIL_NAME.fullmatch(name):
        name = match[1]
    name = _BY.sub("", _MAIL.sub(" ", name)).strip(" ,;|·-–—:：")
    is_name = not _WEB_ADDRESS.match(name) and not _NO_NAME.fullmatch(name)
    return " ".join(name.split()) if is_name else ""


def _shown_author(tree: LexborHTMLParser) -> str | None:
    """Return the names in the first elements with the property or name of an author."""
    names: list[str] = []
    parent = None
    for node in islice(tree.css(_AUTHOR_SELECTOR), 20):
        above = node.parent.mem_id if node.parent is not None else None
        if names and above != parent:  # of another article
            break
        text = node.attributes.get("content") or node_text(node, MAX_NAME)
        text = _BY.sub("", text)
        family_first = _FAMILY_NAMES_FIRST.match(text)
        name = _join_names([family_first[0] if family_first else _BYLINE_END.sub("", text)])
        if name and 1 < len(name) <= 80 and not is_foreign(node):
            names.append(name)
            parent = above
    return ", ".join(dict.fromkeys(names)) or None


def _byline(blocks: list[Block]) -> str | None:
    """Return the names in a line such as 作者：李雷, （记者 李雷） or By Jane Doe."""
    text = "\n".join(block.text for block in blocks if not block.parts & FOREIGN)
    for signs, pattern in _BYLINES:
        if (not signs or any(sign in text for sign in signs)) and (match := pattern.search(text)):
            return _join_names([match[match.lastgroup or "names"]])
    return None
