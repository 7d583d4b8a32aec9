"""URL rules learned from a crawl: kinds of URLs whose responses are of no use.

    UrlRules    counts the responses of each kind of URL of a host, and says what follows for others
    Waste       reasons for which a response is of no use
    Treatment   what is done with a waiting URL: request, defer, drop
    NamedPage   which page a URL names, and as which view of it
    KnownTexts  main texts of the pages of each host, to recognise a page under another URL

A URL belongs to several kinds: its URL pattern, its parameters, its wiki namespace, the names of
its folders, and the name at the end of a long path. A few useless responses in a row defer the
other URLs of a kind behind all others of the crawl. When nothing else waits, they are requested
until ten in a row were of no use; then the rest is put behind them, except for a few probes, and
dropped in the end. A useful response ends the row. So a calendar, a reply form or an "edit" link
costs a few requests, and a section that begins with dead links is still read. Pages about members
of a community are deferred from the first: their lists of posts lead to topics that other lists
have as well.

Two rules rewrite unknown URLs: a parameter that does not change the pages of a host is removed, as
`page=1` often, and a spelling that a host redirects, such as a missing slash, is replaced.

After "Do not crawl in the DUST" (Bar-Yossef, Keidar, Schonfeld, 2007), which learns rules from the
log of a crawl; here they are learned while it runs.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from enum import IntEnum, StrEnum
from functools import lru_cache
from itertools import combinations
from operator import itemgetter
from typing import NamedTuple, TypeVar
from urllib.parse import unquote
from zlib import crc32

import msgspec

from focus.admission.near_duplicates import MIX, digest_on_host
from focus.i18n import msg
from focus.records import REVISIT_PRIORITY, SEED_PRIORITY, Page, UrlRuleRow
from focus.scheduling.url_table import Column, Fingerprints
from focus.urls.normal_form import path_and_query
from focus.urls.patterns import url_pattern

DEFER_AFTER = 4
"""Useless responses in a row after which a kind of URL is deferred."""
DROP_AFTER = 10
"""Useless responses in a row after which a kind of URL is dropped."""
MIN_TRIES = 1
"""Responses of a pattern before it is dropped because of what its URLs share with others."""
USEFUL_WEIGHT = 4
"""A row must be this many times as long as there were useful responses before it counts."""
MAX_USEFUL = 50
FIRST_PROBE = 16
"""Dropped URLs before the first probe; each further probe comes after four times as many."""
TIER = 1e5
"""Subtracted from the priority of a URL each time that it is deferred."""
MAX_TIERS = 2
MIN_TEXT = 100
"""Minimum characters of a main text that identifies a page."""
REWRITE_AFTER = 3
"""Responses that must agree before URLs are rewritten."""
SAMPLE_INTERVAL = 64
"""One URL in this many is not rewritten, so that a wrong rewriting is found."""
CANONICAL = ">canonical"
"""Rewriting of a variant to the canonical URL that its page names."""
MAX_RECORDS = 200_000
MAX_FOLDERS = 200
"""Maximum number of folder names of a host with a record."""
MIN_IDENTITY = 8
"""Minimum characters of a name that identifies a page."""
MIN_SENTENCES = 2
CONTAINED = 0.6
"""Minimum share of sentences of its page in those of a view that no other page has."""
MAX_REMEMBERED = 20_000
"""Maximum number of identities of pages, and of sentences, that are remembered."""
MEMBERS = "*members"
"""Kind of all pages about members of a community: profiles, lists of their posts."""
DEFERRED = "deferred"
"""Kind of all URLs of a host that were deferred when they were requested."""


class Waste(StrEnum):
    """Why a response is of no use."""

    NOINDEX = "noindex"
    DUPLICATE = "duplicate"  # has the main text of a page that is known
    REDIRECT = "redirect"  # leads to a URL that is known
    CLIENT_ERROR = "http-4xx"
    NOT_HTML = "not-html"
    KNOWN_LINKS = "known-links"  # a list that has no link to an unknown URL
    LOG_IN = "log-in"  # a redirect to a page that is not requested, such as a log-in page


class Treatment(IntEnum):
    """What is done with a waiting URL."""

    REQUEST = 0
    DEFER = 1
    DROP = 2


class Record(msgspec.Struct, array_like=True):
    """Responses of one kind of URL.

    useful    responses of use, at most `MAX_USEFUL`
    row       useless responses since the last useful one
    dropped   URLs that were put behind all others since the last probe
    probes    probes since the row reached `DROP_AFTER`
    waste     reason of the last useless response
    """

    useful: int = 0
    row: int = 0
    dropped: int = 0
    probes: int = 0
    waste: str = ""

    @property
    def treatment(self) -> Treatment:
        """What is done with further URLs.

        Example: 4 useless responses in a row defer a kind that was never useful; after 5 useful
        ones it takes 20.
        """
        needed = USEFUL_WEIGHT * self.useful
        if self.row >= max(DROP_AFTER, needed):
            return Treatment.DROP
        return Treatment.DEFER if self.row >= max(DEFER_AFTER, needed) else Treatment.REQUEST

    def count(self, waste: Waste | None, *, was_useful: bool = False) -> bool:
        """Count a response; None means that it was of use. Return whether the record changed.

        was_useful  the response was counted as one of use before
        """
        if waste is not None:
            self.row, self.waste = self.row + 1, str(waste)
            self.useful = max(0, self.useful - was_useful)
            return True
        was_full = self.useful == MAX_USEFUL and not self.row
        self.useful = min(MAX_USEFUL, self.useful + 1)
        self.row = self.dropped = self.probes = 0
        return not was_full

    def takes_probe(self) -> bool:
        """Count a URL that is about to be dropped; return whether it is requested as a probe."""
        self.dropped += 1
        if self.dropped <= FIRST_PROBE << 2 * self.probes:
            return False
        self.dropped, self.probes = 0, self.probes + 1
        return True


class NamedPage(NamedTuple):
    """Page that a URL names.

    key         hash of its host and its identity, 0 if it has none
    path        path of the URL
    known_path  path under which the page was found first, "" if it is unknown
    view        kind of view that the URL is of the page, "" if it is none
    """

    key: int
    path: str
    known_path: str
    view: str


class UrlRules:
    """Records of the kinds of URLs of each host of one crawl."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}  # hash of host and identity -> first path with it
        self._view_hosts: set[int] = set()  # hosts with kinds of views that are deferred
        self._records: dict[tuple[int, str], Record] = {}
        self._changed: set[tuple[int, str]] = set()
        self._blamed_hosts: set[int] = set()  # hosts with kinds that are or were deferred
        self._rewriters: dict[int, list[str]] = {}  # host -> rewritings that are in use
        self._folder_counts: Counter[int] = Counter()  # host -> folder names with a record

    def count(
        self,
        host: int,
        kinds: list[str],
        waste: Waste | None,
        *,
        was_deferred: bool = False,
        was_useful: bool = False,
    ) -> bool:
        """Count the response to a URL of these kinds.

        A useless response counts for what the URL shares with others of the host only as long as
        no useful URL shares it. Returns whether deferred URLs of the host may be of use now.
        """
        own, *shared = kinds
        counted = [own]
        for kind in (*shared, DEFERRED) if was_deferred else shared:
            record = self._records.get((host, kind))
            is_blamed = record is None or not record.useful or was_useful
            is_blamed |= kind == DEFERRED or kind.startswith("+")
            if waste is None or is_blamed:
                counted.append(kind)
        has_improved = [self._count(host, kind, waste, was_useful) for kind in counted]
        return any(has_improved)

    def _count(self, host: int, kind: str, waste: Waste | None, was_useful: bool) -> bool:
        key = (host, kind)
        record = self._records.get(key)
        if record is None:
            if _is_folder(kind):
                if self._folder_counts[host] == MAX_FOLDERS:
                    return False
                self._folder_counts[host] += 1
            while len(self._records) >= MAX_RECORDS:
                self._records.pop(next(iter(self._records)))
            record = self._records[key] = _new_record(kind)
        before = record.treatment
        if record.count(waste, was_useful=was_useful):
            self._changed.add(key)
        if record.treatment:
            self._blame(host, kind)
        if kind == DEFERRED:
            record.useful = 0  # a useful one brings its own kind back; others must prove themselves
        return record.treatment < before

    def _blame(self, host: int, kind: str) -> None:
        self._blamed_hosts.add(host)
        if kind.startswith("+"):
            self._view_hosts.add(host)

    def named_page(self, host: int, url: str) -> NamedPage:
        """Return which page of a host a URL names."""
        path, name = url_path(url), identity(url)
        key = _host_key(host, name) if name else 0
        known_path = self._paths.get(key, "")
        return NamedPage(key, path, known_path, known_path and kind_of_view(known_path, url))

    def is_known_view(self, host: int, url: str) -> bool:
        """Return whether a URL is a view of a known page, or would be deferred."""
        return bool(self.named_page(host, url).view or self.treatment(host, url, 0.0))

    def has_useless_views(self, host: int) -> bool:
        """Return whether a kind of view of a host is or was deferred."""
        return host in self._view_hosts

    def add_page(self, host: int, page: NamedPage) -> None:
        """Remember that a page is known, so that other URLs with its name are views of it.

        So is one with only the number before its name, as `/topic/5` and `/topic/5-cup-final`.
        """
        if page.key:
            path = page.known_path or page.path
            number = _host_key(host, without_slug(path))
            _add_bounded(self._paths, {number: path, page.key: path})

    def reason(self, host: int, url: str) -> str:
        """Return why a URL is not requested, for people."""
        _, kind, record = self._judge(host, url)
        return msg(
            "the last {number} URLs like {pattern} were of no use ({reason})",
            number=record.row,
            pattern=kind,
            reason=msg(record.waste),
        )

    def _judge(self, host: int, url: str) -> tuple[Treatment, str, Record]:
        """Return what is done with a URL, and the kind with the record that decides it.

        What a URL shares with others decides if no useful URL shares it. Names of its path do so
        even if its own pattern was useful: `/S/S` is that of pages and of the histories below them.
        """
        own, *shared = url_kinds(url)
        record = self._records.get((host, own)) or Record()
        judged = record.treatment, own, record
        for kind in shared:
            shared_record = self._records.get((host, kind))
            if kind == MEMBERS:
                shared_record = shared_record or _new_record(kind)
            if (
                shared_record is not None
                and not shared_record.useful
                and (not record.useful or kind.startswith("*/"))
                and shared_record.treatment > judged[0]
            ):
                judged = shared_record.treatment, kind, shared_record
        if host in self._view_hosts:
            view, is_certain = self._view(host, url)
            record_of_view = self._records.get((host, view)) or Record()
            treatment = record_of_view.treatment
            treatment = treatment if is_certain else min(treatment, Treatment.DEFER)
            judged = max(judged, (treatment, view, record_of_view), key=itemgetter(0))
        deferred = self._records.get((host, DEFERRED))
        if judged[0] is Treatment.DEFER and deferred and deferred.treatment is Treatment.DROP:
            judged = Treatment.DROP, *judged[1:]
        is_ending = judged[1][0] in "*+" and not _is_folder(judged[1])
        is_tried = record.row + record.useful >= MIN_TRIES or is_ending
        if judged[0] is Treatment.DROP and not is_tried:
            judged = Treatment.DEFER, *judged[1:]
        return judged

    def _view(self, host: int, url: str) -> tuple[str, bool]:
        """Return the kind of view that a URL is, and whether its page is known.

        `/topic/5` waits for a page such as `/topic/5-cup-final` where such URLs repeat such pages.
        """
        named = self.named_page(host, url)
        slug = f"{named.path.rstrip('/')}-x"
        is_number = not named.known_path and without_slug(slug) != slug
        return (kind_of_view(slug, url), False) if is_number else (named.view, True)

    def treatment(self, host: int, url: str, priority: float) -> Treatment:
        """Return what is done with a URL that was dequeued with this priority.

        A URL is deferred once. If URLs like it are to be dropped by then, it is deferred again,
        unless it is a probe, so that none is dropped before the last probe.
        """
        is_link = REVISIT_PRIORITY < priority < SEED_PRIORITY
        if not is_link or not (host in self._blamed_hosts or is_member_url(url)):
            return Treatment.REQUEST
        treatment, kind, record = self._judge(host, url)
        tier = deferred_tiers(priority)
        if treatment is Treatment.DEFER:
            return Treatment.REQUEST if tier else Treatment.DEFER
        if treatment is Treatment.DROP and tier < MAX_TIERS:
            if tier == 0:
                return Treatment.DEFER
            self._changed.add((host, kind))
            return Treatment.REQUEST if record.takes_probe() else Treatment.DEFER
        return treatment

    # -- rewriting ----------------------------------------------------------------

    def confirm(self, host: int, rewriting: str, *, agrees: bool) -> None:
        """Count a response that shows whether a rewriting leads to the same page.

        Three that agree put it to use; one that does not ends it.

        rewriting  a name of `SPELLINGS`, or "-" and a parameter that is removed: its name, or name
                   and value
        """
        record = self._records.setdefault((host, rewriting), Record())
        if record.row or (agrees and record.useful == REWRITE_AFTER):
            return
        record.useful, record.row = (record.useful + 1, 0) if agrees else (0, 1)
        self._changed.add((host, rewriting))
        self._use_rewriting(host, rewriting, record)

    def _use_rewriting(self, host: int, rewriting: str, record: Record) -> None:
        rewritings = self._rewriters.setdefault(host, [])
        if record.useful == REWRITE_AFTER:
            rewritings.append(rewriting)
        elif rewriting in rewritings:
            rewritings.remove(rewriting)

    def has_rewritings(self, host: int) -> bool:
        """Return whether a rewriting of a host is in use."""
        return bool(self._rewriters.get(host))

    def rewrite(self, host: int, url: str) -> str:
        """Return the URL to request in place of an unknown one; some stay as they are, as samples.

        Example: after three pages of a host were the same with and without `ref`, `/a?id=1&ref=x`
        becomes `/a?id=1`.
        """
        rewritings = self._rewriters.get(host, ())
        if crc32(url.encode()) % SAMPLE_INTERVAL == 0:
            return url
        for rewriting in rewritings:
            url = apply_rewriting(rewriting, url)
        return url

    def is_refuted(self, host: int, rewriting: str) -> bool:
        """Return whether a response showed that a rewriting leads to another page."""
        record = self._records.get((host, rewriting))
        return record is not None and record.row > 0

    # -- storage ------------------------------------------------------------------

    def take_changes(self) -> list[UrlRuleRow]:
        """Return the records that changed since the last call."""
        rows = [
            UrlRuleRow(host, kind, msgspec.msgpack.encode(self._records[host, kind]))
            for host, kind in sorted(self._changed)
            if (host, kind) in self._records
        ]
        self._changed.clear()
        return rows

    def restore(self, row: UrlRuleRow) -> None:
        """Restore a record of an earlier run."""
        record = msgspec.msgpack.decode(row.record, type=Record)
        self._records[row.host_id, row.kind] = record
        self._folder_counts[row.host_id] += _is_folder(row.kind)
        if record.treatment:
            self._blame(row.host_id, row.kind)
        if row.kind[0] in "->":
            self._use_rewriting(row.host_id, row.kind, record)


