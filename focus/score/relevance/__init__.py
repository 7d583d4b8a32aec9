"""Relevance models by name: page -> number. One file each, listed in `RELEVANCE`.

    base        `Model`, its input `Document` and its result `Judgement`
    evidence    the default model of focus: a probability from all parts of a page
    boolean     any keyword in the text (P1 3.1)
    position    places of the keywords: title, meta keywords, anchors (P1 eq. 3-1 to 3-7)
    cosine      cosine of page vector and topic vector (P2 eq. 1, P4 2.5, P5 2.2.1)
    euclid      distance of the two vectors (P3 eq. 5-2)
    adaptive    cosine with a threshold and a topic that follow the crawl (P5 2.2.1)
    bayes       naive Bayes trained on labelled pages, calibrated (P3 ch. 4)
    vectors     common part of the models that compare vectors

Each scorer process creates one model from the topic and its parameters, loads what was learned from
examples and labels (`load_training`), and judges one document after the other. A judgement contains
the parts of the page that the number came from, for `focus why` and `focus topic test`. A new model
is a file here and a line below.

A model must not use a link graph, a crawl or another page; labels reach it through its model file
only.

`evidence` needs no training on a topic. Its weights were set by hand and then adjusted to the
labels of ten topics; on a topic that was not part of the fit its precision is 0.87.
"""

from __future__ import annotations

from collections.abc import Mapping

from focus.registry import Registry
from focus.score.matching import Matcher
from focus.score.parameters import resolve_params
from focus.score.relevance.adaptive import Adaptive
from focus.score.relevance.base import Document, Judgement, Model
from focus.score.relevance.bayes import Bayes
from focus.score.relevance.boolean import Boolean
from focus.score.relevance.cosine import Cosine
from focus.score.relevance.euclid import Euclid
from focus.score.relevance.evidence import Evidence
from focus.score.relevance.position import Position
from focus.topic.topic import Topic

__all__ = [
    "RELEVANCE",
    "Document",
    "Judgement",
    "Model",
    "make_model",
    "model_class",
    "relevance_threshold",
]

RELEVANCE: Registry[type[Model]] = Registry(
    "focus.relevance",
    "relevance model",
    {m.name: m for m in (Evidence, Position, Boolean, Cosine, Euclid, Adaptive, Bayes)},
)


model_class = RELEVANCE.find


def make_model(
    name: str,
    matcher: Matcher,
    params: Mapping[str, float],
    *,
    as_published: bool = False,
    trained: bytes = b"",
) -> Model:
    """Return a model with its parameters resolved and its training loaded."""
    kind = model_class(name)
    resolved = resolve_params(kind, params, as_published=as_published)
    model = kind(matcher, resolved)
    model.load_training(trained)
    return model


def relevance_threshold(
    relevance: str, topic: Topic, *, option: float | None = None, as_published: bool = False
) -> float:
    """Return the threshold above which a page is relevant.

    The first of these that is set applies:

    1. `option`: the crawl's `--threshold`. A stored crawl that is continued, labelled or
       reported keeps the one that it was started with.
    2. The topic's threshold, if the topic was tuned for this relevance model: relevance numbers
       of another model are on another scale.
    3. With `as_published`, the threshold of the model's paper.
    4. The model's default.

    Raises ConfigError for an unknown model.
    """
    kind = model_class(relevance)
    topic_threshold = topic.threshold if relevance == (topic.relevance or Evidence.name) else None
    published = kind.published_threshold if as_published else None
    candidates = (option, topic_threshold, published)
    return next((value for value in candidates if value is not None), kind.threshold)
