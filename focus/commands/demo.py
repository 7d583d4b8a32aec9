"""`focus demo`: a generated web, crawled by three strategies and compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import Command, option, print_lines, print_note
from focus.commands.running import program_name, run_loop
from focus.i18n import say, say_all
from focus.text.formatting import format_count, format_percent, format_table

if TYPE_CHECKING:
    from focus.demo.run import DemoResult


@click.command(cls=Command)
@option(
    "--pages",
    type=click.IntRange(100, 200_000),
    default=2000,
    metavar="N",
    help="Set the number of pages of the test web.",
)
@option(
    "--seed",
    type=int,
    default=1,
    metavar="N",
    help="Seed of the generator; each number makes another test web.",
)
@option("--db", kind="file", default=Path("focus-demo/focus.db"), help="The database.")
@click.pass_context
def demo(ctx: click.Context, pages: int, seed: int, db: Path) -> None:
    """Crawl a test web on this machine with three strategies.

    No network is needed: the pages are served on this machine and crawled like any others. The
    strategies are compared by the pages' known labels.

    \b
    Example:
        focus demo --pages 1000
    """
    from focus.commands.crawl_log import open_reporters
    from focus.commands.report import report_page
    from focus.demo.run import STRATEGIES, demo
    from focus.report.export import write_bytes

    names = ", ".join(STRATEGIES)
    print_note(
        "Crawling a test web of about {n:,} pages for 足球 by {strategies}: about 30 seconds",
        n=pages,
        strategies=names,
    )

    def done(outcome: DemoResult) -> None:
        print_note("{strategy}: {n:,} relevant", strategy=outcome.strategy, n=outcome.relevant)

    watch = lambda strategy: open_reporters()  # noqa: E731
    outcomes = demo(db, pages=pages, seed=seed, watch=watch, done=done, run_loop=run_loop)
    if interrupted := outcomes[-1].report.stop_reason == "interrupted":
        report = None
    else:
        report = db.with_name("report.html")
        write_bytes(report_page(db, "latest"), report)
    print_lines(demo_lines(outcomes, db, report, program_name()))
    ctx.exit(130 if interrupted else 0)


def demo_lines(
    outcomes: Sequence[DemoResult], database: Path, report: Path | None, focus: str
) -> list[str]:
    """Return the results as a table, and commands to try; `focus` is the program's name."""
    head = say_all("strategy", "found", "share", "first one after")
    rows = [
        (
            outcome.strategy,
            f"{outcome.relevant:,}",
            format_percent(outcome.relevant / max(1, outcome.total_relevant)),
            format_count(outcome.first_relevant, "request")
            if outcome.first_relevant
            else say("none"),
        )
        for outcome in outcomes
    ]
    return [
        "",
        say(
            "The web has {total:,} pages about 足球. With {n:,} pages each, the strategies found:",
            total=outcomes[-1].total_relevant,
            n=max(outcome.report.run_pages for outcome in outcomes),
        ),
        *format_table([head, *rows], right_aligned={1, 2}),
        say(
            "This counts by the labels of the web's generator, which no crawl sees. "
            "`focus status` counts by what the crawl takes for relevant."
        ),
        "",
        *(
            [say("The report on the last crawl is {report}; open it in a browser.", report=report)]
            if report
            else []
        ),
        say("Next, try:"),
        f"  {focus} status --db {database}",
        f"  {focus} export --db {database} --relevant --sort quality --limit 3",
        f"  {focus} crawl sports.sina.com.cn --topic 足球 --max-pages 100 --dry-run",
    ]
