"""Reads a page's requests to crawlers: `X-Robots-Tag` and meta robots, as far as they concern us.

The grammar is that of Google's "Robots meta tag, data-nosnippet, and X-Robots-Tag
specifications": rules parted by commas, in capitals or not; a crawler's name and a colon may
come first, and what follows is for that crawler, up to the next name. All headers count, and
of what several say the more restrictive. Rules about snippets, previews and the like
(`max-image-preview:none`) say nothing about crawling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import msgspec

from focus.http.sitemap import changed_at

_EVERYBODY = "*"
_VALUED = frozenset(("max-snippet", "max-image-preview", "max-video-preview"))
_DATED = frozenset(("unavailable_after", "unavailable-after"))
_NAMED = re.compile(r"\s*([\w*./-]+)\s*:\s*(.*)", re.DOTALL)
_MAX_CHARS = 4096
_MAX_DATE_PARTS = 3  # `Wed, 25 Jun 2025 15:00:00 GMT` has a comma of its own


class RobotsTag(msgspec.Struct, frozen=True):
    """A page's wishes to us. `unavailable_after`: from then on no result, Unix seconds."""

    noindex: bool = False
    nofollow: bool = False
    unavailable_after: float = math.inf

    def __or__(self, other: RobotsTag) -> RobotsTag:
        """Both: the more restrictive of each."""
        return RobotsTag(
            self.noindex or other.noindex,
            self.nofollow or other.nofollow,
            min(self.unavailable_after, other.unavailable_after),
        )


NOTHING = RobotsTag()


def of_headers(headers: Iterable[tuple[str, str]], agent: str) -> RobotsTag:
    """What the X-Robots-Tag headers of an answer ask of `agent`; names are in lower case."""
    asked = NOTHING
    for name, value in headers:
        if name == "x-robots-tag":
            asked |= of_rules(value, agent)
    return asked


def of_rules(text: str, agent: str) -> RobotsTag:
    """What one header, or the content of one meta tag for us, asks of `agent`.

    Worked, for focus: `otherbot: noindex, focus: nofollow` asks for nofollow.
    """
    asked, is_ours, parts = NOTHING, True, text[:_MAX_CHARS].split(",")
    while parts:
        rule = parts.pop(0)
        while named := _NAMED.match(rule):
            name, rule = named[1].lower(), named[2]
            if name in _DATED:
                until = changed_at(_whole_date(rule, parts)) or math.inf
                asked |= RobotsTag(unavailable_after=until) if is_ours else NOTHING
            if name in _DATED | _VALUED:
                break
            is_ours = name in (_EVERYBODY, agent.lower())
        else:
            for word in rule.lower().split() if is_ours else ():  # some leave the comma out
                asked |= _RULES.get(word, NOTHING)
    return asked


_RULES = {
    "noindex": RobotsTag(noindex=True),
    "nofollow": RobotsTag(nofollow=True),
    "none": RobotsTag(noindex=True, nofollow=True),
}


def _whole_date(text: str, parts: list[str]) -> str:
    """A date with what its own commas cut off of it, which is taken out of `parts`."""
    for more in range(min(_MAX_DATE_PARTS, len(parts) + 1)):
        date = ",".join([text, *parts[:more]])
        if changed_at(date):
            del parts[:more]
            return date
    return text
