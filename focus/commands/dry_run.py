"""`focus crawl --dry-run`: describes what a crawl would do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from focus.commands.status import limits_text
from focus.commands.strategies import params_text
from focus.config import CrawlConfig, ScopeConfig
from focus.i18n import mark, say
from focus.score.parameters import resolve_params
from focus.score.relevance import Model, model_class
from focus.score.strategy import Strategy, strategy_class
from focus.text.formatting import format_duration, format_table, printable
from focus.topic.terms import LIBRARY, LLM
from focus.topic.topic import Topic
from focus.urls.normal_form import seed_candidates

if TYPE_CHECKING:
    from focus.commands.settings import CrawlPlan, Params
    from focus.learn.llm import Endpoint

MAX_WORDS = 20  # of a topic that are shown
NO_TERMS = mark(
    "none; the library does not have this topic: give a file with --terms FILE, a language model "
    "with --llm URL, or write them under [terms] in a topic file"
)
OPTIONS_WITH_ROWS = frozenset(
    "strategy relevance scope allow deny max_pages max_requests max_time max_bytes target "
    "delay per_host ignore_robots archive terms".split()
)
"""Declared options that have rows of their own in a dry run."""


def dry_run_lines(
    plan: CrawlPlan, other_options: Iterable[str] = (), *, continues: int | None = None
) -> list[str]:
    """Return a description of what `focus crawl` would do.

    Args:
        other_options: Options that were set and have no row of their own.
        continues: The crawl that would be continued.
    """
    config, paths = plan.config, plan.paths
    strategy, model = params_texts(plan)
    limits = {name: getattr(config.limits, name) for name in config.limits.__struct_fields__}
    rows = [
        *_seed_rows(config.seeds),
        ("topic", _topic_text(plan.topic)),
        ("terms", _terms_text(plan.topic, config.terms, plan.endpoint)),
        ("strategy", strategy),
        ("relevance", model),
        ("scope", _scope_text(config.scope)),
        ("limits", limits_text(limits)),
        ("pace", _pace_text(config)),
        *([("also", printable(", ".join(other_options)))] if other_options else ()),
        ("User-Agent", config.fetch.user_agent),
        ("world", f"archive {paths.archive}" if paths.archive else "the network"),
        ("database", str(paths.db)),
        ("crawl", "a new one" if continues is None else f"goes on with crawl {continues} there"),
    ]
    return ["Nothing is requested; this is what would be done:", *format_table(rows)]


def _topic_text(topic: Topic) -> str:
    keywords = [k for k in topic.keywords if topic.sources.get(k.text) not in (LIBRARY, LLM)]
    words = [k.text if k.weight == 1 else f"{k.text}:{k.weight:g}" for k in keywords]
    more = " …" if len(words) > MAX_WORDS else ""
    return printable(f"{topic.name}: {', '.join(words[:MAX_WORDS])}{more}")


def _terms_text(topic: Topic, choice: str, endpoint: Endpoint | None) -> str:
    """Return the related terms by source; if the library lacks the topic, how to get some."""
    by_source: dict[str, list[str]] = {}
    other_names = [k.text for k in topic.keywords if topic.sources.get(k.text) == LIBRARY]
    for term in (*other_names, *topic.terms):
        by_source.setdefault(topic.sources.get(term, "topic file"), []).append(term)
    texts = [f"{source}: {', '.join(terms)}" for source, terms in by_source.items()]
    if endpoint is not None:
        texts.append(say("a new crawl asks {url} for others", url=endpoint.name))
    if not texts:
        return say(NO_TERMS) if choice == LIBRARY else say("none")
    return printable("; ".join(texts))


def _scope_text(scope: ScopeConfig) -> str:
    rules = {"allow": scope.allow, "deny": scope.deny}
    return "; ".join(
        [scope.scope, *(f"{k} {', '.join(patterns)}" for k, patterns in rules.items() if patterns)]
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


def params_texts(plan: CrawlPlan) -> tuple[str, str]:
    """Return strategy and relevance model with all their parameters."""
    config = plan.config
    strategy, model = strategy_class(config.strategy), model_class(config.analysis.relevance)

    def spelled(kind: type[Strategy] | type[Model], params: Params) -> str:
        published = config.as_published
        settled = resolve_params(kind, params, as_published=published)
        return f"{kind.name}: {params_text(settled)}"

    return spelled(strategy, config.params), spelled(model, config.analysis.params)
