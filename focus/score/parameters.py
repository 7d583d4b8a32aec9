"""Parameters of a model or strategy: tuned defaults, the paper's values, the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from focus.errors import ConfigError

PublishedParams = Mapping[str, float | None]
"""A paper's parameters by name; None if the published form has no such parameter."""


class Parametrised(Protocol):
    """A strategy or relevance model as a class with parameters."""

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, float]]
    published: ClassVar[PublishedParams]


def default_params(kind: type[Parametrised], *, as_published: bool) -> PublishedParams:
    """Return the parameters that have a meaning: the tuned ones, or those of the paper."""
    if not as_published:
        return kind.defaults
    both = {**kind.defaults, **kind.published}
    return {name: x for name, x in both.items() if x is not None}


def resolve_params(
    kind: type[Parametrised], chosen: Mapping[str, float], *, as_published: bool
) -> dict[str, float]:
    """Return the parameters of a strategy or model: defaults < published (if asked for) < chosen.

    Raises ConfigError, with a list of the known names, for a name that this form does not have.
    """
    defaults = default_params(kind, as_published=as_published)
    unknown = sorted(set(chosen) - set(defaults))
    if unknown:
        names = ", ".join(sorted(defaults)) or "none"
        raise ConfigError(
            "--param {unknown}: {name} does not have this parameter; known: {known}",
            unknown=unknown[0],
            name=kind.name,
            known=names,
        )
    return {name: x for name, x in {**defaults, **chosen}.items() if x is not None}
