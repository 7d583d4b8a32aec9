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

from focus.alerts import matching, votes
from focus.alerts.clock_change import to_zone
from focus.alerts.matching import Matched
from focus.alerts.page_match import PageView, Subject, topic_of
from focus.alerts.preview import preview
from focus.alerts.schedule import parse
from focus.alerts.snippet import MARK
from focus.errors import ConfigError
from focus.storage.alerts.records import LOCAL, Alert, StoredAlert, StoredPage
from focus.storage.alerts.store import AlertStore, opened
from focus.text.tokenisation import Segmenter
from tests.support.site import Portal, article

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()
DAY = 86400.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with opened(tmp_path / "focus.db", now=NOW, language="zh", zone="Asia/Shanghai") as store:
        yield store


class Desk:
    """A site and the alerts on it."""

    def __init__(self, store: AlertStore) -> None:
        self.store = store
        self.now = NOW
        self.portal = Portal(store, now=NOW - DAY)
        self.portal.page("/", "首页", "欢迎。")

    def alert(self, words: str = "足球", name: str = "", **fields: Any) -> int:
        fields.setdefault("sites", (f"https://{self.portal.host}/",))
        fields.setdefault("channels", ("mail:a@b.test",))
        user = fields.pop("user", LOCAL)
        made = Alert(name or words, words=words, **fields)
        return self.store.alerts.add(user, made, now=self.now)

    def pages(self, numbers: range, subject: str = "足球", **said: Any) -> None:
        for number in numbers:
            self.portal.page(f"/{number}", f"{subject} {number}", article(subject, number), **said)

    def check(self) -> Matched:
        """What a run does for all alerts, with nothing left to fetch."""
        self.now += DAY
        self.portal.now = self.now - 60
        owned = self.store.alerts.all()
        due = [each.id for each in owned]
        found = matching.match(self.store, self.portal.attach(), now=self.now, zone=UTC, due=due)
        for each in owned:
            if each.checked_at is None:
                matching.welcome(self.store, each, now=self.now)
            self.store.alerts.checked(each.id, now=self.now, next_at=self.now + DAY)
        return found

    def sent(self, alert: int) -> list[str]:
        """Paths of the pages that are to go out."""
        sql = (
            "SELECT m.url FROM outbox o JOIN alert_match m ON m.id = o.alert_match "
            "WHERE o.alert = ? ORDER BY 1"
        )
        return [url.partition(".test")[2] for (url,) in self.store.database.rows(sql, (alert,))]

    def baseline(self, alert: int) -> int:
        sql = "SELECT count(*) FROM alert_match WHERE alert = ? AND baseline"
        return int(self.store.database.rows(sql, (alert,))[0][0])


@pytest.fixture
def desk(store: AlertStore) -> Desk:
    return Desk(store)


# -- what is news ---------------------------------------------------------------------


def test_first_check_marks_what_exists_and_sends_the_five_best(desk: Desk) -> None:
    alert = desk.alert()
    desk.pages(range(8))
    desk.pages(range(8, 12), "天气")
    found = desk.check()
    assert (found.pages, found.news, found.old) == (13, 0, 8)
    assert len(desk.sent(alert)) == 5
    assert desk.baseline(alert) == 3


def test_later_page_is_sent_once(desk: Desk) -> None:
    alert = desk.alert()
    desk.check()
    desk.pages(range(3))
    assert desk.check().news == 3
    assert desk.sent(alert) == ["/0", "/1", "/2"]
    assert desk.check().pages == 0
    desk.pages(range(3))  # changed and fetched again
    assert desk.check().news == 0
    assert len(desk.sent(alert)) == 3


def test_old_page_found_today_is_no_news(desk: Desk) -> None:
    alert = desk.alert()
    desk.check()
    old = '<meta property="article:published_time" content="2026-11-01T08:00:00+08:00">'
    new = '<meta property="article:published_time" content="2026-11-22T08:00:00+08:00">'
    desk.pages(range(1), head=old)
    desk.pages(range(1, 2), head=new)
    desk.pages(range(2, 3))
    found = desk.check()
    assert (found.news, found.old) == (2, 1)
    assert desk.sent(alert) == ["/1", "/2"]
    hit = desk.store.matches.news(alert, limit=9)[0]
    assert (
        hit.published_at is None
        or hit.published_at == datetime(2026, 11, 22, tzinfo=UTC).timestamp()
    )


