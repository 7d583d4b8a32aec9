"""Builds the topic's and the page's vector for the models that compare vectors.

The topic: its features (learned from example pages, weights up to 1) and its keywords;
where both name a word, the experts' weight wins (P4 2.3, P5 2.1). The page: TF-IDF of
its title, meta keywords and description, and main content. A keyword counts wherever it
stands, in either script and as a phrase, exactly as the other models count it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from focus.score.matching import Matcher, fold_body
from focus.score.relevance.base import Document, Judgement, Model
from focus.score.statistics.vector import background_idf, count_terms, tf_idf
from focus.text.tokenisation import fold

MAX_CONTENT_CHARS = 10_000  # of a page's content that are looked at: 2 ms of segmenting
MAX_SHOWN_WORDS = 12  # words named in a judgement


class VectorModel(Model):
    """A model that compares the page's vector with the topic's.

    head    how many times a word in title or meta data counts
    power   of the share of a word in the page's text: 1 is plain TF-IDF; less keeps one
            word said over and over from being all the page says
    """

    def __init__(self, matcher: Matcher, params: Mapping[str, float]) -> None:
        super().__init__(matcher, params)
        self._forms = frozenset(matcher.segmenter_words)
        self.keywords = {fold(k.text): k.weight for k in matcher.topic.keywords}
        self.topic = {**matcher.topic.features, **self.keywords}

    def load_training(self, trained: bytes) -> None:
        """Take over features that labels have moved, word → weight."""
        if trained:
            features = msgspec.msgpack.decode(trained, type=dict[str, float])
            self.topic = {**features, **self.keywords}

    def page_vector(self, page: Document) -> dict[str, float]:
        """The vector of a page that may share a word with the topic, {} for any other.

        Where keywords are all the topic consists of, most pages end here, unsegmented.
        """
        if len(self.topic) > len(self.keywords):
            return self.full_vector(page)
        if not page.may_contain_keyword(self.matcher):
            return {}
        texts = (page.title, page.keywords, page.description, page.content[:MAX_CONTENT_CHARS])
        if not self.matcher.keyword_counts(fold_body("\n".join(texts))):
            return {}
        return self.full_vector(page)

    def full_vector(self, page: Document) -> dict[str, float]:
        """The TF-IDF vector of a page, whatever it is about."""
        return tf_idf(self.weighted_term_counts(page), background_idf(), power=self.params["power"])

    def weighted_term_counts(self, page: Document) -> dict[str, float]:
        """How often the page says each word; in title and meta data, `head` times as often."""
        head = "\n".join((page.title, page.keywords, page.description))
        content = page.content[:MAX_CONTENT_CHARS]
        keyword_counts = self._keyword_counts(head, content)
        counts = self._term_counts(head, self.params["head"])
        for word, number in self._term_counts(content, 1.0).items():
            counts[word] = counts.get(word, 0.0) + number
        return counts | keyword_counts

    def _term_counts(self, text: str, factor: float) -> dict[str, float]:
        tokens = self.matcher.segmenter.tokens(text)
        counts = count_terms(token for token in tokens if token not in self._forms)
        return {word: factor * number for word, number in counts.items()}

    def _keyword_counts(self, head: str, content: str) -> dict[str, float]:
        head_counts, content_counts = (
            self.matcher.keyword_counts(fold_body(text)) for text in (head, content)
        )
        return {
            fold(word): self.params["head"] * head_counts.get(word, 0) + content_counts.get(word, 0)
            for word in head_counts | content_counts
        }

    def make_judgement(self, relevance: float, contributions: Mapping[str, float]) -> Judgement:
        """The strongest of the topic's words on the page, by what each adds."""
        ranked = sorted(contributions.items(), key=lambda item: (-item[1], item[0]))[
            :MAX_SHOWN_WORDS
        ]
        return Judgement(
            relevance, dict(ranked), {"page": [w for w, _ in ranked]} if ranked else {}
        )
