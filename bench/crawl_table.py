"""Counts the labelled-relevant pages that each strategy fetches with 2|T| pages.

    python bench/crawl_table.py ARCHIVE TOPICS_JSON LABELS_TSV_GZ [STRATEGY[!] …]

Runs `focus crawl --archive … --concurrency 1` for each topic and strategy (! = --as-published),
reads the pages back by `focus export`, and counts labels, which the crawl never sees.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote

STRATEGIES = ("bfs", "best-first", "topic-pagerank", "topic-pagerank!", "best-link", "yield")


def spelling(url: str) -> str:
    """Host and decoded path: how URLs of archive and labels are compared."""
    host, _, path = url.partition("://")[2].partition("/")
    return f"{host.lower()}/{unquote(path.partition('#')[0])}"


def relevant(labels: Path) -> dict[str, set[str]]:
    """Topic -> its relevant pages."""
    found: dict[str, set[str]] = {}
    with gzip.open(labels, "rt", encoding="utf-8") as lines:
        for line in lines:
            url, topic, label, *_ = line.rstrip("\n").split("\t")
            if label == "1":
                found.setdefault(topic, set()).add(spelling(url))
    return found


def focus(*arguments: str) -> str:
    """What a focus command prints; it must end with code 0."""
    command = [sys.executable, "-m", "focus", *arguments]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def crawl(archive: str, topic: dict, strategy: str, folder: str) -> tuple[list[str], float]:
    """The URLs of one crawl in order, and its seconds."""
    name = strategy.removesuffix("!")
    db = str(Path(folder) / "t.db")
    seeds = [part for seed in topic["seeds"] for part in ("--seed", seed)]
    limit = str(2 * topic["relevant_reachable"])
    flags = ["--as-published"] if strategy.endswith("!") else []
    began = time.monotonic()
    focus("crawl", "-q", "--archive", archive, "--topic", ",".join(topic["keywords"]), *seeds,
          "--strategy", name, *flags, "--max-pages", limit, "--concurrency", "1",
          "--fresh", "--keep", "none", "--db", db)  # fmt: skip
    seconds = time.monotonic() - began
    lines = focus("export", "--db", db, "--fields", "url,nth", "--sort", "fetched").splitlines()
    rows = sorted(map(json.loads, lines), key=lambda row: row["nth"])
    return [row["url"] for row in rows], seconds


def main() -> None:
    """Print a row per topic and strategy, then the means."""
    archive, topics, labels, *strategies = sys.argv[1:]
    wanted = relevant(Path(labels))
    means: dict[str, list[tuple[float, float]]] = {}
    pages_all, seconds_all = 0, 0.0
    print("topic\tstrategy\tpages\trelevant at |T|\trelevant at 2|T|\tof")
    for topic in json.loads(Path(topics).read_text(encoding="utf-8")):
        size = topic["relevant_reachable"]
        for strategy in strategies or STRATEGIES:
            with tempfile.TemporaryDirectory() as folder:
                urls, seconds = crawl(archive, topic, strategy, folder)
            pages_all, seconds_all = pages_all + len(urls), seconds_all + seconds
            hits = [spelling(url) in wanted[topic["name"]] for url in urls]
            early, late = sum(hits[:size]), sum(hits)
            means.setdefault(strategy, []).append((early / size, late / size))
            print(topic["name"], strategy, len(urls), early, late, size, sep="\t", flush=True)
    for strategy, recalls in means.items():
        early, late = (sum(column) / len(recalls) for column in zip(*recalls, strict=True))
        print(f"mean\t{strategy}\t\t{early:.3f}\t{late:.3f}")
    print(f"{pages_all / seconds_all:.0f} pages/s over all runs, start-up included")


if __name__ == "__main__":
    main()
