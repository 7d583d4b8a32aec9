"""Lists the variants of a comparison.

They are strategies × forms × relevance models × masks × treatments of unrecorded links.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product

from focus.errors import ConfigError
from focus.evaluate.comparison import Variant
from focus.score.parameters import default_params, resolve_params
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class

ParamList = Iterable[tuple[str, float]]
"""Names and values of `--param`, as in `gamma`, `topic-pagerank.gamma` or `position.alpha`."""


def list_variants(
    strategies: Iterable[str],
    *,
    forms: Iterable[str] = ("tuned",),
    relevance: Iterable[str] = (),
    masks: Iterable[str] = ("none",),
    unrecorded: Iterable[str] = ("ask",),
    params: ParamList = (),
    judge: str | None = None,
) -> list[Variant]:
    """Return every combination once.

    A parameter goes to every strategy and model that has it, or to the one named before a dot. A
    strategy whose published form equals its tuned form appears in its tuned form only, unless only
    the published form is requested.

    Args:
        relevance: Models that guide the crawls. Without any, they are `evidence`, and for published
            forms the model of the strategy's paper.
        judge: The model that judges in place of labels.

    Raises:
        ConfigError: A name is unknown, or no strategy or model has a parameter.
    """
    unique_forms = _unique(forms)
    param_list, used = list(params), set[str]()
    variants_by_id = {}
    for requested_model, mask, unrecorded_treatment, strategy, form in product(
        _unique(relevance) or [""],
        _unique(masks),
        _unique(unrecorded),
        _unique(strategies),
        unique_forms,
    ):
        strategy_type, published = strategy_class(strategy), form == "published"
        differs = (
            strategy_type.published
            or strategy_type.published_rule
            or (not requested_model and strategy_type.published_model)
        )
        if published and "tuned" in unique_forms and not differs:
            continue
        model = requested_model or default_model(strategy, published=published)
        strategy_params = select_params(
            strategy, default_params(strategy_type, as_published=published), param_list, used
        )
        model_params = select_params(model, model_class(model).defaults, param_list, used)
        name = "/".join(
            (strategy, form, model, mask, *(["skip"] if unrecorded_treatment == "skip" else ()))
        )
        variants_by_id[name] = Variant(
            id=name,
            strategy=strategy,
            form=form,
            relevance=model,
            mask=mask,
            params=resolve_params(strategy_type, strategy_params, as_published=published),
            model_params=model_params,
            self_judged=model == judge,
            unrecorded=unrecorded_treatment,
        )
    for name, _ in param_list:
        if name not in used:
            raise ConfigError(
                "--param {name}: no strategy or model of this comparison has it", name=name
            )
    return list(variants_by_id.values())


def default_model(strategy: str, *, published: bool) -> str:
    """Return the relevance model that guides a strategy if none is named."""
    return (strategy_class(strategy).published_model if published else "") or "evidence"


def select_params(
    owner: str, defaults: Collection[str], params: ParamList, used: set[str]
) -> dict[str, float]:
    """Return the parameters that belong to a strategy or model; add their full names to `used`."""
    selected = {}
    for name, value in params:
        prefix, dot, param = name.rpartition(".")
        if param in defaults and (not dot or prefix == owner):
            selected[param] = value
            used.add(name)
    return selected


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
