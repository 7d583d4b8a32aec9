"""Measures the CPU of a page: in a scorer worker by relevance model, in the loop by strategy.

    python -m bench.cost ARCHIVE [--topic 足球] [--seed URL]… [--pages 300] [--requests 1500]
        [--only models|strategies] [--json FILE]

Worker: the whole way of a page (decode, parse, links, judgement) and the judgement alone,
on pages drawn from the archive, and on those among them of 30 to 60 KB. Loop: CPU per
request of everything but the analysis, in a crawl of the archive by each strategy.
CPU time, so that a busy machine counts less; milliseconds.

`bayes` is trained on the drawn pages that `evidence` is sure of, with the entities that
focus ships.
"""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from bench.labelled import LabelledPage, sample
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.trial import Replay, Trial, run_trial
from focus.html.parser import parse
from focus.learn.corpus import of_html
from focus.learn.kb.base import shipped
from focus.learn.training import Extractor, TrainingOptions, examples, train_on
from focus.score.analysis import PageAnalyst
from focus.score.matching import Matcher
from focus.score.relevance import RELEVANCE, Document, make_model
from focus.score.strategy import STRATEGIES
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import words

MIDDLE = (30_000, 60_000)
"""Bytes of a page that is rather large."""

KIND = "text/html; charset=utf-8"


def cpu_ms(work: Callable[[], object]) -> float:
    """CPU milliseconds of doing it once: models remember texts, so that a second time lies."""
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, 95th percentile, largest; zeros for none."""
    ordered = sorted(values) or [0.0]
    return sum(ordered) / len(ordered), ordered[int(0.95 * (len(ordered) - 1))], ordered[-1]


def trained(topic: str, pages: Sequence[LabelledPage]) -> bytes:
    """A classifier as the workers get it."""
    matcher = Matcher(from_words(topic))
    judge = make_model("evidence", matcher, {})
    documents = [of_html(page.source) for page in pages]
    said = [judge.judge(each).relevance for each in documents]
    order = sorted(range(len(said)), key=said.__getitem__)
    fewest = max(20, sum(each > 0.5 for each in said))
    extractor = Extractor(matcher.segmenter, shipped(matcher.segmenter))
    on = examples([documents[at] for at in order[-fewest:]], True, extractor)
    off = examples([documents[at] for at in order[: 2 * fewest]], False, extractor)
    return msgspec.msgpack.encode(train_on([*on, *off], extractor, TrainingOptions()).classifier())


def of_models(topic: str, pages: Sequence[LabelledPage]) -> list[tuple[str | float, ...]]:
    """A row per relevance model."""
    rows: list[tuple[str | float, ...]] = []
    for name in RELEVANCE:
        numbers = trained(topic, pages) if name == "bayes" else b""
        analyst = PageAnalyst(
            AnalysisConfig(
                topic=to_builtins(from_words(topic)), relevance=name, trained=numbers, keep="all"
            )
        )
        judge = make_model(name, Matcher(from_words(topic)), {}, trained=numbers)
        analyst.analyse(pages[0].url, pages[0].source.encode("utf-8", "replace"), KIND)
        judge.judge(document(pages[0]))  # dictionaries are loaded by the first page
        whole, alone, middle = [], [], []
        for page in pages:
            body, made = page.source.encode("utf-8", "replace"), document(page)
            whole.append(cpu_ms(partial(analyst.analyse, page.url, body, KIND)))
            alone.append(cpu_ms(partial(judge.judge, made)))
            if MIDDLE[0] <= len(body) <= MIDDLE[1]:
                middle.append(alone[-1])
        rows.append((name, *spread(whole), *spread(alone), *spread(middle)))
    return rows


def document(page: LabelledPage) -> Document:
    """A page that is parsed, whose text nobody has read yet."""
    parsed = parse(page.source)
    return Document(
        title=parsed.title,
        keywords=parsed.keywords,
        description=parsed.description,
        headings=parsed.headings,
        links=parsed.links,
        crumbs=parsed.crumbs,
        url_words=words(page.url),
        url=page.url,
        source=page.source.encode("utf-8", "replace"),
        blocks=parsed.blocks,
        region=parsed.region,
    )


def of_strategies(
    archive: Archive, topic: str, seeds: Sequence[str], requests: int
) -> list[tuple[str | float, ...]]:
    """A row per strategy: the second of two crawls, as the first fills the memory of pages."""
    analysis = AnalysisConfig(
        topic=to_builtins(from_words(topic)),
        relevance="evidence",
        url_patterns=True,
        contexts=True,
        cosines=True,
        keep="none",
    )
    replay = Replay(archive, PageIndex(archive), analysis)
    rows: list[tuple[str | float, ...]] = []
    for name in STRATEGIES:
        config = CrawlConfig(
            seeds=tuple(seeds),
            strategy=name,
            concurrency=1,
            limits=LimitConfig(max_requests=requests),
            analysis=analysis,
        )
        trial = Trial(name, name, topic, 0, config)
        found = [run_trial(trial, replay) for _ in range(2)][1]
        pages = sum(number >= 0 for number in found.pages)
        rows.append((name, len(found.pages), pages, found.cost.engine_ms))
    return rows


def main() -> None:
    """Measure, print, and write what was asked for."""
    arguments = read_options(__doc__)
    found: dict[str, list[tuple[str | float, ...]]] = {}
    with Archive.open(arguments.archive) as archive:
        if arguments.only != "strategies":
            pages = sample(archive, arguments.pages, seed=1)
            found["models"] = of_models(arguments.topic, pages)
            head = ["model", "page: mean", "95 %", "max", "judgement: mean", "95 %", "max"]
            head += ["30-60 KB: mean", "95 %", "max"]
            print(table(head, found["models"]))
        if arguments.only != "models":
            seeds = arguments.seed or [next(iter(archive.urls()))]
            found["strategies"] = of_strategies(archive, arguments.topic, seeds, arguments.requests)
            print()
            print(table(["strategy", "requests", "pages", "ms per request"], found["strategies"]))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
