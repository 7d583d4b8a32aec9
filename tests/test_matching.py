"""New pages match the alerts that they should: once, no repeat, nothing that existed before."""

import multiprocessing
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch

from focus.alerts import matching, votes
from focus.alerts.clock_change import change_zone
from focus.alerts.matching import MatchingSummary
from focus.alerts.message import format_time
from focus.alerts.page_match import Criteria, PageView, alert_topic
from focus.alerts.preview import preview_alert
from focus.alerts.schedule import parse
from focus.alerts.snippet import MATCH_MARK
from focus.errors import ConfigError
from focus.storage.alerts.records import LOCAL_USER, Alert, MatchablePage, StoredAlert
from focus.storage.alerts.store import AlertStore, open_store
from focus.text.tokenisation import Segmenter
from tests.support.cases import cases
from tests.support.site import CrawledSite, article

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()
DAY = 86400.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with open_store(tmp_path / "focus.db", now=NOW, language="zh", zone="Asia/Shanghai") as store:
        yield store


class AlertsFixture:
    """A site and the alerts on it."""

    def __init__(self, store: AlertStore) -> None:
        self.store = store
        self.now = NOW
        self.crawled = CrawledSite(store, now=NOW - DAY)
        self.crawled.page("/", "首页", "欢迎。")

    def alert(self, words: str = "足球", name: str = "", **fields: Any) -> int:
        fields.setdefault("sites", (f"https://{self.crawled.host}/",))
        fields.setdefault("channels", ("mail:a@b.test",))
        user = fields.pop("user", LOCAL_USER)
        result = Alert(name or words, words=words, **fields)
        return self.store.alerts.add(user, result, now=self.now)

    def checked_alert(self, words: str = "足球", **fields: Any) -> int:
        """An alert whose first check is over."""
        number = self.alert(words, **fields)
        self.check()
        return number

    def pages(self, numbers: range, subject: str = "足球", **said: Any) -> None:
        for number in numbers:
            self.crawled.page(f"/{number}", f"{subject} {number}", article(subject, number), **said)

    def check(self) -> MatchingSummary:
        """What a run does for all alerts, with nothing left to fetch."""
        self.now += DAY
        self.crawled.now = self.now - 60
        owned = self.store.alerts.list_alerts()
        due = [item.id for item in owned]
        summary = matching.match_site(self.store, self.crawled.attach(), now=self.now, due=due)
        for item in owned:
            if item.checked_at is None:
                matching.end_first_check(self.store, item, now=self.now)
            self.store.alerts.record_check(item.id, now=self.now, next_at=self.now + DAY)
        return summary

    def sent(self, alert: int) -> list[str]:
        """Paths of the pages that are to go out."""
        join = "outbox o JOIN alert_match m ON m.id = o.alert_match"
        sql = f"SELECT m.url FROM {join} WHERE o.alert = ? ORDER BY 1"
        return [url.split(".test")[1] for (url,) in self.store.database.fetch_rows(sql, (alert,))]

    def baseline(self, alert: int) -> int:
        sql = "SELECT count(*) FROM alert_match WHERE alert = ? AND baseline = 1"
        return int(self.store.database.fetch_rows(sql, (alert,))[0][0])


@pytest.fixture
def alerts(store: AlertStore) -> AlertsFixture:
    return AlertsFixture(store)


# -- what is news ---------------------------------------------------------------------


def test_first_check_marks_what_exists_and_sends_the_five_best(alerts: AlertsFixture) -> None:
    alert = alerts.alert()
    alerts.pages(range(8))
    alerts.pages(range(8, 12), "天气")
    summary = alerts.check()
    assert (summary.pages, summary.news, summary.old) == (13, 0, 8)
    assert len(alerts.sent(alert)) == 5
    assert alerts.baseline(alert) == 3
    new = alerts.store.matches.list_new(alert, limit=9)
    assert [match.is_example for match in new] == [True] * 5


