"""Changes the code in places drawn at random and runs the tests of each (mutation testing).

    python -m bench.mutation [AREAS …] [--mutants 400] [--seed 1] [--tools build/mutation]

Cosmic Ray and coverage, installed in TOOLS (`make mutation`), make the changes of the last commit
and find the tests of each line. The quick tests of crawling run twice; then a fork of this process
makes a change in memory and runs its tests, the fastest first, until one notices. At most
`MAX_TEST_S` of tests are tried, so that the share of noticed changes is a lower bound. Printed are
the changes that no test noticed, and for each area how many one did. AREAS are by default all.

No places are, as in the default sets of mutation testers: annotations; `frozen` and `strict`, which
guard against errors of the program; constants of one line and arguments of decorators, which tune;
comparison by identity in place of equality; the number of a negative one, which stands for "none";
and the signs in front of arguments, whose change is an error of syntax.
"""

import ast
import gc
import inspect
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from difflib import unified_diff
from functools import _lru_cache_wrapper
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from bench.script import read_options, table

AREAS = ("frontier.py", "scheduling", "admission", "engine", "http", "storage/writer.py")
OTHER_TESTS = re.compile(
    "browser|bench|cli|cluster|compare|delivery|demo|docs|endtoend|examples|formatting|hostile|mail|"
    "messages|names|option|outbox|papers|readme|serve|shell|sms|torture|translation|watch|webhook"
)
"""Test files that run other parts of the program."""
MAX_TEST_S, HANG_S = 60.0, 300.0


_TUNES = re.compile(r"_?[A-Z][A-Z_\d, ]* = [^\[{(]*$| *@")
"""Lines with constants and arguments of decorators."""


class Mutant(NamedTuple):
    """A change: area, file, line (from 1), and which place of which operator of Cosmic Ray."""

    area: str
    file: Path
    line: int
    operator: str
    occurrence: int


class Mutation:
    """Plugin of pytest that runs all tests, and then those of each change in a fork.

    outcomes  change -> whether a test noticed it
    """

    def __init__(self, mutants: list[Mutant]) -> None:
        self._mutants, self.outcomes = mutants, dict[Mutant, bool]()
        self._seconds: dict[str, float] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests twice, leave out those that fail in a fork, and try the changes."""
        data = self._measure(session)
        groups = (session.items[n : n + 64] for n in range(0, len(session.items), 64))
        items = {item.nodeid: item for group in groups for item in _passing(group)}
        for mutant in self._mutants:
            tests = [items[name] for name in self._select_tests(mutant, data) if name in items]
            is_noticed = self.outcomes[mutant] = bool(tests) and _is_noticed(mutant, tests)
            print(f"{mutant} with {len(tests)} tests:", "noticed" if is_noticed else _diff(mutant))
        return True

    def _measure(self, session: pytest.Session) -> Any:
        """Return the coverage of each test, and note their seconds."""
        from coverage import Coverage

        coverage = Coverage(data_file=None, include=["focus/*"])
        coverage.start()
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            coverage.switch_context(item.nodeid)
            began = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._seconds[item.nodeid] = time.process_time() - began
        coverage.stop()
        return coverage.get_data()

    def _select_tests(self, mutant: Mutant, data: Any) -> list[str]:
        """Return the tests that execute the changed line, the fastest first.

        A line that runs at import has the tests of its function or, outside of functions, its file.
        """
        contexts = data.contexts_by_lineno(str(mutant.file.resolve()))
        first, body, last = _function_lines(mutant)
        lines = range(mutant.line, body - 1, -1)
        executed = next((n for n in lines if contexts.get(n)), None) if first else None
        lines = range(executed, executed + 1) if executed else range(first, last)
        names = {name for line, tests in contexts.items() if line in lines for name in tests}
        ordered = sorted(names & self._seconds.keys(), key=self._seconds.__getitem__)
        total, chosen = 0.0, list[str]()
        for name in ordered:
            total += self._seconds[name]
            if total > MAX_TEST_S and chosen:
                break
            chosen.append(name)
        return chosen


def _function_lines(mutant: Mutant) -> tuple[int, int, int]:
    """Return first line, first line of the body and end of the function around a change.

    The first line is 0 outside of functions.
    """
    innermost = 0, 0, sys.maxsize
    for node in ast.walk(ast.parse(mutant.file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or 0
            if node.lineno <= mutant.line <= end and node.lineno > innermost[0]:
                innermost = node.lineno, node.body[0].lineno, end + 1
    return innermost


def _passing(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that pass in a fork, halving those that do not pass together."""
    if not _is_noticed(None, items):
        return items
    half = len(items) // 2
    return [*_passing(items[:half]), *_passing(items[half:])] if half else []


def _is_noticed(mutant: Mutant | None, items: list[pytest.Item]) -> bool:
    """Return whether a test fails, crashes or hangs in a fork, after the change if there is one."""
    source = mutant.file.read_text("utf-8") if mutant else ""
    child = os.fork()
    if child == 0:
        _try_change(mutant, source, items)
    deadline, status = time.monotonic() + HANG_S, 1
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if mutant:
        mutant.file.write_text(source, "utf-8")
    return status != 0


