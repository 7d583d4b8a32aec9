"""Writes docs/quality.md and docs/zh/quality.md from what `focus compare` found.

    focus compare --archive WEB --topics … --labels … --all-strategies --unrecorded ask
        --unrecorded skip --seed-orders 3 -o A
    focus compare … --strategy yield --strategy best-first --concurrency 64 -o B
    python -m bench.quality dev=A/results.json dev=B/results.json dev2@6c967d4=…

A file is given with the name of its web (`WEBS`) and, after an @, the commit that was measured.
First a table over all webs, then one for each file, then what `bench.judges` kept of the judge; the
numbers are copied into bench/results/quality.json first, in place of a table that is there of the
same web and way of crawling and no further strategy, so that the pages can be written again
(`python -m bench.quality`) without the webs. Files of `--judgments bench/judgments/WEB.tsv` give
the table by reading.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import judge_section
from bench.script import table

HERE = Path(__file__).parent
KEPT = HERE / "results" / "quality.json"
DOCS = HERE.parent / "docs"
SIGNS = ("R@T", "R@2T", "AUC")
MEASURES = ("recall_T", "recall_2T", "auc", "oracle_share", "harvest", "hosts")
READ = ("harvest", "recall", "auc")
WEBS = ("dev", "dev2", "dev-en", "encyclopedia", "manuals")


class Words(NamedTuple):
    """What the page says beside the numbers, in one language.

    `webs` describes each of `WEBS`; `one` or `many`, and `budget`, make the heading of a section,
    `settings` the line below it.
    """

    page: Path
    introduction: str
    webs: tuple[str, ...]
    all_webs: str
    by_reading: str
    head: tuple[str, ...]
    read_head: tuple[str, ...]
    baseline: str
    one: str
    many: str
    budget: str
    settings: str
    tree: str
    skipped: str


ENGLISH = Words(
    page=DOCS / "quality.md",
    introduction="""# Quality

Which strategy finds most of what there is, for the requests it makes? This page is written by
`bench/quality.py` from the results of `focus compare`; no number here is typed by hand.

