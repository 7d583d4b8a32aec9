"""Prepares the ground truth of each topic on a recorded web: targets, budget and oracle.

From a comparison as ordered (`Spec`) to its topics with targets, budget and oracle. This
and `ranking` are the only modules that see labels.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus import __version__
from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.evaluate.comparison import TopicFacts, Variant
from focus.evaluate.judgments import (
    Judge,
    Remarks,
    TopicTask,
    about,
    leave_out_hubs,
    read_aliases,
    read_labels,
    read_topics,
)
from focus.evaluate.link_graph import LinkGraph, PageIndex, code_digest
from focus.evaluate.ranking import TopicTruth, thinned
from focus.evaluate.trial import judge_topics
from focus.i18n import mark
from focus.learn.model_file import applied
from focus.metrics.measures import area_under_recall
from focus.metrics.oracle import oracle_curve, reachable_targets
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class
from focus.topic.topic import to_builtins

EXTRA_REQUESTS = 20
"""Added to a budget of N times the targets: robots.txt files and seeds, for small topics."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison as ordered.

    archive      recorded web (.warc, .warc.gz, .warc.zst)
    topics       topics.json; labels, hubs and aliases may be None for what is not there
    judge        relevance model that judges where there are no labels
    names        only these topics, all for none
    budget       requests per crawl: "800", or "3x" = 3 times the targets + 20
    baseline     strategy that the others are tested against, None: the first variant's
    cache_dir    for the unpacked archive and its link graph, None: the user's
    """

    archive: Path
    topics: Path
    variants: tuple[Variant, ...]
    out: Path
    labels: Path | None = None
    hubs: Path | None = None
    aliases: Path | None = None
    judge: str | None = None
    names: tuple[str, ...] = ()
    budget: str = "3x"
    seed_orders: int = 6
    concurrency: int = 1
    eager: bool = False
    delay_s: float = 1.0
    baseline: str | None = None
    jobs: int = 1
    cache_dir: Path | None = None


class JudgedWeb(NamedTuple):
    """A recorded web, as far as judging needs it."""

    pages: PageIndex
    graph: LinkGraph
    digest: str
    damage: str | None


class Inputs:
    """Reads the input files and remembers what they were."""

    def __init__(self, spec: Spec) -> None:
        code = {"name": f"focus {__version__}", "sha256": code_digest()}
        self.digests: dict[str, dict[str, str]] = {"code": code}

    def text(self, what: str, path: Path | None) -> str:
        """A file of UTF-8, gzipped or not; "" for none. ConfigError if it cannot be read."""
        if path is None:
            return ""
        try:
            data = path.read_bytes()
            self.digests[what] = {"name": path.name, "sha256": hashlib.sha256(data).hexdigest()}
            plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            return plain.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(
                "{path}: is not UTF-8 (byte {start})", path=path, start=error.start
            ) from None
        except (OSError, EOFError) as error:
            raise ConfigError("{path}: cannot be read: {error}", path=path, error=error) from None


def judge_of(
    spec: Spec, tasks: list[TopicTask], web: JudgedWeb, inputs: Inputs, remarks: Remarks
) -> Judge:
    """Labels, or a relevance model in their place."""
    aliases = read_aliases(inputs.text("aliases", spec.aliases), remarks)
    text, folder = inputs.text("topics", spec.topics), spec.topics.parent
    names = [task.name for task in read_topics(text, "topics", folder)]
    if spec.judge is not None:
        found = _self_judged(spec, tasks, web)
        judge = Judge("", {}, aliases)
        paged = [{judge.page_of(url): v for url, v in each.items()} for each in found]
        labels = dict(zip((task.name for task in tasks), paged, strict=True))
        return Judge(f"self-judged: {spec.judge}", labels, aliases)
    if spec.labels is None:
        raise ConfigError(
            "there are no labels; give --labels FILE, or --judge MODEL in their place"
        )
    labels = read_labels(inputs.text("labels", spec.labels), names, aliases, remarks)
    leave_out_hubs(labels, inputs.text("hubs", spec.hubs), aliases, remarks)
    return Judge(mark("labels"), labels, aliases)


def _self_judged(spec: Spec, tasks: list[TopicTask], web: JudgedWeb) -> list[dict[str, bool]]:
    """What the judging model says, per topic, of each page that can be reached."""
    asked = []
    everything = range(len(web.pages.urls))
    for task in tasks:
        graph = dict(enumerate(web.graph.links))
        seeds = _seed_pages(task, web.pages)
        within = sorted(reachable_targets(graph, seeds, everything) | set(seeds))
        asked.append((analysis_of(task, str(spec.judge), {}), within))
    return list(judge_topics(spec.archive, asked, jobs=spec.jobs, cache_dir=spec.cache_dir))


def _seed_pages(task: TopicTask, index: PageIndex) -> list[int]:
    """The archived pages that a topic's seeds are answered with."""
    found = (index.of(seed if "://" in seed else f"http://{seed}") for seed in task.seeds)
    return [number for number in found if number is not None]


