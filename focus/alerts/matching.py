"""Finds which new pages of a site match whose alerts.

    match(store, site, …)     pages behind the site's cursor, held against all alerts on it
    welcome(store, owned, …)  the end of an alert's first check: the five best are told
    match_page(…)             one page and one alert

A page becomes a match of each alert that asks for it, once per address. It is news, and goes
out, unless it existed when the alert began, is dated long before the last check, is a list
without a date, or repeats an earlier match nearly word by word. Matches, what has to go out for
them, and the cursor are written in one transaction per `BATCH` pages, so that a process
that is killed leaves nothing half done and nothing done twice.

What a page costs: unpacking and sets, once; parsing and judging only
where the words may stand, the parts shared by all alerts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import cache

import msgspec

from focus.alerts import votes
from focus.alerts.delivery import sent_channels
from focus.alerts.near_duplicates import AlertTexts
from focus.alerts.page_match import PageView, Subject, subject_key, topic_of
from focus.alerts.schedule import zone_of
from focus.errors import FocusError
from focus.storage.alerts.pages import LAST
from focus.storage.alerts.records import (
    LOCAL,
    Alert,
    Match,
    StoredAlert,
    StoredPage,
    WatchedSite,
)
from focus.storage.alerts.store import AlertStore
from focus.text.tokenisation import Segmenter

BATCH = 500  # pages per transaction
FEW = 10  # alerts: to look for their words in a page's source is cheaper than to parse it
FORGET = 100  # pages after which the anchors that were met are forgotten
BEST = 5  # of what existed when an alert began
BASELINE = 3_000  # pages of a site, the latest, that are marked as seen for a new alert
OLD_S = 7 * 86400.0  # dated so long before the last check: no news


class Matched(msgspec.Struct):
    """The outcome of matching a site's new pages.

    pages     held against `alerts`
    news      matches that go out; `folded` repeat others, `old` existed before
    failures  alert -> why it could not be looked after
    """

    site: str
    pages: int = 0
    alerts: int = 0
    news: int = 0
    folded: int = 0
    old: int = 0
    failures: dict[int, str] = msgspec.field(default_factory=dict)


class _Watcher:
    """An alert on the site that is being matched."""

    def __init__(self, owned: StoredAlert, subject: Subject, zone: tzinfo, *, is_new: bool) -> None:
        self.owned = owned
        self.subject = subject
        self.zone = zone
        self.is_new = is_new or owned.checked_at is None
        self.texts: AlertTexts | None = None

    def is_news(self, match: Match, view: PageView) -> bool:
        """Whether a page is news to the alert, or existed before."""
        if self.is_new:
            return False
        if match.published_at is None:
            return not view.is_list
        return match.published_at >= (self.owned.checked_at or 0.0) - OLD_S


# -- matching -----------------------------------------------------------------------


def match(store: AlertStore, site: WatchedSite, *, now: float, due: Iterable[int] = ()) -> Matched:
    """Hold a site's pages that no alert has seen against all alerts on it.

    due   alerts being checked now: what is new goes out at once; for others, when
          their schedule has it
    """
    begun = store.sites.begun(site.id)
    watched = [
        (owned, begun.get(owned.id, False))
        for owned in store.alerts.on(site.id)
        if not owned.alert.is_over(now)
    ]
    begins = any(not is_begun or owned.checked_at is None for owned, is_begun in watched)
    last = store.pages.latest_nth(site.crawl)
    if not last or not (begins or last > site.matched):
        return Matched(site.host)
    run = _Run(store, site, now, frozenset(due))
    run.watch(watched)
    beginners = [each for each in run.watchers if each.is_new]
    if beginners:
        start = store.pages.before_latest(run.crawl, to=site.matched, most=BASELINE)
        run.take(beginners, after=start, to=site.matched)
    run.take(run.watchers, after=site.matched, to=LAST)
    store.sites.begin(site.id, [each.owned.id for each in beginners], now=now)
    return run.matched


class _Run:
    """One matching of one site."""

    def __init__(
        self, store: AlertStore, site: WatchedSite, now: float, due: frozenset[int]
    ) -> None:
        self.store, self.site, self.now, self.due = store, site, now, due
        self.zones = store.users.zones()
        self.crawl = site.crawl or 0
        self.matched = Matched(site.host)
        self.subjects = Subjects()
        self.watchers: list[_Watcher] = []

    def watch(self, watched: Iterable[tuple[StoredAlert, bool]]) -> None:
        """Take on alerts, each with whether what exists here is marked as seen for it."""
        for owned, begun in watched:
            if (subject := self._subject(owned)) is not None:
                zone = zone_of(self.zones[owned.user])
                self.watchers.append(_Watcher(owned, subject, zone, is_new=not begun))
        self.matched.alerts = len(self.watchers)

    def _subject(self, owned: StoredAlert) -> Subject | None:
        try:
            return self.subjects.of_owned(self.store, owned)
        except FocusError as error:
            self.matched.failures[owned.id] = error.line
            return None

    def take(self, watchers: Sequence[_Watcher], *, after: int, to: int) -> None:
        """Match the pages behind one, up to another, batch by batch."""
        while some := self.store.pages.after(self.crawl, after, to=to, limit=BATCH):
            found = [each for page in some for each in self._drafts(page, watchers)]
            after = some[-1].nth
            self._write(found, after)
            self.matched.pages += len(some)

    def _drafts(self, page: StoredPage, watchers: Sequence[_Watcher]) -> list[_Draft]:
        if not page.wanted:
            return []
        if page.nth % FORGET == 0:
            self.subjects.forget()
        view = PageView(page, self.store.pages.source(page.id))
        if len(watchers) <= FEW:
            watchers = [each for each in watchers if each.subject.is_in_source(view)]
        drafts = []
        for watcher in watchers:
            owned = watcher.owned
            zone = watcher.zone
            match = match_page(view, watcher.subject, owned.alert, now=self.now, zone=zone)
            if match is not None:
                match = msgspec.structs.replace(match, alert=owned.id)
                drafts.append((watcher, match, watcher.is_news(match, view)))
        return drafts

    def _write(self, drafts: Iterable[_Draft], nth: int) -> None:
        news: dict[int, list[int]] = {}
        with self.store.transaction():
            for watcher, match, is_news in drafts:
                texts = self._texts(watcher)
                earlier = texts.find(match.simhash, match.url)
                match = msgspec.structs.replace(match, duplicate_of=earlier, baseline=not is_news)
                number = self.store.matches.add(match)
                if number is None:
                    continue  # the alert has it
                self._count(match)
                if earlier is None:
                    texts.add(number, match.simhash, match.url)
                    if is_news:
                        news.setdefault(watcher.owned.id, []).append(number)
            for watcher in self.watchers:
                if found := news.get(watcher.owned.id):
                    _send(self.store, watcher.owned, found, self._due_at(watcher.owned))
            self.store.sites.matched(self.site.id, nth)

    def _texts(self, watcher: _Watcher) -> AlertTexts:
        if watcher.texts is None:
            watcher.texts = AlertTexts()
            for text in self.store.matches.texts(watcher.owned.id):
                watcher.texts.add(*text)
        return watcher.texts

    def _count(self, match: Match) -> None:
        if match.duplicate_of is not None:
            self.matched.folded += 1
        elif match.baseline:
            self.matched.old += 1
        else:
            self.matched.news += 1

    def _due_at(self, owned: StoredAlert) -> float:
        """Now, or at the alert's own time, when others had the site looked at."""
        is_due = owned.id in self.due or owned.alert.schedule == "auto"
        return self.now if is_due else max(self.now, owned.next_at)