def deferred_tiers(priority: float) -> int:
    """Return how often a URL with this priority was deferred."""
    return max(0, round(-priority / TIER))


def url_kinds(url: str, view: str = "") -> list[str]:
    """Return the kinds of a URL: its pattern with its namespace, namespaces, and parameters.

    view  kind of view that it is of a known page, "" if it is none

    Example: `/wiki/Special:Log/X?user=Y&action=raw` gives `/wiki/S?action=raw&user=S Special:Log`,
    `Special:`, `?action=raw` and `?user`: a parameter that selects a template counts with its
    value. `/blog/tag/goal/feed/` gives `/blog/S/goal/feed/`, `*/blog/`, the first folder of three
    or more names, `*/tag/`, a folder that the pattern hides, and `*/feed`, the last name.
    """
    pattern = url_pattern(url)
    own, *parameters = kinds_from_pattern(pattern)
    rest = path_and_query(url)
    path = rest.partition("?")[0]
    parameters += [MEMBERS] * is_member_url(url)
    folders = dict.fromkeys(_FOLDER.findall(path))
    first = path.split("/", 3)[1] if path.count("/") > 2 else ""
    parameters += [f"*/{name}/" for name in folders if name == first or f"/{name}/" not in own]
    if ending := _ENDING.search(rest):
        parameters.append(f"*/{ending[1]}")
    if view:
        parameters.append(view)
    if match := _NAMESPACE.search(rest):
        return [f"{own} {match[1]}:{match[2] or ''}", f"{match[1]}:", *parameters]
    return [own, *parameters]


