"""Decision whether a page matches an alert: first by words, which is cheap, then by relevance.

    PageView  a stored page; its parts are computed on demand, once for all alerts
    Criteria  what an alert requires: words, a topic, a model, a threshold

Most pages match no alert. Therefore the characters and Latin words of a page are collected once: a
word that cannot be on the page costs two comparisons of sets, and only pages that may contain all
required words are searched and scored.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from datetime import tzinfo
from functools import cached_property
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

from focus.admission.near_duplicates import LOST_CHARS, looks_lost, simhash
from focus.alerts import query
from focus.alerts.query import WordQuery
from focus.alerts.snippet import cut_snippet, fold_aligned, snippet_source
from focus.config import AnalysisConfig
from focus.errors import TopicError
from focus.html.main_content import main_blocks
from focus.html.parser import parse
from focus.html.publication_date import read_publication_time
from focus.html.reader import ParsedPage
from focus.learn.library import add_library_terms
from focus.learn.model_file import LearnedTopic, apply_model
from focus.score.matching import Matcher, fold_body
from focus.score.relevance import Document, Judgement, make_model, relevance_threshold
from focus.score.relevance.evidence import MIN_TERMS
from focus.storage import labels
from focus.storage.alerts.records import Alert, MatchablePage
from focus.text.tokenisation import Segmenter, has_han
from focus.topic.topic import Keyword, Topic, from_words
from focus.topic.topic_file import read_topic_file
from focus.urls.patterns import url_words

_LATIN = re.compile(r"[a-z0-9]+")
_KANA, _HANGUL, _HAN = map(re.compile, ("[\u3040-\u30ff]", "[\uac00-\ud7af]", "[\u4e00-\u9fff]"))
ZONES = {"zh": "Asia/Shanghai", "ja": "Asia/Tokyo", "ko": "Asia/Seoul"}
"""Time zones of dates without one, by the language of their page."""
_SCRIPT_SHARE = 0.1  # share of a script's characters that determines the language
_MIN_LIST_LINKS = 10  # links of an index page, if they have most of the text
KEYWORD_MODELS = ("evidence", "position", "boolean")
"""Models that score a page without keyword and related terms as 0: it need not be scored."""

RequiredText = tuple[frozenset[str], frozenset[str]]
"""Characters and Latin words that a page must contain."""


class PageView:
    """Stored page; `packed` is its compressed source, or None if it was not stored."""

    def __init__(self, stored: MatchablePage, packed: bytes | None) -> None:
        self.stored = stored
        self.html = labels.decompress_source(packed) if packed else ""
        self._judgements: dict[Criteria, Judgement | None] = {}
        self._snippets: dict[Criteria, str] = {}
        self._dates: dict[tzinfo, float | None] = {}

    def judgement_for(self, criteria: Criteria) -> Judgement | None:
        """Return the judgement by an alert's criteria, computed once per criteria."""
        if criteria not in self._judgements:
            self._judgements[criteria] = criteria.judge(self)
        return self._judgements[criteria]

    def snippet_for(self, criteria: Criteria) -> str:
        """Return the snippet for an alert's criteria, computed once per criteria."""
        if criteria not in self._snippets:
            self._snippets[criteria] = criteria.snippet(self)
        return self._snippets[criteria]

    def publication_time(self, zone: tzinfo) -> float | None:
        """Return when the page says it was published; `zone` is the reader's."""
        if zone not in self._dates:
            language_zone = ZONES.get(self.language)
            self._dates[zone] = read_publication_time(
                self.html,
                self.stored.url,
                fetched_at=self.stored.fetched_at,
                zone=ZoneInfo(language_zone) if language_zone else zone,
                day_zone=zone,
            )
        return self._dates[zone]

    @cached_property
    def _characters_and_words(self) -> tuple[set[str], set[str]]:
        """Characters and Latin words of the page and its head."""
        page = self.stored
        head = fold_body(f"{page.title}\n{page.keywords}\n{page.description}\n")
        text = head + self.document.all_text
        return set(text), set(_LATIN.findall(text))

    @cached_property
    def source(self) -> str | None:
        """Head and source, folded; None if character references hide text."""
        page = self.stored
        text = f"{page.title}\n{page.keywords}\n{page.description}\n{self.html}"
        return None if "&#" in text else fold_body(text)

    def may_contain(self, need: RequiredText) -> bool:
        """Return whether the page has all required characters and Latin words."""
        characters, latin = self._characters_and_words
        return need[0] <= characters and need[1] <= latin

    @cached_property
    def _parsed(self) -> ParsedPage:
        return parse(self.html)

    @cached_property
    def document(self) -> Document:
        """Document for the relevance model, without the source."""
        page = self.stored
        return Document.from_parsed(
            self._parsed,
            title=page.title,
            keywords=page.keywords,
            description=page.description,
            url_words=url_words(page.url),
            url=page.url,
            template_blocks=frozenset(array("I", page.template_blocks)),
        )

    @cached_property
    def searchable_text(self) -> str:
        """Title and text without navigation, folded, in which the words of alerts are searched."""
        return f"{fold_body(self.stored.title)}\n{self.document.main_text}"

    @cached_property
    def text(self) -> str:
        """Main text for a snippet; the description if there is none."""
        return snippet_source(self.document.content or self.stored.description)

    @cached_property
    def aligned_text(self) -> str:
        """Text folded for matching, character by character."""
        return fold_aligned(self.text)

    @cached_property
    def simhash(self) -> int:
        """Fingerprint of the main text, 64 bits; 0 if there is none."""
        stored = self.stored.simhash & (1 << 64) - 1
        return stored or simhash(self.document.content, self.stored.title)

    @cached_property
    def language(self) -> str:
        """Language by its script, such as `zh`, else as declared; empty if unknown."""
        shown_text = (self.stored.title + self.text)[:2_000]
        min_characters = max(1.0, _SCRIPT_SHARE * len(shown_text))
        for code, script in (("ja", _KANA), ("ko", _HANGUL), ("zh", _HAN)):
            if len(script.findall(shown_text)) > min_characters:
                return code
        return re.split("[-_]", self.stored.language.strip().lower(), maxsplit=1)[0]

    @cached_property
    def is_not_found(self) -> bool:
        """Whether the page says "not found" and little else."""
        return looks_lost(self.stored.title) and len(self.document.content) <= LOST_CHARS

    @cached_property
    def is_index_page(self) -> bool:
        """Whether most of its text is in links, as on a page that lists others."""
        blocks = main_blocks(self.document.blocks)
        linked = sum(block.link_chars for block in blocks)
        linking = sum(1 for block in blocks if block.link_chars)
        return linking >= _MIN_LIST_LINKS and 2 * linked > sum(len(block.text) for block in blocks)