_Draft = tuple[_Watcher, Match, bool]
"""A match to be written, and whether it is news."""


def _send(store: AlertStore, owned: StoredAlert, matches: Sequence[int], at: float) -> None:
    channels = sent_channels(owned.alert.channels)
    store.outbox.enqueue(owned.user, owned.id, matches=matches, channels=channels, due_at=at)


def welcome(store: AlertStore, owned: StoredAlert, *, now: float) -> int:
    """End an alert's first check: its best go out; how many. In a transaction of the caller's."""
    best = store.matches.best_of_baseline(owned.id, BEST)
    _send(store, owned, best, now)
    return len(best)


# -- one page and one alert -------------------------------------------------------


@cache
def _segmenter() -> Segmenter:
    """One for all: its dictionary takes a third of a second and 60 MB to load."""
    return Segmenter()


class Subjects:
    """The subjects of alerts; those that ask the same share one."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, bool], Subject] = {}
        self._taught: list[Subject] = []

    def of(self, alert: Alert, *, trusted: bool) -> Subject:
        """An alert's subject. ConfigError for a topic file that cannot be used.

        trusted  see `topic_of`
        """
        key = subject_key(alert, trusted=trusted)
        if key not in self._made:
            topic = topic_of(alert, trusted=trusted)
            self._made[key] = Subject(alert, topic, _segmenter())
        return self._made[key]

    def of_owned(self, store: AlertStore, owned: StoredAlert) -> Subject:
        """The same of an alert that is kept: its own, where its owner's votes have taught it."""
        trusted = owned.user == LOCAL
        if not any(store.matches.count_votes(owned.id)):
            return self.of(owned.alert, trusted=trusted)
        topic = topic_of(owned.alert, trusted=trusted)
        learned = votes.learned(store, owned.id, topic)
        made = Subject(owned.alert, topic, _segmenter(), learned=learned)
        self._taught.append(made)
        return made

    def forget(self) -> None:
        """Let go of what was remembered of pages."""
        for subject in (*self._made.values(), *self._taught):
            subject.forget()


def match_page(
    view: PageView, subject: Subject, alert: Alert, *, now: float, zone: tzinfo
) -> Match | None:
    """A page as a match of an alert, for a reader in this zone; None when it is none."""
    judgement = view.judged_by(subject)
    if judgement is None or not _is_enough(judgement.relevance, subject, alert):
        return None
    if alert.languages and not _is_spoken(view.language, alert.languages):
        return None
    if view.is_lost:
        return None
    page = view.stored
    return Match(
        alert=0,
        page=page.id,
        url=page.url,
        title=page.title,
        language=view.language,
        published_at=view.published(zone),
        found_at=now,
        relevance=judgement.relevance,
        snippet=view.snippet_for(subject),
        why={"parts": judgement.parts, "words": judgement.matched},
        simhash=view.simhash,
    )


def _is_enough(relevance: float, subject: Subject, alert: Alert) -> bool:
    if alert.min_relevance is not None:
        return relevance >= alert.min_relevance
    return relevance > subject.threshold


def _is_spoken(language: str, wanted: Iterable[str]) -> bool:
    """Whether a page's language is wanted; one that nobody knows may be."""
    return not language or any(each.lower().split("-")[0] == language for each in wanted)
