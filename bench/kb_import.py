"""Measures the import of a generated knowledge dump, and look-ups of names in it.

    python -m bench.kb_import [--lines 5000000] [--folder DIR] [--gz]

Prints seconds, lines per second, peak memory of the importing process, size of the
result, and lookups per second: names (in batches, one by one) and linked pages. The dump
has the form and the proportions of CN-DBpedia's: five facts an entity, a third of the
entities with other names, every tenth name shared by several, each 10,000th line broken.
"""

import gzip
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.script import read_options
from focus.learn.kb.base import KnowledgeBase
from focus.learn.kb.importing import import_dump
from focus.score.statistics.entities import link
from focus.text.tokenisation import Segmenter

SIGNS = [chr(0x4E00 + at * 7) for at in range(2500)]
WORDS = (
    "位于", "成立", "著名", "公司", "城市", "作品", "小说", "电影", "球队", "大学", "历史", "演员",
)  # fmt: skip
KINDS = ("人物", "地点", "组织机构", "作品", "生物", "体育", "社会", "科学", "武器装备", "食品")


def name(rng: Random) -> str:
    """A name of two to eight ideographs, some of them much oftener than others."""
    length = rng.choice((2, 3, 3, 3, 4, 4, 5, 6, 8))
    return "".join(SIGNS[int(len(SIGNS) * rng.random() ** 2)] for _ in range(length))


def lines(number: int, rng: Random) -> Iterator[str]:
    """A dump of so many lines."""
    shared = [name(rng) for _ in range(1000)]
    written = 0
    while written < number:
        entity = name(rng) + (f"（{rng.choice(KINDS)}）" if rng.random() < 0.1 else "")
        facts = [("CATEGORY_ZH", rng.choice(KINDS)), ("DESC", " ".join(rng.choices(WORDS, k=30)))]
        facts += [(f"属性{rng.randrange(200)}", str(rng.randrange(10**6))) for _ in range(2)]
        if rng.random() < 0.35:
            alias = rng.choice(shared) if rng.random() < 0.3 else name(rng)
            facts += [("别名", alias), ("外文名", f"name {rng.randrange(10**6)}")]
        for attribute, value in facts:
            written += 1
            yield (
                f"{entity}\t{value}\n"
                if written % 10_000 == 0
                else f"{entity}\t{attribute}\t{value}\n"
            )


def write(path: Path, number: int) -> None:
    """Write the dump."""
    packed = path.suffix == ".gz"
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.writelines(line.encode() for line in lines(number, Random(1)))


def imported(dump: Path, kb: Path) -> None:
    """The import alone, in a process of its own, so that its memory can be told."""
    started = time.perf_counter()
    report = import_dump(dump, kb)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"import  {report.lines:,} lines in {seconds:.1f} s, {report.lines / seconds:,.0f}/s")
    print(f"        {report.entities:,} entities, {report.aliases:,} names, {report.malformed} bad")
    print(f"        peak memory {peak:.0f} MiB, file {kb.stat().st_size / 2**20:.0f} MiB")


def looked_up(kb: Path) -> None:
    """Names per second, half of them known, and linked pages per second."""
    rng = Random(2)
    segmenter = Segmenter()
    with KnowledgeBase.open(kb, segmenter) as base:
        asked = rng.sample(base.names(200_000), 50_000) + [name(rng) for _ in range(50_000)]
        rng.shuffle(asked)
        started = time.perf_counter()
        hits = sum(len(base.named(asked[at : at + 1000])) for at in range(0, len(asked), 1000))
        seconds = time.perf_counter() - started
        print(f"lookups {len(asked) / seconds:,.0f} names/s in batches of 1,000 ({hits:,} hits)")
        started = time.perf_counter()
        for each in asked[:10_000]:
            base.named([each])
        print(f"        {10_000 / (time.perf_counter() - started):,.0f} names/s one by one")
        pages = [page(asked, rng) for _ in range(200)]
        started = time.perf_counter()
        found = sum(len(link(text, segmenter.tokens(text), base)) for text in pages)
        seconds = time.perf_counter() - started
        print(f"linking {len(pages) / seconds:.0f} pages of 1,000 signs/s,", end=" ")
        print(f"{found / len(pages):.0f} entities each")


def page(names: list[str], rng: Random) -> str:
    """A thousand signs of text, a name every forty."""
    return "，".join(rng.choice(names) + "".join(rng.choices(SIGNS, k=36)) for _ in range(25))


def main() -> None:
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        dump, kb = folder / ("dump.tsv.gz" if options.gz else "dump.tsv"), folder / "kb.db"
        if not dump.exists():
            write(dump, options.lines)
        kb.unlink(missing_ok=True)
        code = "import sys; from bench.kb_import import *; imported(*map(Path, sys.argv[1:]))"
        subprocess.run([sys.executable, "-c", code, str(dump), str(kb)], check=True)
        looked_up(kb)


if __name__ == "__main__":
    main()
