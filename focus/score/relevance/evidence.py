"""Our own judge: how likely is a page about the topic, from all of its parts?

A keyword in the title says much, one in the body little, the tenth in the body hardly
more than the fifth: each part gives a saturated number in 0…1, a logistic function
turns their weighted sum into a probability. Weights were fitted on the development
web against the sites' own tags (bench/fit_evidence.py), never on words.
"""

from __future__ import annotations

import math

from focus.score.match import fold_body
from focus.score.relevance.base import Document, Judgement, Model


class Evidence(Model):
    """relevance = 1 / (1 + e^-z), z = bias + Σ weight·part, each part in 0…1.

    title, keywords, description, headings, url   how surely the keywords found there
               mean the topic: 1 - Π(1 - weight of keyword)
    body       BM25-like: n·(k + 1) / (n + k·(1 - b + b·length/typical)) / (k + 1) with n the
               weighted count of keywords in the visible text
    anchors    share of the page's links whose anchor has a keyword, from 0 to 1

    Worked (bias -4, title 3, body 3; k = 3, b = 0.5): keyword in the title and 6 times in a
    body of typical length: body = 6/(6 + 3) = 0.667, z = -4 + 3 + 2 = 1, relevance 0.73.
    """

    name = "evidence"
    source = "focus"
    defaults = {
        "bias": -4.0,
        "title": 3.0,
        "keywords": 3.0,
        "description": 1.0,
        "headings": 1.0,
        "url": 1.0,
        "body": 3.5,
        "anchors": 1.0,
        "k": 3.0,
        "b": 0.5,
        "typical": 3000.0,
    }

    def judge(self, page: Document) -> Judgement:
        texts = {
            "title": fold_body(page.title),
            "keywords": fold_body(page.keywords),
            "description": fold_body(page.description),
            "headings": fold_body("\n".join(page.headings)),
            "url": fold_body(page.url_words),
        }
        matched = self.found(**texts)
        parts = {part: self.matcher.weight(words) for part, words in matched.items()}
        counts = self.matcher.counts(page.body)
        if counts:
            matched["body"] = list(counts)
            parts["body"] = self._saturated(counts, len(page.body))
            parts["anchors"] = self._anchor_share(page)
        z = self.params["bias"] + sum(self.params[part] * value for part, value in parts.items())
        return Judgement(1.0 / (1.0 + math.exp(-z)), parts, matched)

    def _saturated(self, counts: dict[str, int], length: int) -> float:
        number = sum(n * self.matcher.weight([word]) for word, n in counts.items())
        k, b = self.params["k"], self.params["b"]
        return number / (number + k * (1.0 - b + b * length / self.params["typical"]))

    def _anchor_share(self, page: Document) -> float:
        if not page.anchors:
            return 0.0
        return sum(self.matcher.coverage(anchor) for anchor in page.anchors) / len(page.anchors)
