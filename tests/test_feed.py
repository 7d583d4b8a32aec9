"""Feed readers can read our feeds, and recognise what they have read."""

import calendar
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.alerts.delivery.feed import (
    MAX_ENTRIES,
    Entry,
    FeedHead,
    alerts_in_feed,
    atom_document,
    build_alert_feed,
    build_user_feed,
)
from tests.support.outbox import NOON, OutboxFixture, hit

feedparser = pytest.importorskip("feedparser")

ATOM = "{http://www.w3.org/2005/Atom}"


def parsed(document: bytes) -> Any:
    feed = feedparser.parse(document, sanitize_html=False)
    assert not feed.bozo, feed.get("bozo_exception")
    assert feed.version == "atom10"
    return feed


def alert_feed(here: OutboxFixture, name: str, language: str = "zh") -> bytes:
    owned = here.store.alerts.get(1, name)
    return build_alert_feed(
        here.store, owned, here.settings(), language=language, url="https://focus.test/feed/s3cret"
    )


def own_feed(here: OutboxFixture, language: str) -> bytes:
    return build_user_feed(
        here.store, alerts_in_feed(here.store, 1), here.settings(), 1, language=language
    )


def test_alert_feed_lists_newest_pages_first(here: OutboxFixture) -> None:
    here.base_url = "https://focus.test"
    alert = here.alert("足球", "feed")
    here.finds(alert, "http://a.test/old", baseline=True)
    here.finds(alert, "http://a.test/1", published_at=NOON - 3600)
    here.clock.now += 60
    here.finds(alert, "http://a.test/2", title="A & <b>")
    feed = parsed(alert_feed(here, "足球"))
    assert feed.feed.title == "focus：足球"
    expected = ["https://focus.test/feed/s3cret", f"https://focus.test/inbox?alert={alert}"]
    assert [link.href for link in feed.feed.links] == expected
    assert calendar.timegm(feed.feed.updated_parsed) == NOON + 60
    second, first = feed.entries
    assert (first.link, second.link) == ("http://a.test/1", "http://a.test/2")
    assert (second.title_detail.type, second.title) == ("text/plain", "A & <b>")
    assert calendar.timegm(first.published_parsed) == NOON - 3600
    assert calendar.timegm(first.updated_parsed) == NOON
    assert "published" not in second
    assert first.summary == "今天<mark>足球</mark>决赛"
    assert [tag.term for tag in first.tags] == ["足球"]


def test_user_feed_lists_alerts_with_the_channel(here: OutboxFixture) -> None:
    here.finds(here.alert("足球", "feed"), "http://a.test/1")
    here.finds(here.alert("旅游", "feed", "inbox"), "http://a.test/1")
    here.finds(here.alert("体育", "inbox"), "http://a.test/3")
    here.finds(here.alert("健康", "feed:/a/b.xml"), "http://a.test/4")
    document = own_feed(here, "en")
    feed = parsed(document)
    assert feed.feed.title == "focus: all alerts"
    assert sorted(entry.tags[0].term for entry in feed.entries) == ["旅游", "足球"]
    assert len({entry.id for entry in feed.entries}) == 2


def test_feed_ids_survive_changes(here: OutboxFixture) -> None:
    alert = here.alert("足球", "feed")
    here.finds(alert, "http://a.test/1")
    before = parsed(alert_feed(here, "足球"))
    in_all = parsed(own_feed(here, "zh"))
    here.base_url = "https://elsewhere.test"
    with here.store.database.transaction() as db:
        db.execute("UPDATE alert_match SET title = 'new'")
        db.execute("UPDATE alert SET name = 'new'")
    after = parsed(alert_feed(here, "足球"))
    assert before.feed.id == after.feed.id
    assert before.entries[0].id == after.entries[0].id == in_all.entries[0].id
    assert before.feed.id.startswith("urn:uuid:")
    assert after.feed.id != in_all.feed.id


def test_feed_without_entries_is_valid(here: OutboxFixture) -> None:
    here.alert("足球", "feed")
    feed = parsed(alert_feed(here, "足球", language="en"))
    assert feed.entries == []
    assert calendar.timegm(feed.feed.updated_parsed) == NOON


def test_feed_is_limited_to_max_entries(here: OutboxFixture) -> None:
    alert = here.alert("足球", "feed")
    here.finds(alert, *(f"http://a.test/{n}" for n in range(MAX_ENTRIES + 5)))
    assert len(parsed(alert_feed(here, "足球")).entries) == MAX_ENTRIES


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_feed_of_any_text_is_valid_atom(title: str, snippet: str, published: float | None) -> None:
    match = hit(1, "http://a.test/?a=1&b=<2>", title=title, snippet=snippet, published_at=published)
    about = FeedHead("urn:uuid:1", title, "zh", NOON, "http://a.test/" + title)
    root = ElementTree.fromstring(atom_document(about, [Entry("urn:uuid:2", title, match)]))
    for element in (root, *root.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(ATOM + name)) == 1
    assert root.findall(f"{ATOM}author/{ATOM}name")
    (summary,) = root.iter(f"{ATOM}summary")
    assert "<script" not in (summary.text or "")
