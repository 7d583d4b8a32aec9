"""Compares a recorded web over real sockets with the same read from its file.

    python -m bench.sockets_vs_archive ARCHIVE REPLAY TOPICS_JSON CACHE_DIR
        [--topics NAME …] [--max-pages 400] [--strategies NAME …] [-- options of the crawls]

REPLAY, a script, serves the archive (`ARCHIVE --port 0 --cache-dir CACHE_DIR`) and prints
"READY http://ADDR:PORT …". Each topic is crawled by each strategy both ways with one
request at a time: the same pages must come in the same order. From the file a Crawl-delay
costs no time; over sockets it does.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from bench.script import read_options
from tests.support.processes import endings, history, start

LIFE_S = 400.0


def crawl(db: Path, topic: dict[str, object], world: Sequence[str], options: Sequence[str]) -> None:
    """One crawl to its end; RuntimeError unless it ends with 0."""
    seeds, words = topic["seeds"], topic["keywords"]
    assert isinstance(seeds, list)
    assert isinstance(words, list)
    where = [part for seed in seeds for part in ("--seed", seed)]
    said = db.with_suffix(".said")
    command = ["crawl", *where, "--topic", ",".join(words), "--concurrency", "1", "--delay", "0"]
    code = start([*command, *world, *options, "--db", str(db)], said).wait(LIFE_S)
    if code:
        raise RuntimeError(f"ended with {code}: {said.read_text(encoding='utf-8')}")


def compare(name: str, archive: Path, sockets: Path) -> int:
    """Print a line, and the first difference; how many places differ."""
    left, right = history(archive), history(sockets)
    paths = [i for i, (a, b) in enumerate(zip_longest(left, right)) if a != b]
    mine, theirs = endings(archive), endings(sockets)
    other = [url for url in mine.keys() | theirs.keys() if mine.get(url) != theirs.get(url)]
    print(name, len(left), len(right), len(paths), len(other), sep="\t", flush=True)
    if paths:
        first = paths[0]
        print("  first:", left[first : first + 2], "against", right[first : first + 2])
    for url in other[:5]:
        print("  ", url, mine.get(url), theirs.get(url))
    return len(paths) + len(other)


@contextmanager
def replayed(given: Any) -> Iterator[list[str]]:
    """The options of `focus crawl` that lead to the served archive."""
    serve = [sys.executable, given.replay, str(given.archive), "--port", "0"]
    with subprocess.Popen(
        [*serve, "--cache-dir", given.cache_dir], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().split()[1].removeprefix("http://")
            yield ["--connect-to", address, "--allow-net", "127.0.0.0/8"]
        finally:
            server.terminate()


def main() -> int:
    """A line per topic and strategy; 1 if anything differs."""
    given = read_options(__doc__)
    strategies = given.strategies or ["bfs", "topic-pagerank", "yield"]
    topics = json.loads(Path(given.topics_json).read_text(encoding="utf-8"))
    wanted = [topic for topic in topics if not given.topics or topic["name"] in given.topics]
    different = 0
    print("topic\tstrategy\tfrom the file\tover sockets\tplaces that differ\tURLs that differ")
    with replayed(given) as over:
        for topic, strategy in product(wanted, strategies):
            options = ["--strategy", strategy, "--max-pages", str(given.max_pages), *given.options]
            with tempfile.TemporaryDirectory() as name:
                one, two = Path(name) / "archive.db", Path(name) / "sockets.db"
                crawl(one, topic, ["--archive", str(given.archive)], options)
                crawl(two, topic, over, options)
                different += compare(f"{topic['name']}\t{strategy}", one, two)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