class Prepared(NamedTuple):
    """A topic that can be crawled for, and what is true of it."""

    task: TopicTask
    ground: TopicTruth
    facts: TopicFacts


def prepare(
    spec: Spec, tasks: list[TopicTask], web: JudgedWeb, judge: Judge, remarks: Remarks
) -> list[Prepared]:
    """The topics that have targets, with their budgets; ConfigError if none has."""
    pages = [judge.page_of(url) for url in web.pages.urls]
    first: dict[str, int] = {}
    for number, page in enumerate(pages):
        if number not in web.graph.redirects:
            first.setdefault(page, number)
    page_of = [
        number if number in web.graph.redirects else first[page]
        for number, page in enumerate(pages)
    ]
    graph: dict[int, set[int]] = {}
    for number, links in enumerate(web.graph.links):
        graph.setdefault(page_of[number], set()).update(page_of[link] for link in links)
    ordered = {number: sorted(links) for number, links in graph.items()}
    for page in sorted(judge.pages() - first.keys()):
        remarks.add(mark("labelled pages that are not in the archive"), page)
    found = []
    for task in tasks:
        for seed in task.seeds:
            if web.pages.of(seed) is None:
                remarks.add(mark("seeds that are not in the archive"), seed)
        labels = {first[page]: v for page, v in judge.of(task.name).items() if page in first}
        one = _topic(spec, task, web, (page_of, ordered, labels))
        if one is None:
            remarks.add(mark("topics left out: no relevant page can be reached"), task.name)
        else:
            found.append(one)
    if not found:
        why = "; ".join(f"{remark.count:,} {remark.what}" for remark in remarks.list())
        raise ConfigError(
            "no relevant page can be reached from the seeds of any topic ({why})", why=why
        )
    return found


def _topic(
    spec: Spec,
    task: TopicTask,
    web: JudgedWeb,
    truth: tuple[list[int], Mapping[int, list[int]], dict[int, bool]],
) -> Prepared | None:
    page_of, graph, labels = truth
    seeds = [page_of[number] for number in _seed_pages(task, web.pages)]
    relevant = [page for page, label in labels.items() if label]
    targets = reachable_targets(graph, seeds, relevant)
    if not targets:
        return None
    budget = budget_of(spec.budget, len(targets))
    oracle = oracle_curve(graph, seeds, targets, budget)
    ground = TopicTruth(
        topic=task.name,
        page_of=page_of,
        labels=labels,
        targets=targets,
        budget=budget,
        oracle=oracle,
        host_of=lambda number: web.pages.urls[number].split("/")[2],
    )
    facts = TopicFacts(
        **about(task),
        relevant=len(relevant),
        targets=len(targets),
        reachable_pages=len(reachable_targets(graph, seeds, graph.keys())),
        budget=budget,
        oracle=thinned(oracle),
        oracle_auc=round(area_under_recall(oracle), 6),
    )
    return Prepared(task, ground, facts)


def budget_of(text: str, targets: int) -> int:
    """Requests for a topic: "800" for any, "3x" for 3 times its targets + 20.

    ConfigError for anything else. Worked: "3x" with 260 targets -> 800.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([xX×])|(\d+)", text.strip())
    budget = 0
    if match and match[3]:
        budget = int(match[3])
    elif match and float(match[1]) > 0:
        budget = round(float(match[1]) * targets) + EXTRA_REQUESTS
    if budget < 1:
        raise ConfigError(
            "--budget {text}: is not like 800 (requests) or 3x (times the targets)", text=text
        )
    return budget


def analysis_of(
    task: TopicTask, relevance: str, params: Mapping[str, float], variant: Variant | None = None
) -> AnalysisConfig:
    """What the relevance model of a variant, or of the judge, is told."""
    topic, trained = applied(task.topic, relevance, params)
    kind = model_class(relevance)
    differs = bool(kind.published) or kind.published_threshold is not None
    wanted = strategy_class(variant.strategy) if variant else None
    published = variant is not None and variant.form == "published"
    if published and wanted is not None and wanted.published_topic == "keywords":
        topic = msgspec.structs.replace(topic, features={})
    analysis = AnalysisConfig(
        topic=to_builtins(topic),
        relevance=relevance,
        params=dict(params),
        trained=trained,
        as_published=differs and published,
        keep="none",
        url_patterns=True,
        mask_meta=variant is not None and variant.mask in ("meta", "both"),
        mask_urls=variant is not None and variant.mask in ("urls", "both"),
    )
    return analysis if wanted is None else wanted.extend_analysis(analysis)
