"""Teaches an alert by its owner's votes: they are labels of its topic.

A vote (*relevant*, *not relevant*) stands at its match. From all votes of an alert, counted
from the beginning each time, its topic is moved as `focus label` moves one (learn.labelling):
how much a title, a mention in the text, a tag say for this alert. A few votes move it little, so
that one against a page does not silence an alert that has just begun. Nobody else's alert is
touched, be it about the same words.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.alerts.page_match import topic_of
from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.learn.labelling import TEACHABLE, Labelled, moved
from focus.learn.model_file import LearnedTopic, load_for
from focus.score.relevance import model_class, relevance_threshold
from focus.score.statistics.logistic import sigmoid
from focus.storage.alerts.records import StoredAlert, Vote
from focus.storage.alerts.store import AlertStore
from focus.storage.labels import JudgedPage, unpacked
from focus.topic.topic import Topic

MOST = 500  # votes of an alert that are looked at, the latest
PATIENCE = 6.0
"""So many votes count half: one against a page leaves the others of its kind where they are."""

LOOKED_AT = 100  # pages by which the effect of votes is told


class VoteEffect(NamedTuple):
    """The effect of an alert's votes: of `pages` found before, `lost` would not be told of now."""

    pages: int
    lost: int


def effect(store: AlertStore, owned: StoredAlert, *, trusted: bool) -> VoteEffect | None:
    """The effect on the pages that were found last, those voted against apart.

    None where it cannot be told without reading the pages again: by other models than `evidence`.
    ConfigError for a topic or model file that cannot be used.
    """
    topic = topic_of(owned.alert, trusted=trusted)
    if (topic.relevance or AnalysisConfig().relevance) != "evidence":
        return None
    known = learned(store, owned.id, topic)
    given = topic.params.get("evidence", {})
    numbers = {
        **model_class("evidence").defaults,
        **given,
        **(known.params.get("evidence", {}) if known else {}),
    }
    least = owned.alert.min_relevance
    if least is None:
        least = relevance_threshold("evidence", topic)
    refused = {
        vote.url
        for vote in store.matches.votes(owned.id, most=MOST, with_source=False)
        if not vote.relevant
    }
    found = [
        match.why.get("parts", {})
        for match in store.matches.of(owned.id, limit=LOOKED_AT)
        if match.url not in refused
    ]
    lost = sum(
        sigmoid(numbers["bias"] + sum(numbers[part] * value for part, value in parts.items()))
        < least
        for parts in found
    )
    return VoteEffect(len(found), lost)


def learned(store: AlertStore, alert: int, topic: Topic) -> LearnedTopic | None:
    """What the votes of an alert say about its topic; None: there are none, or nothing follows.

    ConfigError for a model file of the topic that cannot be used.
    """
    relevance = topic.relevance or AnalysisConfig().relevance
    if relevance not in TEACHABLE:
        return None
    by_parts = relevance == "evidence"  # which learns by the parts of the relevance alone
    votes = store.matches.votes(alert, most=MOST, with_source=not by_parts)
    if not votes:
        return None
    known = load_for(topic) or LearnedTopic(topic.name)
    try:
        pages = [_labelled(vote) for vote in votes]
        return moved(known, topic, relevance, pages, patience=PATIENCE)
    except ConfigError:  # a topic of `bayes` that nobody has trained; judging says so
        return None


def _labelled(vote: Vote) -> Labelled:
    page = JudgedPage(
        id=0,
        nth=0,
        host_nth=0,
        url=vote.url,
        title=vote.title,
        description="",
        relevance=vote.relevance,
        relevant=True,
        parts=vote.why.get("parts", {}),
        matched=vote.why.get("words", {}),
        html=unpacked(vote.zstd) if vote.zstd else "",
    )
    return page, vote.relevant