def test_list_without_a_date_is_no_news(desk: Desk) -> None:
    alert = desk.alert()
    desk.check()
    links = "".join(f'<p><a href="/{n}">足球新闻第{n}条：球队今天获胜</a></p>' for n in range(30))
    desk.portal.page("/list", "足球", "", body=links)
    found = desk.check()
    assert (found.news, found.old) == (0, 1)
    assert desk.sent(alert) == []


def test_near_duplicate_is_folded_and_not_sent(desk: Desk) -> None:
    alert = desk.alert()
    desk.check()
    text = article("足球", 1)
    for path in ("/a", "/b"):
        desk.portal.page(path, "足球", text)
    desk.check()
    desk.portal.page("/c", "足球", text + "转载。")
    found = desk.check()
    assert found.folded == 1
    assert desk.sent(alert) == ["/a"]
    rows = desk.store.database.rows("SELECT url, duplicate_of FROM alert_match ORDER BY id")
    assert [duplicate_of for _, duplicate_of in rows] == [None, 1, 1]


def test_repeat_of_what_existed_is_no_news(desk: Desk) -> None:
    alert = desk.alert()
    text = article("足球", 1)
    desk.portal.page("/a", "足球", text)
    desk.check()
    desk.portal.page("/b", "足球", text)
    desk.check()
    assert desk.sent(alert) == ["/a"]  # the best of what existed


def test_site_that_was_down_at_first_begins_when_it_is_up(desk: Desk) -> None:
    desk.store.database.rows("DELETE FROM page")
    alert = desk.alert()
    desk.check()
    desk.pages(range(8))
    found = matching.match(desk.store, desk.portal.attach(), now=desk.now, zone=UTC)
    assert (found.news, found.old) == (0, 8)
    assert desk.sent(alert) == []


def test_new_alert_on_a_known_site_has_its_own_beginning(desk: Desk) -> None:
    first = desk.alert()
    desk.check()
    desk.pages(range(7))
    desk.check()
    second = desk.alert("球队", channels=("webhook:https://a.test/",))
    desk.pages(range(7, 9))
    found = desk.check()
    assert len(desk.sent(first)) == 9
    assert len(desk.sent(second)) == 5
    assert desk.baseline(second) == 4
    assert found.news == 2
    desk.pages(range(9, 10))
    desk.check()
    assert len(desk.sent(second)) == 6


def test_site_added_later_is_marked_as_seen_without_more_ado(desk: Desk) -> None:
    other = Portal(desk.store, host="other.test", now=NOW)
    alert = desk.alert()
    desk.check()
    other.page("/x", "足球", article("足球", 50))
    owned = desk.store.alerts.named(LOCAL, "足球")
    sites = (*owned.alert.sites, "https://other.test/")
    changed = Alert("足球", sites, words="足球", channels=("mail:a@b.test",))
    desk.store.alerts.change(alert, changed, now=desk.now)
    found = matching.match(desk.store, other.attach(), now=desk.now, zone=UTC)
    assert (found.news, found.old) == (0, 1)
    other.page("/y", "足球", article("足球", 51))
    found = matching.match(desk.store, other.attach(), now=desk.now, zone=UTC)
    assert found.news == 1


def test_baseline_looks_at_the_latest_pages_only(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "BASELINE", 4)
    desk.pages(range(10))
    desk.alert("没有")
    desk.check()
    alert = desk.alert()
    assert desk.check().pages == 4
    assert len(desk.sent(alert)) == 4


def test_paused_and_expired_alerts_are_left_alone(desk: Desk) -> None:
    paused, over = desk.alert(), desk.alert("球队", expires_at=NOW + 1)
    desk.store.alerts.pause(paused, True, now=NOW)
    desk.pages(range(3))
    found = desk.check()
    assert found.alerts == 0
    assert desk.sent(paused) == desk.sent(over) == []
    assert desk.store.alerts.named(LOCAL, "足球").alert.paused


