"""Relevance feedback: adapts a relevance model to the fetched pages and updates the workers.

The crawl passes each page; a changed model is sent to the workers, which score all later pages
with it. A resumed crawl adapts anew from its topic.
"""

from __future__ import annotations

import msgspec

from focus.config import AnalysisConfig
from focus.records import Page
from focus.score.parameters import resolve_params
from focus.score.relevance import model_class, relevance_threshold
from focus.score.statistics.adaptation import TopicAdaptation
from focus.text.tokenisation import fold
from focus.topic.topic import Topic, from_builtins


class RelevanceFeedback:
    """TopicAdaptation of one crawl's relevance model.

    start   current clock: seconds in a live crawl, number of requests in a replayed one
    """

    def __init__(self, config: AnalysisConfig, *, start: float) -> None:
        kind = model_class(config.relevance)
        published = config.as_published
        self._config = config
        self._topic: Topic = from_builtins(dict(config.topic))
        features = self._topic.features
        if config.trained:
            features = msgspec.msgpack.decode(config.trained, type=dict[str, float])
        self._adaptation = TopicAdaptation(
            keywords={fold(keyword.text): keyword.weight for keyword in self._topic.keywords},
            features=features,
            threshold=relevance_threshold(
                kind.name, self._topic, option=config.threshold, as_published=published
            ),
            start=start,
            params=resolve_params(kind, config.params, as_published=published),
        )

    def process_page(self, page: Page | None, clock: float) -> bytes | None:
        """Process a finished request and return an update for the workers, None if there is none.

        The update is the changed `AnalysisConfig` as MessagePack.
        """
        if page is not None and page.failure is None:
            self._adaptation.add_page(page.top_terms if page.is_relevant else {})
        move = self._adaptation.advance(clock)
        if move is None:
            return None
        topic = msgspec.structs.replace(self._topic, features=move.features)
        changed = msgspec.structs.replace(
            self._config, topic=msgspec.to_builtins(topic), threshold=move.threshold, trained=b""
        )
        return msgspec.msgpack.encode(changed)


def make_feedback(config: AnalysisConfig, *, start: float) -> RelevanceFeedback | None:
    """Return the feedback of a model that adapts, None for other models."""
    return RelevanceFeedback(config, start=start) if model_class(config.relevance).adapts else None
