"""Finds the ground truth of each topic on a recorded web: targets, budget and oracle.

Only this module and `ranking` use labels.
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
    describe_topic,
    read_aliases,
    read_labels,
    read_topics,
    remove_hub_labels,
)
from focus.evaluate.link_graph import LinkGraph, PageIndex, code_digest
from focus.evaluate.ranking import TopicTruth, sample_curve
from focus.evaluate.trial import judge_topics
from focus.i18n import mark
from focus.learn.model_file import apply_model
from focus.metrics.measures import area_under_recall
from focus.metrics.oracle import oracle_curve, reachable_targets
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class
from focus.topic.terms import LIBRARY, remove_added_words
from focus.topic.topic import to_builtins

EXTRA_REQUESTS = 20
"""Requests added to a budget of N times the targets, for the robots.txt files and seeds."""


class ComparisonSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a comparison.

    Attributes:
        archive: Recorded web (.warc, .warc.gz, .warc.zst).
        topics: Path of topics.json.
        judge: Relevance model that judges if there are no labels.
        terms: Related terms of the topics, as in `focus crawl --terms`.
        topic_names: Names of the topics to use; empty for all.
        budget: Requests per crawl: "800", or "3x" for 3 times the targets + 20.
        baseline: Strategy that the others are tested against; None for the first variant's.
        cache_dir: Folder of the unpacked archive and its link graph; None for the user's cache.
    """

    archive: Path
    topics: Path
    variants: tuple[Variant, ...]
    out: Path
    labels: Path | None = None
    hubs: Path | None = None
    aliases: Path | None = None
    judge: str | None = None
    terms: str = LIBRARY
    topic_names: tuple[str, ...] = ()
    budget: str = "3x"
    seed_orders: int = 6
    concurrency: int = 1
    eager: bool = False
    delay_s: float = 1.0
    baseline: str | None = None
    jobs: int = 1
    cache_dir: Path | None = None


class JudgedWeb(NamedTuple):
    """The parts of a recorded web that judging needs."""

    pages: PageIndex
    graph: LinkGraph
    digest: str
    damage: str | None


class InputFiles:
    """Reads the input files and records their digests."""

    def __init__(self, spec: ComparisonSpec) -> None:
        code = {"name": f"focus {__version__}", "sha256": code_digest()}
        self.digests: dict[str, dict[str, str]] = {"code": code}

    def read_text(self, what: str, path: Path | None) -> str:
        """Return the text of a UTF-8 file, which may be gzipped; an empty text without a path.

        Raises ConfigError if the file cannot be read.
        """
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


def load_judge(
    spec: ComparisonSpec,
    tasks: list[TopicTask],
    web: JudgedWeb,
    inputs: InputFiles,
    remarks: Remarks,
) -> Judge:
    """Return the judge: the labels, or a relevance model in their place."""
    aliases = read_aliases(inputs.read_text("aliases", spec.aliases), remarks)
    text, folder = inputs.read_text("topics", spec.topics), spec.topics.parent
    names = [task.name for task in read_topics(text, "topics", folder)]
    if spec.judge is not None:
        verdicts_by_topic = _judge_reachable_pages(spec, tasks, web)
        judge = Judge("", {}, aliases)
        labels_by_topic = [
            {judge.canonical_page(url): v for url, v in verdicts.items()}
            for verdicts in verdicts_by_topic
        ]
        labels = dict(zip((task.name for task in tasks), labels_by_topic, strict=True))
        return Judge(f"self-judged: {spec.judge}", labels, aliases)
    if spec.labels is None:
        raise ConfigError(
            "there are no labels; give --labels FILE, or --judge MODEL in their place"
        )
    labels = read_labels(inputs.read_text("labels", spec.labels), names, aliases, remarks)
    remove_hub_labels(labels, inputs.read_text("hubs", spec.hubs), aliases, remarks)
    return Judge(mark("labels"), labels, aliases)


def _judge_reachable_pages(
    spec: ComparisonSpec, tasks: list[TopicTask], web: JudgedWeb
) -> list[dict[str, bool]]:
    """Return the judging model's verdict on each reachable page, per topic."""
    requests = []
    all_pages = range(len(web.pages.urls))
    for task in tasks:
        graph = dict(enumerate(web.graph.links))
        seeds = _seed_pages(task, web.pages)
        reachable_pages = sorted(reachable_targets(graph, seeds, all_pages) | set(seeds))
        requests.append((analysis_config(task, str(spec.judge), {}), reachable_pages))
    return list(judge_topics(spec.archive, requests, jobs=spec.jobs, cache_dir=spec.cache_dir))


