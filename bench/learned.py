"""Trains the strategy `learned` on recorded webs, each web left out in turn.

    python -m bench.learned WORK [FOLDER …] [--topics 2] [--rounds 3] [--moments 60] [--write FILE]

A FOLDER holds a web as a script of `bench/webs/` writes it (web.warc.*, topics.json, labels.tsv,
and hubs.tsv and aliases.tsv if there are any). WORK keeps what was crawled: a run that was
interrupted goes on there, and it is to be deleted when the program has changed.

    watch    crawls note, at `--moments` moments, of waiting URLs their signs and what each would
             be worth: 1 for a target, more for targets that its page makes known (`worth`)
    fit      the weights >= 0 whose softmax over all that waits gives most to what is worth most;
             what `yield` says of a URL goes in as one number, whose weight is free
    rounds   the first is crawled with no weight but `yield`'s, each further one with what was
             fitted to all before: its own path is learned from, too (DAgger, Ross et al. 2011)
    trust    of these weights, one sign after the other, as much as pays in whole crawls: all, a
             half, a quarter, an eighth or nothing. The mean over webs must rise by `GAIN`, and
             no web fall by `LOSS`

All that for every web without it (`--topics` topics each, those with the fewest targets); then
`learned`, `yield` and best-first on all topics of the web that was left out: share of the oracle,
one order of the seeds, budget 3|T|+20. `--write` trains on all webs and writes what is shipped.
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.transports import ReplayTransport
from focus.evaluate.compare import seed_order
from focus.evaluate.ground_truth import (
    Inputs,
    JudgedWeb,
    Prepared,
    Spec,
    analysis_of,
    judge_of,
    prepare,
)
from focus.evaluate.judgments import Remarks, read_topics
from focus.evaluate.link_graph import PageIndex, link_graph
from focus.evaluate.ranking import TrialResult, measures
from focus.evaluate.trial import Replay
from focus.evaluate.variants import variants
from focus.metrics.significance import wilcoxon
from focus.records import SEED_PRIORITY, FetchResult
from focus.score.strategy.learned import CARD
from focus.score.strategy.yielding import Yield

SIGNS = tuple(CARD["weights"])
PLAIN = {**Yield.defaults, **dict.fromkeys(SIGNS, 0.0)}
TOP, BEST, DRAWN = 30, 20, 120
"""Waiting URLs that a moment notes: that stand highest, that are worth most, drawn."""
RIDGE = 0.3
FEWEST = 80
GAIN, LOSS = 0.002, 0.01

Weights = Mapping[str, float]
Rows = npt.NDArray[np.float32]
"""A moment: of each URL what it is worth, for how many it stands (ln), `yield`'s number, signs."""


def worth(is_target: bool, opens: int) -> float:
    """What a fetch brings: 1 for a target, 0.3 for each beyond the first that it opens, 2 at most.

    One request for one target more is no better than what a crawl brings anyway.
    """
    return is_target + min(2.0, 0.3 * max(0, opens - 1))


class World:
    """A recorded web with its topics."""

    def __init__(self, folder: Path) -> None:
        def found(pattern: str) -> Path | None:
            return next(iter(sorted(folder.glob(pattern))), None)

        archive, topics = found("web.warc.*"), folder / "topics.json"
        assert archive is not None, folder
        spec = Spec(
            archive=archive,
            topics=topics,
            labels=found("labels.tsv*"),
            hubs=found("hubs.tsv"),
            aliases=found("aliases.tsv"),
            variants=(),
            out=Path(),
        )
        self.name, remarks = folder.name, Remarks()
        tasks = read_topics(topics.read_text("utf-8"), topics.name, folder)
        self.archive = Archive.open(archive)
        self.graph = link_graph(archive, self.archive, jobs=1, progress=lambda *_: None)
        self.index = PageIndex(self.archive)
        web = JudgedWeb(self.index, self.graph, self.archive.digest, self.archive.damage)
        judge = judge_of(spec, tasks, web, Inputs(spec), remarks)
        self.topics = {one.task.name: one for one in prepare(spec, tasks, web, judge, remarks)}

    def smallest(self, number: int) -> list[str]:
        """The topics with the fewest targets, `FEWEST` at least."""
        sizes = {name: len(one.ground.targets) for name, one in self.topics.items()}
        enough = [name for name, size in sizes.items() if size >= FEWEST]
        return sorted(enough, key=lambda name: sizes[name])[:number]

    def opened(self, topic: str) -> dict[int, frozenset[int]]:
        """Page -> the targets that it leads to."""
        ground, found = self.topics[topic].ground, dict[int, frozenset[int]]()
        targets = frozenset(ground.targets)
        for number, links in enumerate(self.graph.links):
            page = ground.page_of[number]
            if led := targets.intersection(ground.page_of[link] for link in links):
                found[page] = found.get(page, frozenset()) | led
        return found


