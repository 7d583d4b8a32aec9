"""The option class of `focus`, with help section and variable, and functions that print output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from focus.commands.options.help import LocalizedCommand
from focus.commands.options.value_types import KINDS
from focus.config import FILE_ONLY, OUTPUT_SECTION
from focus.i18n import say
from focus.registry import RENAMED
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


def variable_name(option_name: str) -> str:
    """Return the environment variable of an option, such as FOCUS_MAX_BODY for `max-body`."""
    return "FOCUS_" + option_name.upper().replace("-", "_")


class Option(click.Option):
    """An option in a section of the help.

    Options of the section `FILE_ONLY` are hidden: they are settings of focus.toml and variables.
    Until the next release they may be typed. Rare options are shown by `--help-all` only.
    """

    def __init__(
        self, *args: Any, section: str = "Options", is_rare: bool = False, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self.section, self.hidden, self.is_rare = section, section == FILE_ONLY, is_rare

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value and its source; print a note if it was typed but should not be."""
        value, source = super().consume_value(ctx, opts)
        if self.section == FILE_ONLY and source is ParameterSource.COMMANDLINE:
            print_note(
                "the next release will not have {option}; set {variable} instead",
                option=self.opts[0],
                variable=self.envvar,
            )
        return value, source

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the option's variable, or of the variable of an old spelling."""
        value = super().resolve_envvar_value(ctx)
        if value is None and self.envvar:
            for old_option, new_option in RENAMED.items():
                command, _, old_name = old_option.rpartition(" --")
                old_variable = variable_name(old_name)
                if (command, new_option) == (ctx.command_path, self.opts[0]) and (
                    value := os.environ.get(old_variable)
                ):
                    print_note("{old} is now called {new}", old=old_variable, new=self.envvar)
                    return value
        return value

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return spelling and help of the option, with its default and, in full help, its variable.

        Returns None for an option that is hidden, or rare and the help is not the full one.
        """
        record = super().get_help_record(ctx)
        if record is None or (self.is_rare and not ctx.meta.get(_SHOWS_ALL)):
            return None
        extra = self.get_help_extra(ctx)
        notes = []
        if extra.get("default", '""') != '""':
            value = extra["default"].strip("()")
            default_text = say(value) if isinstance(self.show_default, str) else value
            notes.append(say("default: {value}", value=default_text))
        if ctx.meta.get(_SHOWS_ALL):
            notes += extra.get("envvars", ())
        meaning = say(str(self.help))
        return record[0], f"{meaning}  [{say('; ').join(notes)}]" if notes else meaning


_SHOWS_ALL = "focus.commands.shows_all"


def show_full_help(ctx: click.Context) -> None:
    """Make the help of this command list rare options and variables, too."""
    ctx.meta[_SHOWS_ALL] = True


def _print_full_help(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show_full_help(ctx)
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_full_help,
    help="Show all options and their variables.",
)


class Command(LocalizedCommand):
    """A command whose help groups its options by section.

    A command with rare options has `--help-all`, too.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command, with those that print its help."""
        parameters = super().get_params(ctx)
        if any(getattr(parameter, "is_rare", False) for parameter in parameters):
            parameters.append(_HELP_ALL)
        return parameters

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                section = getattr(parameter, "section", "Options")
                sections.setdefault(section, []).append(record)
        sections["Options"] = sections.pop("Options")  # as the last one; --help is one of them
        for title, records in sections.items():
            with formatter.section(say(title)):
                formatter.write_dl(records, col_max=25)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, in which old spellings of options may stand."""
        typed = [name for arg in args if (name := arg.partition("=")[0]) in ("--topic", "--words")]
        if any(typed.count(p.opts[0]) > 1 and not p.multiple for p in self.get_params(ctx)):
            once = say(
                '{option} may stand only once: write {option} "a, b", or run the command for each',
                option=typed[-1],
            )
            raise click.UsageError(once, ctx)
        try:
            return super().parse_args(ctx, [_new_spelling(ctx.command_path, arg) for arg in args])
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click omits it where a value is missing
            if typed and type(error) is click.UsageError:  # too many arguments
                hint = say(
                    'several words stand in quotation marks: {option} "a b"', option=typed[-1]
                )
                raise click.UsageError(f"{error.message}; {hint}", ctx) from None
            raise


def _new_spelling(command: str, arg: str) -> str:
    """Return an argument with the present name of the option; print a note if it was renamed."""
    name, equals, value = arg.partition("=")
    new_name = RENAMED.get(f"{command} {name}")
    if new_name is None:
        return arg
    print_note("{old} is now called {new}", old=name, new=new_name)
    return f"{new_name}{equals}{value}"


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
        attributes |= {"envvar": variable_name(long_name), "show_envvar": True}
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
    "show_default": "focus.db beside focus.toml, else in your data folder",
}
DB = option("--db", **_DB, help="The database.")
OUTPUT_FILE = option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True, path_type=Path),
    default="-",
    metavar="FILE",
    help="Write to FILE; - is standard output.",
)
SINCE_PUBLISHED = option(
    "--since-published",
    kind="instant",
    help="Only pages with a publication date from then on: 2026-01-31 or 7d (ago).",
)
UNTIL_PUBLISHED = option(
    "--until-published",
    kind="instant-end",
    help="Only pages with a publication date up to then, including that day.",
)
CRAWL = option("--crawl", default="latest", metavar="ID", help="Select the crawl.")
JSON = option("--json", "as_json", is_flag=True, help="Print JSON.")
DBS = option("--db", **_DB, multiple=True, help="The database (repeatable).")
