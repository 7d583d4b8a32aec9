"""Learning from the votes of an alert's owner, which are labels of its topic.

A vote (*relevant*, *not relevant*) is stored at its match. From all votes of an alert, starting
again each time, its topic is adjusted as `focus label` adjusts one (learn.labelling): how much a
title, a mention in the text or a tag counts for this alert. A few votes change little, so that one
negative vote does not silence a new alert. Alerts of other people are not affected.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.alerts.page_match import alert_topic
from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.learn.labelling import TEACHABLE_MODELS, LabelledPage, learn_from_labels
from focus.learn.model_file import LearnedTopic, load_topic_model
from focus.score.relevance import model_class, relevance_threshold
from focus.score.statistics.logistic import sigmoid
from focus.storage.alerts.records import StoredAlert, Vote
from focus.storage.alerts.store import AlertStore
from focus.storage.labels import ScoredPage, decompress_source
from focus.topic.topic import Topic

MAX_VOTES = 500  # latest votes of an alert that are used
VOTES_FOR_HALF = 6.0
"""Number of votes that count half as much as the topic's own numbers."""

COMPARED_MATCHES = 100  # latest matches by which the effect of votes is measured


class VoteEffect(NamedTuple):
    """Effect of an alert's votes: `lost` of `pages` earlier matches would not be sent now."""

    pages: int
    lost: int


def vote_effect(
    store: AlertStore, stored_alert: StoredAlert, *, trusted: bool
) -> VoteEffect | None:
    """Return the effect on the latest matches, without those voted not relevant.

    None if it cannot be computed without reading the pages, as for other models than `evidence`.
    Raises ConfigError for an unusable topic or model file.
    """
    topic = alert_topic(stored_alert.alert, trusted=trusted)
    if (topic.relevance or AnalysisConfig().relevance) != "evidence":
        return None
    learned = learn_from_votes(store, stored_alert.id, topic)
    topic_params = topic.params.get("evidence", {})
    numbers = {
        **model_class("evidence").defaults,
        **topic_params,
        **(learned.params.get("evidence", {}) if learned else {}),
    }
    threshold = stored_alert.alert.min_relevance
    if threshold is None:
        threshold = relevance_threshold("evidence", topic)
    rejected_urls = {
        vote.url
        for vote in store.matches.list_votes(stored_alert.id, limit=MAX_VOTES, with_source=False)
        if not vote.relevant
    }
    parts_by_match = [
        match.why.get("parts", {})
        for match in store.matches.list_for_alert(stored_alert.id, limit=COMPARED_MATCHES)
        if match.url not in rejected_urls
    ]
    lost = sum(
        sigmoid(numbers["bias"] + sum(numbers[part] * value for part, value in parts.items()))
        < threshold
        for parts in parts_by_match
    )
    return VoteEffect(len(parts_by_match), lost)


def learn_from_votes(store: AlertStore, alert: int, topic: Topic) -> LearnedTopic | None:
    """Return what the votes teach about an alert's topic, or None.

    Raises ConfigError for an unusable model file of the topic.
    """
    relevance = topic.relevance or AnalysisConfig().relevance
    if relevance not in TEACHABLE_MODELS:
        return None
    by_parts = relevance == "evidence"  # it learns from the parts of the relevance alone
    votes = store.matches.list_votes(alert, limit=MAX_VOTES, with_source=not by_parts)
    if not votes:
        return None
    known = load_topic_model(topic) or LearnedTopic(topic.name)
    try:
        pages = [_to_labelled_page(vote) for vote in votes]
        return learn_from_labels(known, topic, relevance, pages, patience=VOTES_FOR_HALF)
    except ConfigError:  # an untrained `bayes` topic; scoring reports it
        return None


def _to_labelled_page(vote: Vote) -> LabelledPage:
    page = ScoredPage(
        id=0,
        request_number=0,
        host_request_number=0,
        url=vote.url,
        title=vote.title,
        description="",
        relevance=vote.relevance,
        is_relevant=True,
        part_scores=vote.why.get("parts", {}),
        matched_terms=vote.why.get("words", {}),
        html=decompress_source(vote.zstd) if vote.zstd else "",
    )
    return page, vote.relevant
