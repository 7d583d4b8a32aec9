"""Teaches an alert by its owner's votes: they are labels of its topic.

A vote (*relevant*, *not relevant*) stands at its match. From all votes of an alert, counted
from the beginning each time, its topic is moved as `focus label` moves one (learn.labelling):
how much a title, a mention in the text, a tag say for this alert. Nobody else's alert is
touched, be it about the same words.
"""

from __future__ import annotations

from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.learn.labelling import TEACHABLE, Labelled, moved
from focus.learn.model_file import LearnedTopic, load_for
from focus.storage.alerts.records import Vote
from focus.storage.alerts.store import AlertStore
from focus.storage.labels import JudgedPage, unpacked
from focus.topic.topic import Topic

MOST = 500  # votes of an alert that are looked at, the latest


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
        return moved(known, topic, relevance, [_labelled(vote) for vote in votes])
    except ConfigError:  # a topic of `bayes` that nobody has trained; judging says so
        return None


def _labelled(vote: Vote) -> Labelled:
    page = JudgedPage(
        id=0,
        nth=0,
        place=0,
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