def is_member_url(url: str) -> bool:
    """Return whether a URL is that of a member of a community, or of a list of their posts."""
    return _MEMBER.search(url) is not None


@lru_cache(maxsize=256)  # called several times for each page
def identity(url: str) -> str:
    """Return the name in a URL that identifies a page, "" for a home page or a script.

    It is the last long name with digits or signs that at most one name follows. Else it is the
    path, without numbers of revisions that stand before other names.

    Example: `/annotate/7/src/goal-2.txt` gives `goal-2.txt`, `/wiki/cup-final/_history` gives
    `cup-final`, `/files/7/src` and `/files/head:/src` give `files/src`.
    """
    path = url_path(url)
    if path.endswith(_SCRIPTS):
        return ""
    names = path.rstrip("/").split("/")
    others = [name for name in names if not _REVISION.fullmatch(name)]
    for name in reversed(others[-2:]):
        if len(name) >= MIN_IDENTITY and not _PLAIN_NAME.fullmatch(name):
            return name
    return path if _REVISION.fullmatch(names[-1]) else "/".join(others)


def without_slug(url: str) -> str:
    """Return a URL or path whose last name is only the number that its words follow.

    Example: `/topic/5-cup-final/` gives `/topic/5/`.
    """
    return _SLUG.sub(r"\1", url)


