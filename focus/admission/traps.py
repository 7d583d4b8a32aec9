"""Detects crawler traps, which have endlessly many URLs: by their addresses, and by budgets.

    check_url      signs of a trap in the address of a new URL
    record_text    counts requests that returned no new text
    spent_reason   whether a URL pattern or a host made many requests with hardly a relevant page
    barren_reason  whether a URL was discovered only through pages without new text

Signs in an address (the first two as in Heritrix's PathologicalPath and TooManyPathSegments): a
part of the path that repeats, or a path that is too deep; a parameter that occurs many times; too
many combinations of parameters for one path; dates far in the future. The limits allow for what
real sites do. Other traps are detected by their yield: a URL pattern or a host may use `budget`
requests, and any number as long as it finds enough relevant pages. The limit is lower for a
pattern whose pages repeat each other, and for a chain of links through such pages, whatever their
patterns.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from typing import NamedTuple

from focus.admission.near_duplicates import digest_on_host
from focus.config import TrapConfig
from focus.i18n import msg
from focus.records import DropReason, Tally
from focus.scheduling.queues import Host, Queue
from focus.urls.normal_form import path_and_query

MIN_RUNS = 3  # times that a run of segments follows itself
MAX_SAME_WORD = 4  # times that a word may occur in a path
MAX_SAME_PARAMETER = 4
FAR_MONTHS = 24  # a date further ahead counts as far
OLDEST_YEAR = 1900
FAR_DATES = 24  # URLs with far dates that one form of address may have
MAX_ENTRIES = 50_000  # maximum size of each table of counts
LARGE_HOST = 1000  # known URLs of a host from which its URLs are counted by pattern
MIN_YIELD = 0.01  # relevance per request of a productive pattern or host
HOST_SHARE = 10  # budget of a host, in budgets of a pattern
COMPARED_FROM = 60  # requests of a pattern after which its texts are compared
MAX_REPEATS = 220  # pages without new text after which a pattern or a chain of links ends
CHAIN_CREDIT = 10  # repeats of a chain that a new text cancels; in a pattern it cancels all
TEXTS = 1 << 16  # size of the table of wordings; a new one replaces an older one

_RUN = re.compile(rf"((?:/[^/]+){{1,4}}?)\1{{{MIN_RUNS - 1},}}(?=/|$)")
# Only a month that begins with 0 counts: /thread/9031/12 and thread-2297-1-1.html are pages.
_PLAIN_DATE = re.compile(r"(?<=/)([1-9]\d{3})[-/](0[1-9])(?=[/?&]|-\d\d(?!\d)|$)")
_NAMED_DATE = re.compile(
    r"[?&;](?:year|yr|date|ym|month)=([1-9]\d{3})(?!\d\b)(?:-?(\d{2}))?", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")


class Suspicion(NamedTuple):
    """Reason for dropping a URL, with a message for people."""

    reason: DropReason
    detail: str


class Traps:
    """Trap detection of one crawl.

    `now` is the start of the crawl in Unix seconds. Before 1990 it counts as unknown, and no date
    is far ahead.

    Counts of parameters, far dates and repeats start again at 0 when a table is full, and when a
    crawl is resumed. Budgets do not, because they are computed from the tallies of queues.
    """

    def __init__(self, config: TrapConfig, *, now: float) -> None:
        self.config = config
        months = _months(1970, 1) + now // (30.44 * 86400)
        self._month = months if months > _months(1990, 1) else math.inf
        self._combinations: dict[int, set[int]] = {}
        self._dates: dict[int, int] = {}
        self._known = array("I")  # host -> number of its known URLs
        self._texts = array("Q", bytes(8 * TEXTS))
        self._repeats: Counter[int] = Counter()  # queue, or -2 - origin -> repeats
        self._origins: dict[int, int] = {}  # page without new text -> last page before it with one

    # -- addresses ----------------------------------------------------------------

    def count_urls(self, host: Host, urls: int = 1) -> None:
        """Add to the number of known URLs of a host."""
        missing = host.id + 1 - len(self._known)
        if missing > 0:
            self._known.extend([0] * missing)
        self._known[host.id] += urls

    def needs_patterns(self, host: Host) -> bool:
        """Return whether a host is so large that its URLs are counted by pattern."""
        known = self._known
        return self.config.is_on and host.id < len(known) and known[host.id] >= LARGE_HOST

    def check_url(self, url: str, host: Host) -> Suspicion | None:
        """Return why a new URL seems to be part of a trap, None if it does not."""
        if not self.config.is_on:
            return None
        rest = path_and_query(url)
        path, _, query = rest.partition("?")
        if detail := self._path_sign(path):
            return Suspicion(DropReason.TRAP_PATH, detail)
        if query and (detail := self._query_sign(host, path, query)):
            return Suspicion(DropReason.TRAP_QUERY, detail)
        if detail := self._date_sign(host, rest):
            return Suspicion(DropReason.TRAP_CALENDAR, detail)
        return None

    def _path_sign(self, path: str) -> str:
        depth = path.count("/")
        if depth < MIN_RUNS:
            return ""
        if depth > self.config.max_segments:
            return msg("{depth} path segments", depth=depth)
        words = [part for part in path.split("/") if part]
        if len(set(words)) == len(words):
            return ""
        if (run := _RUN.search(path)) and not _NUMBER.fullmatch(run[1][1:]):
            return msg("{segments} repeats in the path", segments=run[1])
        repeated = max(words, key=words.count)
        if words.count(repeated) >= MAX_SAME_WORD and not repeated.isdigit():
            return msg(
                "{segment} occurs {n} times in the path", segment=repeated, n=words.count(repeated)
            )
        return ""

    def _query_sign(self, host: Host, path: str, query: str) -> str:
        names = [part.partition("=")[0] for part in query.split("&") if part]
        if len(names) < 2:
            return ""
        for name in names:
            if names.count(name) >= MAX_SAME_PARAMETER and not name.endswith(("[]", "%5B%5D")):
                return msg("parameter {name} occurs {n} times", name=name, n=names.count(name))
        if len(self._combinations) >= MAX_ENTRIES:
            self._combinations.clear()
        seen = self._combinations.setdefault(hash((host.id, path)), set())
        combination = hash(tuple(sorted(names)))
        if combination in seen:
            return ""
        if len(seen) >= self.config.max_combinations:
            return msg(
                "more than {n} combinations of parameters for {path}", n=len(seen), path=path
            )
        seen.add(combination)
        return ""

    def _date_sign(self, host: Host, rest: str) -> str:
        match = _PLAIN_DATE.search(rest) or _NAMED_DATE.search(rest)
        if match is None:
            return ""
        year, month = int(match[1]), int(next(filter(None, match.groups()[1:]), "1"))
        ahead = _months(year, min(max(month, 1), 12)) - self._month
        if not (ahead > FAR_MONTHS or year < OLDEST_YEAR):
            return ""
        if len(self._dates) >= MAX_ENTRIES:
            self._dates.clear()
        kind = hash((host.id, _NUMBER.sub("0", rest)))
        self._dates[kind] = self._dates.get(kind, 0) + 1
        if self._dates[kind] <= FAR_DATES:
            return ""
        return msg(
            "{date} is far from today, like {n} dates before it",
            date=match[0].lstrip("?&;"),
            n=FAR_DATES,
        )

    # -- budgets ------------------------------------------------------------------

    def record_text(
        self, url_id: int, parent: int, queue: Queue, fetched: int, text: int, *, is_new: bool
    ) -> None:
        """Record whether the `fetched`-th request of a queue returned a new text.

        parent  id of the page that linked to the URL first; -1 if none did or no page was returned
        text    `wording` of the page, 0 if it has no text
        is_new  the page counts as new whatever its text
        """
        change = -MAX_REPEATS if is_new else 1
        if text and not self.knows_text(queue.host.id, text):
            fingerprint = digest_on_host(queue.host.id, text)
            self._texts[fingerprint % TEXTS] = fingerprint
            change = min(change, -CHAIN_CREDIT)
        if parent > url_id:
            parent = -1  # the URL was known before the page
        origin = self._origins.get(parent, parent)
        is_repeat = change > 0
        if origin != parent:  # a list of tags may have hundreds of links to pages without own text
            is_repeat = self._count_repeat(-2 - origin, change) > 0
        if is_repeat:
            if len(self._origins) >= MAX_ENTRIES:
                self._origins.clear()
                self._repeats = Counter({k: n for k, n in self._repeats.items() if k >= 0})
            self._origins[url_id] = origin
        if queue.pattern and fetched >= COMPARED_FROM:
            self._count_repeat(queue.id, change if change > 0 else -MAX_REPEATS)

    def knows_text(self, host: int, text: int) -> bool:
        """Return whether a page of a host had this wording; old ones are forgotten."""
        fingerprint = digest_on_host(host, text)
        return text != 0 and self._texts[fingerprint % TEXTS] == fingerprint

    def _count_repeat(self, key: int, change: int) -> int:
        self._repeats[key] = repeats = max(0, self._repeats[key] + change)
        if not repeats:
            del self._repeats[key]
        return repeats

    def barren_reason(self, url_id: int, parent: int) -> str:
        """Return why a URL first linked by the page `parent` is not requested, "" if it is.

        All pages on the way from the last page with a new text to the URL repeat others, and so do
        at least `MAX_REPEATS` pages on other ways from there. A URL that was known before its
        parent is requested.
        """
        if not self.config.is_on or parent > url_id or parent not in self._origins:
            return ""
        repeats = self._repeats[-2 - self._origins[parent]]
        if repeats < MAX_REPEATS:
            return ""
        return msg(
            "the last {repeats} pages found in the same way had no new text", repeats=repeats
        )

    def spent_reason(self, queue: Queue, tally: Tally, host_tally: Tally) -> str:
        """Return why a queue is not requested any more, "" if it is: a spent budget."""
        budget = self.config.budget
        if not self.config.is_on or not budget:
            return ""
        repeats = self._repeats[queue.id]
        if repeats >= MAX_REPEATS and not is_productive(tally):
            return msg(
                "the last {repeats} URLs like {pattern} had no new text",
                repeats=repeats,
                pattern=queue.pattern,
            )
        if queue.pattern and tally.requests >= budget and not is_productive(tally):
            return msg(
                "{fetched} URLs like {pattern} found almost nothing",
                fetched=tally.requests,
                pattern=queue.pattern,
            )
        if host_tally.requests >= HOST_SHARE * budget and not is_productive(host_tally):
            return msg(
                "{fetched} URLs of {name} found almost nothing",
                fetched=host_tally.requests,
                name=queue.host.name,
            )
        return ""


def is_productive(tally: Tally) -> bool:
    """Return whether the relevance per request is at least `MIN_YIELD`."""
    return tally.rewards >= MIN_YIELD * tally.requests


def _months(year: int, month: int) -> int:
    return 12 * year + month - 1
