"""Searches for the best parameters of a strategy on a recorded web (`focus tune`).

    split     topics, or their seed orders, into a half to search on and one to confirm on
    search    the defaults, then random points, spread over all ranges (`search_space.spread`)
    refine    ROUNDS rounds of points around the best so far, nearer each time
    confirm   the best against the defaults on the half that the search has not seen

Goodness is the mean area under the recall curve (AUC). Points are drawn from the seed and
from what was found, never from time or the number of processes, so that the same order
says the same twice, and an interrupted one goes on where it was.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec
import platformdirs

from focus.errors import ConfigError
from focus.evaluate.compare import judged, open_web, plan, run_trials
from focus.evaluate.comparison import Variant
from focus.evaluate.ground_truth import Inputs, JudgedWeb, Prepared, Spec
from focus.evaluate.holdout import Units, crawls, split
from focus.evaluate.judgments import Remarks, TopicTask
from focus.evaluate.link_graph import Progress
from focus.evaluate.ranking import recall
from focus.evaluate.search_space import Point, Range, fitted, near, spread
from focus.evaluate.tuning_result import Tried, Tuned, compared
from focus.evaluate.variants import owned, variants
from focus.metrics import measures
from focus.metrics.significance import mean
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class

ROUNDS = 3
_RANDOM_SHARE = 0.5
_WIDTH = 0.15  # deviation of the first round of refinement, halved in each
_RUNS_KEPT = 4  # files of interrupted searches


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A search as ordered.

    spec     web, topics, labels, budget, seed orders, as for a comparison; of its variants
             the first says strategy, relevance model, mask and the numbers that stay fixed
    ranges   what is searched for, and where
    trials   how many sets of values are tried, besides the defaults
    """

    spec: Spec
    tasks: tuple[TopicTask, ...]
    ranges: tuple[Range, ...]
    trials: int = 40
    seed: int = 0


def tune(search: Search, progress: Progress) -> Tuned:
    """Search, refine and confirm. Raises FocusError for what cannot be used or split."""
    began = time.perf_counter()
    spec, remarks = search.spec, Remarks()
    ranges = _fitted(search)
    web, inputs = open_web(spec, progress), Inputs(spec)
    judge, prepared = judged(spec, list(search.tasks), web, inputs, remarks)
    halves = split(prepared, spec.seed_orders, search.seed)
    bench = _Bench(search, prepared, web, progress)
    bench.expect((1 + search.trials) * crawls(halves.train) + 2 * crawls(halves.confirm))
    defaults = {each.name: _own(search, each.name)[0] for each in ranges}
    tried = _searched(search, ranges, defaults, lambda asked: bench.try_all(asked, halves.train))
    best = max(tried, key=lambda each: each.auc)  # the first of equals: the defaults
    found = bench.aucs([best.values, defaults], halves.confirm)
    bench.finished()
    return Tuned(
        judge=judge.kind,
        variant=spec.variants[0],
        ranges=ranges,
        inputs={"archive": {"name": spec.archive.name, "sha256": web.digest}, **inputs.digests},
        remarks=remarks.list(),
        topics=[each.facts for each in prepared],
        halves=halves.what,
        train=list(halves.train),
        confirm=list(halves.confirm),
        defaults=tried[0],
        best=best,
        tried=tried[1:],
        confirmed=compared(found[0], found[1], halves.what),
        values=_by_owner(search, best.values),
        seed=search.seed,
        crawls=bench.crawls,
        continued=bench.continued,
        seconds=round(time.perf_counter() - began, 1),
    )


# -- what is searched ---------------------------------------------------------------


def _fitted(search: Search) -> tuple[Range, ...]:
    """The ranges, each for the parameter that it names; ConfigError for one that nobody has."""
    if not search.ranges:
        raise ConfigError("nothing to search for; give --param NAME=LOW..HIGH")
    names = [each.name for each in search.ranges]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError("--param {twice}: is given twice", twice=twice)
    return tuple(fitted(each, _own(search, each.name)) for each in search.ranges)


def _own(search: Search, name: str) -> list[float]:
    """The values that a parameter has by itself: first the tuned one, then the published."""
    base, bare = search.spec.variants[0], name.rpartition(".")[2]
    strategy, model = strategy_class(base.strategy), model_class(base.relevance)
    found: list[float] = []
    for kind in (strategy, model):
        if owned(kind.name, kind.defaults, [(name, 0.0)], set()):
            found += [
                value
                for each in (kind.defaults, kind.published)
                if (value := each.get(bare)) is not None
            ]
    if not found:
        known = [*strategy.defaults, *(f"{model.name}.{each}" for each in model.defaults)]
        raise ConfigError(
            "--param {name}: {strategy} and {model} have no such parameter; known: {known}",
            name=name,
            strategy=strategy.name,
            model=model.name,
            known=", ".join(known) or "none",
        )
    return found


def _by_owner(search: Search, values: dict[str, float]) -> dict[str, dict[str, float]]:
    base = search.spec.variants[0]
    given = list(values.items())
    found = {
        base.strategy: owned(base.strategy, strategy_class(base.strategy).defaults, given, set()),
        base.relevance: owned(base.relevance, model_class(base.relevance).defaults, given, set()),
    }
    return {owner: numbers for owner, numbers in found.items() if numbers}


# -- the search ---------------------------------------------------------------------


