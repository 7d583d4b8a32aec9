"""Reads an address as text: the URL pattern of its page, and the words in it.

`url_pattern` puts the pages that one template of a site makes under one name (P3 Table 5-1):
`/china/2018-04-13/doc-ifzcyxmu0751199.shtml` becomes `/china/D/doc-X.shtml`. Signs:

    D  date: 2018-04-13, 20180413, 2018/04/13, 2018-04, a year on its own in the path
    N  number                        X  id: letters and digits mixed, hash, UUID
    S  free text: a title, a tag, a name

What stays are the words that a site's own structure is made of: sections, file
extensions, names of query parameters.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from functools import lru_cache
from typing import Final

_MAX_PARTS: Final = 8  # segments and parameters; what has more shares the pattern of its beginning


def url_pattern(url: str) -> str:
    """The pattern of a normalised URL: path and query, what varies replaced by signs.

    Articles of one section share a pattern, its tag pages another, its pagination a third.
    The host is not part of it, nor are capitals in a path: a server that takes no notice of them
    has 2^n spellings of n letters, `/Goal` and `/gOAL`, and each would have a trap's budget anew.
    """
    path, _, query = url[url.find("/", 8) :].partition("?")
    path = path.lower()
    if "/20" in path or "/19" in path:
        path = _DATE_PATH.sub("/D", path)
    segments = path.split("/")[1:]
    if len(segments) > _MAX_PARTS:
        segments = [*segments[: _MAX_PARTS - 1], "+"]
    leaf = len(segments) - (1 if segments[-1] else 2)
    signs: list[str] = []
    before, dated = "", False
    for at, segment in enumerate(segments):
        free = 2 if before in _COLLECTIONS else int(dated or (at == leaf and at > 1))
        sign = _segment_pattern(segment, free, leaf=at == leaf and at > 0)
        if sign != "S" or before != "S":  # however deep the categories are
            signs.append(sign)
        before, dated = sign, dated or sign == "D"
    return "/" + "/".join(signs) + (_query_pattern(query) if query else "")


@lru_cache(maxsize=16384)
def _segment_pattern(segment: str, free: int, leaf: bool) -> str:
    """`free`: 2 if any word here is a name (below `tag/`), 1 if words alone are, 0 if none."""
    stem, ending = segment, ""
    if "." in segment and (extension := _EXTENSION.search(segment)):
        stem, ending = segment[: extension.start()], extension[0]
    if stem in _STRUCTURE:
        return segment
    if stem.isdigit() and not _DATE.match(stem):
        return "N" + ending
    if "%" in stem or len(stem) > 60:
        return "S" + ending
    if stem[0] in "@~":
        return stem[0] + "S" + ending
    if _HASH.fullmatch(stem):
        return "X" + ending
    stem = _DATE.sub("D", stem)
    tokens = _TOKEN.findall(stem)
    texts = sum(token.isalpha() and token != "D" for token in tokens)
    many = texts > 2 or (len(tokens) > 4 and any(map(str.isalpha, stem)))
    if many or (texts == 2 and leaf) or (texts and free == 2):
        return "S" + ending
    if texts and texts == len(tokens) and (free or (ending and ending not in _SCRIPTS)):
        return "S" + ending
    if len(stem) <= 6 and texts == 0 and not (free or leaf or stem.isdigit()):
        return segment  # a section such as c3ref
    return _TOKEN.sub(_token_pattern, stem) + ending


def _token_pattern(match: re.Match[str]) -> str:
    token = match[0]
    if token.isdigit():
        return "N"
    if token.isalpha():
        return token if len(token) <= 20 else "X"
    if numbered := _NUMBERED.fullmatch(token):  # page2, t20180413
        return numbered[1] + ("D" if _DATE.fullmatch(numbered[2]) else "N")
    return "X"


def _query_pattern(query: str) -> str:
    """Names of the parameters, sorted, each with the class of its value."""
    signs = set()
    for parameter in query.split("&", _MAX_PARTS)[:_MAX_PARTS]:
        name, _, value = parameter.partition("=")
        if name and not name.startswith("utm_"):
            name = _DIGITS.sub("N", name) if len(name) <= 24 else "S"
            signs.add(f"{name}={_value_pattern(name, value)}")
    return "?" + "&".join(sorted(signs)) if signs else ""


def _value_pattern(name: str, value: str) -> str:
    if name in _SWITCHES and len(value) <= 16 and value.isalpha():
        return value
    if not value or value.isdigit():
        return "N" if value else ""
    if _DATE.fullmatch(value):
        return "D"
    return "X" if _HASH.fullmatch(value) or (value.isalnum() and not value.isalpha()) else "S"


_YEAR = r"(?:199\d|20[0-3]\d)"
_MONTH, _DAY = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATE_PATH: Final = re.compile(
    rf"/{_YEAR}(?:[-_/.]?{_MONTH}[-_/.]?{_DAY}|[-_/.](?:1[0-2]|0?[1-9])(?:[-_/.]{_DAY}|[-_/.][1-9])?"
    rf"|{_MONTH})?(?=/|\Z)"
)
_DATE: Final = re.compile(rf"(?<![A-Za-z0-9]){_YEAR}([-_.]?){_MONTH}(?:\1{_DAY})?(?![A-Za-z0-9])")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_HASH: Final = re.compile(  # or a UUID
    r"(?=[a-f]*\d)(?!\d+\Z)[0-9a-f]{8,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_TOKEN: Final = re.compile(r"[A-Za-z0-9]+")
_NUMBERED: Final = re.compile(r"([A-Za-z]{1,5})(\d+)")
_DIGITS: Final = re.compile(r"\d+")
_STRUCTURE: Final = frozenset(
    {"", "index", "default", "list", "home", "main", "page", "pages", "feed", "rss", "atom"}
)
_SCRIPTS: Final = frozenset({".php", ".asp", ".aspx", ".jsp", ".do", ".action", ".cgi"})
_COLLECTION_WORDS = """
archive archives article articles author authors blog blogs categories category collection column
detail doc docs entry forum forums group item keyword keywords label labels member note notes p
people post posts product products profile question questions s search special story stories t tag
tags thread title topic topics u user users video videos w wiki writing writings
"""
_COLLECTIONS: Final = frozenset(_COLLECTION_WORDS.split())
"""Segments below which people, not the makers of the site, give the names."""
_SWITCHES: Final = frozenset(
    {
        "a",
        "ac",
        "act",
        "action",
        "c",
        "do",
        "m",
        "mod",
        "module",
        "op",
        "option",
        "r",
        "route",
        "view",
    }
)
"""Parameters whose value says which template it is: ?mod=viewthread."""


def words(url: str) -> str:
    """Path and query of a normalised URL as text, for finding topic words in it.

    Escapes are decoded as UTF-8, else as GB18030; separators become spaces; the extension
    is left out. "" when there is nothing but the host.
    """
    tail = url[url.find("/", 8) + 1 :]
    if not tail:
        return ""
    path, _, query = tail.partition("?")
    path = _EXTENSION.sub("", path)
    text = _unescaped(path) + " " + _unescaped(query) if query else _unescaped(path)
    return " ".join(_WRITTEN(text))


def folder_words(url: str) -> str:
    """`words` of the folders of an absolute URL, without the page's own name.

    Worked: `http://h/sport/football/2024/cup-final.html` gives `sport football 2024`, and
    `http://h/football/` "".
    """
    path = url.partition("?")[0].rstrip("/")
    end = path.rfind("/")
    return words(path[: end + 1]) if end > 8 else ""


def _unescaped(text: str) -> str:
    if "%" not in text:
        return text
    raw = _ESCAPES.sub(lambda run: unhexlify(run[0].replace(b"%", b"")), text.encode())
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


_ESCAPES: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_WRITTEN: Final = re.compile(r"""[^\s\0\-_/+.=&?,;:~|!*'"()\[\]{}<>@#$%^\\`]+""").findall
"""What stands between separators."""
