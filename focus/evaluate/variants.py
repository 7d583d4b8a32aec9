"""Lists the variants of a comparison.

They are strategies × forms × relevance models × masks × the way with links not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from focus.errors import ConfigError
from focus.evaluate.comparison import Variant
from focus.score.parameters import settle
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class

FORMS = ("tuned", "published")
MASKS = ("none", "meta", "urls", "both")
UNRECORDED = ("ask", "skip")

Given = Iterable[tuple[str, float]]
"""Parameters as typed: `gamma`, `topic-pagerank.gamma` or `position.alpha`, and a number."""


def variants(
    strategies: Iterable[str],
    *,
    forms: Iterable[str] = ("tuned",),
    relevance: Iterable[str] = ("evidence",),
    masks: Iterable[str] = ("none",),
    unrecorded: Iterable[str] = ("ask",),
    params: Given = (),
    judge: str | None = None,
) -> list[Variant]:
    """Every combination, each once. `judge`: the model that judges in place of labels.

    A parameter goes to every strategy and model that knows it, or to the one named before
    a dot. ConfigError for one that nobody here knows, and for unknown names. A strategy that
    was published as it is tuned appears in its tuned form only, unless that is not asked for.
    """
    wanted = _once(forms)
    given, used = list(params), set[str]()
    found = {}
    for model, mask, missing, strategy, form in product(
        _once(relevance), _once(masks), _once(unrecorded), _once(strategies), wanted
    ):
        if form == "published" and "tuned" in wanted and not _differs(strategy):
            continue
        ours = owned(strategy, strategy_class(strategy).defaults, given, used)
        models = owned(model, model_class(model).defaults, given, used)
        name = "/".join((strategy, form, model, mask, *(["skip"] if missing == "skip" else ())))
        found[name] = Variant(
            id=name,
            strategy=strategy,
            form=form,
            relevance=model,
            mask=mask,
            params=strategy_params(strategy, form, ours),
            model_params=models,
            self_judged=model == judge,
            unrecorded=missing,
        )
    for name, _ in given:
        if name not in used:
            raise ConfigError(f"--param {name}: no strategy or model of this comparison has it")
    return list(found.values())


def strategy_params(strategy: str, form: str, chosen: Mapping[str, float]) -> dict[str, float]:
    """All numbers of a strategy in one of its forms."""
    kind = strategy_class(strategy)
    return settle(strategy, kind.defaults, kind.published, chosen, as_published=form == "published")


def _differs(strategy: str) -> bool:
    """Whether the published form of a strategy is another than the tuned one."""
    return bool(strategy_class(strategy).published)


def owned(
    owner: str, defaults: Mapping[str, float], given: Given, used: set[str]
) -> dict[str, float]:
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