class Criteria:
    """What an alert requires of a page; alerts with the same requirements share it.

    learned  What the owner's votes have taught; None uses what the topic's own file contains.
    """

    def __init__(
        self,
        alert: Alert,
        topic: Topic,
        segmenter: Segmenter,
        *,
        learned: LearnedTopic | None = None,
    ) -> None:
        self.words = query.parse(alert.words) if alert.words.strip() else WordQuery()
        relevance = topic.relevance or AnalysisConfig().relevance
        params = topic.params.get(relevance, {})
        bare_topic, trained = apply_model(topic, relevance, params, learned=learned)
        self._by_keywords = relevance in KEYWORD_MODELS
        self.matcher = Matcher(bare_topic, segmenter if self._by_keywords else None)
        self._model = make_model(relevance, self.matcher, params, trained=trained)
        self.threshold = relevance_threshold(relevance, topic)
        self._keywords = [keyword.text for keyword in bare_topic.keywords]
        self._terms = list(bare_topic.terms)
        self._filter = self.matcher
        if not set(self.words.all_words()) <= set(self._keywords):
            words_topic = Topic(alert.name, tuple(map(Keyword, self.words.all_words())))
            self._filter = Matcher(words_topic, segmenter)
        self._forms = {**self.matcher.word_forms, **self._filter.word_forms}
        self._required_texts = {
            name: [_required_text(form) for form in forms] for name, forms in self._forms.items()
        }

    def may_be_in_source(self, view: PageView) -> bool:
        """Return whether the required words may be in a page's source.

        This is cheaper than parsing for a few criteria. A word with markup inside is missed.
        """
        source = view.source
        return source is None or self._may_satisfy(
            lambda word: _is_in_source(source, self._forms[word])
        )

    def may_match(self, view: PageView) -> bool:
        """Return False if the page lacks the characters of a required word."""
        return self._may_satisfy(
            lambda word: any(map(view.may_contain, self._required_texts[word]))
        )

    def _may_satisfy(self, is_present: Callable[[str], bool]) -> bool:
        if self.words.positive_words():
            present_words = list(filter(is_present, self.words.positive_words()))
            if not self.words.is_satisfied_by(present_words):
                return False
        if not self._by_keywords or any(map(is_present, self._keywords)):
            return True
        present_terms = islice(filter(is_present, self._terms), MIN_TERMS)
        return sum(1 for _ in present_terms) == MIN_TERMS

    def judge(self, view: PageView) -> Judgement | None:
        """Return the relevance of a page; None if it lacks the required words."""
        if not self.may_match(view):
            return None
        if self.words.positive_words() and not self.words.is_satisfied_by(
            self._filter.keyword_counts(view.searchable_text)
        ):
            return None
        judgement = self._model.judge(view.document)
        return judgement if judgement.relevance > 0.0 else None

    def snippet(self, view: PageView) -> str:
        """Return the passage that shows best why the page matches."""
        spans = self.matcher.keyword_spans(view.aligned_text)
        if self._filter is not self.matcher:
            positive_words = set(self.words.positive_words())
            spans += [
                span
                for span in self._filter.keyword_spans(view.aligned_text)
                if span[2] in positive_words
            ]
        return cut_snippet(view.text, spans)

    def clear_cache(self) -> None:
        """Forget the anchor texts seen so far, which are unlikely to be seen again."""
        self.matcher.keyword_score.clear()


