"""The terms that a crawl gets from a language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from focus.errors import LanguageModelError
from focus.i18n import Msg, msg

if TYPE_CHECKING:
    from focus.commands.settings import CrawlPlan


async def with_llm_terms(plan: CrawlPlan, report: Callable[[Msg], object]) -> CrawlPlan:
    """Return the plan with the terms of the language model, if the crawl uses one and is new.

    A crawl that has begun keeps its terms. Without an answer the crawl has none of the model;
    `report` is called with the reason.
    """
    if plan.endpoint is None:
        return plan
    from focus.learn.llm import add_llm_terms, propose_terms
    from focus.session import crawl_identity
    from focus.storage.reader import find_last_crawl
    from focus.topic.topic import from_builtins, to_builtins

    config = plan.config
    if not plan.paths.fresh and find_last_crawl(plan.paths.db, crawl_identity(config)) is not None:
        report(msg("Note: the crawl keeps the terms that it began with; --llm is not asked"))
        return plan
    try:
        answer = await propose_terms(plan.topic, plan.endpoint)
    except LanguageModelError as error:
        report(msg("Warning: {error}; the crawl begins without its terms", error=error.message))
        return plan
    topic = add_llm_terms(from_builtins(config.analysis.topic), answer)
    analysis = replace(config.analysis, topic=to_builtins(topic))
    return replace(
        plan, config=replace(config, analysis=analysis), topic=add_llm_terms(plan.topic, answer)
    )
