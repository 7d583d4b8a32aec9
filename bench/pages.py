"""Measures what a scorer worker spends on real pages, beside another checkout in the same run.

    python -m bench.pages ARCHIVE [--topic 足球] [--relevance evidence] [--pages 1500]
        [--rounds 5] [--against FOLDER] [--json FILE]

Pages are drawn from a recorded web host by host, as a crawl meets them, and analysed as the
default crawl has it (evidence, contexts, URL patterns, near duplicates, everything kept). Each
lap is a process of its own: this checkout and FOLDER (another one, say of the commit before) take
turns, and what is told is the lap of least CPU time of each, since whatever else the machine does
only adds. A digest over all results, whole pages with their links and what is kept of them, tells
whether the two agree; relevance is rounded to 1e-9.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import msgspec

from bench.script import read_options, tell
from focus.archive.replay import Archive
from focus.urls.normal_form import host_of

_HERE = Path(__file__).parent
RUN = 12  # pages of one host that follow each other


class Drawn(msgspec.Struct, frozen=True, array_like=True):
    """A page as it would come to a worker."""

    url: str
    body: bytes
    content_type: str | None


def draw(archive: Archive, number: int) -> list[Drawn]:
    """So many pages in runs of one host, the runs in an order drawn once and for all."""
    by_host: dict[str, list[str]] = {}
    for url in archive.urls():
        by_host.setdefault(host_of(url), []).append(url)
    rng = Random(1)
    runs = []
    for host in sorted(by_host):
        urls = sorted(by_host[host])
        rng.shuffle(urls)
        runs += [urls[at : at + RUN] for at in range(0, len(urls), RUN)]
    rng.shuffle(runs)
    found: list[Drawn] = []
    for url in (url for run in runs for url in run):
        answer = archive.lookup(url)
        if answer.failure is None and answer.redirect_to is None:
            found.append(Drawn(url, answer.body, answer.header("content-type")))
            if len(found) == number:
                break
    return found


class Lap(msgspec.Struct):
    """What `page_lap` tells: CPU ms a page, by stage where it is asked, the digest of results."""

    ms: float
    bytes_mean: int
    digest: str


def lap(checkout: Path, pages: Path, topic: str, relevance: str) -> Lap:
    """One pass over the pages by a checkout's own code, in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    script = _HERE / "page_lap.py"
    told = subprocess.run(
        [sys.executable, str(script), str(pages), topic, relevance],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    return msgspec.json.decode(told.stdout, type=Lap)


def measure(
    archive: Path,
    *,
    topic: str,
    relevance: str,
    pages: int,
    rounds: int,
    against: Path | None,
) -> dict[str, object]:
    """The least of the laps of each checkout, as JSON values."""
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
    told: dict[str, object] = {"pages": pages, "bytes_mean": first.bytes_mean, "rounds": rounds}
    told |= {f"{name}_ms": round(min(each.ms for each in laps[name]), 4) for name in laps}
    told["digests"] = {name: laps[name][0].digest for name in laps}
    return told


def main() -> None:
    """Measure and print."""
    given = read_options(__doc__)
    told = measure(
        given.archive,
        topic=given.topic,
        relevance=given.relevance,
        pages=given.pages,
        rounds=given.rounds,
        against=given.against,
    )
    tell(told, given.json)


if __name__ == "__main__":
    main()
