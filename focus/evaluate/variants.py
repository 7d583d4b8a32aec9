"""Lists the variants of a comparison.

They are strategies × forms × relevance models × masks × the way with links not recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product

from focus.errors import ConfigError
from focus.evaluate.comparison import Variant
from focus.score.parameters import default_params, resolve_params
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class

Given = Iterable[tuple[str, float]]
"""Parameters as typed: `gamma`, `topic-pagerank.gamma` or `position.alpha`, and a number."""


def variants(
    strategies: Iterable[str],
    *,
    forms: Iterable[str] = ("tuned",),
    relevance: Iterable[str] = (),
    masks: Iterable[str] = ("none",),
    unrecorded: Iterable[str] = ("ask",),
    params: Given = (),
    judge: str | None = None,
) -> list[Variant]:
    """Every combination, each once. `judge`: the model that judges in place of labels.

    relevance   models that guide the crawls; none given: `evidence`, and as published the
                model of the strategy's paper

    A parameter goes to every strategy and model that knows it, or to the one named before
    a dot. ConfigError for one that nobody here knows, and for unknown names. A strategy that
    was published as it is tuned appears in its tuned form only, unless that is not asked for.
    """
    wanted = _once(forms)
    given, used = list(params), set[str]()
    found = {}
    for asked, mask, missing, strategy, form in product(
        _once(relevance) or [""], _once(masks), _once(unrecorded), _once(strategies), wanted
    ):
        kind, published = strategy_class(strategy), form == "published"
        differs = kind.published or kind.published_rule or (not asked and kind.published_model)
        if published and "tuned" in wanted and not differs:
            continue
        model = asked or guide(strategy, published=published)
        ours = owned(strategy, default_params(kind, as_published=published), given, used)
        models = owned(model, model_class(model).defaults, given, used)
        name = "/".join((strategy, form, model, mask, *(["skip"] if missing == "skip" else ())))
        found[name] = Variant(
            id=name,
            strategy=strategy,
            form=form,
            relevance=model,
            mask=mask,
            params=resolve_params(kind, ours, as_published=published),
            model_params=models,
            self_judged=model == judge,
            unrecorded=missing,
        )
    for name, _ in given:
        if name not in used:
            raise ConfigError(
                "--param {name}: no strategy or model of this comparison has it", name=name
            )
    return list(found.values())


def guide(strategy: str, *, published: bool) -> str:
    """The relevance model that a strategy goes with when none is named."""
    return (strategy_class(strategy).published_model if published else "") or "evidence"


def owned(owner: str, defaults: Collection[str], given: Given, used: set[str]) -> dict[str, float]:
    """The given numbers that go to a strategy or model; their names are noted in `used`."""
    found = {}
    for name, value in given:
        prefix, dot, rest = name.rpartition(".")
        if rest in defaults and (not dot or prefix == owner):
            found[rest] = value
            used.add(name)
    return found


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
