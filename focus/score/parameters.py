"""The numbers of a model or strategy: tuned defaults, the paper's, the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from focus.errors import ConfigError

PublishedParams = Mapping[str, float | None]
"""A paper's numbers by name; None: as published there is no such number."""


class Parametrised(Protocol):
    """A strategy or model, as far as its numbers go."""

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, float]]
    published: ClassVar[PublishedParams]


def default_params(kind: type[Parametrised], *, as_published: bool) -> PublishedParams:
    """The numbers that have a meaning in a form: the tuned ones, or with the paper's."""
    if not as_published:
        return kind.defaults
    both = {**kind.defaults, **kind.published}
    return {name: x for name, x in both.items() if x is not None}


def resolve_params(
    kind: type[Parametrised], chosen: Mapping[str, float], *, as_published: bool
) -> dict[str, float]:
    """The parameters of a strategy or model: defaults < published (if asked for) < chosen.

    Raises ConfigError for a name that this form does not know, listing those it does.
    """
    defaults = default_params(kind, as_published=as_published)
    unknown = sorted(set(chosen) - set(defaults))
    if unknown:
        names = ", ".join(sorted(defaults)) or "none"
        raise ConfigError(
            "--param {unknown}: {name} has no such parameter; known: {known}",
            unknown=unknown[0],
            name=kind.name,
            known=names,
        )
    return {name: x for name, x in {**defaults, **chosen}.items() if x is not None}
