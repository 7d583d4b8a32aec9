"""Crawls real web applications and counts their requests by the access logs of the servers.

    python -m bench.real_sites FOLDER KIT [--site SITE]… [--rounds 3] [-- OPTION …]

KIT is the folder of the scripts that install, fill and start WordPress, MediaWiki, DokuWiki and a
forum and count their requests, FOLDER where they install. The first crawl of a site
begins at its home page, the others at pages that the first one fetched. The options go to
`focus crawl`. Printed are the requests, the articles found, the number of the request for the last
one about the topic, the share of useless requests by kind, the requests that change something, and
why the crawl ended.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.script import read_options, table

SITES = {
    "wordpress": (1, "足球"),
    "mediawiki": (2, "football"),
    "dokuwiki": (3, "足球"),
    "forum": (4, "足球"),
}
"""Port of each site after the first port of the kit, and topic."""
FIRST_PORT = int(os.environ.get("KIT_PORT", "8390"))
HEAD = ("site", "seed", "requests", "topic", "last at", "others", "waste", "changes", "end")
_SUM = re.compile(
    r"(\d+) requests .* (\d+ of \d+) topic .* request (\d+)\), (\d+ of \d+) other .* = (.*)"
)


class Measurement(NamedTuple):
    """Row of the table, lines of the kinds of useless requests, and the access log."""

    row: tuple[str, ...]
    waste: list[str]
    log: list[str]


def measure(folder: Path, kit: Path, site: str, seed: str, options: list[str]) -> Measurement:
    """Crawl a site from a seed and count the lines that this adds to its access log."""
    offset, topic = SITES[site]
    access = folder / "log" / f"{site}.access"
    before = access.stat().st_size if access.exists() else 0
    with TemporaryDirectory() as scratch:
        summary, part = Path(scratch, "summary.json"), Path(scratch, "access")
        url = f"http://127.0.0.1:{FIRST_PORT + offset}{seed}"
        command = ["-m", "focus", "crawl", "--seed", url, "--topic", topic, "--delay", "20ms"]
        command += ["--allow-net", "127.0.0.0/8", "--quiet"]
        command += ["--db", f"{scratch}/focus.db", "--summary", str(summary), *options]
        environment = os.environ | {"FOCUS_SLOWDOWN": "0s"}
        subprocess.run([sys.executable, *command], check=False, stdout=sys.stderr, env=environment)
        part.write_bytes(access.read_bytes()[before:])
        counted = subprocess.check_output(
            [sys.executable, kit / "count.py", folder, site, part], text=True
        )
        end = json.loads(summary.read_text("utf-8"))["stop_reason"]
        log = part.read_text("utf-8").splitlines()
    lines = counted.splitlines()
    figures = _SUM.search(lines[-1])
    assert figures is not None, lines[-1]
    changes = sum(int(line.split()[0]) for line in lines if "CHANGES STATE" in line)
    row = (site, seed[:40], *figures.groups(), str(changes), end)
    return Measurement(row, [line for line in lines if "WASTE" in line], log)


def main() -> None:
    """Measure the sites, and print the table and the kinds of useless requests."""
    options = read_options(__doc__)
    subprocess.run([options.kit / "start.sh", options.folder], check=True)
    rows, waste = [], []
    for site in options.site or SITES:
        seeds = ["/"]
        for number in range(options.rounds):
            result = measure(options.folder, options.kit, site, seeds[number], options.options)
            rows.append(result.row)
            waste += [f"{site} {seeds[number][:40]}", *result.waste]
            if not number:
                pages = sorted(set(re.findall(r'"GET (\S+)[^"]*" 200', "\n".join(result.log))))
                pages = [page for page in pages if page not in ("/", "/robots.txt")]
                seeds += random.Random(37).sample(pages, options.rounds - 1)
    print(table(HEAD, rows))
    print("\n".join(waste))


if __name__ == "__main__":
    main()
