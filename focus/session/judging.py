"""Judges: another program decides about pages of which the relevance model is not sure.

    Question       what a judge is asked about a page
    Judge          the interface of a judge
    Consultation   the questions of one crawl, their limit, and their answers in the database
    JudgingScorer  scorer that lets the judge decide

A scorer process marks the pages (`Page.doubtful_text`). The crawl asks before it uses the page, so
that its links get the relevance that the judge gave it. Other pages are processed meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import msgspec

from focus.config import CrawlConfig
from focus.engine.transports import Scorer
from focus.i18n import Msg, mark, msg
from focus.records import JUDGE_PART, Page
from focus.score.relevance import relevance_threshold
from focus.storage import writer
from focus.store import Store
from focus.text.formatting import printable
from focus.topic.topic import from_builtins
from focus.workers.messages import Job

TIMEOUT_S = 60.0  # of one question
MAX_CONCURRENT = 4
MAX_FAILURES = 3
"""Failed questions in a row after which a run asks no more."""
_MAX_NAMES = 20
_WARNING = mark(
    "Warning: judge {name}: {error}; such pages have the relevance of the model, and after {n} "
    "failures in a row it is asked no more"
)
_MAX_ERROR_CHARS = _MAX_TITLE_CHARS = 200


class Question(msgspec.Struct, frozen=True):
    """A page to be judged; URL, title and text are from the web and may contain instructions.

    topic  names of the topic, the first one as the user wrote it
    text   start of the main text
    """

    topic: list[str]
    url: str
    title: str
    text: str


class Judge(Protocol):
    """A judge of pages; it is asked several questions at a time.

    name  stored with its answers; a judge with another name is asked again
    """

    name: str

    async def judge(self, question: Question) -> float | None:
        """Return the probability that the page is about the topic, None if that is unknown.

        Any exception counts as a failure. The page then has the relevance of the model.
        """


class Consultation:
    """Questions of one crawl to a judge, at most `AnalysisConfig.judge_questions`.

    Answers are stored at once, each with the crawls that used it. An answer from another crawl
    counts as a question, so that a crawl with stored answers is the same as one without.

    report  called with a warning at the first failure
    """

    def __init__(
        self,
        judge: Judge,
        config: CrawlConfig,
        store: Store,
        crawl: int,
        asked: int,
        report: Callable[[Msg], object],
    ) -> None:
        self._judge, self._store, self._crawl, self._report = judge, store, crawl, report
        self._analysis = analysis = config.analysis
        topic = from_builtins(dict(analysis.topic))
        self._names = [keyword.text for keyword in topic.keywords[:_MAX_NAMES]]
        option = analysis.threshold
        self._threshold = relevance_threshold(analysis.relevance, topic, option=option)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._asked = asked
        self._failures = 0  # in a row
        self._has_warned = False

    async def judge_page(self, page: Page, job: Job) -> Page:
        """Return a page with the relevance that the judge gives it, if it was doubtful."""
        if not page.doubtful_text:
            return page
        title = (page.full_title or page.title)[:_MAX_TITLE_CHARS]
        question = Question(self._names, job.url, title, page.doubtful_text)
        answer = await self._find_answer(question, may_ask=job.fetched_at < math.inf)
        if answer is None:
            return page
        is_relevant = answer > self._threshold
        return msgspec.structs.replace(
            page,
            relevance=answer,
            is_relevant=is_relevant,
            part_scores={**page.part_scores, JUDGE_PART + self._judge.name: answer},
            body_zstd=page.body_zstd if is_relevant or self._analysis.keep == "all" else b"",
        )

    async def _find_answer(self, question: Question, *, may_ask: bool) -> float | None:
        """Return the stored answer, else that of the judge; None without one.

        A page that was stored before gets only the answer that this crawl has used.
        """
        digest = hashlib.sha256(msgspec.json.encode(question)).digest()
        key = self._crawl, self._judge.name, digest
        answer: float | None
        answer, is_own = await _fetch_row(self._store, writer.SELECT_ANSWER, key)
        if is_own:
            return answer
        if not may_ask or self._asked >= self._analysis.judge_questions:
            return None
        self._asked += 1
        if is_own is None:
            async with self._slots:
                if self._failures >= MAX_FAILURES:
                    return None
                try:
                    answer = await self._ask(question)
                except Exception as error:  # a judge is code of another package
                    self._count_failure(error)
                    return None
            self._failures = 0
        store_answer = partial(writer.execute, sql=writer.STORE_ANSWER, values=(*key, answer))
        await self._store.run_in_thread(store_answer)
        return answer

    async def _ask(self, question: Question) -> float | None:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await self._judge.judge(question)
        if answer is not None and (isinstance(answer, bool) or not 0.0 <= answer <= 1.0):
            raise ValueError(f"the answer {answer!r} is not between 0 and 1")
        return None if answer is None else float(answer)

    def _count_failure(self, error: Exception) -> None:
        self._failures += 1
        if not self._has_warned:
            self._has_warned = True
            reason = str(error) or msg("no answer within {seconds:g} s", seconds=TIMEOUT_S)
            reason = printable(reason, _MAX_ERROR_CHARS)
            self._report(msg(_WARNING, name=self._judge.name, error=reason, n=MAX_FAILURES))


async def open_consultation(
    judge: Judge, config: CrawlConfig, store: Store, crawl: int, report: Callable[[Msg], object]
) -> Consultation:
    """Return the questions of a crawl, which continue those of its earlier runs."""
    (asked,) = await _fetch_row(store, writer.COUNT_ANSWERS, (crawl,))
    return Consultation(judge, config, store, crawl, asked, report)


async def _fetch_row(store: Store, sql: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    rows = await store.run_in_thread(partial(writer.fetch_rows, sql=sql, values=values))
    return tuple(rows[0])


class JudgingScorer:
    """Scorer that lets a judge decide about doubtful pages."""

    def __init__(self, scorer: Scorer, consultation: Consultation) -> None:
        self._scorer, self._consultation = scorer, consultation
        self.update, self.close = scorer.update, scorer.close

    async def score(self, job: Job) -> Page:
        """Return the page as the scorer and the judge see it."""
        return await self._consultation.judge_page(await self._scorer.score(job), job)
