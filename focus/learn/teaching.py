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
    Answers,
    LabelQuestion,
    check_teachable,
    labelled_pages,
    moved,
    sitting,
)
from focus.learn.model_file import LearnedTopic, applied, load_for, save
from focus.learn.reranking import Reranked, Watch, rerank
from focus.score.relevance import relevance_threshold
from focus.storage import labels
from focus.store import Store
from focus.topic.topic import Topic, to_builtins


class Lesson(msgspec.Struct, frozen=True):
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


class Taught(msgspec.Struct, frozen=True):
    """The outcome of a lesson. `labels`: of the topic, from all sittings, (on, off)."""

    relevance: str
    answers: Answers
    labels: tuple[int, int]
    reranked: Reranked | None = None


async def teach(
    lesson: Lesson,
    *,
    ask: Callable[[LabelQuestion], str],
    learned_to: Callable[[Path], None],
    watch: Watch,
) -> Taught:
    """Teach a topic; `learned_to` is told when its model file is written.

    ConfigError when the crawl's relevance model cannot learn, StoreLocked while a crawl
    runs. Labels are kept whatever happens afterwards.
    """
    topic = lesson.topic
    async with Store.open(lesson.db, now=time.time(), pid=os.getpid()) as store:
        text, info = await store.run_in_thread(partial(labels.crawl_info, crawl=lesson.crawl))
        config = msgspec.json.decode(text, type=CrawlConfig)
        _check(config, lesson)
        relevance, answers = config.analysis.relevance, Answers()
        if not lesson.rank_only:
            answers = await sitting(
                store,
                crawl=lesson.crawl,
                topic=topic.name,
                threshold=relevance_threshold(
                    relevance,
                    topic,
                    option=config.analysis.threshold,
                    as_published=config.analysis.as_published,
                ),
                limit=lesson.limit,
                ask=ask,
                now=time.time,
            )
        pages = await labelled_pages(store, topic.name)
        on = sum(is_on for _, is_on in pages)
        found = (on, len(pages) - on)
        if not (answers.on or answers.off or lesson.rank_only):
            return Taught(relevance, answers, found)
        if pages:
            learned = load_for(topic) or LearnedTopic(topic.name)
            save(lesson.model, moved(learned, topic, relevance, pages))
            learned_to(lesson.model)
            topic = msgspec.structs.replace(topic, model=str(lesson.model))
        reranked = await rerank(store, info, _taught(config, topic), now=time.time(), watch=watch)
        return Taught(relevance, answers, found, reranked)


def _check(config: CrawlConfig, lesson: Lesson) -> None:
    name = config.analysis.topic.get("name")
    if name != lesson.topic.name:
        raise ConfigError(
            "crawl {crawl} is about {name!r}, the topic file about {topic!r}; choose another "
            "with --crawl",
            crawl=lesson.crawl,
            name=name,
            topic=lesson.topic.name,
        )
    check_teachable(config.analysis.relevance)


def _taught(config: CrawlConfig, topic: Topic) -> CrawlConfig:
    """The crawl's configuration with the topic as it is now."""
    analysis = config.analysis
    bare, trained = applied(topic, analysis.relevance, analysis.params)
    analysis = msgspec.structs.replace(analysis, topic=to_builtins(bare), trained=trained)
    return msgspec.structs.replace(config, analysis=analysis)
