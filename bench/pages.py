"""Measures the CPU time of a scorer worker per real page, optionally beside another checkout.

    python -m bench.pages ARCHIVE [--topic 足球] [--relevance evidence] [--pages 1500]
        [--rounds 5] [--against FOLDER] [--json FILE]

Draws pages from a recorded web in runs of one host and analyses them with the settings of a default
crawl. Each lap is a process of its own; this checkout and FOLDER, another checkout, take turns. The
figure is the lap with the least CPU time, since other programs only add to it. Equal digests show
that both checkouts yield the same results, with relevance rounded to 1e-9.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import msgspec

from bench.script import read_options, write_figures
from focus.archive.replay import Archive
from focus.urls.normal_form import url_host

_HERE = Path(__file__).parent
RUN = 12  # consecutive pages of one host


class Drawn(msgspec.Struct, frozen=True, array_like=True):
    """A page as a worker receives it."""

    url: str
    body: bytes
    content_type: str | None


def draw(archive: Archive, number: int) -> list[Drawn]:
    """Return `number` pages in runs of one host; the order of the runs is fixed by a seed."""
    by_host: dict[str, list[str]] = {}
    for url in archive.urls():
        by_host.setdefault(url_host(url), []).append(url)
    rng = Random(1)
    runs = []
    for host in sorted(by_host):
        urls = sorted(by_host[host])
        rng.shuffle(urls)
        runs += [urls[at : at + RUN] for at in range(0, len(urls), RUN)]
    rng.shuffle(runs)
    pages: list[Drawn] = []
    for url in (url for run in runs for url in run):
        answer = archive.lookup(url)
        if answer.failure is None and answer.redirect_to is None:
            pages.append(Drawn(url, answer.body, answer.header("content-type")))
            if len(pages) == number:
                break
    return pages


class Lap(msgspec.Struct):
    """Output of `page_lap`: CPU time per page, mean size, digest of the results."""

    ms: float
    bytes_mean: int
    digest: str


def lap(checkout: Path, pages: Path, topic: str, relevance: str) -> Lap:
    """Analyse the pages once in a new process that imports `focus` from a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    script = _HERE / "page_lap.py"
    process = subprocess.run(
        [sys.executable, str(script), str(pages), topic, relevance],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    return msgspec.json.decode(process.stdout, type=Lap)


def measure(
    archive: Path,
    *,
    topic: str,
    relevance: str,
    pages: int,
    rounds: int,
    against: Path | None,
) -> dict[str, object]:
    """Return the fastest lap of each checkout as JSON values."""
    checkouts = {"this": _HERE.parent} | ({"against": against} if against else {})
    laps: dict[str, list[Lap]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory(prefix="focus-bench-") as folder:
        file = Path(folder) / "pages"
        with Archive.open(archive) as web:
            file.write_bytes(msgspec.msgpack.encode(draw(web, pages)))
        for _ in range(rounds):
            for name, checkout in checkouts.items():
                laps[name].append(lap(checkout, file, topic, relevance))
    first = laps["this"][0]
    figures: dict[str, object] = {"pages": pages, "bytes_mean": first.bytes_mean, "rounds": rounds}
    figures |= {f"{name}_ms": round(min(result.ms for result in laps[name]), 4) for name in laps}
    figures["digests"] = {name: laps[name][0].digest for name in laps}
    return figures


def main() -> None:
    """Measure and print."""
    options = read_options(__doc__)
    figures = measure(
        options.archive,
        topic=options.topic,
        relevance=options.relevance,
        pages=options.pages,
        rounds=options.rounds,
        against=options.against,
    )
    write_figures(figures, options.json)


if __name__ == "__main__":
    main()
