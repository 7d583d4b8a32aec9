"""Makes docs/focus.1, the manual page of all commands, for docs/make_cli.py.

It is installed as share/man/man1/focus.1, where `man focus` finds it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import make_cli

from focus.cli import cli
from focus.commands.options.option import show_full_help

PAGE = Path(__file__).with_name("focus.1")

HEAD = '.TH FOCUS 1 "" focus "User commands"'
FILES = """\
focus.toml: options of focus crawl by their long names under [crawl], and db for all commands. It is
in the working directory, the nearest folder above it, or the user's configuration folder.

focus.db: the database, beside focus.toml, or in the user's data folder."""
ENVIRONMENT = """\
FOCUS_NAME sets the option --name, if the variable is shown with it. It overrides focus.toml.

NO_COLOR: no colours and no bold."""


def page() -> str:
    """Return the whole page in roff's man macros."""
    lines = [HEAD, ".SH NAME", f"focus \\- {_text(_summary(cli))}", ".SH SYNOPSIS"]
    lines += [".B focus", "[-V] [-h] COMMAND [OPTIONS]".replace("-", "\\-"), ".SH DESCRIPTION"]
    lines += [*_prose(inspect.cleandoc(cli.help or "")), ".SH COMMANDS"]
    for name, command in make_cli.commands():
        lines += _command(name, command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in re.findall(r"^\| (\d+) \| (.*) \|$", make_cli.INTRO, re.M):
        lines += [".TP", code, _text(meaning.replace("`", ""))]
    lines += [".SH FILES", *_prose(FILES), ".SH ENVIRONMENT", *_prose(ENVIRONMENT)]
    return "\n".join(lines) + "\n"


def _summary(command: click.Command) -> str:
    return (command.help or "").strip().partition("\n")[0].rstrip(".")


def _command(name: str, command: click.Command) -> Iterator[str]:
    ctx = click.Context(command, info_name=f"focus {name}")
    show_full_help(ctx)
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield from (f".SS focus {_text(name)}", f".B focus {_text(name)}", _text(usage), ".PP")
    yield from _prose(inspect.cleandoc(command.help or ""))
    for option in command.params:
        record = option.get_help_record(ctx)
        if record is not None:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))


def _prose(text: str) -> Iterator[str]:
    """Help as roff: click's unwrapped paragraphs stay as they are."""
    for at, paragraph in enumerate(text.split("\n\n")):
        lines = paragraph.split("\n")
        if at:
            yield ".PP"
        if lines[0].strip() == "\b":
            yield from (".nf", *map(_text, lines[1:]), ".fi")
        else:
            yield from map(_text, lines)


def _text(text: str) -> str:
    """Return a line that roff reads as text, whatever it begins with."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + plain if plain.startswith((".", "'")) else plain
