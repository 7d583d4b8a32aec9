"""`focus crawl --dry-run`: what a crawl would do, as lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from focus.commands.status import limits_text
from focus.commands.strategies import numbers
from focus.config import CrawlConfig, ScopeConfig
from focus.score.parameters import resolve_params
from focus.score.relevance import Model, model_class
from focus.score.strategy import Strategy, strategy_class
from focus.text.formatting import format_duration, format_table, printable
from focus.topic.topic import Topic
from focus.urls.normal_form import seed_candidates

if TYPE_CHECKING:
    from focus.commands.settings import CrawlOrder, Params

MAX_WORDS = 20  # of a topic
HAVE_ROWS = frozenset(
    "strategy relevance scope allow deny max_pages max_requests max_time max_bytes target "
    "delay per_host ignore_robots archive".split()
)
"""The declared options that a dry run tells of by rows of their own."""


def order_lines(
    order: CrawlOrder, also: Iterable[str] = (), *, continues: int | None = None
) -> list[str]:
    """What `focus crawl` would do; `continues` is the crawl that it would go on with.

    also   the options that were set and are in no row of their own
    """
    config, paths = order.config, order.paths
    strategy, model = spelled_params(order)
    limits = {name: getattr(config.limits, name) for name in config.limits.__struct_fields__}
    rows = [
        *_seed_rows(config.seeds),
        ("topic", _topic_text(order.topic)),
        ("strategy", strategy),
        ("relevance", model),
        ("scope", _scope_text(config.scope)),
        ("limits", limits_text(limits)),
        ("pace", _pace_text(config)),
        *([("also", printable(", ".join(also)))] if also else ()),
        ("User-Agent", config.fetch.user_agent),
        ("world", f"archive {paths.archive}" if paths.archive else "the network"),
        ("database", str(paths.db)),
        ("crawl", "a new one" if continues is None else f"goes on with crawl {continues} there"),
    ]
    return ["Nothing is requested; this is what would be done:", *format_table(rows)]


def _topic_text(topic: Topic) -> str:
    words = [k.text if k.weight == 1 else f"{k.text}:{k.weight:g}" for k in topic.keywords]
    more = " …" if len(words) > MAX_WORDS else ""
    return printable(f"{topic.name}: {', '.join(words[:MAX_WORDS])}{more}")


def _scope_text(scope: ScopeConfig) -> str:
    rules = {"allow": scope.allow, "deny": scope.deny}
    return "; ".join(
        [scope.scope, *(f"{k} {', '.join(each)}" for k, each in rules.items() if each)]
    )


def _pace_text(config: CrawlConfig) -> str:
    rules = config.politeness
    robots = "ignored" if rules.ignore_robots else f"obeyed for {config.agent}"
    delay = format_duration(rules.delay_s)
    return f"{rules.per_host} at once per host, every {delay}; robots.txt {robots}"


def _seed_rows(seeds: Sequence[str]) -> Iterable[tuple[str, str]]:
    for seed in seeds:
        first, *others = seed_candidates(seed)
        yield ("seed", printable(first) + "".join(f", else {printable(url)}" for url in others))


def spelled_params(order: CrawlOrder) -> tuple[str, str]:
    """Strategy and relevance model with all their numbers, for people."""
    config = order.config
    strategy, model = strategy_class(config.strategy), model_class(config.analysis.relevance)

    def spelled(kind: type[Strategy] | type[Model], params: Params) -> str:
        published = config.as_published
        settled = resolve_params(kind, params, as_published=published)
        return f"{kind.name}: {numbers(settled)}"

    return spelled(strategy, config.params), spelled(model, config.analysis.params)
