"""Counts what a checkout of focus offers and how large it is; compares two such counts.

    python -P tests/support/surface.py FOLDER > new.json     by the Python of that checkout
    python tests/support/surface.py old.json new.json        what is gone, and what each count was

Counted are commands and their options (from the tree of click), addresses of `focus serve`,
names without an underscore at the top of modules and in their classes, modules and functions.
Lines of a function are without its docstring.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def options(command: Any, path: str = "focus") -> Iterator[tuple[str, list[str]]]:
    """(command, what it takes) of a command and those under it."""
    import click  # the one of the checkout that is counted

    taken = [name for each in command.params for name in (*each.opts, *each.secondary_opts)]
    yield path, sorted(taken)
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield from options(below, f"{path} {name}")


def routes(trees: list[ast.Module]) -> list[str]:
    """Addresses: the keys of tables whose values begin with a method of HTTP."""
    found = []
    for tree in trees:
        for table in (node for node in ast.walk(tree) if isinstance(node, ast.Dict)):
            for key, value in zip(table.keys, table.values, strict=True):
                match key, value:
                    case ast.Constant(path), ast.Tuple([ast.Constant(str(methods)), *_]):
                        if methods.partition(" ")[0] in ("GET", "POST"):
                            found.append(f"{path} {methods}")
    return sorted(found)


def public(tree: ast.Module) -> Iterator[str]:
    """Names of classes and functions without an underscore, methods with their class."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and not node.name.startswith("_"):
            yield node.name
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, FUNCTIONS) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}"


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, its docstring apart."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    said = function.body[0]
    return lines - ((said.end_lineno or 0) - said.lineno + 1)


def sizes(paths: list[Path]) -> dict[str, float]:
    """Lines of modules and functions."""
    texts = [path.read_text(encoding="utf-8") for path in paths]
    modules = [len(text.splitlines()) for text in texts]
    lengths = [
        length(node)
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, FUNCTIONS)
    ]
    return {
        "lines": sum(modules),
        "modules": len(modules),
        "module, median": median(modules),
        "module, longest": max(modules),
        "functions": len(lengths),
        "function, median": median(lengths),
        "function, p90": quantiles(lengths, n=10)[-1],
        "function, longest": max(lengths),
    }


def counted(folder: Path) -> dict[str, Any]:
    """All of it, of the checkout in a folder, whose packages this Python imports."""
    sys.path.insert(0, str(folder))
    from focus import cli

    paths = sorted((folder / "focus").rglob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return {
        "options": dict(options(cli.cli)),
        "routes": routes(trees),
        "names": sorted(name for tree in trees for name in public(tree)),
        "sizes": {
            part: sizes(sorted((folder / part).rglob("*.py")))
            for part in ("focus", "tests", "bench")
        },
    }


def compared(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Lines: what an old count has and a new one has not, then the counts of both."""
    for command, taken in old["options"].items():
        if command not in new["options"]:
            yield f"gone: {command}"
        elif lost := sorted(set(taken) - set(new["options"][command])):
            yield f"gone: {command} {', '.join(lost)}"
    yield from (f"gone: {route}" for route in old["routes"] if route not in new["routes"])
    for kind in ("options", "routes", "names"):
        yield f"{'commands' if kind == 'options' else kind}: {len(old[kind])} -> {len(new[kind])}"
    of_all = [sum(map(len, each["options"].values())) for each in (old, new)]
    yield f"options: {of_all[0]} -> {of_all[1]}"
    for part, figures in old["sizes"].items():
        for what, before in figures.items():
            yield f"{part}: {what}: {before:g} -> {new['sizes'][part][what]:g}"


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(counted(Path(sys.argv[1]))))
    else:
        before, after = (json.loads(Path(each).read_text("utf-8")) for each in sys.argv[1:])
        print(*compared(before, after), sep="\n")