class Watcher(Replay):
    """A recorded web that notes, every so many requests, what could be chosen. No crawl sees it."""

    def watch(self, crawl: Crawl, world: World, topic: str, every: int) -> None:
        """Begin to watch a crawl; `every` 0: not at all."""
        self.begin()
        self.crawl, self.ground, self.every = crawl, world.topics[topic].ground, every
        self.targets = frozenset(self.ground.targets)
        self.opens = world.opened(topic) if every else {}
        self.rng, self.rows = Random(topic), list[Rows]()
        self.page: dict[int, int] = {}

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        """As the archive answers."""
        if self.every and not robots and len(self.pages) % self.every == self.every - 1:
            self.note()
        return super().lookup(url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s)

    def note(self) -> None:
        """A moment."""
        priority, urls = self.crawl.url_table.priority, self.crawl.frontier.memory.urls
        waiting = [each for each in urls if priority[each] < SEED_PRIORITY]
        if len(waiting) < len(urls) or len(waiting) < TOP:
            return  # seeds go first
        for each in urls.keys() - self.page.keys():
            number = self._index.of(urls[each])
            self.page[each] = -1 if number is None else self.ground.page_of[number]
        fetched = {self.ground.page_of[number] for number in self.pages if number >= 0}
        known = fetched.union(self.page[each] for each in waiting)
        values = {}
        for each in waiting:
            page = self.page[each]
            opens = len(self.opens.get(page, frozenset()) - known - {page})
            if page not in fetched and (value := worth(page in self.targets, opens)):
                values[each] = value
        if values:
            self._sample(waiting, values)

    def _sample(self, waiting: Sequence[int], values: Mapping[int, float]) -> None:
        stands = {each: priority_now(self.crawl, each) for each in waiting}
        top = sorted(waiting, key=lambda each: (-stands[each], each))[:TOP]
        best = sorted(values, key=lambda each: (-values[each], each))[:BEST]
        fixed = sorted({*top, *best})
        rest = sorted(set(waiting).difference(fixed))
        drawn = self.rng.sample(rest, min(DRAWN, len(rest)))
        stand_for = math.log(len(rest) / len(drawn)) if drawn else 0.0
        params = self.crawl.strategy.params
        rows = []
        for each in (*fixed, *drawn):
            signs = signs_of(self.crawl, each)
            plain = stands[each] - sum(params[name] * x for name, x in signs.items())
            times = stand_for if len(rows) >= len(fixed) else 0.0
            rows.append([values.get(each, 0.0), times, plain, *signs.values()])
        self.rows.append(np.array(rows, np.float32))


def priority_now(crawl: Crawl, url_id: int) -> float:
    """A waiting URL's place in the order, all bonuses counted."""
    queue = crawl.frontier.queues[crawl.url_table.queue[url_id]]
    return crawl.ranker.priority(url_id) + queue.bonus


def signs_of(crawl: Crawl, url_id: int) -> dict[str, float]:
    """The signs of a waiting URL: what `learned` keeps of it beside what `yield` does."""
    evidence = crawl.url_table.link_evidence(url_id)
    return dict(zip(SIGNS, evidence[Yield.width :], strict=True))


# -- crawls -------------------------------------------------------------------------------