Labels are the tags and categories that the pages' authors gave; no crawl ever sees them. Every
request counts: errors, redirects, robots.txt. T is the number of relevant pages that can be
reached; `R@T` and `R@2T` are the shares of them found by T and 2T requests, `AUC` the mean of that
share over the whole budget, `of the oracle` the same as a share of what the best order could have
had, `harvest` the share of relevant pages among labelled ones. Ratios of AUC, and p (Wilcoxon's
signed ranks over topics, Holm's correction) are against the baseline.
""",
    webs=(
        "23,000 pages of 33 Chinese and English sites; the numbers of `yield` and `evidence` were "
        "chosen on its ten topics",
        "27,000 pages of 30 other sites; `evidence` was fitted on it and on dev, some numbers of "
        "`yield` were chosen with an eye on both",
        "9,600 English pages of four sites, news and manuals; not tuned on",
        "a wiki and an encyclopedia of a dictionary of computing (English), made by "
        "`bench/webs/encyclopedia.py`; not tuned on",
        "two manuals (English) whose addresses name no section, made by "
        "`bench/webs/manuals.py`; not tuned on",
    ),
    all_webs="""## All webs

Share of the oracle, one request at a time, by web. Of two figures the second leaves out links that
the recording cannot answer (`--unrecorded skip`): a live site would answer most of them.
""",
    by_reading="""## By reading

The same crawls scored by judgments of a sample instead of tags (`bench/judgments`): six topics,
each page judged by reading it; estimates with 95 % intervals over topics.
""",
    head=("strategy", *SIGNS, "95 %", "of the oracle", "ratio", "p", "W/L", "harvest"),
    read_head=("strategy", "web", *READ),
    baseline="baseline",
    one="one request at a time",
    many="{n} requests at once",
    budget="{web}: {requests}, budget {budget}",
    settings="Topics {topics}; orders of the seeds: {orders}; a delay of {delay:g} s per host by "
    "the virtual clock, guided by `{relevance}`.",
    tree=" Measured at commit {tree}.",
    skipped="links not recorded left out",
)
CHINESE = Words(
    page=DOCS / "zh" / "quality.md",
    introduction="""# 质量

同样多的请求，哪个策略找到的最多？本页由 `bench/quality.py` 从 `focus compare` 的结果写出；\
没有一个数是手写的。

标注是网页作者自己给的标签和分类；抓取永远看不到它们。每次请求都算：错误、重定向、robots.txt。\
T 是能到的相关网页数；`R@T` 和 `R@2T` 是 T 次和 2T 次请求找到其中多少，\
`AUC` 是这个比例在整个预算内的平均，`of the oracle` 是它占最佳顺序所能达到的份额，\
`harvest` 是有标注的网页中相关的比例。AUC 之比和 p（按主题的 Wilcoxon 符号秩检验，\
Holm 校正）都是相对于基准的。
""",
    webs=(
        "33 个中文和英文网站，23,000 个网页；`yield` 和 `evidence` 的参数是用这十个主题选的",
        "另外 30 个网站，27,000 个网页；`evidence` 是在它和 dev 上拟合的，"
        "`yield` 的一些参数是同时看着两者选的",
        "四个英文网站的 9,600 个网页，新闻和手册；没有在它上面调参",
        "由一部英文计算机词典做成的维基和百科，由 `bench/webs/encyclopedia.py` 生成；"
        "没有在它上面调参",
        "两部英文手册，网址不说明章节，由 `bench/webs/manuals.py` 生成；没有在它上面调参",
    ),
    all_webs="""## 所有网站

一次一个请求时占最佳顺序的份额，按网站。两个数中第二个不算录制中没有的链接\
（`--unrecorded skip`）：真实网站多半会回答它们。
""",
    by_reading="""## 按阅读判断

同样的抓取，用对样本的阅读判断代替标签来评（`bench/judgments`）：六个主题，每个网页都读过；\
估计值带按主题的 95 % 区间。
""",
    head=("策略", *SIGNS, "95 %", "of the oracle", "比", "p", "胜/负", "harvest"),
    read_head=("策略", "网站", *READ),
    baseline="基准",
    one="一次一个请求",
    many="同时 {n} 个请求",
    budget="{web}：{requests}，预算 {budget}",
    settings="主题：{topics}；种子的 {orders} 种顺序，按虚拟时钟每个主机间隔 {delay:g} s，"
    "由 `{relevance}` 引导。",
    tree="测的是提交 {tree}。",
    skipped="不算录制中没有的链接",
)


def main(given: Sequence[str]) -> None:
    """Keep what the files say, if any are given, and write the pages."""
    found = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else []
    if given:
        fresh = [each for named in given for each in kept(*named.split("=", 1))]
        stay = [each for each in found if not any(_replaces(new, each) for new in fresh)]
        found = sorted([*stay, *fresh], key=lambda each: (*_way(each), -len(each["rows"])))
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    judged = json.loads(judge_section.KEPT.read_text("utf-8"))
    for words in (ENGLISH, CHINESE):
        texts = judge_section.CHINESE if words is CHINESE else judge_section.ENGLISH
        judge = judge_section.judge_section(judged, texts)
        words.page.write_text(page(found, words) + judge, "utf-8")


def page(found: list[dict[str, Any]], words: Words) -> str:
    """The whole page in a language."""
    sections = [section(each, words) for each in found]
    return "\n".join(
        [words.introduction, over_webs(found, words), *by_reading(found, words), *sections]
    )


def _way(found: dict[str, Any]) -> tuple[object, ...]:
    """Which table it is, in the order of the page: the web, and how it was crawled."""
    settings = found["settings"]
    how = settings["concurrency"], settings["eager"], settings["budget"]
    return WEBS.index(found["web"]), *how, found["unrecorded"]


def _replaces(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether nothing of the old table is missing in the new one."""
    has, had = ({told["strategy"] for told in each["rows"]} for each in (new, old))
    return _way(new) == _way(old) and had <= has


def kept(named: str, path: str) -> Iterator[dict[str, Any]]:
    """What the page needs of a results.json, by group: links not recorded asked for, or not."""
    web, _, tree = named.partition("@")
    results = json.loads(Path(path).read_text("utf-8"))
    if web not in WEBS:
        raise SystemExit(f"unknown web: {web}")
    for group in results["groups"]:
        asked = {score["variant"] for score in group["scores"] if group["unrecorded"] == "ask"}
        yield {
            "web": web,
            "tree": tree,
            "settings": results["settings"],
            "topics": [topic["name"] for topic in results["topics"]],
            "relevance": group["relevance"],
            "unrecorded": group["unrecorded"],
            "rows": [_kept_row(score, group["baseline"]) for score in group["scores"]],
            "judged": [score for score in results["judged"] if score["variant"] in asked],
        }


def _kept_row(score: dict[str, Any], baseline: str) -> dict[str, Any]:
    """What the page needs of a variant's score."""
    return {
        "strategy": strategy_of(score["variant"]),
        "is_baseline": score["variant"] == baseline,
        **{name: score["measures"][name] for name in MEASURES},
        "versus": (score.get("versus") or {}).get("auc"),
    }


def strategy_of(variant: str) -> str:
    """The first part of a variant's name."""
    return variant.partition("/")[0]


def over_webs(found: list[dict[str, Any]], words: Words) -> str:
    """What the webs are, and a table of strategies and webs; of two tables the later one counts."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for each in found:
        if each["settings"]["concurrency"] == 1 and each["settings"]["budget"] == "3x":
            for told in each["rows"]:
                shares = cells.setdefault((told["strategy"], each["web"]), {})
                shares[each["unrecorded"]] = share(told)
    webs = [web for web in WEBS if any(web == key[1] for key in cells)]
    strategies = dict.fromkeys(strategy for strategy, _ in cells)
    rows = [
        [strategy, *(" / ".join(cells.get((strategy, web), {}).values()) for web in webs)]
        for strategy in strategies
    ]
    told = [f"- **{web}**: {words.webs[WEBS.index(web)]}" for web in webs]
    return "\n".join([words.all_webs, *told, "", table((words.head[0], *webs), rows)])


def share(told: dict[str, Any]) -> str:
    """A row's share of the oracle, three digits."""
    return f"{told['oracle_share']['value']:.3f}"


def by_reading(found: list[dict[str, Any]], words: Words) -> Iterator[str]:
    """The table of scores by judgments, if there are any."""
    rows = [
        [strategy_of(score["variant"]), each["web"], *(_interval(score[name]) for name in READ)]
        for each in found
        for score in each["judged"]
    ]
    if rows:
        yield words.by_reading + "\n" + table(words.read_head, rows)


def _interval(estimate: Sequence[float | None]) -> str:
    value, low, high = estimate
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f}–{high:.3f})"


def section(found: dict[str, Any], words: Words) -> str:
    """A heading, how it was run, and the table."""
    settings = found["settings"]
    n = settings["concurrency"]
    requests = words.one if n == 1 else words.many.format(n=n)
    heading = words.budget.format(web=found["web"], requests=requests, budget=settings["budget"])
    eager = ", `--eager`" if settings["eager"] else ""
    skipped = f", {words.skipped}" if found["unrecorded"] == "skip" else ""
    told = words.settings.format(
        topics="、".join(found["topics"]),
        orders=settings["seed_orders"],
        delay=settings["delay_s"],
        relevance=found["relevance"],
    )
    rows = [row(each, words.baseline) for each in found["rows"]]
    told += words.tree.format(tree=found["tree"]) if found.get("tree") else ""
    return f"## {heading}{eager}{skipped}\n\n{told}\n\n" + table(words.head, rows)


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
    main(sys.argv[1:])
