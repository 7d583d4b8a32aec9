"""`focus export`: the pages of a crawl as JSON lines, CSV, Parquet or SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from focus.commands.options.option import DBS, OUTPUT_FILE, Command, option, print_note
from focus.text.formatting import format_count


@click.command(cls=Command)
@DBS
@option("--crawl", default="latest", metavar="ID|all", help="Of this crawl, or of all.")
@option(
    "--format",
    type=click.Choice(["jsonl", "csv", "parquet", "sqlite"]),
    default="jsonl",
    help="Of the file.",
)
@OUTPUT_FILE
@option("--relevant", is_flag=True, help="Only relevant pages.")
@option("--min-relevance", kind="number", help="Only pages of at least this relevance.")
@option(
    "--since",
    kind="instant",
    help="Only pages fetched since 2026-01-31, 2026-01-31T18:00 or 7d ago.",
)
@option("--host", metavar="HOST", help="Only pages of this host and its subdomains.")
@option("--fields", kind="fields", show_default="all", help="Only these fields, in this order.")
@option(
    "--text",
    is_flag=True,
    help="With the main content as field text (of pages whose text is kept).",
)
@option(
    "--sort",
    type=click.Choice(["quality", "relevance", "authority", "hub", "fetched"]),
    show_default="in the order of fetching",
    help="Best or newest first.",
)
@option("--limit", type=click.IntRange(0), metavar="N", help="So many pages at most.")
@option(
    "--duplicates",
    type=click.Choice(["mark", "omit"]),
    default="mark",
    help="Pages with nearly the text of an earlier one: named in duplicate_of, or left out; "
    "--relevant leaves them out in any case.",
)
@option(
    "--gone",
    type=click.Choice(["omit", "mark"]),
    default="omit",
    help="Pages that were had and are gone by now, as --refresh has found: left out, or named in "
    "gone_at.",
)
@option("--bom", is_flag=True, help="CSV for spreadsheets: begin with a byte order mark.")
def export(db: tuple[Path, ...], **options: Any) -> None:
    """Write a crawl's pages as JSON lines, CSV, Parquet or SQLite.

    A file appears whole or not at all. Parquet needs the extra focus-crawler[parquet]; an SQLite
    file has one table, pages.

    \b
    Example:
        focus export --relevant --sort quality --fields url,title,relevance -o best.jsonl
    """
    from focus.report.export import write_rows as write
    from focus.storage.results import COMPUTED_FIELDS, FIELDS, Selection, field_types
    from focus.storage.shard_merge import open_merged

    names = [name.strip() for name in (options["fields"] or "").split(",") if name.strip()]
    if options["text"] and "text" not in names:
        names = [*(names or FIELDS), "text"]
    types = field_types(names)
    same = ("crawl", "relevant", "min_relevance", "since", "host", "limit")
    selection = Selection(
        **{name: options[name] for name in same},
        sort=options["sort"] or "",
        duplicates=options["duplicates"] == "mark",
        gone=options["gone"] == "mark",
    )
    out = None if str(options["output"]) == "-" else options["output"]
    with open_merged(
        db, options["crawl"], include_sources=any(name in COMPUTED_FIELDS for name in names)
    ) as reader:
        rows = reader.iter_rows(selection, names or FIELDS)
        number = write(rows, types, format=options["format"], out=out, bom=options["bom"])
    if out is not None:
        print_note("{pages} in {file}", pages=format_count(number, "page"), file=out)
