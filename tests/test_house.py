"""Holds the house together: packages import downwards, and nothing pure touches the world.

LEVELS says where each package (`x/`) and each module at the top of focus/ stands, in the words of
the table in docs/design.md. A new package needs its place in both; a new module none.
"""

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.surface import FUNCTIONS, length

ROOT = Path(__file__).parents[1]
FOCUS = ROOT / "focus"

LEVELS = [
    "i18n; setting; looks; renderings; late",
    "errors; config; records; metrics/",
    "text/; topic/; scheduling/; workers/; registry; process",
    "urls/; documents/; frontier",
    "http/",
    "html/; admission/; archive/; fetch",
    "score/",
    "engine/; storage/",
    "crawler; store; rendering/",
    "resume; refresh; profiling/",
    "session",
    "learn/; demo/",
    "evaluate/; alerts/; cluster/",
    "report/; serve/; terminal/",
    "commands/",
    "cli",
    "api",
    "__main__",
]
"""From the bottom up: each imports only from levels below its own."""

PURE = {
    "setting", "looks", "renderings", "errors", "config", "records", "metrics", "text", "topic",
    "scheduling", "html", "urls", "http", "frontier", "admission", "score", "engine",
}  # fmt: skip
"""Here nothing reaches for clock, network, environment or chance: `now`, `rng` are arguments."""

SHELL = {
    "engine.bodies", "engine.transports", "http.connection", "http.dns",
    "http.network_errors", "http.requests", "http.response", "http.tls",
}  # fmt: skip
"""What stands in a pure package and does touch the world."""

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
def levels() -> dict[str, int]:
    """Package, or module at the top, -> its level."""
    return {
        name.strip().removesuffix("/"): level
        for level, names in enumerate(LEVELS)
        for name in names.split(";")
    }


def name_of(path: Path) -> str:
    """`score.strategy.bfs` for focus/score/strategy/bfs.py; a package by its own name."""
    parts = path.relative_to(FOCUS).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in sorted(FOCUS.rglob("*.py"))}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module's syntax tree."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in NAMES.items()}


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Trees take 100 MB, and each look for garbage passes over them; there is none."""
    gc.disable()
    yield
    modules.cache_clear()
    gc.enable()


def top(module: str) -> str:
    """The package, or module at the top, that a module belongs to."""
    return module.partition(".")[0]


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name taken of it or "") for each import anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written in full"
            yield from ((node.module or "", alias.name) for alias in node.names)


@cache
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


def test_every_package_has_its_level() -> None:
    present = {top(module) for module in modules()} - {""}
    assert set(levels()) == present, "give it a level in LEVELS and in docs/design.md"


def test_design_tells_the_same_levels() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", text, re.M)
    assert [int(number) for number, _ in rows] == list(range(len(LEVELS)))
    for level, (_, cell) in zip(LEVELS, rows, strict=True):
        wanted = re.sub(r"[\w/]+", r"`\g<0>`", level)
        assert cell == wanted, f"write into docs/design.md: {wanted}"


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_map_of_the_readme_has_every_package(readme: str) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    named = {path.partition("/")[0] for path in re.findall(r"`focus/([a-z]+(?:/|\.py))`", text)}
    assert {path.parent.name for path in FOCUS.glob("*/__init__.py")} <= named


@pytest.mark.parametrize("module", [name for name in NAMES if name])
def test_imports_point_down(module: str) -> None:
    level = levels()[top(module)]
    others = {each for each in own_imports(module) if each and top(each) != top(module)}
    up = sorted(each for each in others if levels()[top(each)] >= level)
    assert not up, f"{module} (level {level}) imports {', '.join(up)} from its level or above"


@pytest.mark.parametrize("module", [name for name in NAMES if top(name) in PURE - SHELL])
def test_pure_modules_reach_for_nothing(module: str) -> None:
    if module not in SHELL:
        assert not reaches(modules()[module]), "`now` and `rng` are arguments here"


def test_the_shell_inside_pure_packages_needs_its_leave() -> None:
    assert {module for module in SHELL if reaches(modules()[module])} == SHELL


def test_scores_and_frontier_do_not_know_each_other() -> None:
    queues = {"frontier", "scheduling", "admission", "engine"}
    assert not {
        (module, each)
        for module in modules()
        for each in own_imports(module)
        if (top(module) == "score" and top(each) in queues - {"admission"})
        or (top(module) in {"frontier", "scheduling"} and top(each) == "score")
    }


def test_no_import_goes_in_a_circle() -> None:
    graph = {module: own_imports(module) - {""} for module in modules() if module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_public_class_is_named_twice() -> None:
    named = defaultdict(list)
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(module)
    assert not {name: where for name, where in named.items() if len(where) > 1}


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


MOST_LINES, MOST_OF_A_FUNCTION = 450, 60


@pytest.mark.parametrize("folder", ["focus", "bench", "docs"])
def test_modules_and_functions_can_be_read_at_a_sitting(folder: str) -> None:
    long = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > MOST_LINES:
            long.append(f"{path.relative_to(ROOT)}: {lines} lines")
        long += [
            f"{path.name}: {node.name}, {lines}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, FUNCTIONS) and (lines := length(node)) > MOST_OF_A_FUNCTION
        ]
    assert not long, "\n".join(long)


def test_nobody_sets_what_is_called_from_outside() -> None:
    """Callbacks are arguments or return values: `owner.on_change = …` is neither."""
    set_later = [
        f"{module}: {ast.unparse(target)}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and target.attr.startswith("on_")
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    ]
    assert not set_later