def test_found_for_others_waits_for_the_own_schedule(desk: Desk) -> None:
    daily = desk.alert(schedule="daily 07:30")
    desk.check()
    desk.pages(range(1))
    next_at = desk.now + DAY
    matching.match(desk.store, desk.portal.attach(), now=desk.now + 60, zone=UTC)
    rows = desk.store.database.rows("SELECT due_at FROM outbox WHERE alert = ?", (daily,))
    assert rows == [(next_at,)]


# -- whose alerts match ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "fields", "paths"),
    [
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
    ],
)
def test_words_topic_and_language_decide(
    desk: Desk, words: str, fields: dict[str, Any], paths: list[str]
) -> None:
    alert = desk.alert(words, name="c", **fields)
    desk.check()
    desk.pages(range(1))
    desk.pages(range(1, 2), "天气")
    english = "The football Premier League, 足球 in short. Football is played on grass. " * 9
    desk.portal.page("/en", "Football: Premier League 足球", english, language="en")
    desk.portal.page("/hant", "足球", "兩支足球隊相遇，足球賽在體育場舉行。" * 9, language="en")
    desk.portal.page("/404", "404 not found", "足球 football")
    desk.portal.page("/hidden", "足球", article("足球", 60), noindex=True)
    desk.portal.page("/gone", "足球", article("足球", 61), dropped=True)
    desk.check()
    assert desk.sent(alert) == paths


def test_hit_says_why(desk: Desk) -> None:
    alert = desk.alert("足球 门票")
    desk.check()
    desk.pages(range(1))
    desk.check()
    (hit,) = desk.store.matches.news(alert, limit=9)
    assert 0.5 < hit.relevance <= 1.0
    assert hit.why["words"]["title"] == ["足球"]
    assert set(hit.why["parts"]) >= {"title", "text"}
    assert f"{MARK}足球{MARK}" in hit.snippet
    assert f"{MARK}门票{MARK}" in hit.snippet
    assert hit.language == "zh"
    assert hit.simhash


