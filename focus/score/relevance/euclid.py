"""Relevance by the distance of the page vector from the topic vector (P3 eq. 5-2)."""

from __future__ import annotations

from focus.score.relevance.base import Document, Judgement
from focus.score.relevance.vectors import VectorModel
from focus.score.statistics.vector import background_idf, euclidean_similarity, tf_idf, unit_vector


class Euclid(VectorModel):
    """relevance = max(0, 1 - ‖q - p‖ / ‖q‖) over the topic's words, in 0…1.

    unit    1: both vectors are scaled to length 1, so that the length of a text does not count. 0,
            as published: q is the TF-IDF of the topic as a text of its own words; a page for a
            topic of one keyword then has about that word's share of its text.
    parts   share of each topic word's weight that the page has, at most 1

    P3 drops pages under a threshold that it does not give. Example: q = {a: 3, b: 4} and
    p = {a: 3, b: 1} give 1 - 3/5 = 0.4.
    """

    name = "euclid"
    source = "P3 eq. 5-2"
    threshold = 0.05
    published_threshold = 0.01
    defaults = {"head": 3.0, "power": 0.5, "unit": 1.0}
    published = {"head": 1.0, "power": 1.0, "unit": 0.0}

    def judge(self, page: Document) -> Judgement:
        vector = self.page_vector(page)
        if not vector:
            return Judgement(0.0, {}, {})
        topic: dict[str, float] = self.topic
        if self.params["unit"]:
            topic, vector = unit_vector(topic), unit_vector(vector)
        else:
            topic = tf_idf(topic, background_idf())
        contributions = {
            word: min(1.0, vector[word] / q) for word, q in topic.items() if word in vector
        }
        return self.make_judgement(euclidean_similarity(topic, vector), contributions)
