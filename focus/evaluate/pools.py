"""Judgments by people of a sample of pages, and what they say of crawls.

A sample of the pages that one crawl fetched, or several together (their *pool*, as at TREC),
is judged: on the topic, off it, or partly (½). `judgments.tsv` keeps it, a line each: topic,
url, said (y, n, p; empty: not asked yet), stratum, weight (the pages it stands for), relevance
(the judge's, empty where no one judge saw it). `focus judge` writes it, `focus compare
--judgments` scores by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from focus.errors import ConfigError
from focus.metrics.sampling import Estimate, draw
from focus.metrics.significance import mean

WORDS = ("y", "yes", "n", "no", "p", "partly")
VALUES = {"y": 1.0, "p": 0.5, "n": 0.0}
HEAD = "topic\turl\tsaid\tstratum\tweight\trelevance"
RESAMPLES = 500


class PooledPage(NamedTuple):
    """A page of the pool: crawls that fetched it, and what a judge said of it (None: several)."""

    url: str
    crawls: int
    relevance: float | None
    relevant: bool


class SampledPage(msgspec.Struct, frozen=True):
    """A page drawn to be judged. said: "" until somebody has."""

    topic: str
    url: str
    said: str
    stratum: str
    weight: float
    relevance: float | None = None

    @property
    def value(self) -> float:
        """1 on topic, ½ partly, 0 off."""
        return VALUES[self.said]


def pooled(crawls: Sequence[Iterable[tuple[str, float, bool]]]) -> list[PooledPage]:
    """The pages of several crawls, each once: (url, relevance, relevant) of each crawl.

    A judge's number is kept where there is one crawl; of several, whether most judges said yes.
    """
    found: dict[str, list[tuple[float, bool]]] = {}
    for pages in crawls:
        for url, relevance, relevant in pages:
            found.setdefault(url, []).append((relevance, relevant))
    return [
        PooledPage(
            url,
            len(said),
            said[0][0] if len(crawls) == 1 else None,
            2 * sum(relevant for _, relevant in said) > len(said),
        )
        for url, said in found.items()
    ]


def sampled(topic: str, pool: Sequence[PooledPage], number: int, rng: Random) -> list[SampledPage]:
    """So many pages of a pool, stratified by what judges and crawls said of them.

    One crawl: relevant or not, each in two halves by relevance. Several: relevant or not,
    fetched by one crawl or by more.
    """
    strata: dict[str, list[PooledPage]] = {}
    for kind, name in ((True, "relevant"), (False, "others")):
        pages = [page for page in pool if page.relevant is kind]
        ranked = sorted(pages, key=lambda page: (-(page.relevance or 0.0), page.url))
        for at, page in enumerate(ranked):
            if page.relevance is None:
                half = "several crawls" if page.crawls > 1 else "one crawl"
            else:
                half = "upper half" if 2 * at < len(ranked) else "lower half"
            strata.setdefault(f"{name}, {half}", []).append(page)
    return [
        SampledPage(topic, page.url, "", drawn.stratum, round(drawn.weight, 6), page.relevance)
        for page, drawn in draw(strata, number, rng)
    ]


# -- the file -----------------------------------------------------------------------


def to_tsv(pages: Iterable[SampledPage]) -> str:
    """The text of a judgments.tsv."""
    lines = [HEAD]
    for p in pages:
        relevance = "" if p.relevance is None else f"{p.relevance:.6g}"
        lines.append("\t".join((p.topic, p.url, p.said, p.stratum, f"{p.weight:g}", relevance)))
    return "\n".join(lines) + "\n"


def from_tsv(text: str, where: str) -> list[SampledPage]:
    """The pages of a judgments.tsv; ConfigError with the line that is none."""
    head, *lines = text.splitlines() or [""]
    if head != HEAD:
        raise ConfigError(
            "{where}: is no judgments.tsv; its first line must be {head!r}", where=where, head=HEAD
        )
    found = []
    for number, line in enumerate(lines, 2):
        try:
            topic, url, said, stratum, weight, relevance = line.split("\t")
            if said and said not in VALUES:
                raise ValueError(said)
            of_judge = float(relevance) if relevance else None
            found.append(SampledPage(topic, url, said, stratum, float(weight), of_judge))
        except ValueError:
            raise ConfigError(
                "{where}:{number}: is not topic, url, y|n|p or nothing, stratum, weight, "
                "relevance, parted by tabs",
                where=where,
                number=number,
            ) from None
    return found


def answered(pages: Sequence[SampledPage], text: str, where: str) -> list[SampledPage]:
    """The pages with the answers of a file: a URL and y, n or p on each line.

    ConfigError for an answer that is none; URLs that were not drawn are left out.
    """
    said: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        url, *words = line.split()
        if len(words) != 1 or words[0].lower() not in WORDS:
            raise ConfigError(
                "{where}:{number}: is no URL with y, n or p behind it", where=where, number=number
            )
        said[url] = words[0].lower()[0]
    return [msgspec.structs.replace(page, said=said.get(page.url, page.said)) for page in pages]


def by_stratum(pages: Iterable[SampledPage]) -> dict[str, tuple[float, list[float]]]:
    """Stratum -> (pages it has, what was said of those judged), for `sampling.share`."""
    found: dict[str, tuple[float, list[float]]] = {}
    for page in pages:
        size, values = found.get(page.stratum, (0.0, []))
        if page.said:
            values.append(page.value)
        found[page.stratum] = (size + page.weight, values)
    return found


# -- scoring crawls -----------------------------------------------------------------


class JudgedScore(msgspec.Struct, frozen=True):
    """A way of crawling, as far as judgments tell: means over topics with 95 % intervals.

    judged    pages of the sample that it fetched, over all topics
    harvest   relevant share of what it fetched; recall of the sampled relevant pages; auc: mean
              recall over the budget
    """

    variant: str
    topics: int
    judged: float
    harvest: Estimate
    recall: Estimate
    auc: Estimate


Fetched = Mapping[str, Mapping[int, int]]
"""Topic -> page -> the first request that fetched it, from 1."""

Times = Sequence[tuple[SampledPage, int]]
"""A judged page, and by which request it was fetched; 0: not."""


def judged_score(
    variant: str,
    runs: Sequence[Fetched],
    judged: Mapping[str, Mapping[int, SampledPage]],
    budgets: Mapping[str, int],
) -> JudgedScore:
    """Score the crawls of a way, one for each order of seeds, by judged pages.

    With weight w and value l of a judged page: R = Σ w·l; recall after k requests =
    Σ w·l over those fetched by then / R; harvest = Σ w·l / Σ w over those fetched. Both are
    ratios of unbiased estimates. The interval comes from drawing topics, and within each its
    judged pages, with replacement. Worked: weights 1, 1, 4, said y, n, y; fetched the first two
    by requests 1 and 2 of 4: recall 1/5, harvest 1/2, auc 1/5.
    """
    rows = []
    for topic, pages in judged.items():
        times = [
            [(each, run.get(topic, {}).get(page, 0)) for page, each in pages.items()]
            for run in runs
        ]
        rows.append((times, budgets[topic]))
    drawn = sum(at > 0 for times, _ in rows for run in times for _, at in run) / max(1, len(runs))
    return JudgedScore(
        variant,
        len(rows),
        drawn,
        *(_estimated(rows, measure) for measure in (_harvest, _recall, _auc)),
    )


def _estimated(
    rows: Sequence[tuple[list[list[tuple[SampledPage, int]]], int]],
    measure: Callable[[Times, int], float],
) -> Estimate:
    """The mean over topics of a measure, its runs averaged; drawn again for the interval."""
    rng = Random("judgments")
    value = mean([mean([measure(run, budget) for run in runs]) for runs, budget in rows])

    def again() -> float:
        found = []
        for runs, budget in rng.choices(rows, k=len(rows)):
            places = rng.choices(range(len(runs[0])), k=len(runs[0]))
            found.append(mean([measure([run[at] for at in places], budget) for run in runs]))
        return mean(found)

    drawn = sorted(again() for _ in range(RESAMPLES))
    low, high = drawn[round(0.025 * (RESAMPLES - 1))], drawn[round(0.975 * (RESAMPLES - 1))]
    return Estimate(value, min(low, value), max(high, value))


def _harvest(pages: Times, budget: int) -> float:
    weight = sum(page.weight for page, at in pages if 0 < at <= budget)
    relevant = sum(page.weight * page.value for page, at in pages if 0 < at <= budget)
    return relevant / weight if weight else 0.0


def _recall(pages: Times, budget: int) -> float:
    total = sum(page.weight * page.value for page, _ in pages)
    found = sum(page.weight * page.value for page, at in pages if 0 < at <= budget)
    return found / total if total else 0.0


def _auc(pages: Times, budget: int) -> float:
    total = sum(page.weight * page.value for page, _ in pages)
    area = sum(
        page.weight * page.value * (budget - at + 1) / budget
        for page, at in pages
        if 0 < at <= budget
    )
    return area / total if total else 0.0
