"""What have people's votes taught about an alert? They are labels of its topic.

A vote (*relevant*, *not relevant*) stands at its hit. From all votes of an alert, counted
from the beginning each time, its topic is moved as `focus label` moves one (learn.labelling):
how much a title, a mention in the text, a tag say for this alert. Nobody else's alert
is touched, be it about the same words.
"""

from __future__ import annotations

import sqlite3

import msgspec

from focus.alerts.store import AlertStore
from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.learn.labelling import TEACHABLE, Labelled, moved
from focus.learn.model_file import LearnedTopic, load_for
from focus.storage.labels import JudgedPage, unpacked
from focus.topic.topic import Topic

MOST = 500  # votes of an alert that are looked at, the latest


def counts(book: AlertStore, alert: int) -> tuple[int, int]:
    """How many pages its owner found relevant, and how many not."""
    sql = "SELECT total(vote), count(*) FROM hit WHERE alert = ? AND vote IS NOT NULL"
    on, every = book.rows(sql, (alert,))[0]
    return int(on), int(every - on)


def learned(book: AlertStore, alert: int, topic: Topic) -> LearnedTopic | None:
    """What the votes of an alert say about its topic; None: there are none, or nothing follows.

    ConfigError for a model file of the topic that cannot be used.
    """
    relevance = topic.relevance or AnalysisConfig().relevance
    if relevance not in TEACHABLE:
        return None
    text = "NULL" if relevance == "evidence" else "b.zstd"  # which learns by the parts alone
    votes = book.rows(_VOTES.format(text=text), (alert, MOST))
    if not votes:
        return None
    known = load_for(topic) or LearnedTopic(topic.name)
    try:
        return moved(known, topic, relevance, [_labelled(row) for row in votes])
    except ConfigError:  # a topic of `bayes` that nobody has trained; judging says so
        return None


def vote(db: sqlite3.Connection, alert: int, url: str, says: bool | None) -> bool:
    """Note in the caller's transaction what its owner says of a page; None: nothing any more.

    False when the alert has no such page.
    """
    sql = "UPDATE hit SET vote = ? WHERE alert = ? AND url = ?"
    return db.execute(sql, (says, alert, url)).rowcount == 1


def _labelled(row: tuple[object, ...]) -> Labelled:
    url, title, relevance, why, packed, said = row
    assert isinstance(relevance, float) and isinstance(why, str)
    reasons = msgspec.json.decode(why)
    html = unpacked(packed) if isinstance(packed, bytes) else ""
    parts, words = reasons.get("parts", {}), reasons.get("words", {})
    page = JudgedPage(
        id=0,
        nth=0,
        place=0,
        url=str(url),
        title=str(title),
        description="",
        relevance=relevance,
        relevant=True,
        parts=parts,
        matched=words,
        html=html,
    )
    return page, bool(said)


_VOTES = """
SELECT h.url, h.title, h.relevance, h.why, {text}, h.vote
FROM hit h LEFT JOIN body b ON b.id = h.page WHERE h.alert = ? AND h.vote IS NOT NULL
ORDER BY h.id DESC LIMIT ?"""
