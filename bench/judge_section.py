"""Writes the part of docs/quality.md on the judge: its rates and its reliability curve.

`python -m bench.judges … --keep NAME` puts figures in bench/results/judge.json, a NAME for each
web and kind of labels; `python -m bench.quality` calls `judge_section`. Not a script.
"""

import json
import math
from pathlib import Path
from typing import Any

from bench.script import table

KEPT = Path(__file__).parent / "results" / "judge.json"
MODEL = "evidence"
FEW = 10
"""Judged pages of a bin under which its share is not told."""

ENGLISH = (
    """
## The judge

What `evidence` says of labelled pages, whether a crawl would fetch them or not, by
`python -m bench.judges` with `--keep`. Precision, recall and F1 at its threshold are means over
topics; of the pages off topic a sample is judged, each of which stands for more. By reading, what
is partly on topic counts half, and the pages are those of five crawls. The error is the expected
calibration error: by how much the share on topic misses what the judge said, in the mean over
pages. A relevance of 0 is no judgement.
""",
    ("labels", "topics", "pages", "precision", "recall", "F1", "error"),
    f"""
Reliability: of the pages with a relevance in each tenth, the share that is on topic. A judge whose
0.7 is right seven times of ten would have 0.05, 0.15, 0.25 and so on. Where fewer than {FEW} pages
were judged, nothing stands.
""",
    """
By word, precision / recall: English words (acronyms, plurals, compounds) and traditional Chinese
that authors tagged their pages with, made topics by `bench.tag_topics` and `bench/tag_words`; no
number of `evidence` was chosen on them.

""",
)
CHINESE = (
    """
## 评判模型

`evidence` 对有标注的网页怎么说，不管抓取会不会取到它们；\
由 `python -m bench.judges` 加 `--keep` 得出。\
查准率、召回率和 F1 按它的阈值算，是各主题的平均；不切题的网页只评判抽出的一部分，每个代表更多个。\
阅读得来的标注里，部分切题的算一半，网页来自五次抓取。\
误差是期望校准误差：切题网页的实际比例与模型所说的相差多少，对网页取平均。相关度为 0 的不算评判。
""",
    ("标注", "主题", "网页", "查准率", "召回率", "F1", "误差"),
    f"""
可靠性：相关度落在每个十分之一里的网页，有多大比例切题。\
如果模型的 0.7 十次有七次对，这一行就是 0.05、0.15、0.25……评判过的网页不到 {FEW} 个的，格子留空。
""",
    """
各词的查准率 / 召回率：作者给网页加的标签中的英文词（缩写、复数、复合词）和繁体中文词，\
由 `bench.tag_topics` 和 `bench/tag_words` 做成主题；`evidence` 的参数没有一个是用它们选的。

""",
)
"""What stands above the first table, its head, what stands above the second, above the words."""
WORDS = "words"
"""Names with this in them are told word by word."""


def keep(name: str, found: dict[str, dict[str, Any]]) -> None:
    """Put what each model said under a name, in place of what was there."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    kept[name] = found
    KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", "utf-8")


def judge_section(kept: dict[str, Any], texts: tuple[str, tuple[str, ...], str, str]) -> str:
    """The tables with what stands above them, in the language of the texts."""
    above, head, curve, by_word = texts
    told = {name: of[MODEL] for name, of in kept.items() if MODEL in of}
    tenths = [f"{n / 10:g}–{(n + 1) / 10:g}" for n in range(10)]
    rates = table(head, [_rates(name, of) for name, of in told.items()])
    curves = table([head[0], *tenths], [[name, *_curve(of["bins"])] for name, of in told.items()])
    words = {name: of["topics"] for name, of in told.items() if WORDS in name}
    lines = "".join(f"- {name}: {_by_word(of)}\n" for name, of in words.items())
    return f"{above}\n{rates}{curve}\n{curves}" + (by_word + lines if lines else "")


def _by_word(topics: dict[str, list[float]]) -> str:
    told = (f"{word} {p:.2f} / {r:.2f}" for word, (p, r) in topics.items())
    return ", ".join(told)


def _rates(name: str, of: dict[str, Any]) -> list[object]:
    values = (of[key] for key in ("precision", "recall", "f1", "error"))
    return [name, len(of["topics"]), of["judged"], *values]


def _curve(bins: list[dict[str, float]]) -> list[object]:
    """The share on topic by tenth of relevance; "" where few pages were judged.

    Worked: 30 pages that were judged 0.83 in the mean, 24 of them on topic: 0.80, the ninth.
    """
    found: list[object] = [""] * 10
    for each in bins:
        if each["judged"] >= FEW:
            found[math.ceil(round(10 * each["said"], 6)) - 1] = f"{each['true']:.2f}"
    return found
