"""Feeds found pages back to a relevance model that adapts, and sends its updates to the scorers.

The crawl hands over each page that came; a changed model goes to the scorers, which judge
all later pages by it. A crawl that is continued adapts anew from its topic.
"""

from __future__ import annotations

import msgspec

from focus.config import AnalysisConfig
from focus.records import Page
from focus.score.parameters import settle
from focus.score.relevance import model_class, relevance_threshold
from focus.score.statistics.adaptation import Adaptation
from focus.text.tokenisation import fold
from focus.topic.topic import Topic, from_builtins


class RelevanceFeedback:
    """Follows the pages of one crawl.

    start   the clock now: seconds of a live crawl, requests of a replayed one (a count of
            pages would make every interval bring as many pages as it is long)
    """

    def __init__(self, config: AnalysisConfig, *, start: float) -> None:
        kind = model_class(config.relevance)
        published = config.as_published
        self._config = config
        self._topic: Topic = from_builtins(dict(config.topic))
        features = self._topic.features
        if config.trained:
            features = msgspec.msgpack.decode(config.trained, type=dict[str, float])
        self._adaptation = Adaptation(
            keywords={fold(each.text): each.weight for each in self._topic.keywords},
            features=features,
            threshold=relevance_threshold(
                kind.name, self._topic, option=config.threshold, as_published=published
            ),
            start=start,
            params=settle(kind, config.params, as_published=published),
        )

    def after(self, page: Page | None, clock: float) -> bytes | None:
        """A request ended, with a page or without; what to send to the scorers, if anything.

        That is the changed `AnalysisConfig` as MessagePack.
        """
        if page is not None and page.failure is None:
            self._adaptation.page(page.terms if page.relevant else {})
        move = self._adaptation.advance(clock)
        if move is None:
            return None
        topic = msgspec.structs.replace(self._topic, features=move.features)
        changed = msgspec.structs.replace(
            self._config,
            topic=msgspec.to_builtins(topic),
            threshold=move.threshold,
            trained=b"",
        )
        return msgspec.msgpack.encode(changed)


def make_feedback(config: AnalysisConfig, *, start: float) -> RelevanceFeedback | None:
    """For a model that adapts; None for the others."""
    return RelevanceFeedback(config, start=start) if model_class(config.relevance).adapts else None
