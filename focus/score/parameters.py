"""The numbers of a model or strategy: tuned defaults, the paper's, the user's."""

from __future__ import annotations

from collections.abc import Mapping

from focus.errors import ConfigError


def settle(
    name: str,
    defaults: Mapping[str, float],
    published: Mapping[str, float],
    chosen: Mapping[str, float],
    *,
    as_published: bool,
) -> dict[str, float]:
    """The parameters of `name`: defaults < published (if asked for) < chosen.

    Raises ConfigError for a name that it does not know, listing those it does.
    """
    unknown = sorted(set(chosen) - set(defaults))
    if unknown:
        known = ", ".join(sorted(defaults)) or "none"
        raise ConfigError(f"--param {unknown[0]}: {name} has no such parameter; known: {known}")
    return {**defaults, **(published if as_published else {}), **chosen}