def test_discussion_is_sent_once_and_lists_never(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert()
    for number, path in enumerate(("/t/7", "/t/7?page=2", "/tags/x/", "/t/8")):
        is_index = path == "/tags/x/"
        alerts.crawled.page(path, f"足球 {number}", article("足球", number), is_index_page=is_index)
    summary = alerts.check()
    assert (summary.news, summary.folded) == (2, 1)
    assert alerts.sent(alert) == ["/t/7", "/t/8"]


def test_later_page_is_sent_once(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert()
    alerts.pages(range(3))
    assert alerts.check().news == 3
    assert alerts.sent(alert) == ["/0", "/1", "/2"]
    assert alerts.check().pages == 0
    alerts.pages(range(3))  # changed and fetched again
    assert alerts.check().news == 0
    assert len(alerts.sent(alert)) == 3


def test_old_page_found_today_is_no_news(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert()
    old = '<meta property="article:published_time" content="2026-11-01T08:00:00+08:00">'
    new = '<meta property="article:published_time" content="2026-11-22T08:00:00+08:00">'
    alerts.pages(range(1), head=old)
    alerts.pages(range(1, 2), head=new)
    alerts.pages(range(2, 3))
    summary = alerts.check()
    assert (summary.news, summary.old) == (2, 1)
    assert alerts.sent(alert) == ["/1", "/2"]
    hit = alerts.store.matches.list_new(alert, limit=9)[0]
    assert hit.published_at in (None, datetime(2026, 11, 22, tzinfo=UTC).timestamp())


def test_list_without_a_date_is_no_news(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert()
    links = "".join(f'<p><a href="/{n}">足球新闻第{n}条：球队今天获胜</a></p>' for n in range(30))
    alerts.crawled.page("/list", "足球", "", body=links)
    summary = alerts.check()
    assert (summary.news, summary.old) == (0, 1)
    assert alerts.sent(alert) == []


def test_near_duplicate_is_folded_and_not_sent(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert()
    text = article("足球", 1) + article("足球", 2)
    for path in ("/a", "/b"):
        alerts.crawled.page(path, "足球", text)
    alerts.check()
    alerts.crawled.page("/c", "足球", text + "转载。")
    summary = alerts.check()
    assert summary.folded == 1
    assert alerts.sent(alert) == ["/a"]
    rows = alerts.store.database.fetch_rows("SELECT url, duplicate_of FROM alert_match ORDER BY id")
    assert [original for _, original in rows] == [None, 1, 1]


def test_repeat_of_what_existed_is_no_news(alerts: AlertsFixture) -> None:
    alert = alerts.alert()
    text = article("足球", 1)
    alerts.crawled.page("/a", "足球", text)
    alerts.check()
    alerts.crawled.page("/b", "足球", text)
    alerts.check()
    assert alerts.sent(alert) == ["/a"]  # the best of what existed


def test_site_that_was_down_at_first_begins_when_it_is_up(alerts: AlertsFixture) -> None:
    alerts.store.database.fetch_rows("DELETE FROM page")
    alert = alerts.checked_alert()
    alerts.pages(range(8))
    summary = matching.match_site(alerts.store, alerts.crawled.attach(), now=alerts.now)
    assert (summary.news, summary.old) == (0, 8)
    assert alerts.sent(alert) == []


def test_new_alert_on_a_known_site_has_its_own_beginning(alerts: AlertsFixture) -> None:
    first = alerts.checked_alert()
    alerts.pages(range(7))
    alerts.check()
    second = alerts.alert("球队", channels=("webhook:https://a.test/",))
    alerts.pages(range(7, 9))
    summary = alerts.check()
    assert len(alerts.sent(first)) == 9
    assert len(alerts.sent(second)) == 5
    assert alerts.baseline(second) == 4
    assert summary.news == 2
    alerts.pages(range(9, 10))
    alerts.check()
    assert len(alerts.sent(second)) == 6


def test_site_added_later_is_marked_as_seen(alerts: AlertsFixture) -> None:
    second = CrawledSite(alerts.store, host="other.test", now=NOW)
    alert = alerts.checked_alert()
    second.page("/x", "足球", article("足球", 50))
    owned = alerts.store.alerts.get(LOCAL_USER, "足球")
    sites = (*owned.alert.sites, "https://other.test/")
    changed = Alert("足球", sites, words="足球", channels=("mail:a@b.test",))
    alerts.store.alerts.replace(alert, changed, now=alerts.now)
    summary = matching.match_site(alerts.store, second.attach(), now=alerts.now)
    assert (summary.news, summary.old) == (0, 1)
    second.page("/y", "足球", article("足球", 51))
    summary = matching.match_site(alerts.store, second.attach(), now=alerts.now)
    assert summary.news == 1


def test_baseline_has_latest_pages_only(alerts: AlertsFixture, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BASELINE_PAGES", 4)
    alerts.pages(range(10))
    alerts.alert("没有")
    alerts.check()
    alert = alerts.alert()
    assert alerts.check().pages == 4
    assert len(alerts.sent(alert)) == 4


def test_paused_and_expired_alerts_match_nothing(alerts: AlertsFixture) -> None:
    paused, over = alerts.alert(), alerts.alert("球队", expires_at=NOW + 1)
    alerts.store.alerts.set_paused(paused, True, now=NOW)
    alerts.pages(range(3))
    summary = alerts.check()
    assert summary.alerts == 0
    assert alerts.sent(paused) == alerts.sent(over) == []
    assert alerts.store.alerts.get(LOCAL_USER, "足球").alert.paused


def test_page_found_for_others_waits_for_the_alerts_schedule(alerts: AlertsFixture) -> None:
    daily = alerts.checked_alert(schedule="daily 07:30")
    alerts.pages(range(1))
    next_at = alerts.now + DAY
    matching.match_site(alerts.store, alerts.crawled.attach(), now=alerts.now + 60)
    rows = alerts.store.database.fetch_rows("SELECT due_at FROM outbox WHERE alert = ?", (daily,))
    assert rows == [(next_at,)]


# -- whose alerts match ---------------------------------------------------------------


@cases(
    "words, fields, paths",
    ("足球", {}, ["/0", "/en", "/hant"]),
    ("足球 -门票", {}, ["/en", "/hant"]),
    ("+足球 +门票", {}, ["/0"]),
    ("+足球 主教练 OR 赛程", {}, ["/0"]),
    ("足球", {"languages": ("zh",)}, ["/0", "/hant"]),
    ("足球", {"languages": ("en-GB",)}, ["/en"]),
    ("门票", {"min_relevance": 0.95}, []),  # stands there, but the page is not about it
    ("门票", {"min_relevance": 0.1}, ["/0", "/1"]),
    ('"premier league"', {}, ["/en"]),
    ("rem", {"min_relevance": 0.0}, []),
    ("+premier", {"topic": "football"}, ["/en"]),
    ("", {"topic": "天气:1"}, ["/1"]),
)
def test_match_depends_on_words_topic_and_language(
    alerts: AlertsFixture, words: str, fields: dict[str, Any], paths: list[str]
) -> None:
    alert = alerts.checked_alert(words, name="c", **fields)
    alerts.pages(range(1))
    alerts.pages(range(1, 2), "天气")
    english = "The football Premier League, 足球 in short. Football is played on grass. " * 9
    alerts.crawled.page("/en", "Football: Premier League 足球", english, language="en")
    alerts.crawled.page("/hant", "足球", "兩支足球隊相遇，足球賽在體育場舉行。" * 9, language="en")
    alerts.crawled.page("/404", "404 not found", "足球 football")
    alerts.crawled.page("/hidden", "足球", article("足球", 60), noindex=True)
    alerts.crawled.page("/gone", "足球", article("足球", 61), dropped=True)
    alerts.check()
    assert alerts.sent(alert) == paths


def test_match_records_why(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert("足球 门票")
    alerts.pages(range(1))
    alerts.check()
    (hit,) = alerts.store.matches.list_new(alert, limit=9)
    assert 0.5 < hit.relevance <= 1.0
    assert hit.why["words"]["title"] == ["足球"]
    assert set(hit.why["parts"]) >= {"title", "text"}
    assert f"{MATCH_MARK}足球{MATCH_MARK}" in hit.snippet
    assert f"{MATCH_MARK}门票{MATCH_MARK}" in hit.snippet
    assert hit.language == "zh"
    assert hit.simhash


def test_date_without_time_is_that_day_in_each_zone(alerts: AlertsFixture) -> None:
    zones = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
    eve = alerts.store.users.add("eve", "", language="en", zone=zones[1].key, admin=False, now=NOW)
    readers = {alerts.alert(name="mine"): zones[0], alerts.alert(name="eve's", user=eve): zones[1]}
    alerts.check()
    alerts.pages(range(1), head='<meta name="pubdate" content="2026-11-18">', language="zh")
    alerts.check()
    for alert, zone in readers.items():
        (hit,) = alerts.store.matches.list_new(alert, limit=9)
        assert format_time(hit.published_at, zone) == "2026-11-18"


def test_topic_of_an_alert_has_the_terms_of_the_library(alerts: AlertsFixture) -> None:
    by_topic = alerts.checked_alert("", name="topic", topic="足球")
    by_words = alerts.checked_alert("足球")
    alerts.crawled.page("/terms", "越位争议", article("越位 点球 角球 任意球", 1))
    alerts.crawled.page("/two", "越位争议", article("越位 点球", 2))
    alerts.check()
    assert alerts.sent(by_topic) == ["/terms"]
    assert alerts.sent(by_words) == []


def test_topic_file_is_refused_for_accounts(alerts: AlertsFixture, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('name = "f"\nkeywords = ["足球"]\nthreshold = 0.1\n', encoding="utf-8")
    own = alerts.alert("", name="own", topic=str(file))
    eve = alerts.store.users.add("eve", "", language="en", zone="UTC", admin=False, now=0)
    theirs = alerts.alert("", name="theirs", topic=str(file), user=eve)
    alerts.pages(range(2))
    summary = alerts.check()
    assert len(alerts.sent(own)) == 2
    assert alerts.sent(theirs) == []
    assert "command line" in summary.failures[theirs]


def test_missing_topic_file_fails_its_alert_alone(alerts: AlertsFixture, tmp_path: Path) -> None:
    lost = alerts.alert("", name="lost", topic=str(tmp_path / "gone.toml"))
    good = alerts.alert()
    alerts.pages(range(2))
    summary = alerts.check()
    assert "gone.toml" in summary.failures[lost]
    assert len(alerts.sent(good)) == 2


def test_page_without_source_is_judged_by_its_head(alerts: AlertsFixture) -> None:
    alert = alerts.checked_alert(min_relevance=0.1)
    alerts.pages(range(1))
    with alerts.store.database.transaction() as db:
        db.execute("DELETE FROM body")
    alerts.check()
    assert alerts.sent(alert) == ["/0"]


WORD = st.sampled_from(["足球", "欧冠", "premier league", "c++", "café", "NBA总决赛", "русс", "3g"])
TEXT = st.lists(
    st.sampled_from([
        "足球", "歐冠", "欧", "冠", "Premier", " ", "League", "C++", "&#36275;球", "Café",
        "nba总决赛", "русский", "3G", "x", "。", "&amp;", "\n", "ＮＢＡ", "总", "足", "足&zwj;球",
    ]),
    max_size=30,
).map("".join)  # fmt: skip


@given(words=st.lists(WORD, min_size=1, max_size=3, unique=True), text=TEXT)
def test_page_excluded_by_characters_lacks_the_words(words: list[str], text: str) -> None:
    from focus.http import zstd

    asked = " ".join(f'+"{word}"' for word in words)
    alert = Alert("c", ("https://a.test/",), words=asked)
    subject = Criteria(alert, alert_topic(alert, trusted=True), Segmenter())
    page = MatchablePage(1, 1, "https://a.test/", "", "", "", "", NOW, 0, True)
    sheet = PageView(page, zstd.compress(f"<body><p>{text}</p>".encode()))
    counts = subject.matcher.keyword_counts(sheet.searchable_text)
    assert subject.may_match(sheet) or not subject.words.is_satisfied_by(counts)


# -- all or nothing -------------------------------------------------------------------


def test_kill_between_batches_is_safe(alerts: AlertsFixture, monkeypatch: MonkeyPatch) -> None:
    alert = alerts.checked_alert()
    alerts.pages(range(9))
    monkeypatch.setattr(matching, "BATCH", 3)
    enqueue, calls = alerts.store.outbox.enqueue, []

    def dying(*arguments: Any, **named: Any) -> int:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return enqueue(*arguments, **named)

    monkeypatch.setattr(alerts.store.outbox, "enqueue", dying)
    with pytest.raises(KeyboardInterrupt):
        alerts.check()
    assert len(alerts.sent(alert)) == 3
    alerts.check()
    assert len(alerts.sent(alert)) == 9
    assert alerts.store.database.fetch_rows("SELECT count(*) FROM alert_match") == [(9,)]


# -- preview --------------------------------------------------------------------------


def test_preview_lists_messages_of_the_last_days(alerts: AlertsFixture) -> None:
    alerts.alert("没有")
    alerts.crawled.now = NOW - 20 * DAY  # the first visit
    with alerts.store.database.transaction() as db:
        db.execute("UPDATE crawl SET started_at = ?", (NOW - 20 * DAY,))
    alerts.pages(range(4))
    alerts.crawled.now = NOW - 2 * DAY
    alerts.pages(range(4, 7))
    alerts.pages(range(7, 8), head='<meta name=pubdate content="2026-10-01">')
    alerts.crawled.page("/twin", "足球 4", article("足球", 4))
    alerts.crawled.attach()
    expected = Alert("f", ("https://news.test/", "https://new.test/"), words="足球")
    seen = preview_alert(alerts.store, expected, now=NOW, zone=UTC)
    assert sorted(hit.url[-2:] for hit in seen.matches) in (["/4", "/5", "/6"], ["/5", "/6", "in"])
    assert sum(seen.similar) == 1
    assert (seen.pages, seen.undated, seen.unvisited) == (6, 0, ["new.test"])
    assert len(preview_alert(alerts.store, expected, now=NOW, zone=UTC, days=60).matches) == 4
    assert alerts.store.database.fetch_rows("SELECT count(*) FROM alert_match") == [(0,)]


# -- the store -------------------------------------------------------------------------


def test_alert_name_is_unique(alerts: AlertsFixture) -> None:
    alerts.alert(name="a")
    second = alerts.alert(name="b")
    for attempt in (
        lambda: alerts.alert(name="a"),
        lambda: alerts.store.alerts.replace(second, Alert("a", ("https://a.test/",), "x"), now=NOW),
    ):
        with pytest.raises(ConfigError, match="'a' already"):
            attempt()
    alerts.store.alerts.replace(second, Alert("b", ("https://a.test/",), "x"), now=NOW)


def _open(path: Path, barrier: Any, answers: Any) -> None:
    barrier.wait()
    try:
        with open_store(path, now=NOW, language="zh", zone="UTC") as store:
            answers.put(store.database.fetch_rows("SELECT count(*) FROM user")[0][0])
    except Exception as error:
        answers.put(repr(error))


def test_two_processes_create_the_database_concurrently(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(3), context.Queue()
    path = tmp_path / "new" / "focus.db"
    item = [context.Process(target=_open, args=(path, barrier, answers)) for _ in range(3)]
    for process in item:
        process.start()
    assert [answers.get(timeout=600) for _ in item] == [1, 1, 1]
    for process in item:
        process.join()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_votes_change_their_alert_only(alerts: AlertsFixture) -> None:
    mine, second = alerts.alert("足球", "mine"), alerts.checked_alert(name="other")
    for number in range(12):  # half have the word in their title, half in passing
        name = "足球" if number % 2 else "体育馆"
        alerts.crawled.page(f"/{number}", f"{name} {number}", article("足球", number))
    alerts.check()
    passing = [f"https://news.test/{number}" for number in range(0, 12, 2)]
    assert len(alerts.sent(mine)) == len(alerts.sent(second)) == 12
    for number in range(12):
        url = f"https://news.test/{number}"
        assert alerts.store.matches.set_vote(mine, url, url not in passing)
    assert not alerts.store.matches.set_vote(mine, "https://news.test/none", True)
    assert alerts.store.matches.count_votes(mine) == (6, 6)
    alerts.crawled.page("/20", "体育馆 20", article("足球", 20))
    alerts.crawled.page("/21", "足球 21", article("足球", 21))
    preview = preview_alert(alerts.store, owned(alerts, mine), now=alerts.now, zone=UTC)
    assert not any(hit.title.startswith("体育馆") for hit in preview.matches)
    alerts.check()
    assert {"/20", "/21"} & set(alerts.sent(mine)) == {"/21"}
    assert {"/20", "/21"} <= set(alerts.sent(second))


def test_one_vote_does_not_silence_a_new_alert(alerts: AlertsFixture) -> None:
    mine = alerts.checked_alert("足球")
    alerts.pages(range(8))
    alerts.check()
    assert votes.vote_effect(alerts.store, owned(alerts, mine), trusted=True) == (8, 0)
    alerts.store.matches.set_vote(mine, "https://news.test/0", False)
    assert votes.vote_effect(alerts.store, owned(alerts, mine), trusted=True) == (7, 0)
    alerts.pages(range(9, 10))
    alerts.check()
    assert "/9" in alerts.sent(mine)
    for number in range(1, 8):
        alerts.store.matches.set_vote(mine, f"https://news.test/{number}", False)
    effect = votes.vote_effect(alerts.store, owned(alerts, mine), trusted=True)
    assert effect == (1, 1), "who insists is heard"


def test_zone_change_moves_timed_checks(alerts: AlertsFixture) -> None:
    store, now = alerts.store, alerts.now
    daily = alerts.alert("足球", schedule="daily 07:30")
    often = alerts.alert("足球", "b", schedule="6h")
    late = alerts.alert("足球", "c", schedule="daily 07:30")
    now += 60
    change_zone(store, 1, "Asia/Shanghai", now=now)
    before = {}
    for number in (daily, often):
        zone = ZoneInfo("Asia/Shanghai")
        before[number] = parse(owned(alerts, number).alert.schedule).next(now, zone)
        store.alerts.record_check(number, now=now, next_at=before[number])
    store.alerts.record_check(late, now=None, next_at=now - 5)
    change_zone(store, 1, "America/New_York", now=now)
    moved = owned(alerts, daily).next_at
    assert datetime.fromtimestamp(moved, ZoneInfo("America/New_York")).strftime("%H:%M") == "07:30"
    assert now < moved <= now + 86400 and moved != before[daily]
    assert owned(alerts, often).next_at == before[often]
    assert owned(alerts, late).next_at == now - 5, "what is due stays due"


def test_zone_change_moves_waiting_messages(alerts: AlertsFixture) -> None:
    number = alerts.checked_alert("足球", schedule="daily 07:30", channels=("mail:a@b.test",))
    alerts.pages(range(1))
    alerts.check()
    store = alerts.store
    store.alerts.record_check(number, now=alerts.now, next_at=alerts.now + 500)
    with store.database.transaction() as db:
        db.execute("UPDATE outbox SET due_at = ?", (alerts.now + 500,))
    change_zone(store, 1, "America/New_York", now=alerts.now)
    assert store.outbox.next_due_at() == owned(alerts, number).next_at != alerts.now + 500


def test_withdrawn_vote_teaches_nothing(alerts: AlertsFixture) -> None:
    mine = alerts.checked_alert("足球")
    alerts.pages(range(1))
    alerts.check()
    for vote in (False, None):
        alerts.store.matches.set_vote(mine, "https://news.test/0", vote)
    topic = alert_topic(owned(alerts, mine).alert, trusted=True)
    assert votes.learn_from_votes(alerts.store, mine, topic) is None


def owned(alerts: AlertsFixture, number: int) -> StoredAlert:
    return next(alert for alert in alerts.store.alerts.list_alerts() if alert.id == number)
