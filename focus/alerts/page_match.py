"""Tells whether a page matches an alert: words first, for they are cheap; then the topic's judge.

    PageView  a stored page, its parts made as they are asked for, once for all alerts
    Subject   what an alert asks: words, a topic, a model, from which relevance on

Most pages match no alert. So a page is asked once which characters and Latin words it shows:
a word that cannot stand there costs two comparisons of sets, and only those whose words may
all be there have it searched and judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo

from focus.admission.near_duplicates import LOST_CHARS, looks_lost, simhash
from focus.alerts import query
from focus.alerts.query import WordQuery
from focus.alerts.snippet import aligned, plain, snippet
from focus.config import AnalysisConfig
from focus.errors import TopicError
from focus.html.main_content import main_blocks
from focus.html.parser import Parsed, parse
from focus.html.publication_date import published_at
from focus.learn.model_file import LearnedTopic, applied
from focus.score.matching import Matcher, fold_body
from focus.score.relevance import Document, Judgement, make_model, relevance_threshold
from focus.storage import labels
from focus.storage.alerts.records import Alert, StoredPage
from focus.text.tokenisation import Segmenter, has_han
from focus.topic.topic import Keyword, Topic, from_words
from focus.topic.topic_file import read_topic_file
from focus.urls.normal_form import words as url_words

_LATIN = re.compile(r"[a-z0-9]+")
_KANA, _HANGUL, _HAN = map(re.compile, ("[\u3040-\u30ff]", "[\uac00-\ud7af]", "[\u4e00-\u9fff]"))
ZONES = {"zh": "Asia/Shanghai", "ja": "Asia/Tokyo", "ko": "Asia/Seoul"}
"""Zones of dates that name none, by the language of their page."""
_FEW = 0.1  # share of its signs in a script that tells a text's language
_LIST = 10  # links make a list, where they have most of the text
KEYWORD_MODELS = ("evidence", "position", "boolean")
"""They find nothing on a page without any keyword, so that such a page need not be judged."""

Need = tuple[frozenset[str], frozenset[str]]
"""Characters and Latin words."""


class PageView:
    """A stored page. `packed`: its source, None where that was not kept."""

    def __init__(self, stored: StoredPage, packed: bytes | None) -> None:
        self.stored = stored
        self.html = labels.unpacked(packed) if packed else ""
        self._judged: dict[Subject, Judgement | None] = {}
        self._snippets: dict[Subject, str] = {}
        self._dates: dict[tzinfo, float | None] = {}

    def judged_by(self, subject: Subject) -> Judgement | None:
        """What a subject says of it, asked once for all alerts that share the subject."""
        if subject not in self._judged:
            self._judged[subject] = subject.judge(self)
        return self._judged[subject]

    def snippet_for(self, subject: Subject) -> str:
        """The passage that a subject chooses, chosen once as well."""
        if subject not in self._snippets:
            self._snippets[subject] = subject.snippet(self)
        return self._snippets[subject]

    def published(self, zone: tzinfo) -> float | None:
        """When it says that it was published; `zone` is the reader's."""
        if zone not in self._dates:
            of_language = ZONES.get(self.language)
            self._dates[zone] = published_at(
                self.html,
                self.stored.url,
                fetched_at=self.stored.fetched_at,
                zone=ZoneInfo(of_language) if of_language else zone,
                days=zone,
            )
        return self._dates[zone]

    @cached_property
    def _seen(self) -> tuple[set[str], set[str]]:
        """The characters and the Latin words that it shows, its head included."""
        page = self.stored
        head = fold_body(f"{page.title}\n{page.keywords}\n{page.description}\n")
        text = head + self.document.body
        return set(text), set(_LATIN.findall(text))

    @cached_property
    def source(self) -> str | None:
        """Head and source, folded; None when character references hide text."""
        page = self.stored
        text = f"{page.title}\n{page.keywords}\n{page.description}\n{self.html}"
        return None if "&#" in text else fold_body(text)

    def may_hold(self, need: Need) -> bool:
        """Whether a word can stand on it that needs these characters and Latin words."""
        characters, latin = self._seen
        return need[0] <= characters and need[1] <= latin

    @cached_property
    def _parsed(self) -> Parsed:
        return parse(self.html)

    @cached_property
    def document(self) -> Document:
        """As the judges want it; its text was searched already, so `source` is left out."""
        page = self.stored
        return Document.from_parsed(
            self._parsed,
            title=page.title,
            keywords=page.keywords,
            description=page.description,
            url_words=url_words(page.url),
            url=page.url,
        )

    @cached_property
    def words_text(self) -> str:
        """Title and text without navigation, folded: where words of an alert have to stand."""
        return f"{fold_body(self.stored.title)}\n{self.document.main}"

    @cached_property
    def text(self) -> str:
        """Its own text, for a snippet; its description where it has none."""
        return plain(self.document.content or self.stored.description)

    @cached_property
    def aligned(self) -> str:
        """`text` folded for matching, character by character."""
        return aligned(self.text)

    @cached_property
    def simhash(self) -> int:
        """64 bits of its own text, 0 if it has none."""
        stored = self.stored.simhash & (1 << 64) - 1
        return stored or simhash(self.document.content, self.stored.title)

    @cached_property
    def language(self) -> str:
        """`zh`, `en`, … by its text where the script tells, else as it declares; "" unknown."""
        shown = (self.stored.title + self.text)[:2_000]
        most = max(1.0, _FEW * len(shown))
        for code, script in (("ja", _KANA), ("ko", _HANGUL), ("zh", _HAN)):
            if len(script.findall(shown)) > most:
                return code
        return re.split("[-_]", self.stored.language.strip().lower(), maxsplit=1)[0]

    @cached_property
    def is_lost(self) -> bool:
        """Whether it says "not found", and little else."""
        return looks_lost(self.stored.title) and len(self.document.content) <= LOST_CHARS

    @cached_property
    def is_list(self) -> bool:
        """Whether most of what it says are links: a listing, no article."""
        blocks = main_blocks(self.document.blocks)
        linked = sum(block.link_chars for block in blocks)
        linking = sum(1 for block in blocks if block.link_chars)
        return linking >= _LIST and 2 * linked > sum(len(block.text) for block in blocks)


