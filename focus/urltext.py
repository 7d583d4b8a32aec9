"""What kind of page does an address promise, and which words does it contain?

`shape` puts the pages that one template of a site makes under one name (P3 Table 5-1):
`/china/2018-04-13/doc-ifzcyxmu0751199.shtml` becomes `/china/D/doc-X.shtml`. Signs:

    D  date: 2018-04-13, 20180413, 2018/04/13, 2018-04, a year
    N  number                        X  id: letters and digits mixed, hash, UUID
    S  free text: a title, a tag, a name

What stays are the words that a site's own structure is made of: sections, file
extensions, the names of query parameters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

_MAX_SEGMENTS: Final = 8  # deeper paths share the shape of their beginning
_MAX_PARAMETERS: Final = 8


@lru_cache(maxsize=16384)
def shape(url: str) -> str:
    """The shape of a normalised URL: its path and query with what varies replaced by signs.

    Articles of one section share a shape, its tag pages another, its pagination a third.
    The host is not part of it.
    """
    path, _, query = url[url.find("/", 8) :].partition("?")
    segments = _DATE_PATH.sub("/D", path).split("/")[1:]
    if len(segments) > _MAX_SEGMENTS:
        segments = [*segments[: _MAX_SEGMENTS - 1], "+"]
    last = len(segments) - 1 - (segments[-1] == "")
    shaped: list[str] = []
    for at, segment in enumerate(segments):
        before = shaped[-1] if shaped else ""
        sign = _segment_shape(segment, before=before, leaf=at == last, deep=at > 1)
        if sign != "S" or before != "S":  # categories of any depth are one S
            shaped.append(sign)
    return "/" + "/".join(shaped) + (_query_shape(query) if query else "")
