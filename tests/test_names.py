"""Checks that identifiers are nouns and verbs of the field, not pronouns or bare participles.

The rule covers the names that a module of `focus`, `bench` or `tests` defines: functions, classes,
parameters, variables, attributes. `ALLOWED` lists exceptions with their reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BANNED = frozenset(
    "told found kept held given drawn left taken made came had wanted meant "
    "most least each one other saw says looks ways".split()
)
ALLOWED = {
    "bench/papers/experiment.py:other": "key of the experiments' files",
    "bench/papers/outcome.py:ways": "key of bench/results",
    "focus/storage/views.py:duplicate_of": "key of `focus why --json`, which other programs read",
}
"""`module path:name` -> why the name stays."""


def defined_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that the module defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def is_banned(name: str) -> bool:
    """Return whether a name is a bare participle or pronoun, or begins or ends with "of"."""
    words = name.strip("_").lower().split("_")
    return name.strip("_") in BANNED or words[0] == "of" or words[-1] == "of"


@pytest.mark.parametrize("folder", ["bench", "focus", "tests"])
def test_defined_names_are_not_banned(folder: str) -> None:
    offenders = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        offenders += [
            f"{where}:{line}: {name}"
            for name, line in defined_names(tree)
            if is_banned(name) and f"{where}:{name}" not in ALLOWED
        ]
    assert not offenders, "\n".join(offenders)
