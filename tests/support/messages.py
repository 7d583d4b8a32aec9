"""Reads from the modules' syntax the English lines that people see.

templates(Path("focus/alerts/query.py"))   →  {"words {}: nothing is asked for; …"}
"""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

ERRORS = frozenset({"ConfigError", "TopicError", "StoreError", "StoreLocked", "Failed", "stop"})
"""Calls whose argument is a line for people."""


def templates(path: Path, *, names: frozenset[str] = ERRORS) -> set[str]:
    """The lines that a module says in such calls, `{}` for what is filled in."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and _name(node.func) in names:
            for argument in node.args:
                found.update(_texts(argument))
    return {text for text in found if " " in text.replace("{}", "")}


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Call):  # one_line(f"…")
        for argument in node.args:
            yield from _texts(argument)
    elif isinstance(node, ast.JoinedStr):
        parts = [[part.value] if isinstance(part, ast.Constant) else ["{}"] for part in node.values]
        for chosen in itertools.product(*parts):
            yield "".join(map(str, chosen))
