"""Measures the time of the worst inputs that are known.

    python -m bench.worst [NAME …]

Tests hold that these inputs are read rightly; how fast is a matter of the machine, so it is
measured here. Exit code 1 where a limit is not kept. CPU time, so that a busy machine counts less.
"""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from typing import NamedTuple

import brotli

from focus.html.parser import parse
from focus.html.regions import region_of
from focus.html.size_guard import guard
from focus.http import zstd
from focus.http.content_encoding import Decoder
from focus.http.robots import Robots
from focus.http.semantics import refresh
from tests.test_robots import HOSTILE

BOMB = b"\0" * 5_000_000
CAP = 100_000
URL = "http://a.test/" + "a" * 2_000


class Case(NamedTuple):
    """An input, as what is done with it. `limit_s` of CPU."""

    work: Callable[[], object]
    limit_s: float


def _coded(name: str, packed: bytes) -> Case:
    return Case(lambda: Decoder(name, CAP).feed(packed), 0.2)


def _robots(text: str) -> Case:
    body = text.encode()
    return Case(lambda: Robots.parse(body).allows(URL, "focus"), 0.5)


def _query(text: str) -> Case:
    robots = Robots.parse(text.encode())
    robots.allows(URL, "focus")
    return Case(lambda: robots.allows(URL, "focus"), 0.01)


def _guarded() -> None:
    rng = random.Random(1)
    for _ in range(50):
        piece = bytes(rng.choices(b"<>/!-='\" \tadiv\0\xff", k=rng.randint(0, 300)))
        guard((piece * (1 + 200_000 // max(1, len(piece)))) + b"<" * rng.randint(1, 400))


def _attributes() -> None:
    many = " ".join(f"a{n}='>'" if n % 7 == 0 else f"a{n}=x" for n in range(40_000))
    parse(f"<a href=/before>b</a><div {many.replace(chr(39) + '>' + chr(39), 'y')}>text")


def _help() -> None:
    subprocess.run([sys.executable, "-m", "focus", "--help"], check=True, capture_output=True)


CASES: dict[str, Case] = {
    "meta refresh": Case(lambda: refresh("1" + " " * 300_000 + "x"), 0.5),
    "meta refresh, digits": Case(lambda: refresh("1" * 300_000 + "x"), 0.5),
    "class names": Case(lambda: region_of("div", {"class": "a-" * 500_000 + "nav"}), 0.5),
    "attributes": Case(_attributes, 1.0),
    "depth": Case(lambda: parse("<a href=/1>x</a>" + "<div>" * 100_000 + "<a href=/2>y</a>"), 1.0),
    "headings": Case(lambda: parse("<h1><div>" * 4000 + "<a href=/x>x</a> words " * 1000), 3.0),
    "guard, 50 at random": Case(_guarded, 5.0),
    "gzip bomb": _coded("gzip", gzip.compress(BOMB)),
    "deflate bomb": _coded("deflate", zlib.compress(BOMB)),
    "br bomb": _coded("br", brotli.compress(BOMB)),
    "zstd bomb": _coded("zstd", zstd.compress(BOMB)),
    **{f"robots.txt: {name}": _robots(text) for name, text in HOSTILE.items()},
    **{f"robots.txt: {name}, a query": _query(text) for name, text in HOSTILE.items()},
    "focus --help": Case(_help, 0.8),
}


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of doing it, its children's too; the least of three times."""

    def spent() -> float:
        times = os.times()
        return float(sum(times[:4]))

    found = []
    for _ in range(3):
        began, own = spent(), time.process_time()
        work()
        found.append(max(spent() - began, time.process_time() - own))
    return min(found)


def main() -> int:
    """Measure those that are named, or all."""
    wanted = sys.argv[1:] or list(CASES)
    late = 0
    for name in wanted:
        seconds = cpu_s(CASES[name].work)
        is_late = seconds > CASES[name].limit_s
        late += is_late
        mark = "  TOO LONG" if is_late else ""
        print(f"{name:36} {1000 * seconds:9.1f} ms of {1000 * CASES[name].limit_s:8.0f}{mark}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
