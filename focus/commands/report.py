"""`focus report`: writes the report of a crawl as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import CRAWL, DBS, Command, option, print_note, to_json
from focus.errors import ConfigError

if TYPE_CHECKING:
    from focus.storage.figures import CrawlFigures

_STDOUT = Path("-")
PNG_HELP = "Also write the charts as PNG files (extra focus-crawler[png])."


@click.command("report", cls=Command)
@DBS
@CRAWL
@option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    show_default="report.html, or standard output with --json",
    help="Write to FILE; - is standard output.",
)
@option("--json", "as_json", is_flag=True, help="Write the figures as JSON instead of the page.")
@option("--png", is_flag=True, help=PNG_HELP)
def report_command(
    db: tuple[Path, ...], crawl: str, output: Path | None, as_json: bool, png: bool
) -> None:
    """Write a report of a crawl as one HTML page.

    The file loads nothing from elsewhere. It shows the harvest curve, the hit rates of hosts and
    URL patterns, relevance and priority, the best pages and hubs with their links, depth,
    failures, politeness, and the tables 5-5 to 5-10 of the paper P1.

    \b
    Example:
        focus report -o football.html
    """
    from focus.report.export import write_bytes

    out = output or (_STDOUT if as_json else Path("report.html"))
    _check_output(out, db, png=png)
    figures = _read_figures([path.expanduser() for path in db], crawl)
    pictures = _draw_pictures(figures, out) if png else {}
    write_bytes(_render(figures, as_json), None if out == _STDOUT else out)
    for path, data in pictures.items():
        write_bytes(data, path)
    for path in (out, *pictures):
        if path != _STDOUT:
            print_note("Crawl {crawl} is in {file}", crawl=figures.crawl.id, file=path)


def _check_output(out: Path, db: Sequence[Path], *, png: bool) -> None:
    """Raise ConfigError for output that cannot be written, before anything is read."""
    from focus.commands.settings import check_folder

    if out == _STDOUT:
        if png:
            raise ConfigError("--png writes files beside the page; give -o FILE")
        return
    check_folder(out)
    if out.resolve() in [path.expanduser().resolve() for path in db]:
        raise ConfigError("-o {out}: is the database itself; choose another -o FILE", out=out)
    if png:
        from focus.report.pictures import check_png_support

        check_png_support()


def report_page(db: Sequence[Path], crawl: str) -> bytes:
    """Return the report of a crawl as an HTML page."""
    return _render(_read_figures(db, crawl), as_json=False)


def _read_figures(db: Sequence[Path], crawl: str) -> CrawlFigures:
    from focus.storage.report_reader import load_figures
    from focus.storage.shard_merge import open_merged

    with open_merged(db, crawl, include_sources=False) as reader:
        return load_figures(reader, reader.crawl_id(crawl))


def _render(figures: CrawlFigures, as_json: bool) -> bytes:
    if as_json:
        return to_json(figures)
    from focus.report.crawl import crawl_html

    return crawl_html(figures).encode()


def _draw_pictures(figures: CrawlFigures, out: Path) -> dict[Path, bytes]:
    from focus.report.crawl import crawl_pictures
    from focus.report.pictures import picture_path, render_png

    svgs = crawl_pictures(figures)
    return {picture_path(out, name): render_png(svg) for name, svg in svgs.items()}
