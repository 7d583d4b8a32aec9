"""`focus research kb import`: knowledge bases."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.help import Group
from focus.commands.options.option import Command, option, print_lines
from focus.commands.options.value_types import KINDS
from focus.commands.progress_bar import show_progress
from focus.text.formatting import format_count, format_duration, printable

if TYPE_CHECKING:
    from focus.learn.kb.importing import ImportResult


@click.group(cls=Group)
def kb() -> None:
    """Import knowledge bases of named entities.

    A classifier trained with a knowledge base (`focus research train --entities`) recognises other
    names: 红魔 is a name of 曼联, a football club. A small knowledge base about football is
    included.

    \b
    Example:
        focus research kb import cn-dbpedia.tsv.gz --kb knowledge.db
    """


@kb.command("import", cls=Command)
@click.argument("file", type=KINDS["file"].type)
@option("--kb", "base", kind="file", required=True, help="Import into this knowledge base.")
@click.pass_context
def import_(ctx: click.Context, file: Path, base: Path) -> None:
    """Import a dump into a knowledge base.

    A dump has three tab-separated columns: entity, attribute, value, as in CN-DBpedia's public
    files (别名, CATEGORY_ZH and DESC are used; all are stored). A file of two columns is a list of
    aliases: alias, entity. Files may be compressed (.gz, .zst). Malformed lines are reported and
    skipped. An import that fails changes nothing.

    \b
    Example:
        focus research kb import cn-dbpedia.tsv.gz --kb knowledge.db
    """
    from focus.learn.kb.importing import import_dump

    started = time.monotonic()
    with show_progress(f"Importing {file.name}") as progress:
        report = import_dump(file, base, progress)
    print_lines(import_lines(report, base, time.monotonic() - started), err=True)
    ctx.exit(1 if report.reader.damage else 0)


def import_lines(report: ImportResult, base: Path, seconds: float) -> list[str]:
    """Return the result of an import as lines."""
    read = report.reader
    lines = [f"focus: {complaint}" for complaint in read.complaints]
    unlisted = read.malformed - len(read.complaints)
    if unlisted:
        lines.append(f"focus: and {format_count(unlisted, 'more malformed line')}")
    if read.damage:
        lines.append(f"focus: error: {printable(read.damage)}; what came before is in {base}")
    speed = f"{read.lines / seconds:,.0f} lines/s" if seconds >= 1 else format_duration(seconds)
    lines.append(
        f"{format_count(report.entities, 'entity')} with "
        f"{format_count(report.aliases, 'name')} from {format_count(read.lines, 'line')} "
        f"({read.malformed:,} malformed) in {base}; {speed}"
    )
    return lines
