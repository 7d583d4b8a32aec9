"""Topic and page vectors for the models that compare vectors.

The topic vector consists of its features (learned from example pages, weights up to 1) and its
keywords, whose weights win if both contain a word (P4 2.3, P5 2.1). The page vector is the TF-IDF
of its title, meta keywords and description, and main content. A keyword counts anywhere, in both
scripts and as a phrase, as in the other models.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from focus.score.matching import Matcher, fold_body
from focus.score.relevance.base import Document, Judgement, Model
from focus.score.statistics.vector import background_idf, count_terms, tf_idf
from focus.text.tokenisation import fold

MAX_CONTENT_CHARS = 10_000  # of a page's content; segmenting them takes 2 ms
MAX_SHOWN_WORDS = 12  # words in a judgement


class VectorModel(Model):
    """A model that compares the vectors of page and topic.

    head    factor of the counts of words in title and meta data
    power   exponent of a word's share of the text: 1 is plain TF-IDF; a smaller one limits the
            effect of a word that is repeated often
    """

    def __init__(self, matcher: Matcher, params: Mapping[str, float]) -> None:
        super().__init__(matcher, params)
        self._forms = frozenset(matcher.segmenter_words)
        self.keywords = {fold(k.text): k.weight for k in matcher.topic.keywords}
        self.topic = {**matcher.topic.features, **self.keywords}

    def load_training(self, trained: bytes) -> None:
        """Load features that labels have changed, word → weight."""
        if trained:
            features = msgspec.msgpack.decode(trained, type=dict[str, float])
            self.topic = {**features, **self.keywords}

    def page_vector(self, page: Document) -> dict[str, float]:
        """Return the vector of a page, {} if it shares no word with the topic.

        If the topic consists of keywords only, most pages need no segmentation.
        """
        if len(self.topic) > len(self.keywords):
            return self.full_vector(page)
        texts = (page.title, page.keywords, page.description, page.content[:MAX_CONTENT_CHARS])
        if not self.matcher.keyword_counts(fold_body("\n".join(texts))):
            return {}
        return self.full_vector(page)

    def full_vector(self, page: Document) -> dict[str, float]:
        """Return the TF-IDF vector of a page on any topic."""
        return tf_idf(self.weighted_term_counts(page), background_idf(), power=self.params["power"])

    def weighted_term_counts(self, page: Document) -> dict[str, float]:
        """Return the counts of words on the page, times `head` in title and meta data."""
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
        """Return a judgement with the topic words that contribute most."""
        ranked = sorted(contributions.items(), key=lambda item: (-item[1], item[0]))[
            :MAX_SHOWN_WORDS
        ]
        return Judgement(
            relevance, dict(ranked), {"page": [w for w, _ in ranked]} if ranked else {}
        )
