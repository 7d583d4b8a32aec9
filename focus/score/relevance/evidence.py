"""The relevance model of focus: the probability that a page is on topic, from all its parts.

A keyword in the title has much weight, one in the text little, and the tenth occurrence in the text
hardly more than the fifth. Each part of the page has a saturated value in 0…1, and a logistic
function turns their weighted sum into a probability. The weights were set by hand and adjusted to
the labels of the development web by maximum a posteriori; they contain no word of any topic. The
bias was set for a precision of 0.88 at 0.5, which gave 0.87 on a topic that was not part of the
fit. The weights of sections, breadcrumbs and citations were added later, by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from focus.records import Region
from focus.score.matching import fold_body
from focus.score.relevance.base import Document, Judgement, Model

if TYPE_CHECKING:
    from focus.html.reader import RawLink

LEAD_CHARS = 300
MIN_TERMS = 3  # different related terms that a page without a keyword needs
MAX_TERM_CHARS = 5_000  # characters of the text in which they must stand
_MAX_MATCHED_LINKS = 10  # links whose anchors are searched for matched keywords
_MAX_TAG_EXTRA_LETTERS = 2  # beside the word itself: a plural, "新闻", but not "report"
_SHORT_ANCHOR_CHARS = 12
_BODY = Region.BODY  # attribute access on an enum class is eight times slower


class Evidence(Model):
    """relevance = 1 / (1 + e^-z), z = bias + Σ weight·part, each part in 0…1.

    A page without any keyword, and with fewer than `MIN_TERMS` different related terms, has
    relevance 0. On other pages a related term counts like a keyword of its weight.

    title, keywords, description, url, lead   certainty that their keywords mean the topic,
               1 - Π(1 - weight of keyword); lead is the first 300 characters of the text
    section    the same for the folders of the page's address, where its author has filed it
    breadcrumb the same for the names in its breadcrumb, without the home page and the page itself
    cited      share of the addresses on other hosts in its body, at most ten, whose folders contain
               a keyword: the section of the articles that a short note is about
    text       saturated counts in the first 200,000 characters of the visible text without the text
               of the site (BM25), combined as 1 - Π(1 - weight · n / (n + k·(1 - b +
               b·length/typical))) over the keywords: a word of weight 0.3 has little effect
               however often it occurs
    tag        a link in the body that has the letters of a keyword and at most two others, as a
               tag or category of the page has: 1 / (1 + short links in the body / crowd), so that
               a cloud of all tags has little effect
    anchors    share of the page's links whose anchor has a keyword (of at least 10 links)

    Example, defaults: a keyword in the title and 3 times in a text of typical length:
    text = 3/(3 + 1) = 0.75, z = -3.4 + 2.5 + 4.3·0.75 = 2.325, relevance 0.911.
    """

    name = "evidence"
    source = "focus"
    defaults = {
        "bias": -3.4, "title": 2.5, "keywords": 2.6, "description": 1.0, "url": 1.9, "section": 3.0,
        "breadcrumb": 3.0, "cited": 4.5, "text": 4.3, "lead": 1.1, "tag": 5.0, "anchors": 2.1,
        "k": 1.0, "b": 0.5, "typical": 2000.0, "crowd": 40.0,
    }  # fmt: skip

    def part_weights(self) -> dict[str, float]:
        other_params = ("k", "b", "typical", "crowd")
        return {name: value for name, value in self.params.items() if name not in other_params}

    def judge(self, page: Document) -> Judgement:
        texts = {
            "title": fold_body(page.title),
            "keywords": fold_body(page.keywords),
            "description": fold_body(page.description),
            "url": fold_body(page.url_words),
        }
        if texts["url"]:
            texts["section"] = fold_body(page.section)
        if page.ancestor_pages:
            texts["breadcrumb"] = fold_body("\n".join(crumb.name for crumb in page.ancestor_pages))
        text = page.own_text(self.matcher)
        texts |= {"lead": text[:LEAD_CHARS], "text": text}
        counts, uses_terms = self._count_words(texts)
        matched = {part: list(words) for part, words in counts.items()}
        parts = {part: self.matcher.combined_weight(words) for part, words in matched.items()}
        if "text" in counts:
            parts["text"] = self._judge_text(len(text), counts["text"])
        self._judge_links(page, parts, matched, uses_terms=uses_terms)
        if not parts:
            return Judgement(0.0, parts, matched)
        z = self.params["bias"] + sum(self.params[part] * value for part, value in parts.items())
        return Judgement(1.0 / (1.0 + math.exp(-z)), parts, matched)

    def _count_words(self, texts: Mapping[str, str]) -> tuple[dict[str, dict[str, int]], bool]:
        """Return the words of each text with their numbers, and whether related terms count.

        A page without a keyword needs `MIN_TERMS` different terms: a single word of wide use would
        otherwise let in pages of other topics. Texts without a word are omitted.
        """
        counts = {part: self.matcher.word_counts(text) for part, text in texts.items()}
        counts = {part: words for part, words in counts.items() if words}
        words = {word for part_words in counts.values() for word in part_words}
        terms = words & self.matcher.topic.terms.keys()
        if terms == words and len(self._early_terms(texts, counts)) < MIN_TERMS:
            return {}, False
        return counts, bool(terms)

    def _early_terms(
        self, texts: Mapping[str, str], counts: Mapping[str, Mapping[str, int]]
    ) -> set[str]:
        """Return the terms of a page without keyword; in the text only near its beginning.

        A long text has some terms of any topic.
        """
        start = self.matcher.word_counts(texts["text"][:MAX_TERM_CHARS])
        return set(start).union(*(words for part, words in counts.items() if part != "text"))

    def _judge_text(self, length: int, counts: Mapping[str, int]) -> float:
        k, b = self.params["k"], self.params["b"]
        half_count = k * (1.0 - b + b * length / self.params["typical"])
        miss = 1.0
        for word, number in counts.items():
            miss *= 1.0 - self.matcher.combined_weight([word]) * number / (number + half_count)
        return 1.0 - miss

    def _judge_links(
        self,
        page: Document,
        parts: dict[str, float],
        matched: dict[str, list[str]],
        *,
        uses_terms: bool,
    ) -> None:
        cited_scores = [self.matcher.keyword_score[words] for words in page.cited_folders]
        if any(cited_scores):
            parts["cited"] = sum(cited_scores) / len(cited_scores)
            matched |= self.matched_keywords(cited=fold_body("\n".join(page.cited_folders)))
        coverage = self.matcher.term_score if uses_terms else self.matcher.keyword_score
        hits = [
            (score, link)
            for number, link in enumerate(page.links)
            if (score := coverage[link.anchor]) > 0.0 and not page.is_template_link(number)
        ]
        if not hits:
            return
        parts["anchors"] = sum(score for score, _ in hits) / max(10, len(page.links))
        matched["anchors"] = self._list_words(_join_anchors(link for _, link in hits), uses_terms)
        tags = [
            (score, link)
            for score, link in hits
            if link.region == _BODY and self._is_tag(fold_body(link.anchor), uses_terms)
        ]
        if tags:
            lengths = [len(link.anchor) for link in page.links if link.region == _BODY]
            short_links = sum(0 < length <= _SHORT_ANCHOR_CHARS for length in lengths)
            best = max(score for score, _ in tags)
            parts["tag"] = best / (1.0 + short_links / self.params["crowd"])
            best_tags = _join_anchors(link for score, link in tags if score == best)
            matched["tag"] = self._list_words(best_tags, uses_terms)

    def _is_tag(self, anchor: str, uses_terms: bool) -> bool:
        words = self._list_words(anchor, uses_terms)
        longest = max(map(_count_letters, words), default=0)
        return _count_letters(anchor) <= longest + _MAX_TAG_EXTRA_LETTERS

    def _list_words(self, text: str, uses_terms: bool) -> list[str]:
        find = self.matcher.word_counts if uses_terms else self.matcher.keyword_counts
        return list(find(text))


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _join_anchors(links: Iterable[RawLink]) -> str:
    """Return the first anchors, folded: enough to list the keywords of a part."""
    return fold_body("\n".join(link.anchor for link in islice(links, _MAX_MATCHED_LINKS)))