def kind_of_view(path: str, url: str) -> str:
    """Return the kind of view that a URL is of the page with this path and identity, "" if none.

    The names that the path does not have tell views apart, else the first one, with `N` for
    another revision; at the same path the first name of a parameter does so. A page in two folders
    whose names are no plain words is no view: all such pages would be of one kind.

    Example: with `view/7/goal-2.txt`, `+annotate` for `/annotate/7/goal-2.txt?line=5`, `+view N`
    for `/view/8/goal-2.txt`, and `+view line` for `/view/7/goal-2.txt?line=5`.
    """
    names, known = url_path(url).rstrip("/").split("/"), set(path.split("/"))
    parameters = sorted(part.partition("=")[0] for part in url.partition("?")[2].split("&") if part)
    others = [name for name in names if name not in known]
    if words := [name for name in others if _VIEW_NAME.fullmatch(name)]:
        return "+" + " ".join(words)
    first = [name for name in names[:1] if _VIEW_NAME.fullmatch(name)]
    if others:
        is_revision = bool(first) and all(map(_REVISION.fullmatch, others))
        further = " page" if "page" in parameters else ""
        return f"+{first[0]} N{further}" if is_revision else ""
    is_view = parameters or (first and url_path(url) != path)
    return "+" + " ".join([*first, *parameters[:1]]) if is_view else ""


