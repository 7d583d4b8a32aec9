"""Training and test of a topic's classifier on labelled pages.

    FeatureExtractor   a document → its words, and the features of its entities
    train_classifier   labelled pages → classifier, with precision, recall and F1 by
                       cross-validation

The documents come from corpus.py; the mathematics is in score/statistics/naive_bayes.py and
score/statistics/feature_selection.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from random import Random

import msgspec

from focus.errors import ConfigError
from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.kb.schema import fold_name, list_names
from focus.learn.model_file import TrainedClassifier
from focus.score.relevance import Document
from focus.score.relevance.bayes import (
    MAX_ENTITY_CHARS,
    EntityExpansion,
    entity_features,
    feature_words,
    page_text,
)
from focus.score.statistics.entities import is_linkable, link_entities, make_gazetteer_table
from focus.score.statistics.feature_selection import (
    LabelledWords,
    WordCounts,
    count_words,
    select_words,
)
from focus.score.statistics.naive_bayes import (
    ClassifierTest,
    FeatureSelector,
    ScoredLabel,
    cross_validate,
    evaluate_classifier,
    fit_calibration,
    make_feature_selector,
    make_folds,
)
from focus.text.tokenisation import Segmenter

FOLDS = 5  # folds of the cross-validation
MIN_PAGES = 5
"""Minimum number of pages with each label: one per fold of the validation."""

MAX_ENTITIES = 20_000
"""Maximum number of entities in a classifier."""


# -- features -----------------------------------------------------------------------


class FeatureExtractor:
    """Extracts features of pages, and remembers the entities that they mention.

    kb        knowledge base of entities; None for words only
    entities  mentioned entity -> its features
    """

    def __init__(self, segmenter: Segmenter, kb: KnowledgeBase | None = None) -> None:
        self.kb = kb
        self.entities: dict[str, set[str]] = {}
        self._segmenter = segmenter

    def words(self, page: Document) -> set[str]:
        """Return the words of a page that may be features."""
        return feature_words(self._segmenter.tokens(page_text(page)))

    def entity_features(self, page: Document) -> set[str]:
        """Return the features of the entities of a page; none without knowledge base."""
        if self.kb is None:
            return set()
        text = page_text(page)
        mentions = link_entities(text[:MAX_ENTITY_CHARS], self._segmenter.tokens(text), self.kb)
        names = {mention.entity for mention in mentions}
        for name, entity in self.kb.load_entities(names - self.entities.keys()).items():
            self.entities[name] = entity_features(entity, self._segmenter)
        return {feature for name in names for feature in self.entities.get(name, ())}

    def make_expansion(self, features: Collection[str]) -> EntityExpansion | None:
        """Return the part of the knowledge base for a classifier with these features.

        A small base is used completely. Of a large one the mentioned entities are used, then others
        of the same categories, as far as these are features. Returns None without knowledge base.
        """
        if self.kb is None:
            return None
        feature_set = set(features)
        mentioned = [
            name for name, known in self.entities.items() if not feature_set.isdisjoint(known)
        ]
        if len(self.kb) <= MAX_ENTITIES:
            names = self.kb.list_names(MAX_ENTITIES)
        else:
            categories = {
                category
                for entity in self.kb.load_entities(mentioned).values()
                for category in entity.categories
            }
            similar = self.kb.list_names(MAX_ENTITIES - len(mentioned), categories & feature_set)
            names = list(dict.fromkeys((*mentioned, *similar)))[:MAX_ENTITIES]
        entities = self.kb.load_entities(names)
        features_by_entity = {
            name: sorted(entity_features(entity, self._segmenter) & feature_set)
            for name, entity in entities.items()
        }
        useful = {name: words for name, words in features_by_entity.items() if words}
        texts = {
            text
            for name in useful
            for text in list_names(name, entities[name].facts)
            if is_linkable(text)
        }
        bearers = self.kb.entities_by_name(texts)
        shared = {name for group in bearers.values() if len(group) > 1 for name in group}
        around = {name: sorted(words) for name, words in self.kb.context_words(shared).items()}
        return EntityExpansion(make_gazetteer_table(bearers, around), useful)


class Example(msgspec.Struct, frozen=True):
    """The features of a labelled page."""

    words: set[str]
    expansion: set[str]
    is_on: bool

    def sample(self, *, entities: bool) -> LabelledWords:
        """Return words and label, with or without the features of entities."""
        return (self.words | self.expansion if entities else self.words, self.is_on)


def make_examples(
    pages: Iterable[Document], is_on: bool, extractor: FeatureExtractor
) -> list[Example]:
    """Return the examples of pages with one label."""
    return [
        Example(extractor.words(page), extractor.entity_features(page), is_on) for page in pages
    ]


def keep_shared_features(pages: Sequence[Example], extractor: FeatureExtractor) -> list[Example]:
    """Return the examples with entity names, and only those features that several entities share.

    A word in the description of one entity only occurs exactly with its name, so naive Bayes would
    count the name many times.
    """
    entity_counts = Counter(
        feature for features in extractor.entities.values() for feature in features
    )
    names = {fold_name(name) for name in extractor.entities}
    allowed = names | {feature for feature, number in entity_counts.items() if number > 1}
    return [msgspec.structs.replace(page, expansion=page.expansion & allowed) for page in pages]


# -- training -----------------------------------------------------------------------


class TrainingOptions(msgspec.Struct, frozen=True):
    """Options of training: the method of feature selection and the number of features."""

    select: str = "ig"
    number: int = 500


def make_entity_selector(
    options: TrainingOptions, all_entity_features: Collection[str]
) -> FeatureSelector:
    """Return a selector of the best words, and as many features of entities.

    P3 4.3.3 adds every feature of every entity. Here at most as many as there are words are added,
    the best by the same method.
    """

    def choose(counts: WordCounts) -> Sequence[str]:
        best = select_words(counts, options.select, options.number)
        entity_counts = WordCounts(
            counts.on,
            counts.off,
            {w: n for w, n in counts.words.items() if w in all_entity_features},
        )
        return list(
            dict.fromkeys((*best, *select_words(entity_counts, options.select, options.number)))
        )

    return choose


def train_classifier(
    pages: Sequence[Example], extractor: FeatureExtractor, options: TrainingOptions
) -> TrainedClassifier:
    """Return a calibrated classifier of labelled pages, tested with and without entities.

    Raises ConfigError if there are too few pages with one of the labels.
    """
    _check_page_numbers(pages)
    pages = keep_shared_features(pages, extractor)
    all_entity_features = {feature for page in pages for feature in page.expansion}
    word_samples: list[LabelledWords] = [page.sample(entities=False) for page in pages]
    folds = make_folds(word_samples, FOLDS, Random(0))
    select_features, samples = make_feature_selector(options.select, options.number), word_samples
    scored, verdicts = _validate_features("words", word_samples, folds, select_features)
    if extractor.kb is not None:
        samples = [page.sample(entities=True) for page in pages]
        select_features = make_entity_selector(options, all_entity_features)
        scored, entity_verdicts = _validate_features(
            "words and entities", samples, folds, select_features
        )
        verdicts |= entity_verdicts
    counts = count_words(samples)
    features = list(select_features(counts))
    frequent = {word: n for word, n in counts.words.items() if sum(n) > 1}
    return TrainedClassifier(
        select=options.select,
        number=options.number,
        features=features,
        counts=WordCounts(counts.on, counts.off, frequent),
        calibration=fit_calibration(scored),
        expansion=extractor.make_expansion(features),
        verdicts=verdicts,
    )


def _check_page_numbers(pages: Sequence[Example]) -> None:
    for label, option in ((True, "--positive"), (False, "--negative")):
        number = sum(page.is_on is label for page in pages)
        if number < MIN_PAGES:
            raise ConfigError(
                "{option}: only {number} pages; a classifier needs {fewest} of each kind at least",
                option=option,
                number=number,
                fewest=MIN_PAGES,
            )


def _validate_features(
    name: str,
    samples: Sequence[LabelledWords],
    folds: Sequence[Sequence[int]],
    select_features: FeatureSelector,
) -> tuple[list[ScoredLabel], dict[str, ClassifierTest]]:
    scored = cross_validate(samples, folds, select_features)
    raw, calibrated = evaluate_classifier(scored, folds)
    return scored, {name: raw, f"{name}, calibrated": calibrated}
