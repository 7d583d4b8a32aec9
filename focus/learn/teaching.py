"""Runs a sitting of `focus label`: asks, learns, judges stored pages again, ranks again.

async with the database, which no crawl may use meanwhile:
    a sitting of questions (labelling), each answer stored at once
    all labels of the topic → its model file, written whole
    every stored page judged by it, every waiting URL ranked by it (reranking)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from focus.config import CrawlConfig
from focus.errors import ConfigError
from focus.learn.labelling import (
    LabelCounts,
    LabelQuestion,
    ask_for_labels,
    check_teachable,
    learn_from_labels,
    load_labelled_pages,
)
from focus.learn.model_file import LearnedTopic, apply_model, load_topic_model, save_model
from focus.learn.reranking import ReportProgress, RerankCounts, rerank
from focus.score.relevance import relevance_threshold
from focus.storage import labels
from focus.store import Store
from focus.topic.topic import Topic, to_builtins


class TeachingOptions(msgspec.Struct, frozen=True):
    """An order to teach a topic.

    topic      as its file says; `model` names an absolute path or None
    model      where to keep what is learned
    limit      questions at most
    rank_only  ask nothing: judge and rank by what is known already
    """

    db: Path
    crawl: int
    topic: Topic
    model: Path
    limit: int = 50
    rank_only: bool = False


class TeachingResult(msgspec.Struct, frozen=True):
    """The outcome of a lesson. `labels`: of the topic, from all sittings, (on, off)."""

    relevance: str
    answers: LabelCounts
    labels: tuple[int, int]
    reranked: RerankCounts | None = None


async def teach(
    options: TeachingOptions,
    *,
    ask: Callable[[LabelQuestion], str],
    on_model_written: Callable[[Path], None],
    report_progress: ReportProgress,
) -> TeachingResult:
    """Teach a topic; `learned_to` is told when its model file is written.

    ConfigError when the crawl's relevance model cannot learn, StoreLocked while a crawl
    runs. Labels are kept whatever happens afterwards.
    """
    topic = options.topic
    async with Store.open(options.db, now=time.time(), pid=os.getpid()) as store:
        text, info = await store.run_in_thread(partial(labels.crawl_info, crawl=options.crawl))
        config = msgspec.json.decode(text, type=CrawlConfig)
        _check_crawl(config, options)
        relevance, answers = config.analysis.relevance, LabelCounts()
        if not options.rank_only:
            answers = await ask_for_labels(
                store,
                crawl=options.crawl,
                topic=topic.name,
                threshold=relevance_threshold(
                    relevance,
                    topic,
                    option=config.analysis.threshold,
                    as_published=config.analysis.as_published,
                ),
                limit=options.limit,
                ask=ask,
                now=time.time,
            )
        pages = await load_labelled_pages(store, topic.name)
        on = sum(is_on for _, is_on in pages)
        label_counts = (on, len(pages) - on)
        if not (answers.on or answers.off or options.rank_only):
            return TeachingResult(relevance, answers, label_counts)
        if pages:
            learned = load_topic_model(topic) or LearnedTopic(topic.name)
            save_model(options.model, learn_from_labels(learned, topic, relevance, pages))
            on_model_written(options.model)
            topic = msgspec.structs.replace(topic, model=str(options.model))
        reranked = await rerank(
            store,
            info,
            _config_with_topic(config, topic),
            now=time.time(),
            report_progress=report_progress,
        )
        return TeachingResult(relevance, answers, label_counts, reranked)


def _check_crawl(config: CrawlConfig, options: TeachingOptions) -> None:
    name = config.analysis.topic.get("name")
    if name != options.topic.name:
        raise ConfigError(
            "crawl {crawl} is about {name!r}, the topic file about {topic!r}; choose another "
            "with --crawl",
            crawl=options.crawl,
            name=name,
            topic=options.topic.name,
        )
    check_teachable(config.analysis.relevance)


def _config_with_topic(config: CrawlConfig, topic: Topic) -> CrawlConfig:
    """The crawl's configuration with the topic as it is now."""
    analysis = config.analysis
    bare, trained = apply_model(topic, analysis.relevance, analysis.params)
    analysis = msgspec.structs.replace(analysis, topic=to_builtins(bare), trained=trained)
    return msgspec.structs.replace(config, analysis=analysis)