def url_path(url: str) -> str:
    """Return the path of a URL without its first slash."""
    return path_and_query(url)[1:].partition("?")[0]


_Value = TypeVar("_Value", int, str)


def _new_record(kind: str) -> Record:
    """Return the record of a kind without responses; some are expected to be of no use."""
    return Record(row=DEFER_AFTER if kind == MEMBERS else 2 * kind.endswith(" N"))


def _host_key(host: int, text: str) -> int:
    return crc32(text.encode(), host)


def _add_bounded(known: dict[int, _Value], added: dict[int, _Value]) -> None:
    """Add values to those that are remembered; the oldest are forgotten."""
    known.update(added)
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]


def kinds_from_pattern(pattern: str) -> list[str]:
    """Return the kinds of the URLs of a pattern: itself, and its parameters."""
    query = pattern.partition("?")[2]
    return [pattern, *(f"?{name}" for name in _parameters(query))] if query else [pattern]


def _parameters(query: str) -> Iterator[str]:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        yield name if value in _CLASS_SIGNS else part


_CLASS_SIGNS = frozenset(("", "N", "S", "D", "X"))
_NAMESPACE = re.compile(
    r"(?:/|\b(?:title|id|page|name)=)([A-Za-z]{2,20})(?::|%3A)(?:([A-Za-z]+)(?=[/&]|$))?"
)
"""Namespace of a wiki page, and its name if it has plain letters."""
_VIEW_NAME = re.compile(r"_?[A-Za-z][a-z]{0,15}(?:\.(?:atom|rss|xml|mbox|gz|json))*")
_PLAIN_NAME = re.compile(r"_?[A-Za-z][a-z]{0,15}(?:\.[a-z]{2,5})*")
_REVISION = re.compile(
    r"\d{1,7}|(?:head|HEAD|tip|trunk|master|main):?|(?=\D*\d)[0-9a-f]{7,40}|.*(?:@|%40).*-\d{8}.*"
)
"""Number, name or hash of a revision of files."""
_SCRIPTS = (".php", ".asp", ".aspx", ".jsp", ".cgi", ".do", ".pl", ".dll")
_SLUG = re.compile(r"(/\d{1,9})-[^/?]*[^\d/?-][^/?]*(?=/?\Z)")
_MEMBER = re.compile(
    r"\A[^?]{8,}/(?:users?|members?|profiles?)/[^/?]+"
    r"(?:/(?:activity|answers|comments|followers|posts|questions|replies|threads|topics))?/?(?:\?|\Z)"
)
_FOLDER = re.compile(r"/([a-z]{2,16})(?=/.)")
"""Name of a folder with another one or a page below it."""