class Field:
    """Webs, and what was crawled in them: nothing is crawled twice."""

    def __init__(self, work: Path, folders: Sequence[Path], moments: int) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.worlds = {folder.name: World(folder) for folder in folders}
        self._work, self._moments = work, moments
        self._shares = work / "shares.jsonl"
        lines = self._shares.read_text("utf-8").splitlines() if self._shares.exists() else []
        self._known = {tuple(key): share for key, share in map(json.loads, lines)}
        self._replays: dict[tuple[str, str], Watcher] = {}

    def share(self, web: str, topic: str, weights: Weights, strategy: str = "learned") -> float:
        """The share of the oracle that a crawl gets."""
        key = (web, topic, strategy, _text(weights) if strategy == "learned" else "")
        if key not in self._known:
            self._crawl(key, weights, 0)
        return self._known[key]

    def rows(self, web: str, topic: str, weights: Weights) -> list[Rows]:
        """The moments of a crawl."""
        key = (web, topic, "learned", _text(weights))
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        file = self._work / f"{name}.npz"
        if not file.exists():
            budget = self.worlds[web].topics[topic].ground.budget
            found = self._crawl(key, weights, max(4, budget // self._moments))
            np.savez(file, *found)
        with np.load(file) as saved:
            return [saved[each] for each in saved.files]

    def forget(self, web: str, topic: str) -> None:
        """Let go of scored pages."""
        self._replays.pop((web, topic), None)

    def _crawl(self, key: tuple[str, ...], weights: Weights, every: int) -> list[Rows]:
        web, topic, strategy, _ = key
        world = self.worlds[web]
        one = world.topics[topic]
        given = (
            [(f"learned.{name}", x) for name, x in weights.items()] if strategy == "learned" else []
        )
        (variant,) = variants([strategy], params=given)
        analysis = analysis_of(one.task, variant.relevance, variant.model_params, variant)
        config = CrawlConfig(
            seeds=seed_order(one.task, 0),
            strategy=strategy,
            params=variant.params,
            concurrency=1,
            politeness=PolitenessConfig(delay_s=1.0),
            limits=LimitConfig(max_requests=one.ground.budget),
            analysis=analysis,
        )
        if (web, topic) not in self._replays:
            self._replays[web, topic] = Watcher(world.archive, world.index, analysis)
        replay = self._replays[web, topic]
        crawl = Crawl(config, ReplayTransport(replay, replay, start=replay.recorded_at))
        replay.watch(crawl, world, topic, every)
        crawl.sow(config.seeds)
        asyncio.run(crawl.run())
        share = measures(_result(replay, one), one.ground)["oracle_share"] or 0.0
        self._known[key] = share
        with self._shares.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, share], ensure_ascii=False) + "\n")
        return replay.rows


def _text(weights: Weights) -> str:
    """What differs from `yield`."""
    moved = {name: x for name, x in sorted(weights.items()) if x != PLAIN[name]}
    return " ".join(f"{name}={x:g}" for name, x in moved.items())


def _result(replay: Replay, one: Prepared) -> TrialResult:
    pages, said = replay.pages, replay.said
    return TrialResult("", "", one.task.name, 0, pages, said, seconds=1.0)


# -- learning -----------------------------------------------------------------------------


class Moments(NamedTuple):
    """Moments one behind the other: rows, where each begins, what each counts."""

    rows: Rows
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.float64]


def together(webs: Sequence[Sequence[Rows]]) -> Moments:
    """The moments of several webs, each of which counts the same."""
    flat = [(rows, 1.0 / len(webs) / len(web)) for web in webs for rows in web]
    sizes = np.array([len(rows) for rows, _ in flat])
    return Moments(
        np.vstack([rows for rows, _ in flat]),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        sizes,
        np.array([count for _, count in flat]),
    )


