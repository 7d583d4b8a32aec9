"""Matching of a site's new pages against all alerts on the site.

    match_site(store, site, …)       the pages that no alert has seen
    end_first_check(store, alert, …) the end of an alert's first check: five pages are sent
    match_page(…)                    one page and one alert

A page becomes a match of an alert once per URL. It is news, and is sent, unless it existed when the
alert was added, is dated long before the last check, is an index page without a date, or repeats an
earlier match almost literally. Matches, outbox rows and the site's cursor are written in one
transaction per `BATCH` pages: after a kill nothing is incomplete and nothing is done twice.

A page is unpacked once. It is parsed and scored only if the required words may be on it, and alerts
share these results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import cache

import msgspec

from focus.alerts import votes
from focus.alerts.delivery import sent_channels
from focus.alerts.near_duplicates import AlertTexts
from focus.alerts.page_match import Criteria, PageView, alert_topic, criteria_key
from focus.alerts.schedule import find_zone
from focus.errors import FocusError
from focus.storage.alerts.pages import LAST_REQUEST
from focus.storage.alerts.records import (
    LOCAL_USER,
    Alert,
    Match,
    MatchablePage,
    StoredAlert,
    WatchedSite,
)
from focus.storage.alerts.store import AlertStore
from focus.text.tokenisation import Segmenter

BATCH = 500  # pages per transaction
MAX_SOURCE_SEARCHES = 10  # alerts for which searching the source is cheaper than parsing it
CACHE_PAGES = 100  # pages after which cached anchor texts are dropped
BASELINE_SENT = 5  # existing pages sent when an alert begins
BASELINE_PAGES = 3_000  # latest pages of a site that are marked as seen for a new alert
OLD_S = 7 * 86400.0  # a page dated this long before the last check is no news


class MatchingSummary(msgspec.Struct):
    """Result of matching a site's new pages.

    pages     Number of pages matched against `alerts` alerts.
    news      Matches to be sent; `folded` repeat others, `old` existed before.
    failures  Alert id -> why it could not be matched.
    """

    site: str
    pages: int = 0
    alerts: int = 0
    news: int = 0
    folded: int = 0
    old: int = 0
    failures: dict[int, str] = msgspec.field(default_factory=dict)


class _SiteAlert:
    """Alert on the site that is being matched."""

    def __init__(
        self, stored_alert: StoredAlert, criteria: Criteria, zone: tzinfo, *, is_new: bool
    ) -> None:
        self.stored_alert = stored_alert
        self.criteria = criteria
        self.zone = zone
        self.is_new = is_new or stored_alert.checked_at is None
        self.texts: AlertTexts | None = None

    def is_news(self, match: Match, view: PageView) -> bool:
        """Return whether a page is news to the alert or existed before."""
        if self.is_new:
            return False
        if match.published_at is None:
            return not view.is_index_page
        return match.published_at >= (self.stored_alert.checked_at or 0.0) - OLD_S


# -- matching -----------------------------------------------------------------------


def match_site(
    store: AlertStore, site: WatchedSite, *, now: float, due: Iterable[int] = ()
) -> MatchingSummary:
    """Match the pages of a site that no alert has seen against all alerts on it.

    due  Alerts that are being checked: their news is sent now, that of others by their schedule.
    """
    begun_alerts = store.sites.load_baseline_states(site.id)
    watched = [
        (stored_alert, begun_alerts.get(stored_alert.id, False))
        for stored_alert in store.alerts.list_for_site(site.id)
        if not stored_alert.alert.is_over(now)
    ]
    has_new_alerts = any(
        not is_begun or stored_alert.checked_at is None for stored_alert, is_begun in watched
    )
    last = store.pages.latest_request(site.crawl)
    if not last or not (has_new_alerts or last > site.matched):
        return MatchingSummary(site.host)
    matching = _SiteMatching(store, site, now, frozenset(due))
    matching.add_alerts(watched)
    new_alerts = [site_alert for site_alert in matching.site_alerts if site_alert.is_new]
    if new_alerts:
        start = store.pages.request_before_latest(
            matching.crawl, to=site.matched, limit=BASELINE_PAGES
        )
        matching.match_pages(new_alerts, after=start, to=site.matched)
    matching.match_pages(matching.site_alerts, after=site.matched, to=LAST_REQUEST)
    store.sites.mark_baseline_seen(
        site.id, [site_alert.stored_alert.id for site_alert in new_alerts], now=now
    )
    return matching.summary


class _SiteMatching:
    """Matching of one site."""

    def __init__(
        self, store: AlertStore, site: WatchedSite, now: float, due: frozenset[int]
    ) -> None:
        self.store, self.site, self.now, self.due = store, site, now, due
        self.zones = store.users.load_zones()
        self.crawl = site.crawl or 0
        self.summary = MatchingSummary(site.host)
        self.criteria_cache = CriteriaCache()
        self.site_alerts: list[_SiteAlert] = []

    def add_alerts(self, watched: Iterable[tuple[StoredAlert, bool]]) -> None:
        """Add alerts, each with whether the existing pages were already marked as seen."""
        for stored_alert, is_begun in watched:
            if (criteria := self._find_criteria(stored_alert)) is not None:
                zone = find_zone(self.zones[stored_alert.user])
                self.site_alerts.append(
                    _SiteAlert(stored_alert, criteria, zone, is_new=not is_begun)
                )
        self.summary.alerts = len(self.site_alerts)

    def _find_criteria(self, stored_alert: StoredAlert) -> Criteria | None:
        try:
            return self.criteria_cache.get_stored(self.store, stored_alert)
        except FocusError as error:
            self.summary.failures[stored_alert.id] = error.message
            return None

    def match_pages(self, site_alerts: Sequence[_SiteAlert], *, after: int, to: int) -> None:
        """Match the pages from number `after` to `to`, in batches."""
        while pages := self.store.pages.list_after(self.crawl, after, to=to, limit=BATCH):
            drafts = [draft for page in pages for draft in self._draft_matches(page, site_alerts)]
            after = pages[-1].request_number
            self._store_drafts(drafts, after)
            self.summary.pages += len(pages)

    def _draft_matches(
        self, page: MatchablePage, site_alerts: Sequence[_SiteAlert]
    ) -> list[_Draft]:
        if not page.can_be_shown:
            return []
        if page.request_number % CACHE_PAGES == 0:
            self.criteria_cache.clear_cache()
        view = PageView(page, self.store.pages.load_source(page.id))
        if len(site_alerts) <= MAX_SOURCE_SEARCHES:
            site_alerts = [
                site_alert
                for site_alert in site_alerts
                if site_alert.criteria.may_be_in_source(view)
            ]
        drafts = []
        for site_alert in site_alerts:
            stored_alert = site_alert.stored_alert
            zone = site_alert.zone
            match = match_page(
                view, site_alert.criteria, stored_alert.alert, now=self.now, zone=zone
            )
            if match is not None:
                match = msgspec.structs.replace(match, alert=stored_alert.id)
                drafts.append((site_alert, match, site_alert.is_news(match, view)))
        return drafts

    def _store_drafts(self, drafts: Iterable[_Draft], nth: int) -> None:
        news_by_alert: dict[int, list[int]] = {}
        with self.store.transaction():
            for site_alert, match, is_news in drafts:
                texts = self._load_texts(site_alert)
                earlier = texts.find(match.simhash, match.url)
                match = msgspec.structs.replace(
                    match, original_id=earlier, baseline=int(not is_news)
                )
                match_id = self.store.matches.add(match)
                if match_id is None:
                    continue  # the alert has this match already
                self._count_match(match)
                if earlier is None:
                    texts.add(match_id, match.simhash, match.url)
                    if is_news:
                        news_by_alert.setdefault(site_alert.stored_alert.id, []).append(match_id)
            for site_alert in self.site_alerts:
                if match_ids := news_by_alert.get(site_alert.stored_alert.id):
                    _enqueue(
                        self.store,
                        site_alert.stored_alert,
                        match_ids,
                        self._due_at(site_alert.stored_alert),
                    )
            self.store.sites.record_matched(self.site.id, nth)

    def _load_texts(self, site_alert: _SiteAlert) -> AlertTexts:
        if site_alert.texts is None:
            site_alert.texts = AlertTexts()
            for text in self.store.matches.load_texts(site_alert.stored_alert.id):
                site_alert.texts.add(*text)
        return site_alert.texts

    def _count_match(self, match: Match) -> None:
        if match.original_id is not None:
            self.summary.folded += 1
        elif match.baseline:
            self.summary.old += 1
        else:
            self.summary.news += 1

    def _due_at(self, stored_alert: StoredAlert) -> float:
        """Return now, or the alert's own time if other alerts caused the visit."""
        is_due = stored_alert.id in self.due or stored_alert.alert.schedule == "auto"
        return self.now if is_due else max(self.now, stored_alert.next_at)


