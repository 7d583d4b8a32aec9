"""The relevance models by name: page -> number (spec section 3)."""

from __future__ import annotations

from collections.abc import Mapping

from focus.errors import ConfigError
from focus.registry import Registry
from focus.score.matching import Matcher
from focus.score.parameters import settle
from focus.score.relevance.adaptive import Adaptive
from focus.score.relevance.base import Document, Judgement, Model
from focus.score.relevance.bayes import Bayes
from focus.score.relevance.boolean import Boolean
from focus.score.relevance.cosine import Cosine
from focus.score.relevance.euclid import Euclid
from focus.score.relevance.evidence import Evidence
from focus.score.relevance.position import Position

__all__ = ["RELEVANCE", "Document", "Judgement", "Model", "make_model", "model_class"]

RELEVANCE: Registry[type[Model]] = Registry(
    "focus.relevance",
    {m.name: m for m in (Evidence, Position, Boolean, Cosine, Euclid, Adaptive, Bayes)},
)


def model_class(name: str) -> type[Model]:
    """The model of that name; ConfigError lists the names for an unknown one."""
    try:
        return RELEVANCE[name]
    except KeyError:
        known = ", ".join(RELEVANCE)
        raise ConfigError(f"--relevance {name}: no such model; known: {known}") from None


def make_model(
    name: str,
    matcher: Matcher,
    params: Mapping[str, float],
    *,
    as_published: bool = False,
    learned: bytes = b"",
) -> Model:
    """A model with its parameters settled, and with what it has learned."""
    kind = model_class(name)
    settled = settle(name, kind.defaults, kind.published, params, as_published=as_published)
    model = kind(matcher, settled)
    if as_published and kind.published_threshold is not None:
        model.threshold = kind.published_threshold
    model.adopt(learned)
    return model
