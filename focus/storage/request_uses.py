"""What the requests of a crawl returned, by kind and URL pattern, and which `--deny` would help.

A request is useful if it returned a page that is stored and is no near-duplicate. All others
returned an error, a redirect, or a page that is not stored. For those, `suggest_denials` finds
parts of URLs, such as a parameter name, that no useful URL contains.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from focus.i18n import mark
from focus.records import DropReason, FailureKind, UrlState
from focus.storage.schema import id_range
from focus.urls.patterns import url_pattern

MAX_URLS = 50_000  # the latest URLs that are evaluated
MAX_PATTERNS = 10
MAX_DENIALS = 5
MIN_WASTE = 5  # useless requests that a suggestion saves
RESULT, LIST, OTHER = mark("results"), mark("lists"), mark("other pages")
DUPLICATE = mark("near-duplicates")
ERROR, SOURCE = mark("errors"), mark("sitemaps and feeds")
"""Kinds of requests; those for URLs that were dropped afterwards have the reason as their kind."""

_DROPPED_AFTER_REQUEST = (
    DropReason.REDIRECTED,
    DropReason.SOFT_404,
    DropReason.NOINDEX,
    DropReason.URL_SOURCE,
)
_USEFUL = frozenset((RESULT, LIST, OTHER, SOURCE))


class PatternUse(msgspec.Struct, frozen=True):
    """Requests for the URLs of a host and pattern; `kind` of most of the useless ones."""

    host: str
    pattern: str
    requests: int
    useless: int
    kind: str


class DenySuggestion(msgspec.Struct, frozen=True):
    """Regular expression for `--deny`, and the useless requests that it would have saved."""

    regex: str
    requests: int


class RequestUses(msgspec.Struct, frozen=True):
    """What requests returned.

    kinds     kind -> number of requests
    patterns  those with the most useless requests
    denials   expressions that match no useful URL
    """

    kinds: dict[str, int] = {}
    patterns: list[PatternUse] = []
    denials: list[DenySuggestion] = []


def read_request_uses(db: sqlite3.Connection, crawl: int) -> RequestUses:
    """Return what the requests for the latest `MAX_URLS` URLs of a crawl returned."""
    rows = db.execute(_REQUESTED, (*id_range(crawl), MAX_URLS))
    return summarise((url, _kind(*row)) for url, *row in rows)


def _kind(
    state: int, reason: str, is_relevant: int | None, is_list: int | None, is_duplicate: int
) -> str:
    if state == UrlState.FAILED:
        return ERROR
    if state == UrlState.DROPPED:
        return SOURCE if reason == DropReason.URL_SOURCE else reason
    if is_duplicate or is_list:
        return DUPLICATE if is_duplicate else LIST
    return RESULT if is_relevant else OTHER


def summarise(uses: Iterable[tuple[str, str]]) -> RequestUses:
    """Return the summary of (URL, kind) pairs."""
    kinds: Counter[str] = Counter()
    by_pattern: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    useful: list[str] = []
    useless: list[str] = []
    for url, kind in uses:
        kinds[kind] += 1
        by_pattern[urlsplit(url).netloc, url_pattern(url)][kind] += 1
        (useful if kind in _USEFUL else useless).append(url)
    patterns = []
    for (host, pattern), counts in by_pattern.items():
        wasted = [(count, kind) for kind, count in counts.items() if kind not in _USEFUL]
        if wasted:
            number = sum(count for count, _ in wasted)
            patterns.append(PatternUse(host, pattern, counts.total(), number, max(wasted)[1]))
    patterns.sort(key=lambda use: (-use.useless, use.host, use.pattern))
    denials = suggest_denials(useful, useless)
    return RequestUses(dict(kinds.most_common()), patterns[:MAX_PATTERNS], denials)


def suggest_denials(useful: Sequence[str], useless: Sequence[str]) -> list[DenySuggestion]:
    """Return expressions that match many useless URLs and no useful one, the best first."""
    useful_expressions = {regex for url in useful for regex in url_expressions(url)}
    expressions = [
        [e for e in url_expressions(url) if e not in useful_expressions] for url in useless
    ]
    denials: list[DenySuggestion] = []
    while len(denials) < MAX_DENIALS:
        counts = Counter(regex for regexes in expressions for regex in regexes)
        best = max(counts, key=counts.__getitem__, default=None)  # of equals the first in a URL
        if best is None or counts[best] < MIN_WASTE:
            break
        denials.append(DenySuggestion(best, counts[best]))
        expressions = [regexes for regexes in expressions if best not in regexes]
    return denials


@lru_cache(maxsize=1 << 12)  # most parts occur in many URLs
def _escape(text: str) -> str:
    return re.escape(text).replace("\\-", "-")


def url_expressions(url: str) -> Iterator[str]:
    """Yield expressions for parts of a URL: its parameters, and its first two folders."""
    parts = urlsplit(url)
    for parameter in parts.query.split("&")[:8] if parts.query else ():
        name, _, value = parameter.partition("=")
        yield f"[?&]{_escape(name)}="
        if value.isalpha() and len(value) <= 16:
            yield f"[?&]{_escape(name)}={value}(&|$)"
    folders = parts.path.split("/")[1:-1][:2]
    for depth in range(len(folders) + 1):
        path = "/".join(["", *folders[:depth], ""])
        yield f"//{_escape(parts.netloc)}{_escape(path)}"


_REASONS = ", ".join(f"'{reason}'" for reason in _DROPPED_AFTER_REQUEST)
_REQUESTED = f"""
SELECT f.url, s.state, ifnull(s.reason, ''), p.relevant, p.index_page, d.id NOT NULL
FROM url_state s JOIN url_found f ON f.id = s.id
LEFT JOIN page p ON p.id = s.id LEFT JOIN near_duplicate d ON d.id = s.id
WHERE s.id BETWEEN ? AND ? AND (
    s.state = {int(UrlState.DONE)}
    OR s.state = {int(UrlState.FAILED)} AND s.reason IS NOT '{FailureKind.HOST_ABANDONED}'
    OR s.state = {int(UrlState.DROPPED)} AND s.reason IN ({_REASONS}))
ORDER BY s.id DESC LIMIT ?"""
