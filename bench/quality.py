"""Writes docs/quality.md and docs/zh/quality.md from what `focus compare` found.

    focus compare --archive WEB --topics … --all-strategies --seed-orders 6 -o A
    focus compare … --strategy yield --strategy best-first --budget 1x --concurrency 64 -o B
    focus compare … (the same) --eager -o C
    python -m bench.quality A/results.json B/results.json C/results.json

One table for each file, in the order given, then what `bench.judges` kept of the judge; the
numbers are copied into bench/results/quality.json first, so that the pages can be written again
(`python -m bench.quality`) without the web.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import judge_section
from bench.script import table

HERE = Path(__file__).parent
KEPT = HERE / "results" / "quality.json"
DOCS = HERE.parent / "docs"
SIGNS = ("R@T", "R@2T", "AUC")
MEASURES = ("recall_T", "recall_2T", "auc", "oracle_share", "harvest", "hosts")


class Words(NamedTuple):
    """What the page says beside the numbers, in one language.

    `one` or `many`, and `budget`, make the heading of a section, `settings` the line below it.
    """

    page: Path
    introduction: str
    head: tuple[str, ...]
    baseline: str
    one: str
    many: str
    budget: str
    settings: str


ENGLISH = Words(
    page=DOCS / "quality.md",
    introduction="""# Quality

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
""",
    head=("strategy", *SIGNS, "95 %", "of the oracle", "ratio", "p", "W/L", "harvest"),
    baseline="baseline",
    one="One request at a time",
    many="{n} requests at once",
    budget="{requests}, budget {budget}",
    settings="Topics {topics}; {orders} orders of the seeds, a delay of {delay:g} s per host by "
    "the virtual clock, guided by `{relevance}`.",
)
CHINESE = Words(
    page=DOCS / "zh" / "quality.md",
    introduction="""# 质量

同样多的请求，哪个策略找到的最多？本页由 `bench/quality.py` 从 `focus compare` 的结果写出；\
没有一个数是手写的。

用的是录制的网站，33 个中文和英文网站，约 23,000 个网页，十个主题。\
标注是网页作者自己给的标签和分类；抓取永远看不到它们。每次请求都算：错误、重定向、robots.txt。\
T 是能到的相关网页数；`R@T` 和 `R@2T` 是 T 次和 2T 次请求找到其中多少，\
`AUC` 是这个比例在整个预算内的平均，`of the oracle` 是它占最佳顺序所能达到的份额，\
`harvest` 是有标注的网页中相关的比例。AUC 之比和 p（按主题的 Wilcoxon 符号秩检验，\
Holm 校正）都是相对于基准的。`yield` 和 `evidence` 的参数是用这十个主题选的；\
`bench/held_out.py` 看它们在别的主题上怎样。
""",
    head=("策略", *SIGNS, "95 %", "of the oracle", "比", "p", "胜/负", "harvest"),
    baseline="基准",
    one="一次一个请求",
    many="同时 {n} 个请求",
    budget="{requests}，预算 {budget}",
    settings="主题：{topics}；种子的 {orders} 种顺序，按虚拟时钟每个主机间隔 {delay:g} s，"
    "由 `{relevance}` 引导。",
)


def main(paths: Sequence[Path]) -> None:
    """Keep what the files say, if any are given, and write the pages."""
    if paths:
        found = [kept(json.loads(path.read_text("utf-8"))) for path in paths]
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    found = json.loads(KEPT.read_text("utf-8"))
    judged = json.loads(judge_section.KEPT.read_text("utf-8"))
    for words in (ENGLISH, CHINESE):
        texts = judge_section.CHINESE if words is CHINESE else judge_section.ENGLISH
        judge = judge_section.judge_section(judged, texts)
        words.page.write_text(page(found, words) + judge, "utf-8")


def page(found: list[dict[str, Any]], words: Words) -> str:
    """The whole page in a language."""
    return "\n".join([words.introduction, *(section(each, words) for each in found)])


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


def section(found: dict[str, Any], words: Words) -> str:
    """A heading, how it was run, and the table."""
    settings = found["settings"]
    n = settings["concurrency"]
    requests = words.one if n == 1 else words.many.format(n=n)
    heading = words.budget.format(requests=requests, budget=settings["budget"])
    eager = ", `--eager`" if settings["eager"] else ""
    told = words.settings.format(
        topics="、".join(found["topics"]),
        orders=settings["seed_orders"],
        delay=settings["delay_s"],
        relevance=found["relevance"],
    )
    rows = [row(each, words.baseline) for each in found["rows"]]
    return f"## {heading}{eager}\n\n{told}\n\n" + table(words.head, rows)


def row(found: dict[str, Any], baseline: str) -> list[object]:
    """A strategy's line."""
    values = {name: "" if (v := found[name]["value"]) is None else v for name in MEASURES}
    auc, versus = found["auc"], found["versus"]
    against: list[object] = [baseline, "", ""] if found["is_baseline"] else ["", "", ""]
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