def fit(moments: Moments, steps: int = 300) -> dict[str, float]:
    """Weights of the signs, each in units of `yield`'s number; all are 0 or more.

    The least of Σ count·(-Σ q·ln p) + RIDGE/2·Σ (weight·spread)²; over the waiting URLs of a moment
    q goes by what they are worth, p is the softmax of c·(yield's number + Σ weight·sign). Convex;
    projected gradient with momentum (Beck and Teboulle 2009).
    """
    rows, starts, sizes, counts = moments
    worth_of, times, *columns = rows.T.astype(float)
    x = np.array(columns).T
    mass = worth_of * np.exp(times)
    q = mass / np.repeat(np.add.reduceat(mass, starts), sizes)
    spread = np.where(x.std(0) > 0.0, x.std(0), 1.0)
    x, each = x / spread, np.repeat(counts, sizes)
    ridge = np.array([0.0, *[RIDGE] * len(SIGNS)]) * counts.sum() / 10

    def slope(w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        z = x @ w + times
        e = np.exp(z - np.repeat(np.maximum.reduceat(z, starts), sizes))
        p = e / np.repeat(np.add.reduceat(e, starts), sizes)
        result: npt.NDArray[np.float64] = x.T @ ((p - q) * each) + ridge * w
        return result

    size = 1.0 / (4.0 * x.shape[1])  # curvature is at most that of so many columns of spread 1
    w = ahead = np.array([1.0, *[0.0] * len(SIGNS)])
    for step in range(steps):
        moved = np.maximum(0.0, ahead - size * slope(ahead))
        ahead = moved + step / (step + 3.0) * (moved - w)
        w = moved
    c, *found = w / spread
    return {name: _rounded(u / max(c, 1e-3)) for name, u in zip(SIGNS, found, strict=True)}


def _rounded(weight: float) -> float:
    """To a power of two, 16 at most, 0 under 1/16: not known better, and webs share crawls."""
    return 2.0 ** round(math.log2(min(weight, 16.0))) if weight >= 1 / 16 else 0.0


def rounds(field: Field, webs: Sequence[str], topics: int, number: int) -> dict[str, float]:
    """The weights after so many rounds on these webs."""
    weights, told = dict(PLAIN), {web: list[Rows]() for web in webs}
    for _ in range(number):
        for web in webs:
            for topic in field.worlds[web].smallest(topics):
                told[web] += field.rows(web, topic, weights)
        weights = fit(together([*told.values()]))
        print("  fitted:", _text(weights), flush=True)
    return weights


def trusted(field: Field, webs: Sequence[str], topics: int, fitted: Weights) -> dict[str, float]:
    """Of these weights as much as pays in whole crawls, the heaviest sign first."""

    def shares(weights: Weights) -> list[float]:
        return [
            mean(field.share(web, t, weights) for t in field.worlds[web].smallest(topics))
            for web in webs
        ]

    kept = dict(PLAIN)
    best = shares(kept)
    for name in sorted(SIGNS, key=lambda name: (-fitted[name], name)):
        for part in (1.0, 0.5, 0.25, 0.125):
            tried = {**kept, name: part * fitted[name]}
            if not tried[name]:
                continue
            found = shares(tried)
            worst = min(new - old for new, old in zip(found, best, strict=True))
            if mean(found) - mean(best) >= GAIN and worst > -LOSS:
                kept, best = tried, found
                break
    print("  trusted:", _text(kept), flush=True)
    return {name: kept[name] for name in SIGNS}


def learned(field: Field, webs: Sequence[str], given: Any) -> dict[str, float]:
    """The weights that these webs teach."""
    return trusted(field, webs, given.topics, rounds(field, webs, given.topics, given.rounds))


def left_out(field: Field, given: Any) -> Iterator[tuple[object, ...]]:
    """A line for each web: shares of best-first, `yield`, `learned`; topics won and lost; p."""
    for web, world in field.worlds.items():
        print("without", web, flush=True)
        weights = learned(field, [other for other in field.worlds if other != web], given)
        ours, plain, first = [], [], []
        for topic in world.topics:
            ours.append(field.share(web, topic, weights))
            plain.append(field.share(web, topic, PLAIN, "yield"))
            first.append(field.share(web, topic, PLAIN, "best-first"))
            field.forget(web, topic)
        gaps = [a - b for a, b in zip(ours, plain, strict=True)]
        won, lost = sum(gap > 0.005 for gap in gaps), sum(gap < -0.005 for gap in gaps)
        yield web, mean(first), mean(plain), mean(ours), f"{won}/{lost}", wilcoxon(ours, plain).p


def main() -> None:
    """Leave each web out, print; train on all, write."""
    given = read_options(__doc__)
    field = Field(Path(given.work), [Path(each) for each in given.folder], given.moments)
    if given.write:
        weights = learned(field, [*field.worlds], given)
        given.write.write_text(json.dumps({**CARD, "weights": weights}, indent=1) + "\n", "utf-8")
        return
    head = ["left out", "best-first", "yield", "learned", "won/lost", "p"]
    print(table(head, [*left_out(field, given)]))


if __name__ == "__main__":
    main()