class Subject:
    """The question that an alert asks of a page. Alerts that ask the same share one.

    learned  what its owner's votes have taught; None: what the topic's own file has
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
        bare, trained = applied(topic, relevance, params, learned=learned)
        self._by_keywords = relevance in KEYWORD_MODELS
        self.matcher = Matcher(bare, segmenter if self._by_keywords else None)
        self._model = make_model(relevance, self.matcher, params, trained=trained)
        self.threshold = relevance_threshold(relevance, topic)
        self._keywords = [keyword.text for keyword in bare.keywords]
        self._filter = self.matcher
        if not set(self.words.all()) <= set(self._keywords):
            every = Topic(alert.name, tuple(map(Keyword, self.words.all())))
            self._filter = Matcher(every, segmenter)
        self._forms = {**self.matcher.forms, **self._filter.forms}
        self._needs = {name: [_need(form) for form in of] for name, of in self._forms.items()}

    def is_in_source(self, view: PageView) -> bool:
        """Whether what is asked for may stand in a page's source: cheaper than parsing it, for
        a few subjects. A word with markup inside is missed.
        """
        source = view.source
        return source is None or self._may(lambda word: _stands_in(source, self._forms[word]))

    def may_match(self, view: PageView) -> bool:
        """Whether a page may hold what is asked for, by its characters; no means no."""
        return self._may(lambda word: any(map(view.may_hold, self._needs[word])))

    def _may(self, stands: Callable[[str], bool]) -> bool:
        if self.words.wanted():
            found = list(filter(stands, self.words.wanted()))
            if not self.words.satisfied(found):
                return False
        return not self._by_keywords or any(map(stands, self._keywords))

    def judge(self, view: PageView) -> Judgement | None:
        """How relevant a page is; None when it has not the words asked for."""
        if not self.may_match(view):
            return None
        if self.words.wanted() and not self.words.satisfied(self._filter.counts(view.words_text)):
            return None
        judgement = self._model.judge(view.document)
        return judgement if judgement.relevance > 0.0 else None

    def snippet(self, view: PageView) -> str:
        """The passage that shows best why the page matches an alert."""
        spans = self.matcher.spans(view.aligned)
        if self._filter is not self.matcher:
            wanted = set(self.words.wanted())
            spans += [span for span in self._filter.spans(view.aligned) if span[2] in wanted]
        return snippet(view.text, spans)

    def forget(self) -> None:
        """Let go of the anchors that were met, which nobody may meet again."""
        self.matcher.coverage.clear()


def _need(form: str) -> Need:
    """What a page must hold where a word stands in this form.

    An ideographic word may stand in the middle of a Latin one: only its characters count.
    """
    latin = () if has_han(form) else _LATIN.findall(form)
    return frozenset(form) - {" "}, frozenset(latin)


def _stands_in(source: str, forms: Iterable[str]) -> bool:
    """Whether a word may be in a source, in any form; of Latin ones, all their parts."""
    return any(
        form in source if has_han(form) else all(map(source.__contains__, _LATIN.findall(form)))
        for form in forms
    )


def topic_of(alert: Alert, *, trusted: bool) -> Topic:
    """The topic that an alert's pages are judged by: of its file or words, else of its words.

    trusted  whether its owner may name files of this machine: whoever types commands here
    Raises TopicError for a file that cannot be read.
    """
    said = alert.topic.strip()
    if not said:
        return query.parse(alert.words).topic(alert.name)
    if not said.endswith(".toml"):
        return from_words(said)
    if not trusted:
        raise TopicError(
            "topic {said!r}: topic files are for the command line; write words", said=said
        )
    return read_topic_file(Path(said))


def subject_key(alert: Alert, *, trusted: bool) -> tuple[str, str, bool]:
    """What alerts have in common that share a subject."""
    return " ".join(alert.words.split()), alert.topic.strip(), trusted
