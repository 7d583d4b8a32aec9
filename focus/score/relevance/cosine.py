"""Relevance as the cosine of the page's and the topic's vectors (P2 eq. 1, P4 2.5, P5 2.2.1)."""

from __future__ import annotations

from focus.score.relevance.base import Document, Judgement
from focus.score.relevance.vectors import VectorModel
from focus.score.statistics.vector import vector_length


class Cosine(VectorModel):
    """relevance = Σ q·p / (‖q‖·‖p‖), q the topic, p the page, in 0…1.

    parts   summand of each topic word

    In the published form the page vector is plain TF-IDF of all words; P5's threshold is 0.15, P2's
    0.2. Example: topic {足球: 1}, page {足球: 4.1, 比赛: 3.0}: 4.1 / √(4.1² + 3²) = 0.807.
    """

    name = "cosine"
    source = "P2 eq. 1, P4 2.5, P5 2.2.1"
    threshold = 0.05
    published_threshold = 0.15
    defaults = {"head": 3.0, "power": 0.5}
    published = {"head": 1.0, "power": 1.0}

    def judge(self, page: Document) -> Judgement:
        return self.judge_vector(self.page_vector(page))

    def judge_vector(self, vector: dict[str, float]) -> Judgement:
        """Return the judgement of a page with this vector."""
        lengths = vector_length(self.topic) * vector_length(vector)
        if not lengths:
            return Judgement(0.0, {}, {})
        contributions = {
            word: weight * vector[word] / lengths
            for word, weight in self.topic.items()
            if word in vector
        }
        return self.make_judgement(min(1.0, sum(contributions.values())), contributions)
