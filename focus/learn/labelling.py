"""Questions about uncertain pages, and the update of a relevance model from the answers.

    uncertain_pages     stored pages with a question, nearest to the threshold first
    learn_from_labels   all labels of the topic → what is learned about it, from the beginning

The update depends on the relevance model of the crawl:
    bayes       labelled pages are added to the training pages; the classifier is trained again, and
                its calibration is updated from their log-odds, each without its own page
    evidence    bias and weights: a logistic regression with the tuned numbers as prior; ten labels
                change them little. Keywords stay as the user wrote them
    cosine, euclid, adaptive   the topic vector moves towards on-topic pages and away from others
                (Rocchio 1971)

Labels are counted from the beginning each time, so the number of sessions does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from focus.errors import ConfigError
from focus.learn.corpus import html_document
from focus.learn.model_file import VECTOR_MODELS, LearnedTopic, TrainedClassifier
from focus.score.matching import Matcher, fold_body
from focus.score.relevance import make_model, model_class
from focus.score.relevance.bayes import feature_words, link_page_entities, page_text
from focus.score.relevance.vectors import VectorModel
from focus.score.statistics.feature_selection import (
    LabelledWords,
    WordCounts,
    count_words,
    select_words,
)
from focus.score.statistics.logistic import fit_logistic
from focus.score.statistics.naive_bayes import Calibration, fit_calibration, train_naive_bayes
from focus.score.statistics.vector import centroid, strongest_words, unit_vector
from focus.storage import labels
from focus.storage.labels import PageLabel, ScoredPage
from focus.store import Store
from focus.text.formatting import printable
from focus.text.tokenisation import Segmenter
from focus.topic.topic import Topic

SNIPPET_CHARS = 160  # characters
BIAS_SPREAD, WEIGHT_SPREAD = 1.5, 1.0
"""Standard deviations of bias and weights of `evidence` around their tuned values."""

ROCCHIO_WEIGHTS = (1.0, 0.75, 0.25)
"""Weights of the old vector, of the on-topic pages and of the off-topic pages."""

MIN_FEATURES = 50
"""Minimum number of words in a learned topic vector."""

TEACHABLE_MODELS = ("bayes", "evidence", *VECTOR_MODELS)


class LabelQuestion(msgspec.Struct, frozen=True):
    """A page for which a person is asked for a label.

    words    matched topic words, by part of the page
    snippet  text around the first of them, otherwise the beginning of the text
    """

    url: str
    title: str
    relevance: float
    words: dict[str, list[str]]
    snippet: str


class LabelCounts(msgspec.Struct):
    """Numbers of answers of one session."""

    on: int = 0
    off: int = 0
    skipped: int = 0
    ended: str = ""  # "quit", or "no more pages"


def check_teachable(relevance: str) -> None:
    """Raise ConfigError for a relevance model that learns nothing from labels."""
    if relevance not in TEACHABLE_MODELS:
        raise ConfigError(
            "relevance model {relevance}: learns nothing from labels; these do: {teachable}",
            relevance=relevance,
            teachable=", ".join(TEACHABLE_MODELS),
        )


def make_question(page: ScoredPage) -> LabelQuestion:
    """Return the question about a stored page."""
    words = [word for part_words in page.matched_terms.values() for word in part_words]
    text = " ".join(html_document(page.html).content.split()) or page.description
    return LabelQuestion(
        page.url, page.title, page.relevance, page.matched_terms, make_snippet(text, words)
    )


def make_snippet(text: str, words: Sequence[str]) -> str:
    """Return the text around the first word that occurs in it, otherwise its beginning."""
    folded = fold_body(text)
    positions = [at for word in words if (at := folded.find(fold_body(word))) >= 0]
    start = max(0, min(positions) - SNIPPET_CHARS // 3) if positions else 0
    excerpt = text[start : start + SNIPPET_CHARS]
    return printable(
        ("…" if start else "") + excerpt + ("…" if start + SNIPPET_CHARS < len(text) else "")
    )


async def ask_for_labels(
    store: Store,
    *,
    crawl: int,
    topic: str,
    threshold: float,
    limit: int,
    ask: Callable[[LabelQuestion], str],
    now: Callable[[], float],
) -> LabelCounts:
    """Ask about one page after the other until "q" or the last one; store each answer at once.

    ask   returns "y" on topic, "n" off topic, "s" skip, "q" quit
    """
    counts = LabelCounts(ended="no more pages")
    uncertain = partial(
        labels.find_uncertain_pages, crawl=crawl, topic_name=topic, threshold=threshold, limit=limit
    )
    for row in await store.run_in_thread(uncertain):
        page = await store.run_in_thread(partial(labels.load_page, row=row))
        answer = ask(make_question(page))
        if answer == "q":
            counts.ended = "quit"
            break
        if answer == "s":
            counts.skipped += 1
            continue
        label = PageLabel(row, page.url, answer == "y")
        await store.run_in_thread(partial(labels.store_label, topic=topic, label=label, now=now()))
        counts.on += label.is_relevant
        counts.off += not label.is_relevant
    return counts


# -- learning -------------------------------------------------------------------

LabelledPage = tuple[ScoredPage, bool]


async def load_labelled_pages(store: Store, topic: str) -> list[LabelledPage]:
    """Return all labelled pages of a topic, from all crawls, with their labels."""
    page_labels = await store.run_in_thread(partial(labels.load_labels, topic=topic))
    return [
        (
            await store.run_in_thread(partial(labels.load_page, row=label.page_row)),
            label.is_relevant,
        )
        for label in page_labels
    ]


def learn_from_labels(
    learned: LearnedTopic,
    topic: Topic,
    relevance: str,
    pages: Sequence[LabelledPage],
    *,
    patience: float = 0.0,
) -> LearnedTopic:
    """Return what is learned about a topic with these labels and the model `relevance`.

    patience  see `fit_parameters`
    """
    check_teachable(relevance)
    if relevance == "bayes":
        if learned.bayes is None:
            raise ConfigError(
                "topic {name!r}: has no classifier to teach; see `focus research train`",
                name=topic.name,
            )
        trained = update_classifier(learned.bayes, Matcher(topic).segmenter, pages)
        return msgspec.structs.replace(learned, bayes=trained)
    if relevance in VECTOR_MODELS:
        vector = update_topic_vector(topic, relevance, pages)
        return msgspec.structs.replace(learned, features=vector)
    numbers = fit_parameters(relevance, pages, patience=patience)
    return msgspec.structs.replace(learned, params={**learned.params, relevance: numbers})


def update_classifier(
    trained: TrainedClassifier, segmenter: Segmenter, pages: Sequence[LabelledPage]
) -> TrainedClassifier:
    """Return the classifier of the training pages and the labelled pages together."""
    samples: list[LabelledWords] = []
    for page, is_on in pages:
        text = page_text(html_document(page.html))
        tokens = segmenter.tokens(text)
        words = feature_words(tokens)
        if trained.expansion is not None:
            words |= trained.expansion.features_for(
                link_page_entities(text, tokens, trained.expansion.table)
            )
        samples.append((words, is_on))
    label_counts = count_words(samples)
    all_counts = trained.counts.combine(label_counts)
    best = select_words(all_counts, trained.select, trained.number)
    features = list(dict.fromkeys((*best, *trained.features)))
    return msgspec.structs.replace(
        trained,
        features=features,
        labelled=label_counts,
        corrected=_correct_calibration(trained.calibration, all_counts, features, samples),
    )


def _correct_calibration(
    prior: Calibration,
    all_counts: WordCounts,
    features: Sequence[str],
    samples: Sequence[LabelledWords],
) -> Calibration:
    """Return the calibration for the labelled pages, each scored without itself."""
    used_words = set(features)
    words = {word: n for word, n in all_counts.words.items() if word in used_words}
    counts = WordCounts(all_counts.on, all_counts.off, words)
    scored = []
    for page, is_on in samples:
        own: LabelledWords = ({word for word in page if word in used_words}, is_on)
        model = train_naive_bayes(counts.combine(count_words([own]), -1), features)
        scored.append((model.log_odds(own[0]), is_on))
    return fit_calibration(scored, prior=prior)


def fit_parameters(
    relevance: str, pages: Sequence[LabelledPage], *, patience: float = 0.0
) -> dict[str, float]:
    """Return bias and weights of `evidence` as corrected by labels, {} if no label is usable.

    Only pages with a keyword or enough related terms count, because all others have relevance 0
    with any weights (they need another keyword).

    patience  reduces the effect of few labels: with n labels the standard deviation is multiplied
              by sqrt(n / (n + patience)). Example with patience 6: one label 0.38, 6 labels 0.71,
              54 0.95
    """
    tuned = model_class(relevance).defaults
    informative = [(page.part_scores, is_on) for page, is_on in pages if page.part_scores]
    names = [name for name in tuned if any(name in parts for parts, _ in informative)]
    if not informative:
        return {}
    share = math.sqrt(len(informative) / (len(informative) + patience))
    rows = [(1.0, *(parts.get(name, 0.0) for name in names)) for parts, _ in informative]
    weights = fit_logistic(
        rows,
        [float(is_on) for _, is_on in informative],
        prior=[tuned["bias"], *(tuned[name] for name in names)],
        spread=[share * BIAS_SPREAD, *(share * WEIGHT_SPREAD for _ in names)],
    )
    bias, *others = weights  # a weight may become 0, but not negative
    return {"bias": bias, **{n: max(0.0, w) for n, w in zip(names, others, strict=True)}}


def update_topic_vector(
    topic: Topic, relevance: str, pages: Sequence[LabelledPage]
) -> dict[str, float]:
    """Return q' = a·q + b·centroid(on) - c·centroid(off), all of length 1 (Rocchio 1971).

    It has as many words as before (at least 50), none below 0, the strongest with weight 1 as in a
    topic file. Example: q = {x: 1}, one page on topic, {y: 1}: {x: 1, y: 0.75}.
    """
    model = make_model(relevance, Matcher(topic), {})
    assert isinstance(model, VectorModel)
    old_part, on_part, off_part = ROCCHIO_WEIGHTS
    total = {word: old_part * weight for word, weight in unit_vector(model.topic).items()}
    for label, share in ((True, on_part), (False, -off_part)):
        vectors = [
            unit_vector(model.page_vector(html_document(page.html)))
            for page, is_on in pages
            if is_on is label
        ]
        for word, weight in centroid(vectors).items():
            total[word] = total.get(word, 0.0) + share * weight
    positive = {word: weight for word, weight in total.items() if weight > 0.0}
    largest = max(positive.values(), default=1.0)
    number = max(MIN_FEATURES, len(model.topic))
    return {word: weight / largest for word, weight in strongest_words(positive, number).items()}
