"""`focus report`: writes the report of a crawl as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import CRAWL, DB, Command, option, print_note, to_json

if TYPE_CHECKING:
    from focus.storage.figures import CrawlFigures

_STDOUT = Path("-")


@click.command("report", cls=Command)
@DB
@CRAWL
@option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    show_default="report.html, or standard output with --json",
    help="Write to FILE, as JSON if its name ends in .json; - is standard output.",
)
@option("--json", "as_json", is_flag=True, help="Write the figures as JSON instead of the page.")
def report_command(db: Path, crawl: str, output: Path | None, as_json: bool) -> None:
    """Write a report of a crawl as one HTML page.

    The file loads nothing from elsewhere. It shows the harvest curve, the hit rates of hosts and
    URL patterns, relevance, the best pages and hubs, depth, failures and where requests went.

    \b
    Example:
        focus report -o football.html
    """
    from focus.commands.settings import check_folder
    from focus.report.export import check_extension, write_bytes

    out = output or (_STDOUT if as_json else Path("report.html"))
    as_json = as_json or out.suffix.lower() == ".json"
    if out != _STDOUT:
        check_folder(out)
        check_extension(out, (".json",) if as_json else (".html", ".htm"))
    figures = _read_figures(db.expanduser(), crawl)
    write_bytes(_render_report(figures, as_json), None if out == _STDOUT else out)
    if out != _STDOUT:
        print_note("Crawl {crawl} is in {file}", crawl=figures.crawl.id, file=out)


def report_page(db: Path, crawl: str) -> bytes:
    """Return the report of a crawl as an HTML page."""
    return _render_report(_read_figures(db, crawl), as_json=False)


def _read_figures(db: Path, crawl: str) -> CrawlFigures:
    from focus.storage.reader import DatabaseReader
    from focus.storage.report_reader import load_figures

    with DatabaseReader(db) as reader:
        return load_figures(reader, reader.crawl_id(crawl))


def _render_report(figures: CrawlFigures, as_json: bool) -> bytes:
    if as_json:
        return to_json(figures)
    from focus.report.crawl import crawl_html

    return crawl_html(figures).encode()
