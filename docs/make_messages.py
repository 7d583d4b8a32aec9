"""Bring the catalogue of messages up to date, and compile it.

Usage: python docs/make_messages.py

It finds every id in the source, the templates and the help of the commands, takes those that are
gone out of focus/locale/zh_CN/LC_MESSAGES/focus.po, puts new ones in (their Chinese is to be
written there; then run it again), and writes focus.mo, which the package reads.
"""

from __future__ import annotations

import ast
import inspect
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment

from focus.admission.url_rules import Waste
from focus.cli import cli
from focus.commands.options.help import EXAMPLE, paragraphs
from focus.commands.options.option import Option
from focus.i18n import DOMAIN, LOCALE_FOLDER, SYSTEM_MESSAGES
from focus.records import DropReason, FailureKind, Rendering, UrlState
from focus.text.formatting import count_message_ids

ROOT = Path(__file__).parents[1]
PO = LOCALE_FOLDER / "zh_CN" / "LC_MESSAGES" / f"{DOMAIN}.po"
ENDS = (
    "max-pages reached", "max-requests reached", "max-bytes reached",
    "max-time reached", "target reached", "stop-harvest reached", "interrupted", "terminated",
    "offline",
)  # fmt: skip
"""Why a crawl ends, as the database keeps it."""
CLICK = (
    ("Usage:", ""),
    ("Options", ""),
    ("Commands", ""),
    ("Show the version and exit.", ""),
    ("Show this message and exit.", ""),
    ("No such option {name!r}.", ""),
    ("No such command {name!r}.", ""),
    ("Missing command.", ""),
    ("Missing argument", ""),
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    ("Option {name!r} does not take a value.", ""),
    ("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    ("{value!r} is not a valid {number_type}.", ""),
    ("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
    ("{value} is not in the range {range}.", ""),
    ("{name} {filename!r} does not exist.", ""),
    ("{name} {filename!r} is a directory.", ""),
    ("{name} {filename!r} is not readable.", ""),
)
"""What click says of itself, and its form for more than one."""
_MAKERS = {"mark", "msg", "plural", "print_note", "say", "say_all"}
"""What is called with an id; so are the errors of focus/errors.py and those made of them."""


class Id(NamedTuple):
    """An id, the English of more than one ("": no such form), and the file that it stands in."""

    text: str
    plural: str
    file: str


def found() -> list[Id]:
    """Every id that is used, each once, by file."""
    ids: dict[str, Id] = {}
    for each in (*_in_code(), *_in_templates(), *_by_value(), *_in_help()):
        ids.setdefault(each.text, each)
    return list(ids.values())


def _by_value() -> Iterator[Id]:
    """Return the messages that are stored values or texts of the system."""
    states = [state.name.lower() for state in UrlState]
    for text in (
        *map(str, FailureKind),
        *map(str, DropReason),
        *map(str, Waste),
        *filter(None, Rendering),
        *states,
    ):
        yield Id(text, "", "focus/records.py")
    yield from (Id(text, "", "focus/crawler.py") for text in ENDS)
    yield from (Id(text, "", "focus/i18n.py") for text in SYSTEM_MESSAGES)


def trees() -> dict[str, ast.Module]:
    """File -> its syntax tree."""
    paths = sorted((ROOT / "focus").rglob("*.py"))
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def _in_code() -> Iterator[Id]:
    for file, call, name in calls():
        if name == "format_count":
            for noun in literals(call.args[1:2]):
                yield Id(*count_message_ids(noun), file)
        elif name == "plural":
            if forms := list(literals(call.args[:2])):
                yield Id(*forms, file)
        else:
            arguments = call.args if name == "say_all" else call.args[:1]
            yield from (Id(text, "", file) for text in literals(arguments))


@cache
def calls() -> tuple[tuple[str, ast.Call, str], ...]:
    """(file, call, what is called) of every call that makes a message."""
    sources = trees()
    makers = {*_MAKERS, "format_count", *errors(sources)}
    return tuple(
        (file, node, name)
        for file, tree in sources.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := _name(node.func)) in makers
    )


def errors(sources: dict[str, ast.Module]) -> set[str]:
    """Return the names of FocusError and its subclasses."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for tree in sources.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    names, before = {"FocusError"}, 0
    while len(names) > before:
        before = len(names)
        names |= {name for name, of in bases.items() if of & names}
    return names


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id == "request" else ""
    return function.id if isinstance(function, ast.Name) else ""


def literals(arguments: list[ast.expr]) -> Iterator[str]:
    """Yield the texts that an argument may be."""
    for node in arguments:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.IfExp):
            yield from literals([node.body, node.orelse])


def _in_help() -> Iterator[Id]:
    """Return the help of commands and options, and click's own messages."""
    yield from (Id(*forms, "focus/commands/options/help.py") for forms in CLICK)
    yield from (Id(text, "", "focus/commands/options/help.py") for text in EXAMPLE)
    commands = [("focus/cli.py", cli)]
    for file, command in commands:
        if isinstance(command, click.Group):
            commands += [(_file(each), each) for each in command.commands.values()]
        for text in paragraphs(command.help):
            if text and not text.startswith("\b"):
                yield Id(text, "", file)
        for each in command.get_params(click.Context(command, **cli.context_settings)):
            if isinstance(each, Option):
                default = each.show_default if isinstance(each.show_default, str) else ""
                said = (each.section, each.help or "", default)
                yield from (Id(text, "", file) for text in said if text)


def _file(command: click.Command) -> str:
    """Return the file of a command, by the function behind it."""
    module = str(inspect.unwrap(command.callback).__module__)  # type: ignore[arg-type]
    return module.replace(".", "/") + ".py"


def _in_templates() -> Iterator[Id]:
    environment = Environment(extensions=["jinja2.ext.i18n"], trim_blocks=True, lstrip_blocks=True)
    for path in sorted((ROOT / "focus").rglob("templates/*.html")):
        file = path.relative_to(ROOT).as_posix()
        for _, _, text in environment.extract_translations(path.read_text(encoding="utf-8")):
            one, many = (text, "") if isinstance(text, str) else text[:2]
            yield Id(str(one), str(many or ""), file)


def catalogue() -> Catalog:
    """Return the stored catalogue."""
    with PO.open("rb") as file:
        return read_po(file, locale="zh_CN", domain=DOMAIN)


def renewed(before: Catalog) -> Catalog:
    """Return a catalogue of the ids in use, with the existing Chinese."""
    made = Catalog("zh_CN", DOMAIN, project="focus", charset="utf-8", fuzzy=False)
    for each in sorted(found(), key=lambda each: (each.file, each.text)):
        old = before.get(each.text)
        said = old.string if old else ""
        if not isinstance(said, str):
            said = said[0]
        made.add(
            (each.text, each.plural) if each.plural else each.text,
            (said,) if each.plural else said,
            locations=[(each.file, None)],
        )
    return made


def po(made: Catalog) -> bytes:
    """Return the text of a catalogue."""
    file = io.BytesIO()
    write_po(file, made, width=100, omit_header=True, include_lineno=False)
    return HEADER + file.getvalue()


def mo(made: Catalog) -> bytes:
    """Return the compiled catalogue, always the same for the same input."""
    made.creation_date = made.revision_date = datetime(2026, 11, 22, tzinfo=UTC)
    file = io.BytesIO()
    write_mo(file, made)
    return file.getvalue()


HEADER = b"""\
# Chinese of what focus says; made by `python docs/make_messages.py`, the Chinese by hand.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Language: zh_CN\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""


def main() -> None:
    """Write both files, and name what has no Chinese yet."""
    PO.write_bytes(po(renewed(catalogue())))
    made = catalogue()
    PO.with_suffix(".mo").write_bytes(mo(made))
    missing = [each.id for each in made if each.id and not _is_told(each.string)]
    print(f"{len(made)} messages, {len(missing)} of them without Chinese")
    for text in missing:
        print(f"  {text}")


def _is_told(said: str | tuple[str, ...] | list[str]) -> bool:
    return all(said) if not isinstance(said, str) else bool(said)


if __name__ == "__main__":
    main()
