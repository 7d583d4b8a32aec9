"""The option class of `focus`, with help section and variable, and functions that print output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from focus.commands.options.help import LocalizedCommand
from focus.commands.options.value_types import KINDS
from focus.config import FILE_ONLY, OUTPUT_SECTION
from focus.errors import ConfigError
from focus.i18n import say
from focus.text.formatting import escape_json_controls, replace_unprintable

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines; control characters in them, which may come from the web, are replaced."""
    for line in lines:
        click.echo(replace_unprintable(line), err=err)


def print_note(id: str, /, **values: object) -> None:
    """Print a message on standard error, which leaves standard output to the results."""
    click.echo(say(id, **values), err=True)


def to_json(value: Any) -> bytes:
    """Return a value as indented JSON that ends with a line feed."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=str)) + b"\n"


def print_json(value: Any) -> None:
    """Print a value as indented JSON, with control characters escaped."""
    click.echo(escape_json_controls(to_json(value)), nl=False)


def print_result(value: Any, as_json: bool) -> None:
    """Print a value as JSON, or the lines that it consists of."""
    if as_json:
        print_json(value)
    else:
        print_lines(value)


class Option(click.Option):
    """An option in a section of the help; options of the section `FILE` cannot be typed."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section, self.hidden = section, section == FILE_ONLY

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value and its source. Raises ConfigError if it was typed but must not be."""
        value, source = super().consume_value(ctx, opts)
        if self.section == FILE_ONLY and source is ParameterSource.COMMANDLINE:
            raise ConfigError(
                "{option} is no option: write {key} = … under [crawl] in focus.toml, or set "
                "{variable}",
                option=self.opts[0],
                key=self.opts[0].removeprefix("--"),
                variable=self.envvar,
            )
        return value, source

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return spelling and help of the option, with its default and variable."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        extra = self.get_help_extra(ctx)
        notes = []
        if "default" in extra:
            value = extra["default"].strip("()")
            default_text = say(value) if isinstance(self.show_default, str) else value
            notes.append(say("default: {value}", value=default_text))
        notes += extra.get("envvars", ())
        meaning = say(str(self.help))
        return record[0], f"{meaning}  [{say('; ').join(notes)}]" if notes else meaning


class Command(LocalizedCommand):
    """A command whose help groups its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                section = getattr(parameter, "section", "Options")
                sections.setdefault(section, []).append(record)
        for title, records in sections.items():
            with formatter.section(say(title)):
                formatter.write_dl(records, col_max=28)


def option(
    *names: str, section: str = "Options", variable: bool = False, kind: str = "", **attributes: Any
) -> Decorator:
    """Return a `click.option` with section and variable.

    Args:
        variable: Whether the variable FOCUS_NAME sets it, too.
        kind: How its text is read, a key of `KINDS`; determines type, metavar and completion.
    """
    if variable:
        long_name = max(names, key=len).removeprefix("--")
        attributes |= {
            "envvar": "FOCUS_" + long_name.upper().replace("-", "_"),
            "show_envvar": True,
        }
    if kind:
        value_kind = KINDS[kind]
        kind_attributes = {
            "metavar": value_kind.metavar,
            "type": value_kind.type,
            "shell_complete": value_kind.complete,
        }
        attributes = kind_attributes | attributes
    attributes.setdefault("show_default", True)
    return click.option(*names, cls=Option, section=section, **attributes)


def add_options(options: Iterable[Decorator]) -> Decorator:
    """Return a decorator that adds these options to a command, in this order."""

    reversed_options = [*options][::-1]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed_options:
            function = decorator(function)
        return function

    return add


_DB: dict[str, Any] = {
    "section": OUTPUT_SECTION,
    "variable": True,
    "kind": "file",
    "show_default": "focus.db beside focus.toml, else in the user's data folder",
}
DB = option("--db", **_DB, help="The database.")
OUTPUT_FILE = option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True, path_type=Path),
    default="-",
    metavar="FILE",
    help="Write here; - is the standard output.",
)
CRAWL = option("--crawl", default="latest", metavar="ID", help="This crawl.")
JSON = option("--json", "as_json", is_flag=True, help="As JSON.")
DBS = option(
    "--db", **_DB, multiple=True, help="The database; of a cluster those of all shards. Repeatable."
)