def _is_folder(kind: str) -> bool:
    return kind.startswith("*/") and kind.endswith("/")


_ENDING = re.compile(
    r"/[^/?]+/[^/?]+/((?:_?[a-z]{2,16}|[A-Za-z])(?:\.(?:atom|rss|xml|mbox|gz|json))*)/?(?=\?|\Z)"
)


def removable_parameters(url: str) -> list[str]:
    """Return the first parameters of a URL: their names, with the value if it is 0 or 1.

    `page=1` may change nothing where `page=2` does. So may `/page/1` at the end of the path.
    """
    address, _, query = url.partition("?")
    parts = query.split("&", 4)[:4] if query else _FIRST_PAGE.findall(address)
    return [part if part.endswith(_FIRST_VALUES) else part.partition("=")[0] for part in parts]


def first_pages(url: str, kinds: list[str]) -> dict[str, str]:
    """Return URLs that may be page 1 of a list, by the rewriting that makes its plain URL of them.

    kinds  pattern of another URL of the list, and its parameters

    Example: `/list?p=1` and `/list/page/1` for `/list`.
    """
    slash = "/" * url.endswith("/")
    paths = {f"-{name}": f"{url.removesuffix(slash)}{name}{slash}" for name in _FIRST_PAGES}
    return {f"-{kind[1:]}=1": f"{url}?{kind[1:]}=1" for kind in kinds[1:]} | paths


def apply_rewriting(rewriting: str, url: str) -> str:
    """Return a URL without a parameter, or in another spelling.

    Example: `-b` and `-b=1` make `/p?a` of `/p?a&b=1`, and `>slash` makes `/p/` of `/p`.
    """
    if spell := SPELLINGS.get(rewriting):
        return spell(url)
    address, _, query = url.partition("?")
    removed, parts = rewriting[1:], query.split("&")
    if removed[0] == "/":
        slash = "/" * address.endswith("/")
        return f"{address.removesuffix(slash).removesuffix(removed)}{slash}"
    parameters = "&".join(part for part in parts if removed not in (part, part.partition("=")[0]))
    return f"{address}?{parameters}" if parameters else address


def spelling_changes(url: str, target: str) -> tuple[str, ...]:
    """Return the spellings that make the target of a redirect from its source, () if none do.

    Example: `http://a.test/x` becomes `https://www.a.test/x` by `>https` and `>www`.
    """
    if _SPELLED_PARTS.sub("", url) != _SPELLED_PARTS.sub("", target):
        return ()
    for count in (1, 2, 3):
        for names in combinations(SPELLINGS, count):
            spelled = url
            for name in names:
                spelled = SPELLINGS[name](spelled)
            if spelled == target:
                return names
    return ()


def returns_to(target: str, url: str) -> bool:
    """Return whether a URL names another one to return to, as that of a log-in page does.

    Example: True for `/login?next=/reply/5/` and `/reply/5/`.
    """
    path = path_and_query(url)
    return len(path) > 1 and unquote(path) in unquote(target.partition("?")[2])


def is_variant_address(url: str, canonical: str) -> bool:
    """Return whether a URL is a variant of its canonical URL by its address alone.

    It is if it has more parameters, another spelling, or a path for printing or mobile devices.
    A page that names another path, such as the home page, is not believed.
    """
    path, parameters = _plain_address(url)
    canonical_path, canonical_parameters = _plain_address(canonical)
    return path == canonical_path and canonical_parameters <= parameters


def _plain_address(url: str) -> tuple[str, set[str]]:
    address, _, query = url.partition("?")
    path = _VARIANT_PATH.sub("", re.sub(r"\Ahttps?://(?:www\.|m\.)?", "", address.lower()))
    return path.rstrip("/"), set(query.split("&")) - {""}


_FIRST_PAGES = ("/page/1", "/page1", "/page-1", "/page:1", "/p/1")
_FIRST_PAGE = re.compile(rf"({'|'.join(_FIRST_PAGES)})/?\Z")
_FIRST_VALUES = ("=0", "=1", *_FIRST_PAGES)
_VARIANT_PATH = re.compile(r"/(?:amp|print|mobile|wap)(?=/|\Z)|/index\.(?:html?|php)\Z")


