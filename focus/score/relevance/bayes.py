"""Relevance by similarity to labelled pages: a calibrated naive Bayes classifier (P3 ch. 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from focus.errors import ConfigError
from focus.score.matching import fold_body
from focus.score.relevance.base import Document, Judgement, Model
from focus.score.statistics.entities import Entity, GazetteerTable, Mention, link_entities
from focus.score.statistics.naive_bayes import Calibration, NaiveBayes
from focus.score.statistics.vector import is_term
from focus.text.tokenisation import Segmenter, fold

MAX_SHOWN_WORDS = 10  # words in a judgement, for and against
MAX_CONTENT_CHARS = 4_000  # of a page's content; segmenting them takes 0.7 ms
MAX_ENTITY_CHARS = 3_000  # of a page's text in which entities are searched for


class EntityExpansion(msgspec.Struct, frozen=True):
    """The used part of a knowledge base: features that entities add to pages that name them.

    features   entity -> its features, restricted to those of the classifier
    """

    table: GazetteerTable
    features: dict[str, list[str]]

    def features_for(self, mentions: Iterable[Mention]) -> set[str]:
        """Return the features of the mentioned entities."""
        return {feature for m in mentions for feature in self.features.get(m.entity, ())}


class Classifier(msgspec.Struct, frozen=True):
    """A trained classifier as sent to the scorer processes, as MessagePack."""

    bayes: NaiveBayes
    calibration: Calibration
    expansion: EntityExpansion | None = None


def page_text(page: Document) -> str:
    """Return the folded text for classification: title, meta data and content (P3 3.4)."""
    content = page.content[:MAX_CONTENT_CHARS]
    return fold_body("\n".join((page.title, page.keywords, page.description, content)))


def feature_words(tokens: Iterable[str]) -> set[str]:
    """Return the words that may be features."""
    return {token for token in tokens if is_term(token)}


def link_page_entities(text: str, tokens: Sequence[str], table: GazetteerTable) -> list[Mention]:
    """Return the entities mentioned in the beginning of a text."""
    return link_entities(text[:MAX_ENTITY_CHARS], tokens, table)


def entity_features(entity: Entity, segmenter: Segmenter) -> set[str]:
    """Return the features of an entity: its name, categories and words of its description.

    Other names need not be features: a page with one of them is linked to the entity and so gets
    its name. Example: 红魔 → 曼联, 足球俱乐部, 英超球队, 老特拉福德, …
    """
    names = {" ".join(fold(text).split()) for text in (entity.name, *entity.categories)}
    return names | feature_words(segmenter.tokens(entity.description))


class Bayes(Model):
    """relevance = σ(scale · log-odds + offset) of a naive Bayes classifier, see naive_bayes.py.

    log-odds   by presence of the trained words and, if the classifier was trained with a knowledge
               base, of features of the entities in the page
    parts      `on` and `off`: sums of the words for and against the topic, in log-odds

    The uncalibrated posterior is 0 or 1 on nearly every page and gives no order. Scale and offset
    were fitted on pages that the classifier had not seen.
    """

    name = "bayes"
    source = "P3 eq. 4-4…4-10; Platt 1999"

    def load_training(self, trained: bytes) -> None:
        """Load the classifier; raise ConfigError if there is none."""
        if not trained:
            raise ConfigError(
                "--relevance bayes: the topic has no trained classifier; make one with "
                "`focus research train --topic FILE.toml --positive DIR --negative DIR`"
            )
        self._classifier = msgspec.msgpack.decode(trained, type=Classifier)

    def judge(self, page: Document) -> Judgement:
        classifier, text = self._classifier, page_text(page)
        tokens = self.matcher.segmenter.tokens(text)
        words = feature_words(tokens)
        if classifier.expansion is not None:
            expansion = classifier.expansion
            words |= expansion.features_for(link_page_entities(text, tokens, expansion.table))
        weights = classifier.bayes.weights
        weighted = ((weights[w], w) for w in words if w in weights)
        ranked = sorted(weighted, key=lambda item: (-item[0], item[1]))
        relevance = classifier.calibration.probability(classifier.bayes.log_odds(words))
        on, off = [w for w, _ in ranked if w > 0], [w for w, _ in ranked if w < 0]
        return Judgement(
            relevance,
            {"on": sum(on), "off": sum(off)},
            {
                "on": [word for _, word in ranked[: min(MAX_SHOWN_WORDS, len(on))]],
                "off": [word for _, word in ranked[::-1][: min(MAX_SHOWN_WORDS, len(off))]],
            },
        )
