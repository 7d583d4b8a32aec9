"""Writes docs/quality.md from what `focus compare` found.

    focus compare --archive WEB --topics … --all-strategies --seed-orders 6 -o A
    focus compare … --strategy yield --strategy best-first --budget 1x --concurrency 64 -o B
    focus compare … (the same) --eager -o C
    python -m bench.quality A/results.json B/results.json C/results.json

One table for each file, in the order given; the numbers are copied into bench/results/quality.json
first, so that the page can be written again (`python -m bench.quality`) without the web.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.script import table

HERE = Path(__file__).parent
KEPT = HERE / "results" / "quality.json"
PAGE = HERE.parent / "docs" / "quality.md"
MEASURES = ("recall_T", "recall_2T", "auc", "oracle_share", "harvest", "hosts")
HEAD = ("strategy", "R@T", "R@2T", "AUC", "95 %", "of the oracle", "ratio", "p", "W/L", "harvest")

INTRODUCTION = """# Quality

Which strategy finds most of what there is, for the requests it makes? This page is written by
`bench/quality.py` from the results of `focus compare`; no number here is typed by hand.

The web is a recorded one of some 23,000 pages of 33 Chinese and English sites, with ten topics.
Labels are the tags and categories that the pages' authors gave; no crawl ever sees them. Every
request counts: errors, redirects, robots.txt. T is the number of relevant pages that can be
reached; `R@T` and `R@2T` are the shares of them found by T and 2T requests, `AUC` the mean of that
share over the whole budget, `of the oracle` the same as a share of what the best order could have
had, `harvest` the share of relevant pages among labelled ones. Ratios of AUC, and p (Wilcoxon's
signed ranks over topics, Holm's correction) are against the baseline. The numbers of `yield` and
`evidence` were chosen on these ten topics; `bench/held_out.py` asks how they do on others.
"""


def main(paths: Sequence[Path]) -> None:
    """Keep what the files say, if any are given, and write the page."""
    if paths:
        found = [kept(json.loads(path.read_text("utf-8"))) for path in paths]
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    sections = [section(each) for each in json.loads(KEPT.read_text("utf-8"))]
    PAGE.write_text("\n".join([INTRODUCTION, *sections]), "utf-8")


def kept(results: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a results.json."""
    group = results["groups"][0]
    return {
        "settings": results["settings"],
        "topics": [topic["name"] for topic in results["topics"]],
        "relevance": group["relevance"],
        "rows": [
            {
                "strategy": score["variant"].partition("/")[0],
                "is_baseline": score["variant"] == group["baseline"],
                **{name: score["measures"][name] for name in MEASURES},
                "versus": (score.get("versus") or {}).get("auc"),
            }
            for score in group["scores"]
        ],
    }


def section(found: dict[str, Any]) -> str:
    """A heading, how it was run, and the table."""
    settings, names = found["settings"], "、".join(found["topics"])
    many = settings["concurrency"]
    at_once = "One request at a time" if many == 1 else f"{many} requests at once"
    eager = ", `--eager`" if settings["eager"] else ""
    return (
        f"## {at_once}, budget {settings['budget']}{eager}\n\n"
        f"Topics {names}; {settings['seed_orders']} orders of the seeds, a delay of "
        f"{settings['delay_s']:g} s per host by the virtual clock, guided by "
        f"`{found['relevance']}`.\n\n" + table(HEAD, [row(each) for each in found["rows"]])
    )


def row(found: dict[str, Any]) -> list[object]:
    """A strategy's line."""
    values = {name: "" if (v := found[name]["value"]) is None else v for name in MEASURES}
    auc, versus = found["auc"], found["versus"]
    against: list[object] = ["baseline", "", ""] if found["is_baseline"] else ["", "", ""]
    if versus is not None:
        p = versus["p_holm"]
        ratio = f"{versus['ratio']:.2f}"
        against = [ratio, "" if p is None else p, f"{versus['wins']}/{versus['losses']}"]
    return [
        found["strategy"],
        *(values[name] for name in ("recall_T", "recall_2T", "auc")),
        f"{auc['low']:.3f}–{auc['high']:.3f}",
        values["oracle_share"],
        *against,
        values["harvest"],
    ]


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
