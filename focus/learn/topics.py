"""Makes a topic from pages, tries it on pages, and widens it by the pages of a crawl.

build    keywords and example pages → features, model and threshold
judge    a page → what each relevance model says of it, part by part
widen    pages of a crawl or examples → further keywords, with their evidence
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.learn.corpus import of_html
from focus.learn.kb.base import KnowledgeBase
from focus.learn.kb.file import names_of
from focus.learn.model_file import applied
from focus.learn.training import Extractor
from focus.score.matching import Matcher
from focus.score.relevance import RELEVANCE, Document, Model, make_model, relevance_threshold
from focus.score.relevance.bayes import page_text
from focus.score.relevance.evidence import Evidence
from focus.score.relevance.vectors import MAX_CONTENT_CHARS, VectorModel
from focus.score.statistics.entities import choose_entity, is_linkable
from focus.score.statistics.expansion import PageWords, TopicExpansion, propose_keywords
from focus.score.statistics.profile import (
    MAX_FEATURES,
    MIN_PAGES_FOR_SHARED_WORDS,
    make_profile,
    make_published_profile,
    suggest_threshold,
)
from focus.score.statistics.vector import background_idf, count_documents, is_term, strongest_words
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.text.formatting import format_count
from focus.text.tokenisation import Segmenter, fold
from focus.topic.topic import Keyword, Topic
from focus.urls.normal_form import url_host, url_words

SURE_ON, SURE_OFF = 0.8, 0.2
"""Relevance (of `evidence`) from which on a page counts as on topic, up to which as off."""

MAX_RELEVANT, MAX_OTHERS = 2000, 4000  # stored pages that are looked at


class SourcedPage(NamedTuple):
    """A page and where it is from; `host` stands for the site that made it."""

    where: str
    host: str
    page: Document


def sample(url: str, html: str) -> SourcedPage:
    """A fetched page."""
    page = of_html(html)
    page.url_words = url_words(url)
    return SourcedPage(url, url_host(url), page)


# -- building -----------------------------------------------------------------------


def build(
    topic: Topic, on: Sequence[SourcedPage], off: Sequence[SourcedPage], *, paper: str = ""
) -> Topic:
    """The topic with the features of its example pages and, for a model that compares
    vectors, a threshold that suits these; without examples, as it is.

    paper   "p4" or "p5": features by its formula, and no threshold but its own
    """
    if not on:
        return topic
    matcher = Matcher(topic)
    model = make_model("cosine", matcher, {}, as_published=bool(paper))
    assert isinstance(model, VectorModel)
    if paper:
        near, far = (
            [model.weighted_term_counts(each.page) for each in pages] for pages in (on, off)
        )
        found = make_published_profile(paper, near, far, model.keywords)
    else:
        near, far = ([model.full_vector(each.page) for each in pages] for pages in (on, off))
        found = make_profile(near, far, model.keywords, sites=[each.host for each in on])
    given = {each.text: "given" for each in topic.keywords}
    sources = {**given, **topic.sources, **found.sources}
    topic = msgspec.structs.replace(topic, features=found.features, sources=sources)
    name = topic.relevance or Evidence.name
    if paper or topic.threshold is not None or not issubclass(RELEVANCE[name], VectorModel):
        return topic
    model = make_model(name, Matcher(topic, matcher.segmenter), {})
    scores = [[model.judge(each.page).relevance for each in pages] for pages in (on, off)]
    return msgspec.structs.replace(topic, threshold=round(suggest_threshold(*scores), 4))


ALIAS_WEIGHT = 0.8  # of its entity's, for a name that nothing else goes by
SHARED_WEIGHT = 0.4  # the same for a name that several entities go by
MAX_ALIASES = 20  # of one keyword


def with_aliases(topic: Topic, kb: KnowledgeBase, pages: Sequence[SourcedPage]) -> Topic:
    """The topic with the other names of what its keywords name, as a knowledge base has them.

    A keyword that several entities go by means the one whose context the pages and the
    other keywords share; if they share none, nothing is added.
    """
    segmenter = Matcher(topic).segmenter
    words = {word for each in pages for word in segmenter.tokens(page_text(each.page))}
    words |= {token for each in topic.keywords for token in segmenter.tokens(each.text)}
    keywords = {fold(each.text): each for each in topic.keywords}
    sources = dict(topic.sources)
    for given in topic.keywords:
        name = _meant(fold(given.text), kb, words)
        entity = kb.entity(name) if name else None
        names = sorted(names_of(entity.name, entity.facts)) if entity else []
        bearers = kb.entities_by_name(names)
        for alias in [n for n in names if n not in keywords and is_linkable(n)][:MAX_ALIASES]:
            share = ALIAS_WEIGHT if len(bearers.get(alias, ())) < 2 else SHARED_WEIGHT
            keywords[alias] = Keyword(alias, round(share * given.weight, 2))
            sources[alias] = f"another name of {given.text}"
    return msgspec.structs.replace(topic, keywords=tuple(keywords.values()), sources=sources)


def _meant(text: str, kb: KnowledgeBase, words: Collection[str]) -> str | None:
    bearers = kb.entities_by_name([text]).get(text, [])
    if len(bearers) < 2:
        return bearers[0] if bearers else None
    return choose_entity(bearers, kb.context_words(bearers), set(words) - {text})


def with_entities(topic: Topic, kb: KnowledgeBase, on: Sequence[SourcedPage]) -> Topic:
    """The topic with features for what the entities of its examples are (P3 ch. 4).

    weight = ½ · share of the examples that speak of such an entity; a feature that the
    examples' own words gave keeps its weight.
    """
    extractor = Extractor(Matcher(topic).segmenter, kb)
    found = count_documents(extractor.expansion(each.page) for each in on)
    taken = {fold(each.text) for each in topic.keywords} | topic.features.keys()
    least = 2 if len(on) >= MIN_PAGES_FOR_SHARED_WORDS else 1
    shares = {
        word: number / len(on)
        for word, number in found.items()
        if number >= least and word not in taken and is_term(word)
    }
    more = {
        word: round(share / 2, 4) for word, share in strongest_words(shares, MAX_FEATURES).items()
    }
    sources = {
        word: f"what entities on {found[word]} of {format_count(len(on), 'example')} are"
        for word in more
    }
    return msgspec.structs.replace(
        topic, features={**topic.features, **more}, sources={**topic.sources, **sources}
    )


# -- trying -------------------------------------------------------------------------


class Opinion(msgspec.Struct, frozen=True):
    """A model's judgement of a page.

    relevant   whether the relevance is over the threshold
    parts      the parts of the page that speak for it, or words, by how much they do
    weights    what the model multiplies these parts with, where it does so by name
    matched    part -> the words found there
    """

    model: str
    relevance: float
    threshold: float
    relevant: bool
    parts: dict[str, float]
    weights: dict[str, float]
    matched: dict[str, list[str]]


class Bench:
    """Relevance models set up for a topic, all over one segmenter.

    names   which of them; the topic's own for none
    """

    def __init__(self, topic: Topic, names: Sequence[str] = ()) -> None:
        own = topic.relevance or Evidence.name
        self.absent: dict[str, str] = {}  # model -> why it cannot judge
        self._models: list[tuple[Model, float]] = []
        matcher = Matcher(msgspec.structs.replace(topic, model=None))
        for name in names or (own,):
            try:
                bare, trained = applied(topic, name)
                model = make_model(name, Matcher(bare, matcher.segmenter), {}, trained=trained)
            except ConfigError as error:
                if len(names) < 2:
                    raise
                self.absent[name] = str(error)
                continue
            self._models.append((model, relevance_threshold(name, topic)))

    def judge(self, page: Document) -> list[Opinion]:
        """What each of the models says."""
        return [_opinion(model, threshold, page) for model, threshold in self._models]


def _opinion(model: Model, threshold: float, page: Document) -> Opinion:
    said = model.judge(page)
    weights = {part: model.params[part] for part in said.parts if part in model.params}
    relevant = said.relevance > threshold
    return Opinion(
        model.name, said.relevance, threshold, relevant, said.parts, weights, said.matched
    )


# -- widening -----------------------------------------------------------------------


def stored(reader: DatabaseReader, crawl: int) -> Iterator[SourcedPage]:
    """Pages of a crawl whose text was kept: the relevant ones, and others evenly over it."""
    rows: dict[bool, list[int]] = {True: [], False: []}
    for row, _, relevant in reader.run(partial(labels.judged, crawl=crawl)):
        rows[bool(relevant)].append(row)
    for row in sorted((*_evenly(rows[True], MAX_RELEVANT), *_evenly(rows[False], MAX_OTHERS))):
        page = reader.run(partial(labels.page, row=row))
        if page.html:
            yield sample(page.url, page.html)


def _evenly(rows: Sequence[int], number: int) -> list[int]:
    step = max(1.0, len(rows) / number)
    return [rows[int(at * step)] for at in range(min(number, len(rows)))]


class Widening(msgspec.Struct, frozen=True):
    """The bounds of widening: so many words, none weightier than this."""

    limit: int
    max_weight: float


def widen(
    topic: Topic,
    judged: Iterable[SourcedPage],
    plan: Widening,
    *,
    on: Sequence[SourcedPage] = (),
    off: Sequence[SourcedPage] = (),
) -> TopicExpansion:
    """Further keywords for a topic.

    judged   pages that `evidence` is asked about; doubtful ones are left out
    on, off  pages that are examples by the user's own word
    ConfigError when no page is on topic: nothing can be learned then.
    """
    matcher = Matcher(topic)
    model = make_model("evidence", matcher, {})
    segmenter = matcher.segmenter
    seen = {
        True: [_sighting(s, segmenter) for s in on],
        False: [_sighting(s, segmenter) for s in off],
    }
    for each in judged:
        relevance = model.judge(each.page).relevance
        if relevance > SURE_ON or relevance < SURE_OFF:
            seen[relevance > SURE_ON].append(_sighting(each, segmenter))
    if not seen[True]:
        raise ConfigError(
            "topic {name!r}: none of these pages is surely on topic, so no word can be "
            "proposed; crawl longer, or give pages with --example",
            name=topic.name,
        )
    return propose_keywords(
        seen[True],
        seen[False],
        matcher.segmenter_words,
        idf=background_idf(),
        limit=plan.limit,
        max_weight=plan.max_weight,
    )


def _sighting(each: SourcedPage, segmenter: Segmenter) -> PageWords:
    title = frozenset(filter(is_term, segmenter.tokens(each.page.title)))
    content = segmenter.tokens(each.page.content[:MAX_CONTENT_CHARS])
    return PageWords(each.host, title.union(filter(is_term, content)), title)


def widened(topic: Topic, expansion: TopicExpansion) -> Topic:
    """The topic with the proposed words as keywords, and where these came from."""
    more = tuple(Keyword(each.word, each.weight) for each in expansion.proposals)
    sources = {
        each.word: f"expanded: on {each.on} of {expansion.on} relevant pages, "
        f"{each.off} of {expansion.off} others"
        for each in expansion.proposals
    }
    given = {each.text: "given" for each in topic.keywords}
    return msgspec.structs.replace(
        topic,
        keywords=(*topic.keywords, *more),
        sources={**given, **topic.sources, **sources},
    )
