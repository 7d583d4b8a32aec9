"""Rules for the URLs of common web applications: actions, page variants, index pages.

    detect_software  the application that made a page, by its generator, markup and addresses
    reason_against   why a URL is not requested: an action or a page variant
    is_action_link   whether the text or rel of a link says that it changes something
    is_index_url     whether a URL of an application lists other pages
    strip_params     a URL without parameters that do not change the page

The knowledge is data (`software.toml`). Rules of an application apply only to hosts on which it was
detected; a few apply everywhere. The file is read at the first page, and the patterns of an
application are compiled when it is first met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ahocorasick_rs import BytesAhoCorasick

from focus.i18n import chain_messages, msg
from focus.records import DropReason, Link
from focus.urls.normal_form import path_and_query

MAX_DETECTIONS = 3  # first pages of a host in which its software is looked for
_ANY_SITE = msg("any site")
_NEVER = r"(?!)"
_HEAD_BYTES, _FOOT_BYTES = 16_384, 8_192  # parts of a page in which marks are looked for
_MARK_LOOKBACK = 300  # characters before a path mark in which its address begins


class Refusal(NamedTuple):
    """Why a URL is not requested: the reason, and the application with the text that matched."""

    reason: DropReason
    detail: str


class Application:
    """Rules of one web application; patterns are compiled when they are first used."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self.name: str = fields["name"]
        self.source: str = fields.get("source", "")
        self.is_everywhere: bool = fields.get("everywhere", False)
        self.has_unwritten_links: bool = fields.get("unwritten", False)
        self.marks = tuple(mark.encode() for mark in fields.get("marks", ()))
        self.params = frozenset(fields.get("strip", ()))
        self.view_ending = re.compile(fields.get("strip_ending", _NEVER))

    @cached_property
    def generator(self) -> re.Pattern[str]:
        """Pattern of the generator that its pages name."""
        return re.compile(self._fields.get("generator", _NEVER), re.IGNORECASE | re.MULTILINE)

    def search(self, role: str, path: str) -> str:
        """Return the part of a path with its query that gives it a role, "" if nothing does.

        role  "action", "variant", "index" or "content"
        """
        match = self._pattern(role).search(path.lower())
        return "" if match is None else path[match.start() : match.end()] or "/"

    def patterns(self, role: str) -> list[str]:
        """Return the patterns of a role, for URLs in lower case."""
        return [quote_text(pattern).lower() for pattern in self._fields.get(role, ())]

    @lru_cache  # noqa: B019 - there is one object for each application
    def _pattern(self, role: str) -> re.Pattern[str]:
        return compile_any(self.patterns(role))

    def refusal(self, path: str) -> Refusal | None:
        """Return why a path with its query is not requested, None if it is."""
        action = self.search("action", path)
        match = action or self.search("variant", path)
        if not match or self.search("content", path):
            return None
        reason = DropReason.ACTION if action else DropReason.PAGE_VARIANT
        return Refusal(
            reason, chain_messages(_ANY_SITE if self.is_everywhere else self.name, match)
        )


class Knowledge(NamedTuple):
    """The data of `software.toml`.

    everywhere        rules that apply to every host
    applications      name -> rules
    marks             finds the marks of all applications
    mark_owners       for each mark the position of its application
    tokens            names of parameters that only an action has
    actions           link texts of actions
    doubtful_actions  link texts of actions, or of sections
    """

    everywhere: tuple[Application, ...]
    applications: dict[str, Application]
    marks: BytesAhoCorasick
    mark_owners: tuple[int, ...]
    tokens: re.Pattern[str]
    actions: frozenset[str]
    doubtful_actions: frozenset[str]


@cache
def load_knowledge() -> Knowledge:
    """Return the data of `software.toml`, which is read once."""
    import tomllib

    data = tomllib.loads(Path(__file__).with_name("software.toml").read_text(encoding="utf-8"))
    applications = [Application(fields) for fields in data["software"]]
    local = [rules for rules in applications if not rules.is_everywhere]
    marks = [(mark, at) for at, rules in enumerate(local) for mark in rules.marks]
    links = data["links"]
    tokens = "|".join(map(re.escape, links["tokens"])).lower()
    return Knowledge(
        everywhere=tuple(rules for rules in applications if rules.is_everywhere),
        applications={rules.name: rules for rules in local},
        marks=BytesAhoCorasick([mark for mark, _ in marks]),
        mark_owners=tuple(at for _, at in marks),
        tokens=re.compile(rf"[?&](?:{tokens})=[^&]", re.IGNORECASE),
        actions=frozenset(links["actions"]),
        doubtful_actions=frozenset(links["doubtful_actions"]),
    )


