"""Relevance by what labelled pages were like: a calibrated naive Bayes classifier (P3 ch. 4)."""

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

MAX_SHOWN_WORDS = 10  # words named in a judgement, on each side
MAX_CONTENT_CHARS = 4_000  # of a page's content that are looked at: 0.7 ms of segmenting
MAX_ENTITY_CHARS = 3_000  # of a page's text that entities are looked for in


class EntityExpansion(msgspec.Struct, frozen=True):
    """The part of a knowledge base in use: words that entities add to a page that names them.

    features   entity -> features it brings, of those that the classifier looks at
    """

    table: GazetteerTable
    features: dict[str, list[str]]

    def features_for(self, mentions: Iterable[Mention]) -> set[str]:
        """The features that these mentions bring."""
        return {feature for m in mentions for feature in self.features.get(m.entity, ())}


class Classifier(msgspec.Struct, frozen=True):
    """A trained classifier as the scorer workers get it, once, as MessagePack."""

    bayes: NaiveBayes
    calibration: Calibration
    expansion: EntityExpansion | None = None


def page_text(page: Document) -> str:
    """What a page says about itself: title, meta keywords and description, content (P3 3.4)."""
    content = page.content[:MAX_CONTENT_CHARS]
    return fold_body("\n".join((page.title, page.keywords, page.description, content)))


def feature_words(tokens: Iterable[str]) -> set[str]:
    """The words that may be features."""
    return {token for token in tokens if is_term(token)}


def link_page_entities(text: str, tokens: Sequence[str], table: GazetteerTable) -> list[Mention]:
    """The entities that the beginning of a text speaks of."""
    return link_entities(text[:MAX_ENTITY_CHARS], tokens, table)


def entity_features(entity: Entity, segmenter: Segmenter) -> set[str]:
    """What an entity stands for: its name, its categories, the words of its description.

    Its other names need not be features: a page that has one of them is linked to the
    entity, and so gets its name. 红魔 → 曼联, 足球俱乐部, 英超球队, 老特拉福德…
    """
    names = {" ".join(fold(text).split()) for text in (entity.name, *entity.categories)}
    return names | feature_words(segmenter.tokens(entity.description))


class Bayes(Model):
    """relevance = σ(scale · log-odds + offset) of a naive Bayes classifier, see naive_bayes.py.

    log-odds   by the presence of the trained words, and of what entities linked in the page
               stand for, if the classifier was trained with a knowledge base
    parts      `on` and `off`: what the page's words add for and against, in log-odds

    The bare posterior is 0 or 1 on nearly every page and makes no order; scale and offset
    were fitted on pages that the classifier had not seen.
    """

    name = "bayes"
    source = "P3 eq. 4-4…4-10; Platt 1999"

    def load_training(self, trained: bytes) -> None:
        """Take the classifier over; ConfigError when there is none."""
        if not trained:
            raise ConfigError(
                "--relevance bayes: the topic has no trained classifier; make one with "
                "`focus train --topic FILE.toml --positive DIR --negative DIR`"
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