def _required_text(form: str) -> RequiredText:
    """Return what a page must contain if a word occurs on it in this form.

    An ideographic word may occur in the middle of a Latin one, so that only its characters count.
    """
    latin = () if has_han(form) else _LATIN.findall(form)
    return frozenset(form) - {" "}, frozenset(latin)


def _is_in_source(source: str, forms: Iterable[str]) -> bool:
    """Return whether a word may be in a source, in any form; Latin words by all their parts."""
    return any(
        form in source if has_han(form) else all(map(source.__contains__, _LATIN.findall(form)))
        for form in forms
    )


def alert_topic(alert: Alert, *, trusted: bool) -> Topic:
    """Return the topic that an alert's pages are scored by: its topic, else its words.

    A topic of words gets the terms of the library, as in a crawl. The alert's words do not: they
    are a query, and the page must have them.

    trusted  Whether the owner may name files of this machine, as on the command line.

    Raises TopicError for a file that cannot be read.
    """
    topic_text = alert.topic.strip()
    if not topic_text:
        return query.parse(alert.words).topic(alert.name)
    if not topic_text.endswith(".toml"):
        return add_library_terms(from_words(topic_text))
    if not trusted:
        raise TopicError(
            "topic {said!r}: topic files are for the command line; write words", said=topic_text
        )
    return read_topic_file(Path(topic_text))


def criteria_key(alert: Alert, *, trusted: bool) -> tuple[str, str, bool]:
    """Return the key by which alerts share their criteria."""
    return " ".join(alert.words.split()), alert.topic.strip(), trusted
