"""Holds the prose: modules state what they hold, packages have a page, names in it exist.

A name in back-ticks is looked at where it looks like one of ours: a path (`focus/cli.py`), a file
(`bfs.py`), a module (`focus.cli`), an attribute of a class (`Frontier.next`) or of a module.
"""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


FOLDERS = ("focus", "tests", "bench")
MODULES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "data" not in path.parts
)
PACKAGES = sorted(path.parent for path in (ROOT / "focus").rglob("__init__.py"))
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

QUESTION_WORD = re.compile(r"(what|which|who|whose|whom|when|where|why|how|whether)\b", re.I)
QUESTION = re.compile(
    r"(what|which|who|whose|whom|when|where|why|how|is|are|may|does|do|can|has)\b[^.]*\?", re.I
)
MIN_PAGE = 5  # lines

TICKED = re.compile(r"`([^`\n]+)`")
A_FILE = re.compile(r"(?<![\w/.:-])([\w-]+/)*[\w-]+\.py\b(?!\w)")
A_PATH = re.compile(r"(focus|tests|bench|docs)/[\w./-]*")
A_MODULE = re.compile(r"(focus|tests|bench)(\.\w+)+")
A_GROUP = re.compile(r"^focus\.\w+$")  # of entry points
A_PLACEHOLDER = re.compile(r"(^|[./])[A-Z]+([./]|$)")  # NAME.py, focus.NAME.tasks
AN_ATTRIBUTE = re.compile(r"([A-Za-z]\w*)\.([A-Za-z_]\w*)(?=$|[(\[ ])")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Trees take 200 MB, and each look for garbage passes over them; there is none."""
    gc.disable()
    yield
    tree_of.cache_clear()
    gc.enable()


def docstring_of(path: Path) -> str:
    return ast.get_docstring(tree_of(path)) or ""


def complaint(docstring: str) -> str:
    """Why a docstring does not begin with a statement; "" if it does."""
    opening = " ".join(docstring.partition("\n\n")[0].split())
    first = re.split(r"(?<=[.?!])\s", opening, maxsplit=1)[0]
    if not first:
        return "no docstring"
    if "?" in first or QUESTION.match(opening):
        return f"a question: {first}"
    return "" if re.search(r"\.$", opening) else f"no sentence: {opening}"


@pytest.mark.parametrize(
    ("docstring", "is_statement"),
    [
        ("Runs one crawl.", True),
        ("The retry table (RFC 9309 etc.): one row per kind.\n\nMore?", True),
        ("Which URL next, and when? The frontier.", False),
        ("What holds for every test: how cases are named. Why?", False),
        ("Runs one crawl", False),
        ("", False),
    ],
)
def test_a_statement_is_told_from_a_question(docstring: str, is_statement: bool) -> None:
    assert (complaint(docstring) == "") == is_statement


def test_every_module_begins_with_a_statement() -> None:
    wrong = [
        f"{name_of(path)}: {why}" for path in MODULES if (why := complaint(docstring_of(path)))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_or_class_begins_like_a_question() -> None:
    """`What a run came to.` is half a question: a class is something, a module holds something."""
    wrong = [
        f"{name_of(path)}: {getattr(node, 'name', '')}: {said.splitlines()[0]}"
        for path in MODULES
        if name_of(path).startswith("focus/")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Module | ast.ClassDef)
        and QUESTION_WORD.match(said := ast.get_docstring(node) or "")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_has_a_page_that_names_its_modules() -> None:
    wrong = []
    for package in PACKAGES:
        page = docstring_of(package / "__init__.py")
        if len(page.splitlines()) < MIN_PAGE:
            wrong.append(f"{name_of(package)}: a page of {len(page.splitlines())} lines")
        for part in sorted(package.iterdir()):
            is_part = part.suffix == ".py" or (part / "__init__.py").exists()
            if is_part and not part.stem.startswith("__") and not names(page, part.stem):
                wrong.append(f"{name_of(package)}: its page does not name {part.stem}")
    assert not wrong, "\n".join(wrong)


def names(page: str, module: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(module)}(?!\w)", page) is not None


# -- names ------------------------------------------------------------------------


class Names(NamedTuple):
    """The names of this repository.

    files     names of files           paths      paths of files and folders
    modules   dotted names             globals    last part of a module -> names at its top
    members   class -> names in it     bases      class -> its bases
    foreign   modules of others
    """

    files: set[str]
    paths: set[str]
    modules: set[str]
    globals: dict[str, set[str]]
    members: dict[str, set[str]]
    bases: dict[str, set[str]]
    foreign: set[str]

    def has_member(self, name: str, member: str) -> bool:
        """Whether a class or one of its bases has that; of strangers everything is believed."""
        if name not in self.members:
            return True
        return member in self.members[name] or any(
            base not in BUILT_IN and self.has_member(base, member) for base in self.bases[name]
        )


BUILT_IN = {"object", "Protocol", "Generic", "NamedTuple", "Struct", "Exception", "ABC"}


@cache
def ours() -> Names:
    """Every name, read from the syntax."""
    found = Names(set(), set(), set(), defaultdict(set), defaultdict(set), defaultdict(set), set())
    for path in (*MODULES, *ROOT.glob("*"), *ROOT.glob("docs/**/*"), *ROOT.glob("bench/**/*")):
        found.files.add(path.name)
        found.paths.update(name_of(each) for each in (path, *path.parents) if ROOT in each.parents)
    for path in MODULES:
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found.modules.add(dotted)
        top = found.globals[dotted.rpartition(".")[2]]
        for statement in tree_of(path).body:
            top.update(bound_by(statement))
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found.members[node.name].update(members_of(node))
                found.bases[node.name].update(map(base_name, node.bases))
            elif isinstance(node, ast.Import):
                found.foreign.update(alias.name for alias in node.names)
            elif "focus" in path.relative_to(ROOT).parts[:1] and isinstance(node, ast.Constant):
                found.modules.update(A_GROUP.findall(str(node.value)))
    return found


def bound_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.If | ast.Try | ast.With):
        for each in node.body:
            yield from bound_by(each)
    else:
        yield from (
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )


def members_of(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        yield from bound_by(statement)
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value  # __slots__, and fields of a NamedTuple by call


def base_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return base_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def strangers(text: str) -> Iterator[str]:
    """Names in a text that look like ours and are not."""
    for match in A_FILE.finditer(text):
        if not (A_PLACEHOLDER.search(match[0]) or is_file(match[0])):
            yield match[0]
    for ticked in TICKED.findall(text):
        name = ticked.strip("()")
        if A_PLACEHOLDER.search(name) or name.endswith(".py"):
            continue
        if A_PATH.fullmatch(name) and name.rstrip("/") not in ours().paths:
            yield name
        elif A_MODULE.fullmatch(name):
            if not is_dotted(name):
                yield name
        elif (found := AN_ATTRIBUTE.match(ticked)) and not is_attribute(found[1], found[2]):
            yield ticked


def is_file(name: str) -> bool:
    if "/" not in name:
        return name in ours().files
    return any(path == name or path.endswith(f"/{name}") for path in ours().paths)


def is_dotted(name: str) -> bool:
    """Whether it is a module, or a name in one."""
    if name in ours().modules or name.startswith(("focus.db", "focus.toml")):
        return True
    module, _, last = name.rpartition(".")
    if module in ours().modules:
        return last in ours().globals[module.rpartition(".")[2]]
    return "." in module and module.rpartition(".")[2][:1].isupper() and is_dotted(module)


def is_attribute(owner: str, name: str) -> bool:
    """Whether a class of ours has that, or a module of ours a class of that name."""
    if owner[0].isupper():
        return ours().has_member(owner, name)
    if owner in ours().globals:
        return not name[0].isupper() or name in ours().globals[owner]
    return name not in ours().members or owner in ours().foreign


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_strangers_are_told_from_our_own() -> None:
    text = "`focus/cli.py`, `focus.cli`, cli.py, `Frontier.next`, `records.Task`, `str.join`"
    assert not list(strangers(text))
    text = "`focus/gone.py`, gone.py, `focus/gone/`, `focus.gone`, `Frontier.gone`, `records.Gone`"
    gone = ["focus/gone.py", "gone.py", "focus/gone/", "focus.gone", "Frontier.gone"]
    assert list(strangers(text)) == [*gone, "records.Gone"]


def test_names_in_docstrings_exist() -> None:
    wrong = [
        f"{name_of(path)}: {name}"
        for path in MODULES
        for docstring in docstrings(path)
        for name in strangers(docstring)
    ]
    assert not wrong, "\n".join(wrong)


def test_names_in_documents_exist() -> None:
    wrong = [
        f"{name_of(path)}: {name}"
        for path in DOCUMENTS
        for name in strangers(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)