_Draft = tuple[_SiteAlert, Match, bool]
"""Match to be written, and whether it is news."""


def _enqueue(
    store: AlertStore, stored_alert: StoredAlert, matches: Sequence[int], at: float
) -> None:
    channels = sent_channels(stored_alert.alert.channels)
    store.outbox.enqueue(
        stored_alert.user, stored_alert.id, matches=matches, channels=channels, due_at=at
    )


def end_first_check(store: AlertStore, stored_alert: StoredAlert, *, now: float) -> int:
    """Send the best existing pages at the end of an alert's first check; return their number.

    The caller opens the transaction.
    """
    best = store.matches.promote_baseline(stored_alert.id, BASELINE_SENT)
    _enqueue(store, stored_alert, best, now)
    return len(best)


# -- one page and one alert -------------------------------------------------------


@cache
def _segmenter() -> Segmenter:
    """Return the shared segmenter; its dictionary takes 0.3 s and 60 MB to load."""
    return Segmenter()


class CriteriaCache:
    """Criteria of alerts; those with the same requirements share one object."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str, str, bool], Criteria] = {}
        self._own: list[Criteria] = []

    def get(self, alert: Alert, *, trusted: bool) -> Criteria:
        """Return an alert's criteria. Raises ConfigError for an unusable topic file.

        trusted  See `alert_topic`.
        """
        key = criteria_key(alert, trusted=trusted)
        if key not in self._shared:
            topic = alert_topic(alert, trusted=trusted)
            self._shared[key] = Criteria(alert, topic, _segmenter())
        return self._shared[key]

    def get_stored(self, store: AlertStore, stored_alert: StoredAlert) -> Criteria:
        """Return the criteria of a stored alert, its own if votes have taught it."""
        trusted = stored_alert.user == LOCAL_USER
        if not any(store.matches.count_votes(stored_alert.id)):
            return self.get(stored_alert.alert, trusted=trusted)
        topic = alert_topic(stored_alert.alert, trusted=trusted)
        learned = votes.learn_from_votes(store, stored_alert.id, topic)
        criteria = Criteria(stored_alert.alert, topic, _segmenter(), learned=learned)
        self._own.append(criteria)
        return criteria

    def clear_cache(self) -> None:
        """Forget what the criteria cached about pages."""
        for criteria in (*self._shared.values(), *self._own):
            criteria.clear_cache()


def match_page(
    view: PageView, criteria: Criteria, alert: Alert, *, now: float, zone: tzinfo
) -> Match | None:
    """Return a page as a match of an alert, for a reader in this time zone, or None."""
    judgement, page = view.judgement_for(criteria), view.stored
    if judgement is None:
        return None
    relevance = judgement.relevance if page.judge_answer is None else page.judge_answer
    if not _is_relevant(relevance, criteria, alert):
        return None
    if alert.languages and not _is_in_languages(view.language, alert.languages):
        return None
    if view.is_not_found:
        return None
    return Match(
        alert=0,
        page=page.id,
        url=page.url,
        title=page.title,
        language=view.language,
        published_at=view.publication_time(zone),
        found_at=now,
        relevance=relevance,
        snippet=view.snippet_for(criteria),
        why={"parts": judgement.parts, "words": judgement.matched},
        simhash=view.simhash,
    )


def _is_relevant(relevance: float, criteria: Criteria, alert: Alert) -> bool:
    if alert.min_relevance is not None:
        return relevance >= alert.min_relevance
    return relevance > criteria.threshold


def _is_in_languages(language: str, languages: Iterable[str]) -> bool:
    """Return whether a page's language is among these; an unknown language is."""
    return not language or any(name.lower().split("-")[0] == language for name in languages)