def _try_change(mutant: Mutant | None, source: str, items: list[pytest.Item]) -> None:
    """Make the change in this process and run the tests; never returns."""
    code = 1
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + 4 * MAX_TEST_S + 10),) * 2)
        changed = _change(mutant, source) if mutant else ""
        if mutant and not _replace_functions(mutant.file, source, changed):
            mutant.file.write_text(changed, "utf-8")
            tests = [item.nodeid for item in items]
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", *tests]
            os.execv(sys.executable, command)
        gc.collect = lambda *_: 0  # each module of tests calls it
        code = not _passes(items)
    finally:
        os._exit(code)


def _passes(items: list[pytest.Item]) -> bool:
    """Return whether all tests pass; ends with the first that does not."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item._initrequest()  # type: ignore[attr-defined]  # its fixtures were set up before
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return False
    return True


def _replace_functions(file: Path, source: str, changed: str) -> bool:
    """Give the functions of a module their changed code; False if others than functions changed."""
    pairs = dict(_changed_code(compile(source, str(file), "exec"), compile(changed, "x", "exec")))
    if any(_runs_at_import(old) for old in pairs):
        return False
    by_place = {(old.co_qualname, old.co_firstlineno): new for old, new in pairs.items()}
    gc.unfreeze()
    path = str(file.resolve())
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == path:
            place = thing.__code__.co_qualname, thing.__code__.co_firstlineno
            if place in by_place:
                thing.__code__ = by_place[place]
        elif isinstance(thing, _lru_cache_wrapper):
            thing.cache_clear()
    return True


def _runs_at_import(code: CodeType) -> bool:
    is_nested = code.co_name.endswith(("comp>", "genexpr>")) and "<locals>" not in code.co_qualname
    return is_nested or not code.co_flags & inspect.CO_OPTIMIZED


def _changed_code(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield functions (with those around them) that differ, and other code whose own part does."""
    nested = [
        [const for const in code.co_consts if isinstance(const, CodeType)] for code in (old, new)
    ]
    is_function = bool(old.co_flags & inspect.CO_OPTIMIZED)
    own = [
        (code.co_code, code.co_names, [c for c in code.co_consts if not isinstance(c, CodeType)])
        for code in (old, new)
    ]
    if old != new if is_function else repr(own[0]) != repr(own[1]):
        yield old, new
    for pair in zip(*nested, strict=False):
        yield from _changed_code(*pair)


def _change(mutant: Mutant, source: str) -> str:
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    return str(mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence))


def _diff(mutant: Mutant) -> str:
    source = mutant.file.read_text("utf-8")
    lines = [text.splitlines(keepends=True) for text in (source, _change(mutant, source))]
    return "".join(unified_diff(lines[0], lines[1], str(mutant.file), "changed", n=2))


def _mutants(area: str, rng: Random) -> Iterator[Mutant]:
    """Yield a change of each place of an area, drawn among those that are possible."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    path = Path("focus", area)
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        text = file.read_text("utf-8")
        lines, tree = text.splitlines(), get_ast(text)
        by_place: dict[tuple[int, int], list[Mutant]] = {}
        for name in sorted(operator_names()):
            kind = get_operator(name)
            if kind.arguments():
                continue
            nodes = list(ast_nodes(tree))
            positions = [at for node in nodes for at, _ in kind().mutation_positions(node)]
            for occurrence, (row, column) in enumerate(positions):
                if _is_place(name, lines[row - 1], column):
                    mutant = Mutant(area, file, row, name, occurrence)
                    by_place.setdefault((row, column), []).append(mutant)
        yield from (rng.choice(by_place[place]) for place in sorted(by_place))


def _is_place(operator: str, line: str, column: int) -> bool:
    """Return whether a test could notice an operator's change at a column of a line."""
    before = line[:column]
    if "_Is" in operator:
        return operator.endswith(("_Is_IsNot", "_IsNot_Is"))
    if before.endswith(("frozen=", "strict=")) or "_BitOr_" in operator:
        return False
    if "BinaryOperator" in operator and before.rstrip()[-1:] in ("", *"(,["):
        return False
    if "Number" in operator and _TUNES.match(line):
        return False
    sign = column - ("Number" in operator)
    is_sentinel = line[sign - 1 : sign] != "[" and re.match(r"-\d", line[sign:])
    return not (is_sentinel and ("Number" in operator or "Unary" in operator))


def main() -> None:
    """Draw the changes, try them and print a row for each area."""
    options = read_options(__doc__)
    sys.path.append(str(options.tools.resolve()))
    rng = Random(options.seed)
    areas: Any = options.areas or AREAS
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(f"git archive HEAD | tar -xC {folder}", shell=True, check=True)
        os.chdir(folder)
        sys.path.insert(0, folder)
        places = [mutant for area in areas for mutant in _mutants(area, rng)]
        plugin = Mutation(rng.sample(places, min(options.mutants, len(places))))
        files = [str(f) for f in sorted(Path("tests").glob("test_*.py"))]
        files = [name for name in files if not OTHER_TESTS.search(name)]
        pytest.main(["-q", "-s", "-n", "0", "-m", "not slow", *files], plugins=[plugin])
    results = [(mutant.area, noticed) for mutant, noticed in plugin.outcomes.items()]
    rows = [(a, len(r := [n for area, n in results if area == a]), sum(r)) for a in areas]
    tried, noticed = (sum(row[at] for row in rows) for at in (1, 2))
    print(table(("area", "changes", "noticed"), [*rows, ("all", tried, noticed)]))
    print(f"{noticed / max(1, tried):.1%}")


if __name__ == "__main__":
    main()
