"""Texts that a site repeats on its pages: their hashes, and the site's name in titles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from zlib import crc32

MAX_AFFIX_CHARS = 60
MIN_PAGES = 3  # pages with different titles that a repeated text is on
AFFIX_SHARE = 0.6  # of the titles of the host
_SEPARATOR = re.compile(
    r"\s*[|｜_–—·•»«]+\s*|\s+[-:/~]+\s+|\s*::\s*|\s*-+(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])-+\s*"
)

_NAME_SEPARATOR = re.compile(r"\s*[|｜_–—·•»«:：>/~－-]+\s*")
_NAME_TRIMMINGS = re.compile(r"^the\b|^www\.|\.[a-z]{2,4}$|[\W_]+")


def hash_text(text: str) -> int:
    """Return the hash by which a repeated text is recognised: the same in every process."""
    return crc32(text.encode("utf-8", "replace"))


def outer_affixes(title: str) -> list[str]:
    """Return the last and the first part of a title, each with its separator.

    Example: "Cup final – Sport – City News" gives [" – City News", "Cup final – "].
    """
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return []
    affixes = title[separators[-1].start() :], title[: separators[0].end()]
    return [affix for affix in affixes if len(affix) <= MAX_AFFIX_CHARS]


def common_affix(titles: Iterable[str]) -> str:
    """Return the end or beginning that most titles of a site share, "" if there is none."""
    different = sorted(set(titles))
    counts = Counter(affix for title in different for affix in outer_affixes(title))
    affix = max(counts, key=counts.__getitem__, default="")
    return affix if counts[affix] >= max(MIN_PAGES, AFFIX_SHARE * len(different)) else ""


def split_title(title: str, affix: str, name: str = "") -> tuple[str, str]:
    """Return a title without the name of its site, and that name.

    Args:
        title: The title as written.
        affix: End or beginning of the titles of the site; empty if none was learned.
        name: Name of the site by the metadata of the page; empty if there is none.
    """
    if affix and affix != title:
        for rest in (title.removesuffix(affix), title.removeprefix(affix)):
            if rest not in ("", title):
                return rest, next(filter(None, _SEPARATOR.split(affix)), "")
    if key := _name_key(name):
        for match in reversed(list(_NAME_SEPARATOR.finditer(title))):
            before, after = title[: match.start()], title[match.end() :]
            if before and _name_key(after) == key:
                return before, after
            if after and _name_key(before) == key:
                return after, before
    return title, name


def _name_key(name: str) -> str:
    """Return a name for comparison: The City-News and citynews.com are the same."""
    return _NAME_TRIMMINGS.sub("", name.casefold())
