"""Texts that a site repeats on its pages: their hashes, and the site's name in titles."""

from __future__ import annotations

import re
from zlib import crc32

MAX_AFFIX_CHARS = 60
_SEPARATOR = re.compile(
    r"\s*[|｜_–—·•»«]+\s*|\s+[-:/~]+\s+|\s*::\s*|\s*-+(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])-+\s*"
)


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


def split_title(title: str, affix: str, name: str = "") -> tuple[str, str]:
    """Return a title without the name of its site, and that name.

    Args:
        title: The title as written.
        affix: End or beginning of the titles of the site; empty if none was learned.
        name: Name of the site by the metadata of the page; empty if there is none.
    """
    for outer in (affix, *(outer_affixes(title) if name else ())):
        outer_name = next(filter(None, _SEPARATOR.split(outer)), "")
        if outer and (outer == affix or outer_name.casefold() == name.casefold()):
            rest = title.removesuffix(outer)
            if rest == title:
                rest = title.removeprefix(outer)
            if rest not in ("", title):
                return rest, outer_name
    return title, name
