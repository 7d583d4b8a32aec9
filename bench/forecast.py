"""Fits the forecast of a crawl (`focus.metrics.forecast`) and says how often it holds.

    python -m bench.forecast ARCHIVE TOPICS OUT [--requests 2500] [--share 0.02] [--cache DIR]

Each topic is crawled once by `yield`, so many requests; every 100 of them the best waiting URLs
are noted with what their queues and hosts have brought. OUT keeps these traces (JSON), so that
the fit can be made again without the web. Printed: the numbers that suit all topics best
(negative binomial, maximum likelihood); the coverage of the 80 % interval, each topic forecast
by the numbers of the others; and what `--stop-harvest` saves and loses against all requests.
"""

import asyncio
import json
import math
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import ReplayTransport
from focus.evaluate.compare import seed_order
from focus.evaluate.ground_truth import analysis_of
from focus.evaluate.judgments import TopicTask, read_topics
from focus.evaluate.link_graph import PageIndex
from focus.evaluate.trial import Replay
from focus.evaluate.variants import variants
from focus.metrics import forecast

EVERY = 100
BUDGETS = (200, 600, 1000, 1400, 1800)  # requests after which 500 more are forecast
HORIZONS = (200, 500, 1000)
Trace = dict[str, Any]


class Case(NamedTuple):
    """A forecast that can be checked: its topic, when, how far, what is known, what came."""

    topic: str
    at: int
    ahead: int
    waiting: float
    lately: float
    came: int


def traced(task: TopicTask, archive: Archive, index: PageIndex, requests: int) -> Trace:
    """Whether each request brought a relevant page, and what was known every 100."""
    (way,) = variants(["yield"])
    analysis = analysis_of(task, way.relevance, way.model_params, way)
    replay = Replay(archive, index, analysis, None)
    replay.begin()
    config = CrawlConfig(
        seeds=seed_order(task, 0),
        params=way.params,
        concurrency=1,
        politeness=PolitenessConfig(delay_s=1.0),
        limits=LimitConfig(max_requests=requests),
        analysis=analysis,
    )
    flags: list[int] = []
    known: dict[str, dict[str, float]] = {}

    def watch(event: Event) -> None:
        flags.append(int(event.relevant))
        if len(flags) % EVERY == 0:
            known[str(len(flags))] = {
                str(ahead): crawl.outlooks.waiting(ahead) for ahead in HORIZONS
            }

    crawl = Crawl(config, ReplayTransport(replay, replay, start=replay.recorded_at), observe=watch)
    crawl.sow(config.seeds)
    asyncio.run(crawl.run())
    return {"flags": flags, "known": known}


def cases(traces: dict[str, Trace]) -> list[Case]:
    """All forecasts that the traces can check."""
    found = []
    for (topic, trace), ahead in product(traces.items(), HORIZONS):
        flags = trace["flags"]
        for at in range(2 * EVERY, len(flags) - ahead + 1, EVERY):
            lately = forecast.rate(sum(flags[at - forecast.LATELY : at]), forecast.LATELY)
            waiting = trace["known"][str(at)][str(ahead)]
            came = sum(flags[at : at + ahead])
            found.append(Case(topic, at, ahead, waiting, lately, came))
    return found


def terms(case: Case) -> tuple[float, float, float, float]:
    """What the logarithm of the expectation is linear in."""
    return (
        1.0,
        math.log(case.waiting + 0.5),
        math.log(case.ahead * case.lately + 0.5),
        math.log(case.ahead / 500),
    )


def loss(numbers: Sequence[float], some: Iterable[tuple[tuple[float, ...], int]]) -> float:
    """Minus the log-likelihood; the last number is the logarithm of the size."""
    *weights, log_size = numbers
    size, total = math.exp(log_size), 0.0
    for x, came in some:
        mean = math.exp(sum(w * each for w, each in zip(weights, x, strict=True)))
        total -= math.lgamma(came + size) - math.lgamma(size) - math.lgamma(came + 1)
        total -= size * math.log(size / (size + mean)) + came * math.log(mean / (size + mean))
    return total


def fitted(some: Sequence[Case]) -> list[float]:
    """The numbers of largest likelihood, by coordinate search; size last."""
    rows = [(terms(case), case.came) for case in some]
    numbers, step = [0.7, 0.4, 0.3, 0.2, 0.6], 0.1
    best = loss(numbers, rows)
    while step > 0.004:
        moved = False
        for at, by in product(range(len(numbers)), (-step, step)):
            tried = [*numbers[:at], numbers[at] + by, *numbers[at + 1 :]]
            if (found := loss(tried, rows)) < best - 1e-9:
                numbers, best, moved = tried, found, True
        step = step if moved else step / 2
    return [*numbers[:-1], math.exp(numbers[-1])]


def use(numbers: Sequence[float]) -> None:
    """Let the forecast use these numbers."""
    names = ("CONSTANT", "WAITING", "RECENT", "HORIZON", "SIZE")
    for name, number in zip(names, numbers, strict=True):
        setattr(forecast, name, number)


def held(case: Case) -> bool:
    """Whether the interval holds what came."""
    found = forecast.outlook(case.ahead, case.waiting, case.lately)
    return found.low <= case.came <= found.high


def stopped(trace: Trace, share: float) -> int:
    """The request at which `--stop-harvest` ends the crawl."""
    flags = trace["flags"]
    for at in range(EVERY, len(flags) + 1, EVERY):
        lately = forecast.rate(sum(flags[at - forecast.LATELY : at]), forecast.LATELY)
        if forecast.outlook(500, trace["known"][str(at)]["500"], lately).expected < share * 500:
            return at
    return len(flags)


def collected(given: Any) -> dict[str, Trace]:
    """The traces, from the file or the web."""
    out, source = Path(given.out), Path(given.topics)
    traces: dict[str, Trace] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    tasks = read_topics(source.read_text("utf-8"), str(source), source.parent)
    with Archive.open(Path(given.archive), cache_dir=given.cache) as archive:
        index = PageIndex(archive)
        for task in (task for task in tasks if task.name not in traces):
            traces[task.name] = traced(task, archive, index, given.requests)
            out.write_text(json.dumps(traces, ensure_ascii=False), "utf-8")
    return traces


def main() -> None:
    """Collect, fit, print."""
    given = read_options(__doc__)
    traces = collected(given)
    own, every = fitted(cases(traces)), cases(traces)
    print("numbers of all topics:", " ".join(f"{each:.3f}" for each in own))
    right: list[tuple[Case, bool]] = []
    for topic in traces:
        use(fitted([case for case in every if case.topic != topic]))
        right += [(case, held(case)) for case in every if case.topic == topic]
    groups = {f"next {ahead:,}": [ok for c, ok in right if c.ahead == ahead] for ahead in HORIZONS}
    groups["five budgets, next 500"] = [ok for c, ok in right if c.ahead == 500 and c.at in BUDGETS]
    rows = [(name, sum(oks) / len(oks), len(oks)) for name, oks in groups.items()]
    print(table(["80 % interval, topics left out", "coverage", "forecasts"], rows))
    use(own)
    lines = []
    for topic, trace in traces.items():
        end, flags = stopped(trace, given.share), trace["flags"]
        lines.append([topic, end, len(flags), sum(flags[:end]), sum(flags)])
    print(table(["topic", "ended at", "of", "relevant by then", "of"], lines))


if __name__ == "__main__":
    main()
