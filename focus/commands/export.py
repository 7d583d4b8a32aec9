"""`focus export`: the pages of a crawl as JSON lines, CSV, Parquet or SQLite."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import click

from focus.commands.options.option import (
    DBS,
    OUTPUT_FILE,
    SINCE_PUBLISHED,
    UNTIL_PUBLISHED,
    Command,
    option,
    print_note,
)
from focus.text.formatting import format_count

_PUBLISHED = ("since_published", "until_published")


@click.command(cls=Command)
@DBS
@option("--crawl", default="latest", metavar="ID|all", help="Select a crawl, or all.")
@option(
    "--format",
    type=click.Choice(["jsonl", "csv", "parquet", "sqlite"]),
    show_default="by the extension of -o, else jsonl",
    help="Select the file format.",
)
@OUTPUT_FILE
@option("--relevant", is_flag=True, help="Export only relevant pages.")
@option("--min-relevance", kind="relevance", help="Export only pages with at least this relevance.")
@option(
    "--since",
    kind="instant",
    help="Export only pages fetched since then: 2026-01-31, 2026-01-31T18:00 or 7d (ago).",
)
@SINCE_PUBLISHED
@UNTIL_PUBLISHED
@option("--host", metavar="HOST", help="Export only pages of this host and its subdomains.")
@option(
    "--fields", kind="fields", show_default="all", help="Export only these fields, in this order."
)
@option("--text", is_flag=True, help="Add the main content as the field text, where it is stored.")
@option(
    "--text-by",
    type=click.Choice(["focus", "trafilatura"]),
    default="focus",
    help="Extract the field text with focus or with trafilatura (extra markdown).",
)
@option(
    "--sort",
    type=click.Choice(["quality", "relevance", "authority", "hub", "fetched", "published"]),
    show_default="order of fetching",
    help="Sort by relevance or by date, best or newest first.",
)
@option("--limit", type=click.IntRange(0), metavar="N", help="Export at most N pages.")
@option(
    "--duplicates",
    type=click.Choice(["mark", "omit"]),
    default="mark",
    help="Keep near-duplicates, with duplicate_of set, or omit them; --relevant always omits them.",
)
@option(
    "--gone",
    type=click.Choice(["omit", "mark"]),
    default="omit",
    help="Omit pages that have disappeared since, or keep them with gone_at set.",
)
@option(
    "--include",
    type=click.Choice(["lists"]),
    help="With --relevant, also export home, section, tag and archive pages.",
)
@option("--bom", is_flag=True, help="Begin CSV with a byte order mark, for spreadsheets.")
def export(db: tuple[Path, ...], **options: Any) -> None:
    """Write pages as JSON lines, CSV, Parquet or SQLite.

    Pages of several databases are merged by --sort, otherwise they follow one after the other.
    The file is written completely or not at all. Parquet needs the extra focus-crawler[parquet].
    An SQLite file has one table, pages.

    \b
    Example:
        focus export --relevant --sort quality --fields url,title,relevance -o best.jsonl
    """
    from focus.report.export import choose_format, merge_rows
    from focus.report.export import write_rows as write
    from focus.storage.reader import DatabaseReader
    from focus.storage.results import FIELDS, SORT_FIELDS, Selection, field_types

    names = [name.strip() for name in (options["fields"] or "").split(",") if name.strip()]
    out = None if str(options["output"]) == "-" else options["output"]
    file_format = choose_format(options["format"], out)
    has_dates = options["sort"] == "published" or any(options[name] for name in _PUBLISHED)
    if not names and (has_dates or file_format == "csv"):
        names = [*FIELDS[:3], "published", *FIELDS[3:]]
    if options["text"] and "text" not in names:
        names = [*(names or FIELDS), "text"]
    types = field_types(names)
    same = ("crawl", "relevant", "min_relevance", "since", "host", "limit", *_PUBLISHED)
    selection = Selection(
        **{name: options[name] for name in same},
        sort=options["sort"] or "",
        duplicates=options["duplicates"] == "mark",
        gone=options["gone"] == "mark",
        lists=True if options["include"] == "lists" else None,
    )
    with ExitStack() as stack:
        readers = [stack.enter_context(DatabaseReader(path.expanduser())) for path in db]
        fields = names or FIELDS
        if options["text_by"] == "trafilatura":
            fields = ["trafilatura_text" if name == "text" else name for name in fields]
        keys = [SORT_FIELDS[selection.sort]] if selection.sort and len(readers) > 1 else []
        rows = merge_rows(
            [reader.iter_rows(selection, [*fields, *keys]) for reader in readers],
            by_last=bool(keys),
        )
        number = write(
            islice(rows, options["limit"]), types, format=file_format, out=out, bom=options["bom"]
        )
    if out is not None:
        print_note("{pages} in {file}", pages=format_count(number, "page"), file=out)
