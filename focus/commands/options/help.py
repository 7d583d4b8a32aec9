"""Formats the help of commands in the user's language, by the width of its characters.

The English help is where click expects it, at commands and options; each paragraph of it is an id
of the message catalogue (`paragraphs`). click's own words are translated by gettext (`__main__`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from focus.i18n import current_language, say
from focus.registry import RENAMED_COMMANDS
from focus.text.formatting import cell_width, wrap_lines

EXAMPLE = ("Example:", "Examples:")
_GAP = 2  # cells between an option and its help


def paragraphs(text: str | None) -> Iterator[str]:
    """Yield the paragraphs of a help text, each on one line except examples (`\\b`)."""
    for block in inspect.cleandoc(text or "").split("\f")[0].split("\n\n"):
        yield block if block.lstrip().startswith("\b") else " ".join(block.split())


def _translated(paragraph: str) -> str:
    """Return a paragraph, or the heading of one with examples, in the user's language."""
    if not paragraph.lstrip().startswith("\b"):
        return say(paragraph) if paragraph else ""
    lines = paragraph.splitlines()
    return "\n".join(say(line) if line in EXAMPLE else line for line in lines)


class HelpFormatter(click.HelpFormatter):
    """click's formatter for English; for other languages it breaks lines by cells."""

    def write_text(self, text: str) -> None:
        """Write one or more paragraphs."""
        if current_language() == "en":
            super().write_text(text)
            return
        indent, parts = " " * self.current_indent, text.split("\n\n")
        for number, part in enumerate(parts):
            lines = part.lstrip().splitlines()[1:] if part.lstrip().startswith("\b") else None
            for line in lines or wrap_lines(part, max(20, self.width - self.current_indent)):
                self.write(f"{indent}{line}\n")
            if number + 1 < len(parts):
                self.write("\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = _GAP
    ) -> None:
        """Write names and their descriptions in two columns."""
        rows = list(rows)
        if current_language() == "en":
            super().write_dl(rows, col_max, col_spacing)
            return
        first = min(max(cell_width(name) for name, _ in rows), col_max) + col_spacing
        indent = " " * self.current_indent
        width = max(20, self.width - self.current_indent - first)
        for name, text in rows:
            head, *others = wrap_lines(text, width) or [""]
            if cell_width(name) > first - col_spacing:
                self.write(f"{indent}{name}\n")
                name = ""
            self.write(f"{indent}{name}{' ' * (first - cell_width(name))}{head}".rstrip() + "\n")
            for line in others:
                self.write(f"{indent}{' ' * first}{line}\n")


class Context(click.Context):
    """The context of a command whose help uses `HelpFormatter`."""

    formatter_class = HelpFormatter


class LocalizedCommand(click.Command):
    """A command or group with help in the user's language."""

    context_class = Context

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description of the command."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(map(_translated, paragraphs(self.help))))

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the description for the list of commands."""
        if current_language() == "en":
            return super().get_short_help_str(limit)
        return say(next(paragraphs(self.help)))


class Group(LocalizedCommand, click.Group):
    """A group of commands, in which old names of renamed commands still work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names, and the arguments for it."""
        old_name = f"{ctx.command_path} {args[0]}"
        if new_name := RENAMED_COMMANDS.get(old_name):
            click.echo(say("`{old}` is now `{new}`", old=old_name, new=new_name), err=True)
            args = [*new_name.removeprefix(f"{ctx.command_path} ").split(), *args[1:]]
        if (
            ctx.parent is None
            and re.search(r"\w[.:]\w|://", args[0])
            and args[0] not in self.commands
        ):
            raise click.UsageError(
                say("{word!r} is no command; did you mean `focus crawl {word}`?", word=args[0]), ctx
            )
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the group; those of a command stand after its name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next((arg for arg in args if arg in self.commands), "COMMAND")
            raise click.UsageError(
                say(
                    "{option} stands after the command: `{group} {command} {option}`",
                    option=error.option_name,
                    group=ctx.command_path,
                    command=name,
                ),
                ctx,
            ) from None