def compile_any(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches where any of these does."""
    return re.compile("|".join(patterns) or _NEVER)


def quote_text(text: str) -> str:
    """Return a pattern with its characters outside ASCII as a normalised URL has them."""
    return re.sub(r"[^\x00-\x7f]", lambda match: quote(match[0]), text)


def detect_software(generator: str, source: bytes, host: str) -> str:
    """Return the name of the application that made a page, "" if it is not known.

    Marks are looked for at both ends of a page that names no generator.

    generator  what it names, a line for each

    Example: `<meta name="generator" content="WordPress 6.1">` and `<img src="/wp-content/a.png">`
    are both WordPress, `<img src="https://elsewhere.example/wp-content/a.png">` is not.
    """
    knowledge = load_knowledge()
    applications = [*knowledge.applications.values()]
    if generator:
        named = (a.name for a in applications if a.generator.search(generator))
        return next(named, "")
    ends = source[:_HEAD_BYTES] + b"\n" + source[_HEAD_BYTES:][-_FOOT_BYTES:]
    owners = {
        knowledge.mark_owners[mark]
        for mark, start, _ in knowledge.marks.find_matches_as_indexes(ends, overlapping=True)
        if ends[start : start + 1] != b"/"
        or _is_on_host(ends[max(0, start - _MARK_LOOKBACK) : start], host.encode())
    }
    return applications[min(owners)].name if owners else ""


def _is_on_host(before: bytes, host: bytes) -> bool:
    """Return whether an address whose path follows a text is on the page's own host."""
    start = re.split(rb"[\s\"'(=]", before)[-1]
    address = re.sub(rb"\A(?:https?:)?(?=//)", b"", start)
    return not address.startswith(b"//") or address[2:].partition(b"/")[0] == host


def reason_against(url: str, software: str = "") -> Refusal | None:
    """Return why a URL is an action or a page variant, None if it is neither.

    Example: `?action=edit` is an action on a host with MediaWiki, `/feed/` a variant on one with
    WordPress; `?do=logout` is an action everywhere, `/how-to-log-out/` is a page.
    """
    path = path_and_query(url)
    if not _refused_paths(software, "?" in path).search(path.lower()):
        return None
    for application in _rules(software):
        if (refusal := application.refusal(path)) is not None:
            return refusal
    token = load_knowledge().tokens.search(path)
    if token is None:
        return None
    return Refusal(DropReason.ACTION, chain_messages(_ANY_SITE, token[0][1:-1]))


@lru_cache(64)
def _refused_paths(software: str, has_query: bool) -> re.Pattern[str]:
    """Return a pattern that all actions and variants match, and few other URLs."""
    roles = [rules.patterns(role) for rules in _rules(software) for role in ("action", "variant")]
    patterns = [load_knowledge().tokens.pattern, *chain.from_iterable(roles)]
    return compile_any(
        pattern for pattern in patterns if has_query or not pattern.startswith("[?&")
    )


@lru_cache(64)
def _rules(software: str) -> tuple[Application, ...]:
    knowledge = load_knowledge()
    own = knowledge.applications.get(software)
    return knowledge.everywhere if own is None else (own, *knowledge.everywhere)


def is_action_link(link: Link) -> bool:
    """Return whether the text of a link, with its address and rel, says that it changes something.

    Example: `删除` with `?id=5` or with rel=nofollow is an action, `关注` only with rel=nofollow.
    Neither is one if the address itself is named so, as `/wiki/删除` is.
    """
    knowledge, text = load_knowledge(), link.anchor.strip(" \t[]()【】").lower()
    if text in knowledge.actions:
        is_action = link.nofollow or "?" in link.url
    else:
        is_action = link.nofollow and text in knowledge.doubtful_actions
    if not is_action:
        return False
    path = path_and_query(link.url)
    names = re.split(r"[/?&=:.]", unquote(path).lower())
    return re.sub(r"\s", "-", text) not in names and re.sub(r"\s", "_", text) not in names


def is_index_url(url: str, software: str) -> bool:
    """Return whether a URL of an application lists other pages."""
    application = load_knowledge().applications.get(software) if software else None
    return application is not None and bool(application.search("index", path_and_query(url)))


def has_index_rules(software: str) -> bool:
    """Return whether the index pages of an application are known by their URLs."""
    application = load_knowledge().applications.get(software) if software else None
    return application is not None and bool(application.patterns("index"))


def is_unwritten(link: Link, parent_host: str, software: str) -> bool:
    """Return whether a link leads to a page of its own host that does not exist yet."""
    if not link.nofollow or link.host != parent_host:
        return False
    application = load_knowledge().applications.get(software)
    return application is not None and application.has_unwritten_links


def strip_params(url: str, software: str) -> str:
    """Return a URL without the parameters, and the ending, that do not change the page.

    Example: `/2026/goal/?replytocom=5` is `/2026/goal/` everywhere, and `/goods/?ordering=-price`,
    the same list in another order, is `/goods/`.
    """
    address, mark, query = url.partition("?")
    application = load_knowledge().applications.get(software) if software else None
    if application is not None:
        address = application.view_ending.sub("", address)
    if not mark:
        return address
    params = _params(software)
    others = [
        part
        for part in query.split("&")
        if part.partition("=")[0] not in params and not _SORTING.fullmatch(part)
    ]
    if len(others) == query.count("&") + 1:
        return f"{address}?{query}"
    return f"{address}?{'&'.join(others)}" if others else address


_SORTING = re.compile(
    r"(?:sort|order)(?:ing|[-_]?(?:by|dir|direction|order|field|column))?=(?:[-+]|%2B)?[a-z_.,:-]*"
    r"|(?:dir|direction)=(?:asc|desc)",
    re.IGNORECASE,
)
"""Parameter with the order of a list; a number, as of `order=17`, is not the name of one."""


@lru_cache(64)
def _params(software: str) -> frozenset[str]:
    sets: Iterable[frozenset[str]] = (application.params for application in _rules(software))
    return frozenset[str]().union(*sets)