def _seed_pages(task: TopicTask, index: PageIndex) -> list[int]:
    """Return the numbers of the archived pages that a topic's seeds lead to."""
    numbers = (index.find_page(seed if "://" in seed else f"http://{seed}") for seed in task.seeds)
    return [number for number in numbers if number is not None]


class PreparedTopic(NamedTuple):
    """A topic with its ground truth and its facts for the report."""

    task: TopicTask
    truth: TopicTruth
    facts: TopicFacts


def prepare_topics(
    spec: ComparisonSpec, tasks: list[TopicTask], web: JudgedWeb, judge: Judge, remarks: Remarks
) -> list[PreparedTopic]:
    """Return the topics that have targets, with their budgets. Raises ConfigError if none has."""
    pages = [judge.canonical_page(url) for url in web.pages.urls]
    first_numbers: dict[str, int] = {}
    for number, page in enumerate(pages):
        if number not in web.graph.redirects:
            first_numbers.setdefault(page, number)
    canonical_page = [
        number if number in web.graph.redirects else first_numbers[page]
        for number, page in enumerate(pages)
    ]
    graph: dict[int, set[int]] = {}
    for number, links in enumerate(web.graph.links):
        graph.setdefault(canonical_page[number], set()).update(
            canonical_page[link] for link in links
        )
    sorted_graph = {number: sorted(links) for number, links in graph.items()}
    for page in sorted(judge.labelled_pages() - first_numbers.keys()):
        remarks.add(mark("labelled pages that are not in the archive"), page)
    prepared_topics = []
    for task in tasks:
        for seed in task.seeds:
            if web.pages.find_page(seed) is None:
                remarks.add(mark("seeds that are not in the archive"), seed)
        labels = {
            first_numbers[page]: v
            for page, v in judge.topic_labels(task.name).items()
            if page in first_numbers
        }
        prepared = _prepare_topic(spec, task, web, (canonical_page, sorted_graph, labels))
        if prepared is None:
            remarks.add(mark("topics left out: no relevant page can be reached"), task.name)
        else:
            prepared_topics.append(prepared)
    if not prepared_topics:
        reasons = "; ".join(f"{remark.count:,} {remark.what}" for remark in remarks.as_list())
        raise ConfigError(
            "no relevant page can be reached from the seeds of any topic ({why})", why=reasons
        )
    return prepared_topics


def _prepare_topic(
    spec: ComparisonSpec,
    task: TopicTask,
    web: JudgedWeb,
    pages_and_labels: tuple[list[int], Mapping[int, list[int]], dict[int, bool]],
) -> PreparedTopic | None:
    canonical_page, graph, labels = pages_and_labels
    seeds = [canonical_page[number] for number in _seed_pages(task, web.pages)]
    relevant = [page for page, label in labels.items() if label]
    targets = reachable_targets(graph, seeds, relevant)
    if not targets:
        return None
    budget = parse_budget(spec.budget, len(targets))
    oracle = oracle_curve(graph, seeds, targets, budget)
    topic_truth = TopicTruth(
        topic=task.name,
        canonical_page=canonical_page,
        labels=labels,
        targets=targets,
        budget=budget,
        oracle=oracle,
        page_host=lambda number: web.pages.urls[number].split("/")[2],
    )
    facts = TopicFacts(
        **describe_topic(task),
        relevant=len(relevant),
        targets=len(targets),
        reachable_pages=len(reachable_targets(graph, seeds, graph.keys())),
        budget=budget,
        oracle=sample_curve(oracle),
        oracle_auc=round(area_under_recall(oracle), 6),
    )
    return PreparedTopic(task, topic_truth, facts)


def parse_budget(text: str, targets: int) -> int:
    """Return the requests for a topic: "800" for any, "3x" for 3 times its targets + 20.

    Raises ConfigError for any other text.

    Example: "3x" with 260 targets gives 800.
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


def analysis_config(
    task: TopicTask, relevance: str, params: Mapping[str, float], variant: Variant | None = None
) -> AnalysisConfig:
    """Return the configuration of the relevance model of a variant, or of the judge."""
    topic, trained = apply_model(task.topic, relevance, params)
    relevance_class = model_class(relevance)
    differs = bool(relevance_class.published) or relevance_class.published_threshold is not None
    strategy = strategy_class(variant.strategy) if variant else None
    published = variant is not None and variant.form == "published"
    if published and strategy is not None and strategy.published_topic == "keywords":
        topic = msgspec.structs.replace(topic, features={})
    if published or relevance != AnalysisConfig().relevance:
        topic = remove_added_words(topic)
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
    return analysis if strategy is None else strategy.extend_analysis(analysis)
