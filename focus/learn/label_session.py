"""A session of `focus label`: asks, learns, scores stored pages again and ranks URLs again.

The database is locked during a session, so no crawl can use it:
    questions about pages (labelling); each answer is stored at once
    all labels of the topic → its model file, written atomically
    every stored page is scored with it, every waiting URL is ranked with it (reranking)
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
from focus.learn.reranking import RerankCounts, rerank
from focus.records import ReportProgress
from focus.score.relevance import relevance_threshold
from focus.storage import labels
from focus.store import Store
from focus.topic.terms import copy_added_words
from focus.topic.topic import Topic, from_builtins, to_builtins


class LabelSessionOptions(msgspec.Struct, frozen=True):
    """What a session teaches.

    topic      topic of the topic file; `model` is an absolute path or None
    model      path of the model file to write
    limit      maximum number of questions
    rank_only  ask nothing; score and rank with what was learned before
    """

    db: Path
    crawl: int
    topic: Topic
    model: Path
    limit: int = 50
    rank_only: bool = False


class LabelSessionResult(msgspec.Struct, frozen=True):
    """The result of a session; `labels` counts those of the topic from all sessions, (on, off)."""

    relevance: str
    answers: LabelCounts
    labels: tuple[int, int]
    reranked: RerankCounts | None = None


async def run_label_session(
    options: LabelSessionOptions,
    *,
    ask: Callable[[LabelQuestion], str],
    on_model_written: Callable[[Path], None],
    report_progress: ReportProgress,
) -> LabelSessionResult:
    """Run a session; `on_model_written` is called with the path of the model file.

    Raises ConfigError if the relevance model of the crawl cannot learn, StoreLocked while a crawl
    runs. Labels stay stored whatever happens afterwards.
    """
    async with Store.open(options.db, now=time.time(), pid=os.getpid()) as store:
        text, info = await store.run_in_thread(partial(labels.load_crawl, crawl=options.crawl))
        config = msgspec.json.decode(text, type=CrawlConfig)
        _check_crawl(config, options)
        topic = copy_added_words(options.topic, from_builtins(config.analysis.topic))
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
            return LabelSessionResult(relevance, answers, label_counts)
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
        return LabelSessionResult(relevance, answers, label_counts, reranked)


def _check_crawl(config: CrawlConfig, options: LabelSessionOptions) -> None:
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
    """Return the configuration of the crawl with the present topic."""
    analysis = config.analysis
    bare, trained = apply_model(topic, analysis.relevance, analysis.params)
    analysis = msgspec.structs.replace(analysis, topic=to_builtins(bare), trained=trained)
    return msgspec.structs.replace(config, analysis=analysis)
