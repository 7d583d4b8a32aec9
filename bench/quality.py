"""Prints the tables of docs/quality.md from results of `focus research compare`.

    python -m bench.quality [FILE …]

    focus research compare --archive WEB --topics … --labels … --all-strategies --unrecorded ask
        --unrecorded skip --seed-orders 3 -o A
    focus research compare … --strategy yield --strategy best-first --concurrency 64 -o B
    python -m bench.quality A/results.json B/results.json

Each file yields one table for links that the recording cannot answer (`ask`: they count as
requests, `skip`: they are left out). The page explains the columns.
"""

import json
from collections.abc import Iterator
from typing import Any

from bench.script import read_options, table

HEAD = ("strategy", "R@T", "R@2T", "AUC", "95 %", "of the oracle", "ratio", "p", "W/L", "harvest")


def main() -> None:
    """Print the tables of each file."""
    for path in read_options(__doc__).file:
        print("\n".join(sections(json.loads(path.read_text("utf-8")))))


def sections(results: dict[str, Any]) -> Iterator[str]:
    """Yield the sections for one results.json as Markdown."""
    settings = results["settings"]
    topics = "、".join(topic["name"] for topic in results["topics"])
    for group in results["groups"]:
        yield (
            f"## {settings['concurrency']} requests at once, budget {settings['budget']}, "
            f"unrecorded links: {group['unrecorded']}\n\n"
            f"Topics {topics}; orders of the seeds: {settings['seed_orders']}; a delay of "
            f"{settings['delay_s']:g} s per host, guided by `{group['relevance']}`.\n"
        )
        yield table(HEAD, [_row(score, group["baseline"]) for score in group["scores"]])


def _strategy(score: dict[str, Any]) -> str:
    """Return the strategy of a variant, which is the first part of its name."""
    return str(score["variant"].partition("/")[0])


def _row(score: dict[str, Any], baseline: str) -> list[object]:
    measures = {name: measure["value"] for name, measure in score["measures"].items()}
    auc, versus = score["measures"]["auc"], (score.get("versus") or {}).get("auc")
    comparison: list[object] = ["baseline" if score["variant"] == baseline else "", "", ""]
    if versus is not None:
        wins = f"{versus['wins']}/{versus['losses']}"
        comparison = [f"{versus['ratio']:.2f}", _shown(versus["p_holm"]), wins]
    return [
        _strategy(score),
        *(_shown(measures[name]) for name in ("recall_T", "recall_2T", "auc")),
        f"{auc['low']:.3f}–{auc['high']:.3f}",
        _shown(measures["oracle_share"]),
        *comparison,
        _shown(measures["harvest"]),
    ]


def _shown(value: float | None) -> object:
    return "" if value is None else value


if __name__ == "__main__":
    main()
