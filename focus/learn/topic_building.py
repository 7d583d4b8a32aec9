"""Building of a topic from pages, tests on pages, and expansion by the pages of a crawl.

add_features             keywords and example pages → features, model and threshold
ModelSet.judge           a page → the judgement of each relevance model, part by part
propose_topic_keywords   pages of a crawl or examples → related terms, with their evidence
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.learn.corpus import html_document, sample_evenly, text_document
from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.kb.schema import list_names
from focus.learn.model_file import apply_model
from focus.score.matching import Matcher
from focus.score.relevance import RELEVANCE, Document, Model, make_model, relevance_threshold
from focus.score.relevance.bayes import page_text
from focus.score.relevance.cosine import Cosine
from focus.score.relevance.evidence import Evidence
from focus.score.relevance.vectors import MAX_CONTENT_CHARS, VectorModel
from focus.score.statistics.entities import choose_entity, is_linkable
from focus.score.statistics.expansion import PageWords, TopicExpansion, propose_keywords
from focus.score.statistics.profile import (
    make_profile,
    make_published_profile,
    suggest_threshold,
)
from focus.score.statistics.vector import background_idf, is_term
from focus.storage import labels
from focus.storage.reader import DatabaseReader
from focus.text.site_texts import MIN_PAGES, common_affix, split_title
from focus.text.tokenisation import Segmenter, fold
from focus.topic.terms import add_terms
from focus.topic.topic import Keyword, Topic
from focus.urls.normal_form import url_host
from focus.urls.patterns import url_words

SURE_ON, SURE_OFF = 0.8, 0.2
"""Relevance by `evidence` above which a page is on topic, below which it is off topic."""

MAX_RELEVANT, MAX_IRRELEVANT = 2000, 4000  # maximum numbers of stored pages


class SourcedPage(NamedTuple):
    """A page with its source; `host` stands for the site that made it, "" for a file."""

    source: str
    host: str
    page: Document
    html: str = ""


def make_sourced_page(url: str, html: str) -> SourcedPage:
    """Return a fetched page with its source."""
    page = html_document(html)
    page.url_words = url_words(url)
    return SourcedPage(url, url_host(url), page, html)


# -- building -----------------------------------------------------------------------


def choose_model(topic: Topic, on: Sequence[SourcedPage]) -> Topic:
    """Return the topic with a relevance model that recognises its example pages.

    The default model knows keywords and related terms only. If it recognises less than half of the
    examples, `cosine` is chosen, which compares features. A model that the topic names is kept.
    """
    if topic.relevance is not None or not on:
        return topic
    model, threshold = make_model(Evidence.name, Matcher(topic), {}), Evidence.threshold
    recognised = sum(model.judge(sourced.page).relevance > threshold for sourced in on)
    if 2 * recognised >= len(on):
        return topic
    return msgspec.structs.replace(topic, relevance=Cosine.name)


def uses_keywords(topic: Topic, on: Sequence[SourcedPage]) -> bool:
    """Return whether the keywords have an effect beside example pages.

    For a model that compares vectors a keyword that is on no example is one word among many.
    """
    text = "\n".join(page_text(sourced.page) for sourced in on)
    is_vector_model = issubclass(RELEVANCE[topic.relevance or Evidence.name], VectorModel)
    return not is_vector_model or Matcher(topic).has_keyword(text)


def _hide_site_texts(pages: Sequence[SourcedPage]) -> Iterator[tuple[Document, str]]:
    """Yield pages without texts that those of one host repeat, and the host's name in titles.

    Pages with the same title count once, as in a crawl. Only title, meta data and content remain.
    """
    by_title = {(sourced.host, sourced.page.title): sourced.page for sourced in pages}
    hosts = {sourced.host for sourced in pages}
    affixes = {host: common_affix(t for h, t in by_title if h == host) for host in hosts}
    counts = Counter(
        (host, text)
        for (host, _), page in by_title.items()
        for text in {page.keywords, page.description, *page.content.splitlines()}
    )
    for _, host, page, _ in pages:
        title, name = split_title(page.title, affixes[host])
        head, content = (
            "\n".join(text for text in texts if counts[host, text] < MIN_PAGES)
            for texts in ([title, page.keywords, page.description], page.content.splitlines())
        )
        yield text_document(content, head), name


def add_features(
    topic: Topic, on: Sequence[SourcedPage], off: Sequence[SourcedPage], *, paper: str = ""
) -> Topic:
    """Return the topic with the features of its example pages.

    The name of a site and texts that its examples repeat give no features, except by a paper's
    formula. For a model that compares vectors the topic also gets a threshold that separates these
    pages. Without examples the topic is returned unchanged.

    paper   "p4" or "p5": features by its formula, and no threshold
    """
    if not on:
        return topic
    matcher = Matcher(topic)
    model = make_model("cosine", matcher, {}, as_published=bool(paper))
    assert isinstance(model, VectorModel)
    if paper:
        on_vectors, off_vectors = (
            [model.weighted_term_counts(sourced.page) for sourced in pages] for pages in (on, off)
        )
        profile = make_published_profile(paper, on_vectors, off_vectors, model.keywords)
    else:
        own_vectors = []
        for page, name in _hide_site_texts(on):
            site_words = {*matcher.segmenter.tokens(name)} - model.keywords.keys()
            vector = model.full_vector(page)
            own_vectors.append({word: x for word, x in vector.items() if word not in site_words})
        off_vectors = [model.full_vector(sourced.page) for sourced in off]
        sites = [sourced.host for sourced in on]
        profile = make_profile(own_vectors, off_vectors, model.keywords, sites=sites)
    keyword_sources = {keyword.text: "given" for keyword in topic.keywords}
    sources = {**keyword_sources, **topic.sources, **profile.sources}
    topic = msgspec.structs.replace(topic, features=profile.features, sources=sources)
    name = topic.relevance or Evidence.name
    if paper or topic.threshold is not None or not issubclass(RELEVANCE[name], VectorModel):
        return topic
    model = make_model(name, Matcher(topic, matcher.segmenter), {})
    scores = [[model.judge(sourced.page).relevance for sourced in pages] for pages in (on, off)]
    return msgspec.structs.replace(topic, threshold=round(suggest_threshold(*scores), 4))


ALIAS_WEIGHT = 0.8  # factor for a name of one entity only
SHARED_WEIGHT = 0.4  # factor for a name of several entities
MAX_ALIASES = 20  # per keyword


def add_aliases(topic: Topic, kb: KnowledgeBase, pages: Sequence[SourcedPage]) -> Topic:
    """Return the topic with the other names of its keywords in a knowledge base.

    If several entities have the name of a keyword, the one whose context the pages and the other
    keywords share is used; if they share none, nothing is added.
    """
    segmenter = Matcher(topic).segmenter
    words = {word for sourced in pages for word in segmenter.tokens(page_text(sourced.page))}
    words |= {token for keyword in topic.keywords for token in segmenter.tokens(keyword.text)}
    keywords = {fold(keyword.text): keyword for keyword in topic.keywords}
    sources = dict(topic.sources)
    for keyword in topic.keywords:
        name = _choose_meaning(fold(keyword.text), kb, words)
        entity = kb.load_entity(name) if name else None
        names = sorted(list_names(entity.name, entity.facts) - topic.terms.keys()) if entity else []
        bearers = kb.entities_by_name(names)
        for alias in [n for n in names if n not in keywords and is_linkable(n)][:MAX_ALIASES]:
            share = ALIAS_WEIGHT if len(bearers.get(alias, ())) < 2 else SHARED_WEIGHT
            keywords[alias] = Keyword(alias, round(share * keyword.weight, 2))
            sources[alias] = f"another name of {keyword.text}"
    return msgspec.structs.replace(topic, keywords=tuple(keywords.values()), sources=sources)


def _choose_meaning(text: str, kb: KnowledgeBase, words: Collection[str]) -> str | None:
    bearers = kb.entities_by_name([text]).get(text, [])
    if len(bearers) < 2:
        return bearers[0] if bearers else None
    return choose_entity(bearers, kb.context_words(bearers), set(words) - {text})


# -- testing -------------------------------------------------------------------------


class ModelJudgement(msgspec.Struct, frozen=True):
    """A model's judgement of a page.

    relevant   whether the relevance is over the threshold
    parts      values of the parts of the page, or of words, that indicate the topic
    weights    factors of these parts, if the model has parameters with their names
    matched    part -> words found there
    """

    model: str
    relevance: float
    threshold: float
    relevant: bool
    parts: dict[str, float]
    weights: dict[str, float]
    matched: dict[str, list[str]]


class ModelSet:
    """Relevance models for a topic, with one segmenter.

    names   names of the models; the topic's own model if empty
    absent  model -> reason why it cannot judge
    """

    def __init__(self, topic: Topic, names: Sequence[str] = ()) -> None:
        default_model = topic.relevance or Evidence.name
        self.absent: dict[str, str] = {}  # model -> why it cannot judge
        self._models: list[tuple[Model, float]] = []
        matcher = Matcher(msgspec.structs.replace(topic, model=None))
        for name in names or (default_model,):
            try:
                bare, trained = apply_model(topic, name)
                model = make_model(name, Matcher(bare, matcher.segmenter), {}, trained=trained)
            except ConfigError as error:
                if len(names) < 2:
                    raise
                self.absent[name] = str(error)
                continue
            self._models.append((model, relevance_threshold(name, topic)))

    def judge(self, page: Document) -> list[ModelJudgement]:
        """Return the judgement of each model."""
        return [_judge_page(model, threshold, page) for model, threshold in self._models]


def _judge_page(model: Model, threshold: float, page: Document) -> ModelJudgement:
    result = model.judge(page)
    weights = {part: model.params[part] for part in result.parts if part in model.params}
    relevant = result.relevance > threshold
    return ModelJudgement(
        model.name, result.relevance, threshold, relevant, result.parts, weights, result.matched
    )


# -- expansion -----------------------------------------------------------------------


def read_crawl_pages(reader: DatabaseReader, crawl: int) -> Iterator[SourcedPage]:
    """Yield pages of a crawl with stored text: relevant ones, and others spread evenly over it."""
    rows: dict[bool, list[int]] = {True: [], False: []}
    for row, _, relevant in reader.read(partial(labels.load_relevances, crawl=crawl)):
        rows[bool(relevant)].append(row)
    for row in sorted(
        (*sample_evenly(rows[True], MAX_RELEVANT), *sample_evenly(rows[False], MAX_IRRELEVANT))
    ):
        page = reader.read(partial(labels.load_page, row=row))
        if page.html:
            yield make_sourced_page(page.url, page.html)


def propose_topic_keywords(
    topic: Topic,
    judged: Iterable[SourcedPage],
    *,
    limit: int,
    on: Sequence[SourcedPage] = (),
    off: Sequence[SourcedPage] = (),
) -> TopicExpansion:
    """Propose keywords for a topic, `limit` at most.

    judged   pages that `evidence` scores; uncertain ones are omitted
    on, off  pages that the user named as examples
    """
    matcher = Matcher(topic)
    model = make_model("evidence", matcher, {})
    segmenter = matcher.segmenter
    words = {
        True: [_make_page_words(s, segmenter) for s in on],
        False: [_make_page_words(s, segmenter) for s in off],
    }
    for sourced in judged:
        relevance = model.judge(sourced.page).relevance
        if relevance > SURE_ON or relevance < SURE_OFF:
            words[relevance > SURE_ON].append(_make_page_words(sourced, segmenter))
    return propose_keywords(
        words[True], words[False], matcher.segmenter_words, idf=background_idf(), limit=limit
    )


def _make_page_words(sourced: SourcedPage, segmenter: Segmenter) -> PageWords:
    title = frozenset(filter(is_term, segmenter.tokens(sourced.page.title)))
    content = segmenter.tokens(sourced.page.content[:MAX_CONTENT_CHARS])
    return PageWords(sourced.host, title.union(filter(is_term, content)), title)


def add_proposed_terms(topic: Topic, expansion: TopicExpansion) -> Topic:
    """Return the topic with the proposed words as related terms, and their sources."""
    sources = {
        proposal.word: f"expanded: on {proposal.on} of {expansion.on} relevant pages, "
        f"{proposal.off} of {expansion.off} others"
        for proposal in expansion.proposals
    }
    weights = {proposal.word: proposal.weight for proposal in expansion.proposals}
    return add_terms(topic, sources, sources, weights=weights)
