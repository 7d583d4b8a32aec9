"""Parses the rules of a page for crawlers: `X-Robots-Tag` and meta robots.

The grammar is that of Google's "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications":
rules separated by commas, in any case; the name of a crawler and a colon may precede rules, which
then apply to that crawler up to the next name. All headers count, and the most restrictive rules
win. Rules about snippets, previews and the like (`max-image-preview:none`) do not concern crawling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import msgspec

from focus.http.sitemap import parse_date

_ALL_AGENTS = "*"
_RULES_WITH_VALUE = frozenset(("max-snippet", "max-image-preview", "max-video-preview"))
_RULES_WITH_DATE = frozenset(("unavailable_after", "unavailable-after"))
_NAME_AND_REST = re.compile(r"\s*([\w*./-]+)\s*:\s*(.*)", re.DOTALL)
_MAX_CHARS = 4096
_MAX_DATE_PARTS = 3  # `Wed, 25 Jun 2025 15:00:00 GMT` contains a comma


class RobotsTag(msgspec.Struct, frozen=True):
    """Rules of a page for our crawler.

    unavailable_after  from this time (Unix seconds) the page is not a result
    """

    noindex: bool = False
    nofollow: bool = False
    unavailable_after: float = math.inf

    def __or__(self, tag: RobotsTag) -> RobotsTag:
        """Return the more restrictive of both tags."""
        return RobotsTag(
            self.noindex or tag.noindex,
            self.nofollow or tag.nofollow,
            min(self.unavailable_after, tag.unavailable_after),
        )


NO_RULES = RobotsTag()


def parse_headers(headers: Iterable[tuple[str, str]], agent: str) -> RobotsTag:
    """Return the rules for `agent` in X-Robots-Tag headers; header names are in lower case."""
    tag = NO_RULES
    for name, value in headers:
        if name == "x-robots-tag":
            tag |= parse_rules(value, agent)
    return tag


def parse_rules(text: str, agent: str) -> RobotsTag:
    """Return the rules for `agent` in one header or the content of one meta tag.

    Example, for focus: `otherbot: noindex, focus: nofollow` gives nofollow.
    """
    tag, is_ours, parts = NO_RULES, True, text[:_MAX_CHARS].split(",")
    while parts:
        rule = parts.pop(0)
        while named := _NAME_AND_REST.match(rule):
            name, rule = named[1].lower(), named[2]
            if name in _RULES_WITH_DATE:
                until = parse_date(_whole_date(rule, parts)) or math.inf
                tag |= RobotsTag(unavailable_after=until) if is_ours else NO_RULES
            if name in _RULES_WITH_DATE | _RULES_WITH_VALUE:
                break
            is_ours = name in (_ALL_AGENTS, agent.lower())
        else:
            for word in rule.lower().split() if is_ours else ():  # some pages omit the comma
                tag |= _RULES.get(word, NO_RULES)
    return tag


_RULES = {
    "noindex": RobotsTag(noindex=True),
    "nofollow": RobotsTag(nofollow=True),
    "none": RobotsTag(noindex=True, nofollow=True),
}


def _whole_date(text: str, parts: list[str]) -> str:
    """Return a date together with parts split off at its own commas; remove these from `parts`."""
    for more in range(min(_MAX_DATE_PARTS, len(parts) + 1)):
        date = ",".join([text, *parts[:more]])
        if parse_date(date):
            del parts[:more]
            return date
    return text