def _add_slash(url: str) -> str:
    is_folder = "?" not in url and "." not in url[url.rfind("/") :] and url[-1] != "/"
    return f"{url}/" if is_folder else url


def _remove_slash(url: str) -> str:
    return url[:-1] if url[-1] == "/" and url.count("/") > 3 and "?" not in url else url


SPELLINGS: dict[str, Callable[[str], str]] = {
    ">https": lambda url: re.sub(r"\Ahttp:", "https:", url),
    ">http": lambda url: re.sub(r"\Ahttps:", "http:", url),
    ">www": lambda url: re.sub(r"\A(https?://)(?!www\.)(?=[^/:]*[a-z]/)", r"\1www.", url),
    ">no-www": lambda url: re.sub(r"\A(https?://)www\.(?=[^/]*\.)", r"\1", url),
    ">no-index": lambda url: re.sub(r"\A([^?]*/)index\.(?:html?|php)\Z", r"\1", url),
    ">slash": _add_slash,
    ">no-slash": _remove_slash,
}
"""Spellings of a URL to which hosts redirect; none changes the query."""
_SPELLED_PARTS = re.compile(r"\Ahttps?://(?:www\.)*|(?:/(?:index\.(?:html?|php))?)+\Z")
"""All parts of a URL in which two spellings can differ."""


class KnownTexts:
    """Main texts of the pages of each host, 20 bytes each or so."""

    def __init__(self) -> None:
        self._fingerprints = Fingerprints()
        self._ids = array("I")
        self._owners: dict[int, int] = {}  # sentence of recent pages that are no lists -> identity

    def find(self, host: int, page: Page) -> int:
        """Return the id of the first page of a host with this main text, -1 if there is none."""
        if page.text_length < MIN_TEXT:
            return -1
        number = self._fingerprints.find(_fingerprint(host, page.text_digest))
        return -1 if number < 0 else self._ids[number]

    def repeats_short_text(self, host: int, page: Page) -> bool:
        """Return whether a page with a short text has that of another one.

        Example: a form to log in, a message that nothing was found. A page without any text is
        unknown: it may consist of pictures, or of links.
        """
        is_short = 0 < page.text_length < MIN_TEXT
        return is_short and self._fingerprints.find(_fingerprint(host, page.text_digest)) >= 0

    def shows_again(self, host: int, named: NamedPage, page: Page) -> bool:
        """Return whether a view of a known page has most sentences of it.

        Sentences of pages with other identities, such as those of the site's template, do not
        count. A view at another path, such as a history, shows it again as well if it has hardly
        any new sentences.
        """
        owners = [self._owners.get(number ^ host) for number in page.sentences]
        known, new = owners.count(named.key), owners.count(None)
        is_tool = named.path != named.known_path and not named.view.endswith("N")
        is_empty = is_tool and new < MIN_SENTENCES
        return is_empty or known >= max(MIN_SENTENCES, CONTAINED * (known + new))

    def add_sentences(self, host: int, owner: int, page: Page) -> None:
        """Remember the key of the page that has each sentence, 0 if there are several."""
        keys = [number ^ host for number in page.sentences]
        _add_bounded(
            self._owners, {key: owner * (self._owners.get(key, owner) == owner) for key in keys}
        )

    def add(self, url_id: int, host: int, text_digest: int) -> None:
        """Remember the main text of a page, unless it is known for the host."""
        fingerprint = _fingerprint(host, text_digest)
        if text_digest and self._fingerprints.find(fingerprint) < 0:
            self._fingerprints.add(fingerprint)
            self._ids.append(url_id)

    def restore(self, ids: Column, hosts: Column, text_digests: Column) -> None:
        """Add the pages of an earlier run in order of request."""
        import numpy as np

        has_text = text_digests != 0
        mixed = (text_digests ^ (hosts + np.uint64(1)) * np.uint64(MIX))[has_text]
        firsts = np.sort(np.unique(mixed, return_index=True)[1])
        self._fingerprints.extend(mixed[firsts])
        self._fingerprints.build_index()
        self._ids.frombytes(ids[has_text][firsts].astype(np.uint32).tobytes())


def _fingerprint(host: int, text_digest: int) -> bytes:
    return digest_on_host(host, text_digest).to_bytes(8, "little") + bytes(8)
