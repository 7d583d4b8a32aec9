"""Do imports point down, and does nothing pure reach for clock, network or chance?

LEVELS says where each module of focus/ stands, in the words of the table in docs/design.md:
`a: b c` is a room whose entry is `a`, rooms of a level are parted by `;`, `x/` is a package.
A new module needs its place in both.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOCUS = ROOT / "focus"

LEVELS = {
    0: "errors; records",
    1: "urls: urltext; charset: codec; coding; config; guard; http; packed; plain; retry; robots; "
    "scope; sitemap; topic: topicfile",
    2: "segment; parse/; score/; known; frontier: queues; gate; ledger; limits: worth; "
    "discovery: learning; listings; duplicates; traps: domains; trouble; pace; measure/",
    3: "fetch: net/; archive: warc/; workers/; transport; store: db/; export; kb/; learned; judge",
    4: "crawl: arrivals feedback; session: resume; learn/; compare/; report/; profiling/; demo/; "
    "cluster/",
    5: "cli: commands/; show/; watch/; __main__",
}
OUTSIDE = 3
"""The level of the world outside: only from here on may a module touch it."""

WORLD = {
    "aiohttp", "aiosqlite", "asyncio", "click", "ctypes", "http.client", "multiprocessing",
    "platform", "rich", "select", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "threading", "time", "urllib.request", "uvloop", "warcio",
}  # fmt: skip
FROM_OUTSIDE = {
    "os": {"environ", "environb", "getenv", "urandom", "getpid"},
    "datetime": {"now", "today", "utcnow"},
    "date": {"today"},
    "random": {"*"},
}
"""What a pure module may not take from these; of `random` it may take the class Random alone."""


@cache
def places() -> dict[str, tuple[int, str]]:
    """Module or package -> its level, and the room it belongs to there."""
    found = {"": (0, "")}  # focus/__init__.py: the version
    for level, rooms in LEVELS.items():
        for room in rooms.split(";"):
            entry, *others = room.replace(":", "").split()
            found |= {name.rstrip("/"): (level, entry) for name in (entry, *others)}
    return found


def name_of(path: Path) -> str:
    """`score.strategy.bfs` for focus/score/strategy/bfs.py; a package by its own name."""
    parts = path.relative_to(FOCUS).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Every module's syntax tree."""
    paths = sorted(FOCUS.rglob("*.py"))
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def place(module: str) -> tuple[int, str]:
    """Level and room of a module; of a package's module, the package's; level -1: no place."""
    return places().get(module.partition(".")[0], (-1, ""))


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name taken of it or "") for each import anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written in full"
            yield from ((node.module or "", alias.name) for alias in node.names)


def own_imports(module: str) -> set[str]:
    """The modules of focus that a module imports, itself apart."""
    found = set()
    for source, name in imports(modules()[module]):
        if source == "focus" or source.startswith("focus."):
            base = source.removeprefix("focus").removeprefix(".")
            inner = f"{base}.{name}".removeprefix(".")
            found.add(inner if inner in modules() else base)
    return found - {module}


def reaches(tree: ast.Module) -> list[str]:
    """Everything of the outside world that a module reaches for."""
    found = []
    for source, name in imports(tree):
        full = {source.partition(".")[0], source, f"{source}.{name}"}
        taken = FROM_OUTSIDE.get(source, set())
        if full & WORLD or name in taken or ("*" in taken and name not in ("", "Random")):
            found.append(f"{source} {name}".strip())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            taken = FROM_OUTSIDE.get(owner, set())
            if node.attr in taken or ("*" in taken and node.attr != "Random"):
                found.append(f"{owner}.{node.attr}")
    return found


def test_every_module_has_its_place() -> None:
    present = {module.partition(".")[0] for module in modules()}
    message = "give new modules a place in tests/test_layers.py and docs/design.md"
    assert set(places()) == present, message


def test_design_tells_the_same_levels() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (.*?) \|", text, re.M)
    wanted = {level: re.sub(r"[\w/]+", r"`\g<0>`", rooms) for level, rooms in LEVELS.items()}
    for level, cell in wanted.items():
        assert (str(level), cell) in rows, f"write into docs/design.md: | {level} | {cell} |"
    assert len(rows) == len(LEVELS)


@pytest.mark.parametrize("module", [name for name in modules() if place(name)[0] >= 0])
def test_imports_point_down(module: str) -> None:
    level, _ = place(module)
    up = [other for other in sorted(own_imports(module)) if place(other)[0] > level]
    assert not up, f"{module} (level {level}) imports {', '.join(up)} from above"


@pytest.mark.parametrize("module", [name for name in modules() if place(name)[0] == OUTSIDE])
def test_rooms_of_the_outside_do_not_know_each_other(module: str) -> None:
    _, room = place(module)
    near = [each for each in own_imports(module) if place(each)[0] == OUTSIDE]
    others = [each for each in sorted(near) if place(each)[1] != room]
    assert not others, f"{module} (room {room}) imports {', '.join(others)} of other rooms"


@pytest.mark.parametrize("module", [name for name in modules() if 0 <= place(name)[0] < OUTSIDE])
def test_pure_modules_reach_for_nothing(module: str) -> None:
    assert not reaches(modules()[module]), "`now` and `rng` are arguments below level 3"


def test_scores_and_frontier_do_not_know_each_other() -> None:
    scores = [module for module in modules() if place(module)[1] == "score/"]
    queues = {"frontier", "known", "gate", "ledger"}
    assert scores
    assert not {(module, each) for module in scores for each in own_imports(module) & queues}
    assert not {
        (module, each)
        for module in queues
        for each in own_imports(module)
        if place(each)[1] == "score/"
    }


def test_no_import_goes_in_a_circle() -> None:
    graph = {module: own_imports(module) for module in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import time", ["time"]),
        ("def late():\n    import asyncio.events", ["asyncio.events"]),
        ("from sqlite3 import connect", ["sqlite3 connect"]),
        ("import os; os.environ['A']", ["os.environ"]),
        ("from os import getenv", ["os getenv"]),
        ("from random import Random; rng: Random = Random(1)", []),
        ("import random; random.Random(1).random()", []),
        ("import random; random.random()", ["random.random"]),
        ("from random import choice", ["random choice"]),
        ("import datetime; datetime.datetime.now()", ["datetime.now"]),
        ("from datetime import time, datetime; datetime.fromtimestamp(0)", []),
    ],
)
def test_what_counts_as_reaching_outside(line: str, found: list[str]) -> None:
    assert reaches(ast.parse(line)) == found