def _searched(
    search: Search,
    ranges: Sequence[Range],
    defaults: dict[str, float],
    try_all: Callable[[list[dict[str, float]]], list[Tried]],
) -> list[Tried]:
    """Everything that was tried, the defaults first; values that were had are not tried again."""
    rng = Random(f"search/{search.seed}")
    number = max(1, round(search.trials * _RANDOM_SHARE))
    points: dict[tuple[float, ...], Point] = {tuple(defaults.values()): ()}
    fresh = _new(spread(len(ranges), number, rng), ranges, points)
    tried = try_all([defaults, *fresh])
    for done in range(ROUNDS):
        left = 1 + search.trials - len(tried)
        best = max(tried, key=lambda each: each.auc)
        at = points[tuple(best.values.values())] or _point(ranges, best.values)
        width = _WIDTH / 2**done
        drawn = (near(at, width, rng) for _ in range(20 * left))
        fresh = _new(drawn, ranges, points, most=-(-left // (ROUNDS - done)))
        tried += try_all(fresh)
    return tried


def _new(
    drawn: Iterable[Point],
    ranges: Sequence[Range],
    points: dict[tuple[float, ...], Point],
    most: int | None = None,
) -> list[dict[str, float]]:
    """The values at these points that were not tried yet, so many at most; noted in `points`."""
    found: list[dict[str, float]] = []
    for point in drawn:
        if most is not None and len(found) >= most:
            break
        values = tuple(each.value(x) for each, x in zip(ranges, point, strict=True))
        if values not in points:
            points[values] = point
            found.append({each.name: v for each, v in zip(ranges, values, strict=True)})
    return found


def _point(ranges: Sequence[Range], values: dict[str, float]) -> Point:
    """Where values stand that were not drawn (the defaults): the nearest of a fine grid."""
    grid = [(step + 0.5) / 256 for step in range(256)]
    return tuple(min(grid, key=lambda x: abs(each.value(x) - values[each.name])) for each in ranges)


class _Bench:
    """Tries values by crawling, and keeps what was crawled until the search is over."""

    def __init__(
        self, search: Search, prepared: Sequence[Prepared], web: JudgedWeb, progress: Progress
    ) -> None:
        self._search = search
        self._prepared = {each.task.name: each for each in prepared}
        self._web = web
        self._progress = progress
        self._runs = _runs_file(search, web.digest)
        self._total = 0
        self.crawls = self.continued = 0

    def expect(self, crawls: int) -> None:
        """How many crawls there will be at most."""
        self._total = crawls

    def finished(self) -> None:
        """The crawls are not needed any more."""
        self._runs.unlink(missing_ok=True)

    def try_all(self, asked: list[dict[str, float]], units: Units) -> list[Tried]:
        """The mean AUC of each."""
        found = self.aucs(asked, units)
        means = [mean([mean(orders) for orders in each.values()]) for each in found]
        return [Tried(values, round(auc, 6)) for values, auc in zip(asked, means, strict=True)]

    def aucs(self, asked: list[dict[str, float]], units: Units) -> list[dict[str, list[float]]]:
        """Of each set of values: topic -> the AUC of each of its seed orders."""
        ways = [self._variant(values) for values in asked]
        spec = self._search.spec
        trials = [
            trial
            for topic, orders in units.items()
            for way in ways
            for trial in plan(spec, self._prepared[topic], way, orders=orders, web=self._web)
        ]
        done = self.crawls
        outcomes, before = run_trials(
            spec, trials, self._runs, lambda what, n, _: self._progress(what, done + n, self._total)
        )
        self.crawls += len(trials)
        self.continued += before
        found: dict[str, dict[str, list[float]]] = {way.id: {} for way in ways}
        for outcome in outcomes:
            curve = recall(outcome, self._prepared[outcome.topic].ground)
            auc = measures.area_under_recall(curve)
            found[outcome.variant].setdefault(outcome.topic, []).append(auc)
        return [found[way.id] for way in ways]

    def _variant(self, values: dict[str, float]) -> Variant:
        base = self._search.spec.variants[0]
        owners = _by_owner(self._search, values)
        name = ",".join(f"{name}={value:g}" for name, value in values.items())
        return msgspec.structs.replace(
            base,
            id=f"{base.id}?{name}",
            params={**base.params, **owners.get(base.strategy, {})},
            model_params={**base.model_params, **owners.get(base.relevance, {})},
        )


def _runs_file(search: Search, archive: str) -> Path:
    """Where the crawls of this very search are kept; those of old ones are cleared away."""
    spec = search.spec
    folder = (spec.cache_dir or Path(platformdirs.user_cache_dir("focus"))) / "tuning"
    order = msgspec.json.encode(
        [archive, spec.variants[0], search.tasks, search.ranges, search.seed, spec.budget]
    )
    file = folder / f"{hashlib.sha256(order).hexdigest()[:20]}.jsonl"
    with suppress(OSError):
        old = sorted(folder.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)
        for each in [one for one in old if one != file][: -(_RUNS_KEPT - 1)]:
            each.unlink()
    return file


def base_variant(
    strategy: str, relevance: str, mask: str, fixed: Iterable[tuple[str, float]], judge: str | None
) -> Variant:
    """What a search starts from: a strategy and a model with the numbers that stay fixed."""
    return variants([strategy], relevance=[relevance], masks=[mask], params=fixed, judge=judge)[0]
