"""Reads a URL as text: the URL pattern of its page, and the words in it.

`url_pattern` groups the pages that one template of a site produces (P3 Table 5-1):
`/china/2018-04-13/doc-ifzcyxmu0751199.shtml` becomes `/china/D/doc-X.shtml`. Class signs:

    D  date: 2018-04-13, 20180413, 2018/04/13, 2018-04, a year on its own in the path
    N  number                        X  id: letters and digits mixed, hash, UUID
    S  free text: a title, a tag, a name

The words that stay describe the structure of the site: sections, file extensions, names of query
parameters.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from functools import lru_cache
from typing import Final

from focus.urls.normal_form import path_and_query

_MAX_PARTS: Final = 8  # segments and parameters; longer URLs share the pattern of their beginning


def url_pattern(url: str) -> str:
    """Return the pattern of a normalised URL: path and query with varying parts replaced by signs.

    Articles of one section share a pattern, its tag pages another, its pagination a third. The
    pattern contains neither the host nor capitals of the path. A server that ignores case has 2^n
    spellings of n letters, `/Goal` and `/gOAL`; each would get a trap budget of its own.
    """
    path, _, query = path_and_query(url).partition("?")
    path = path.lower()
    if "/20" in path or "/19" in path:
        path = _DATE_PATH.sub("/D", path)
    segments = path.split("/")[1:]
    if len(segments) > _MAX_PARTS:
        segments = [*segments[: _MAX_PARTS - 1], "+"]
    leaf_index = len(segments) - (1 if segments[-1] else 2)
    signs: list[str] = []
    previous, has_date = "", False
    for index, segment in enumerate(segments):
        name_level = (
            2 if previous in _COLLECTIONS else int(has_date or (index == leaf_index and index > 1))
        )
        sign = _segment_pattern(segment, name_level, is_leaf=index == leaf_index and index > 0)
        if sign != "S" or previous != "S":  # nested categories share one sign
            signs.append(sign)
        previous, has_date = sign, has_date or sign == "D"
    return "/" + "/".join(signs) + (_query_pattern(query) if query else "")


@lru_cache(maxsize=16384)
def _segment_pattern(segment: str, name_level: int, is_leaf: bool) -> str:
    """Return the pattern of one path segment.

    name_level  2 if any word here is a name (below `tag/`), 1 if only plain words are, 0 if none is
    """
    stem, ending = segment, ""
    if "." in segment and (extension := _EXTENSION.search(segment)):
        stem, ending = segment[: extension.start()], extension[0]
    if stem in _STRUCTURE_WORDS:
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
    word_count = sum(token.isalpha() and token != "D" for token in tokens)
    is_text = word_count > 2 or (len(tokens) > 4 and any(map(str.isalpha, stem)))
    if is_text or (word_count == 2 and is_leaf) or (word_count and name_level == 2):
        return "S" + ending
    if (
        word_count
        and word_count == len(tokens)
        and (name_level or (ending and ending not in _SCRIPT_EXTENSIONS))
    ):
        return "S" + ending
    if len(stem) <= 6 and word_count == 0 and not (name_level or is_leaf or stem.isdigit()):
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
    """Return the names of the parameters, sorted, each with the class sign of its value."""
    signs = set()
    for parameter in query.split("&", _MAX_PARTS)[:_MAX_PARTS]:
        name, _, value = parameter.partition("=")
        if name and not name.startswith("utm_"):
            name = _DIGITS.sub("N", name) if len(name) <= 24 else "S"
            signs.add(f"{name}={_value_pattern(name, value)}")
    return "?" + "&".join(sorted(signs)) if signs else ""


def _value_pattern(name: str, value: str) -> str:
    if name in _TEMPLATE_PARAMETERS and len(value) <= 16 and value.isalpha():
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
_STRUCTURE_WORDS: Final = frozenset(
    {"", "index", "default", "list", "home", "main", "page", "pages", "feed", "rss", "atom"}
)
_SCRIPT_EXTENSIONS: Final = frozenset({".php", ".asp", ".aspx", ".jsp", ".do", ".action", ".cgi"})
_COLLECTION_WORDS = """
archive archives article articles author authors blog blogs categories category collection column
detail doc docs entry forum forums group item keyword keywords label labels member note notes p
people post posts product products profile question questions s search special story stories t tag
tags thread title topic topics u user users video videos w wiki writing writings
"""
_COLLECTIONS: Final = frozenset(_COLLECTION_WORDS.split())
"""Segments whose children are named by authors and users instead of the site's designers."""
_TEMPLATE_PARAMETERS: Final = frozenset(
    "a ac act action c do m mod module op option r route view".split()
)
"""Parameters whose value names the template: ?mod=viewthread."""


def url_words(url: str) -> str:
    """Return path and query of a normalised URL as text in which to find topic words.

    Escapes are decoded as UTF-8, otherwise as GB18030; separators become spaces; the file
    extension is removed. Returns "" for a URL of only a host.
    """
    tail = path_and_query(url)[1:]
    if not tail:
        return ""
    path, _, query = tail.partition("?")
    path = _EXTENSION.sub("", path)
    text = _unescape(path) + " " + _unescape(query) if query else _unescape(path)
    return " ".join(_FIND_WORDS(text))


def folder_words(url: str) -> str:
    """Return the `url_words` of the folders of an absolute URL, without the page's own name.

    Example: `http://h/sport/football/2024/cup-final.html` gives `sport football 2024`, and
    `http://h/football/` gives "".
    """
    path = url.partition("?")[0].rstrip("/")
    end = path.rfind("/")
    return url_words(path[: end + 1]) if end > 8 else ""


def _unescape(text: str) -> str:
    if "%" not in text:
        return text
    raw = _ESCAPES.sub(lambda run: unhexlify(run[0].replace(b"%", b"")), text.encode())
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


_ESCAPES: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_FIND_WORDS: Final = re.compile(r"""[^\s\0\-_/+.=&?,;:~|!*'"()\[\]{}<>@#$%^\\`]+""").findall
"""Return the runs of characters between separators."""
