"""`focus strategies`: lists strategies and relevance models with their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import Command, print_lines

if TYPE_CHECKING:
    from focus.score.relevance import Model
    from focus.score.strategy import Strategy


@click.command(cls=Command)
def strategies() -> None:
    """List strategies and relevance models with their parameters.

    \b
    Example:
        focus strategies
    """
    print_lines(strategies_lines())


def strategies_lines() -> list[str]:
    """Return all strategies and relevance models with their parameters and sources."""
    from focus.score.relevance import RELEVANCE
    from focus.score.strategy import STRATEGIES

    lines = ["Strategies (--strategy) choose the next link:"]
    for strategy in STRATEGIES.values():
        lines += _entry_lines(strategy.name, strategy.summary, strategy.source)
        lines += _params_lines(strategy)
        if strategy.published_model:
            lines.append(
                f"      as published: relevance model {strategy.published_model}, "
                f"topic described by {strategy.published_topic}"
            )
    lines += ["", "Relevance models (--relevance) score pages:"]
    for model in RELEVANCE.values():
        lines += _entry_lines(model.name, (model.__doc__ or "").partition("\n")[0], model.source)
        lines += _params_lines(model)
        lines.append(f"      threshold {model.threshold:g}")
    return lines


def _entry_lines(name: str, summary: str, source: str) -> list[str]:
    return ["", f"  {name}", f"      {summary}", f"      source: {source}"]


def _params_lines(kind: type[Strategy] | type[Model]) -> Iterable[str]:
    yield f"      {params_text(kind.defaults)}"
    if kind.published:
        from focus.score.parameters import default_params

        yield f"      as published: {params_text(default_params(kind, as_published=True))}"


def params_text(params: Mapping[str, float | None]) -> str:
    """Return parameters as `gamma=0.2 W=20`, or "no parameters"."""
    return " ".join(f"{name}={value:g}" for name, value in params.items()) or "no parameters"