def test_topic_file_is_for_the_command_line_only(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('name = "f"\nkeywords = ["足球"]\nthreshold = 0.1\n', encoding="utf-8")
    own = desk.alert("", name="own", topic=str(file))
    with desk.store.database.transaction() as db:
        db.execute(
            "INSERT INTO user (id, name, language, zone, quiet, admin, disabled, created_at) "
            "VALUES (2, 'eve', 'en', 'UTC', '', 0, 0, 0)"
        )
    theirs = desk.alert("", name="theirs", topic=str(file), user=2)
    desk.pages(range(2))
    found = desk.check()
    assert len(desk.sent(own)) == 2
    assert desk.sent(theirs) == []
    assert "command line" in found.failures[theirs]


def test_topic_file_that_is_gone_troubles_its_alert_alone(desk: Desk, tmp_path: Path) -> None:
    lost = desk.alert("", name="lost", topic=str(tmp_path / "gone.toml"))
    good = desk.alert()
    desk.pages(range(2))
    found = desk.check()
    assert "gone.toml" in found.failures[lost]
    assert len(desk.sent(good)) == 2


def test_page_without_source_is_judged_by_its_head(desk: Desk) -> None:
    alert = desk.alert(min_relevance=0.1)
    desk.check()
    desk.pages(range(1))
    with desk.store.database.transaction() as db:
        db.execute("DELETE FROM body")
    desk.check()
    assert desk.sent(alert) == ["/0"]


WORD = st.sampled_from(["足球", "欧冠", "premier league", "c++", "café", "NBA总决赛", "русс", "3g"])
TEXT = st.lists(
    st.sampled_from([
        "足球", "歐冠", "欧", "冠", "Premier", " ", "League", "C++", "&#36275;球", "Café",
        "nba总决赛", "русский", "3G", "x", "。", "&amp;", "\n", "ＮＢＡ", "总", "足", "足&zwj;球",
    ]),
    max_size=30,
).map("".join)  # fmt: skip


@given(words=st.lists(WORD, min_size=1, max_size=3, unique=True), text=TEXT)
def test_page_set_aside_by_its_characters_has_not_the_words(words: list[str], text: str) -> None:
    from focus.http import zstd

    asked = " ".join(f'+"{word}"' for word in words)
    alert = Alert("c", ("https://a.test/",), words=asked)
    subject = Subject(alert, topic_of(alert, trusted=True), Segmenter(cut=str.split))
    page = StoredPage(1, 1, "https://a.test/", "", "", "", "", NOW, 0, True)
    sheet = PageView(page, zstd.compress(f"<body><p>{text}</p>".encode()))
    if not subject.may_match(sheet):
        assert not subject.words.satisfied(subject.matcher.counts(sheet.words_text))


# -- all or nothing -------------------------------------------------------------------


def test_broken_off_between_batches_nothing_is_lost_or_doubled(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = desk.alert()
    desk.check()
    desk.pages(range(9))
    monkeypatch.setattr(matching, "BATCH", 3)
    enqueue, calls = desk.store.outbox.enqueue, []

    def dying(*arguments: Any, **named: Any) -> int:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return enqueue(*arguments, **named)

    monkeypatch.setattr(desk.store.outbox, "enqueue", dying)
    with pytest.raises(KeyboardInterrupt):
        desk.check()
    assert len(desk.sent(alert)) == 3
    desk.check()
    assert len(desk.sent(alert)) == 9
    assert desk.store.database.rows("SELECT count(*) FROM alert_match") == [(9,)]


# -- preview --------------------------------------------------------------------------


def test_preview_tells_what_the_last_days_would_have_sent(desk: Desk) -> None:
    desk.alert("没有")
    desk.portal.now = NOW - 20 * DAY  # the first visit
    with desk.store.database.transaction() as db:
        db.execute("UPDATE crawl SET started_at = ?", (NOW - 20 * DAY,))
    desk.pages(range(4))
    desk.portal.now = NOW - 2 * DAY
    desk.pages(range(4, 7))
    desk.pages(range(7, 8), head='<meta name=pubdate content="2026-10-01">')
    desk.portal.page("/twin", "足球 4", article("足球", 4))
    desk.portal.attach()
    wanted = Alert("f", ("https://news.test/", "https://new.test/"), words="足球")
    found = preview(desk.store, wanted, now=NOW, zone=UTC)
    assert sorted(hit.url[-2:] for hit in found.matches) in (["/4", "/5", "/6"], ["/5", "/6", "in"])
    assert sum(found.similar) == 1
    assert (found.pages, found.undated, found.unvisited) == (6, 0, ["new.test"])
    assert len(preview(desk.store, wanted, now=NOW, zone=UTC, days=60).matches) == 4
    assert desk.store.database.rows("SELECT count(*) FROM alert_match") == [(0,)]


# -- the store -------------------------------------------------------------------------


def test_name_is_taken_once(desk: Desk) -> None:
    desk.alert(name="a")
    other = desk.alert(name="b")
    for attempt in (
        lambda: desk.alert(name="a"),
        lambda: desk.store.alerts.change(other, Alert("a", ("https://a.test/",), "x"), now=NOW),
    ):
        with pytest.raises(ConfigError, match="'a' already"):
            attempt()
    desk.store.alerts.change(other, Alert("b", ("https://a.test/",), "x"), now=NOW)


def _open(path: Path, barrier: Any, answers: Any) -> None:
    barrier.wait()
    try:
        with opened(path, now=NOW, language="zh", zone="UTC") as store:
            answers.put(store.database.rows("SELECT count(*) FROM user")[0][0])
    except Exception as error:
        answers.put(repr(error))


def test_two_processes_may_make_the_database_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(3), context.Queue()
    path = tmp_path / "new" / "focus.db"
    each = [context.Process(target=_open, args=(path, barrier, answers)) for _ in range(3)]
    for process in each:
        process.start()
    assert [answers.get(timeout=30) for _ in each] == [1, 1, 1]
    for process in each:
        process.join()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_votes_teach_the_topic_of_the_alert_and_of_no_other(desk: Desk) -> None:
    mine, other = desk.alert("足球", "mine"), desk.alert("足球", "other")
    desk.check()
    for number in range(12):  # half have the word in their title, half in passing
        name = "足球" if number % 2 else "体育馆"
        desk.portal.page(f"/{number}", f"{name} {number}", article("足球", number))
    desk.check()
    passing = [f"https://news.test/{number}" for number in range(0, 12, 2)]
    assert len(desk.sent(mine)) == len(desk.sent(other)) == 12 + 0
    for number in range(12):
        url = f"https://news.test/{number}"
        assert desk.store.matches.vote(mine, url, url not in passing)
    assert not desk.store.matches.vote(mine, "https://news.test/none", True)
    assert desk.store.matches.count_votes(mine) == (6, 6)
    desk.portal.page("/20", "体育馆 20", article("足球", 20))
    desk.portal.page("/21", "足球 21", article("足球", 21))
    found = preview(desk.store, owned(desk, mine), now=desk.now, zone=UTC)
    assert not any(hit.title.startswith("体育馆") for hit in found.matches)
    desk.check()
    assert {"/20", "/21"} & set(desk.sent(mine)) == {"/21"}
    assert {"/20", "/21"} <= set(desk.sent(other))


def test_one_vote_does_not_silence_a_young_alert(desk: Desk) -> None:
    mine = desk.alert("足球")
    desk.check()
    for number in range(8):
        desk.portal.page(f"/{number}", f"足球 {number}", article("足球", number))
    desk.check()
    assert votes.effect(desk.store, owned(desk, mine), trusted=True) == (8, 0)
    desk.store.matches.vote(mine, "https://news.test/0", False)
    assert votes.effect(desk.store, owned(desk, mine), trusted=True) == (7, 0)
    desk.portal.page("/9", "足球 9", article("足球", 9))
    desk.check()
    assert "/9" in desk.sent(mine)
    for number in range(1, 8):
        desk.store.matches.vote(mine, f"https://news.test/{number}", False)
    effect = votes.effect(desk.store, owned(desk, mine), trusted=True)
    assert effect == (1, 1), "who insists is heard"


def test_checks_by_the_clock_move_with_the_zone(desk: Desk) -> None:
    store, now = desk.store, desk.now
    daily, often = (
        desk.alert("足球", schedule="daily 07:30"),
        desk.alert("足球", "b", schedule="6h"),
    )
    late = desk.alert("足球", "c", schedule="daily 07:30")
    now += 60
    to_zone(store, 1, "Asia/Shanghai", now=now)
    before = {}
    for number in (daily, often):
        zone = ZoneInfo("Asia/Shanghai")
        before[number] = parse(owned(desk, number).alert.schedule).next(now, zone)
        store.alerts.checked(number, now=now, next_at=before[number])
    store.alerts.checked(late, now=None, next_at=now - 5)
    to_zone(store, 1, "America/New_York", now=now)
    moved = owned(desk, daily).next_at
    assert datetime.fromtimestamp(moved, ZoneInfo("America/New_York")).strftime("%H:%M") == "07:30"
    assert now < moved <= now + 86400 and moved != before[daily]
    assert owned(desk, often).next_at == before[often]
    assert owned(desk, late).next_at == now - 5, "what is due stays due"


def test_what_waits_for_an_alerts_own_time_moves_along(desk: Desk) -> None:
    number = desk.alert("足球", schedule="daily 07:30", channels=("mail:a@b.test",))
    desk.check()
    desk.pages(range(1))
    desk.check()
    store = desk.store
    store.alerts.checked(number, now=desk.now, next_at=desk.now + 500)
    with store.database.transaction() as db:
        db.execute("UPDATE outbox SET due_at = ?", (desk.now + 500,))
    to_zone(store, 1, "America/New_York", now=desk.now)
    assert store.outbox.next_due() == owned(desk, number).next_at != desk.now + 500


def test_a_vote_that_is_taken_back_teaches_nothing(desk: Desk) -> None:
    mine = desk.alert("足球")
    desk.check()
    desk.pages(range(1))
    desk.check()
    for says in (False, None):
        desk.store.matches.vote(mine, "https://news.test/0", says)
    topic = topic_of(owned(desk, mine).alert, trusted=True)
    assert votes.learned(desk.store, mine, topic) is None


def owned(desk: Desk, number: int) -> StoredAlert:
    return next(each for each in desk.store.alerts.all() if each.id == number)
