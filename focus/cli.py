"""Builds the tree of `focus` commands and imports each command when it is typed.

Data goes to standard output, everything else to standard error. Errors are FocusError
and end up in `__main__`. What is heavy is imported by the command that needs it, so
that `focus --help` and shell completion are quick.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import get_completion_class

from focus import __version__
from focus.commands.backup import backup, restore
from focus.commands.changes import changes
from focus.commands.cluster import cluster
from focus.commands.compare import compare_command
from focus.commands.crawl import NETWORK_NAMES, REACH_NAMES, crawl_options
from focus.commands.judge import judge
from focus.commands.kb import kb
from focus.commands.label import label
from focus.commands.options import config_file
from focus.commands.options.declared import said
from focus.commands.options.help import Group
from focus.commands.options.option import (
    DB,
    DBS,
    JSON,
    OUTPUT_FILE,
    Command,
    option,
    print_note,
    tell,
    tell_json,
)
from focus.commands.report import report_command
from focus.commands.running import crawled, invoked_as, run_loop
from focus.commands.search import search
from focus.commands.serve import serve
from focus.commands.topic import topic
from focus.commands.train import train
from focus.commands.watch import watch
from focus.text.formatting import count

if TYPE_CHECKING:
    from focus.commands.settings import CrawlOrder
    from focus.demo.run import DemoResult
    from focus.session import RunReport
    from focus.storage.reader import DatabaseReader

T = TypeVar("T")

SHELLS = ("bash", "zsh", "fish")
COMPLETE = "_FOCUS_COMPLETE"  # variable by which a shell asks


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="focus")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Crawl a topic: from these sites, the pages about it, best first.

    \b
    Example:
        focus crawl --seed sports.sina.com.cn --topic 足球 --max-pages 1000
        focus export --relevant > football.jsonl

    Options may also stand in focus.toml and in FOCUS_* variables; the command line wins
    over variables, these over the file.
    """
    if ctx.invoked_subcommand in ("completion", "strategies"):
        return
    found = config_file.find(Path.cwd())
    ctx.default_map = config_file.defaults(found, {"crawl": crawl})
    database = config_file.database(found)
    for name, command in cli.commands.items():
        for each in command.params if name not in ("demo", "serve") else ():
            if each.name == "db":
                default = [database] if each.multiple else database
                ctx.default_map.setdefault(name, {}).setdefault("db", default)
    asked = {**ctx.default_map.get("crawl", {}), "db": database}
    known = {key: asked[key] for key in (*NETWORK_NAMES, "db") if key in asked}
    for group in (topic, watch):
        ctx.default_map[str(group.name)] = dict.fromkeys(group.commands, known)
    ctx.default_map["serve"] = known
    opened = {key: asked[key] for key in REACH_NAMES if key in asked}
    ctx.default_map["cluster"] = {"frontier": asked, "worker": opened}


def stray_variables(environment: Iterable[str]) -> list[str]:
    """FOCUS_* variables that look like a misspelt one of ours."""
    known = [str(each.envvar) for each in crawl.params if each.envvar]
    strange = [name for name in environment if name.startswith("FOCUS_") and name not in known]
    near = {name: get_close_matches(name, known, 1, 0.85) for name in strange}
    return [f"{name} is not known; did you mean {each[0]}?" for name, each in near.items() if each]


# -- crawl --------------------------------------------------------------------------


@cli.command(cls=Command)
@crawl_options
@click.pass_context
def crawl(ctx: click.Context, /, **options: Any) -> None:
    """Crawl for a topic, or go on with an unfinished crawl.

    \b
    Example:
        focus crawl --seed sports.sina.com.cn --topic 足球 --strategy topic-pagerank \\
            --max-pages 1000 --contact mailto:me@example.com

    The same command continues it. Ctrl-C ends it cleanly, and nothing is lost. Exit codes:
    0 done, 2 wrong use, 3 not one page fetched, or only where all seeds led away, 4 too many
    failures, 5 database in use by another crawl, 8 offline for too long, 130 Ctrl-C.

    Every option may stand in focus.toml under [crawl], and in the variable named with it.
    What would be done, without doing it:

    \b
        focus crawl --seed example.com --topic football --dry-run
    """
    from focus.commands import settings

    order = settings.order(options)
    if options["dry_run"]:
        from focus.commands.preview import HAVE_ROWS, order_lines
        from focus.session import identity
        from focus.storage.reader import last_crawl

        known = None if order.paths.fresh else last_crawl(order.paths.db, identity(order.config))
        tell(order_lines(order, said(ctx, but=HAVE_ROWS), continues=known))
        return
    ctx.exit(_crawled(order, options))


def _crawled(order: CrawlOrder, options: dict[str, Any]) -> int:
    from focus.http.tls import certificates_read_late

    with certificates_read_late():  # aiohttp makes two contexts when it is imported
        from focus import session

    def work(watcher: Any) -> RunReport:
        return run_loop(session.run(order.config, order.paths, watcher))

    return crawled(order, options, work, notes=stray_variables(os.environ))


@cli.command(cls=Command)
@option(
    "--pages", type=click.IntRange(100, 200_000), default=2000, metavar="N", help="Size of the web."
)
@option("--seed", type=int, default=1, metavar="N", help="Another number, another web.")
@option("--db", kind="file", default=Path("focus-demo/focus.db"), help="The database.")
@click.pass_context
def demo(ctx: click.Context, pages: int, seed: int, db: Path) -> None:
    """Crawl a web made on this machine, by three strategies.

    It needs no network: the web is served on this machine, crawled as any other, and the
    strategies are compared by its labels.

    \b
    Example:
        focus demo --pages 1000
    """
    from focus.commands.report import report_page
    from focus.commands.status_output import demo_lines
    from focus.demo.run import STRATEGIES, demo
    from focus.report.export import write_bytes
    from focus.terminal.logs import telling

    names = ", ".join(STRATEGIES)
    print_note("A web of about {n:,} pages, for 足球, by {strategies}", n=pages, strategies=names)

    def done(outcome: DemoResult) -> None:
        print_note("{strategy}: {n:,} relevant", strategy=outcome.strategy, n=outcome.relevant)

    watch = lambda strategy: telling()  # noqa: E731
    outcomes = demo(db, pages=pages, seed=seed, watch=watch, done=done, run_loop=run_loop)
    if interrupted := outcomes[-1].report.stop_reason == "interrupted":
        report = None
    else:
        report = db.with_name("report.html")
        write_bytes(report_page([db], "latest"), report)
    tell(demo_lines(outcomes, db, report, invoked_as()))
    ctx.exit(130 if interrupted else 0)


# -- what was found -----------------------------------------------------------------


@cli.command(cls=Command)
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
    metavar="WHEN",
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
    from focus.report.export import export as write
    from focus.storage.results import FIELDS, MADE, Selection, columns, parse_since

    names = [name.strip() for name in (options["fields"] or "").split(",") if name.strip()]
    if options["text"] and "text" not in names:
        names = [*(names or FIELDS), "text"]
    types = columns(names)
    since = options["since"]
    chosen = Selection(
        crawl=options["crawl"],
        relevant=options["relevant"],
        min_relevance=options["min_relevance"],
        since=None if since is None else parse_since(since, now=time.time()),
        host=options["host"],
        sort=options["sort"] or "",
        limit=options["limit"],
        duplicates=options["duplicates"] == "mark",
        gone=options["gone"] == "mark",
    )
    out = None if str(options["output"]) == "-" else options["output"]
    with _read(db, options["crawl"], bodies=any(name in MADE for name in names)) as reader:
        rows = reader.rows(chosen, names or FIELDS)
        number = write(rows, types, format=options["format"], out=out, bom=options["bom"])
    if out is not None:
        print_note("{pages} in {file}", pages=count(number, "page"), file=out)


_CRAWL = option("--crawl", default="latest", metavar="ID", help="This crawl.")


@cli.command(cls=Command)
@DBS
@_CRAWL
@JSON
def status(db: tuple[Path, ...], crawl: str, as_json: bool) -> None:
    """Show the crawls of a database, and how one stands.

    \b
    Example:
        focus status --json | jq .status.states
    """
    with _read(db, crawl, bodies=False) as reader:
        crawls = reader.crawls()
        found = [reader.status(number, crawls) for number in reader.ids(crawl)[-1:]]
    one, name = found[0] if found else None, ", ".join(map(str, db))
    if as_json:
        tell_json({"database": name, "crawls": crawls, "status": one})
        return
    from focus.commands.status_output import status_lines

    tell(status_lines(name, crawls, one))


@contextmanager
def _read(db: tuple[Path, ...], crawl: str, *, bodies: bool) -> Iterator[DatabaseReader]:
    """One database, or those of a cluster's shards as one."""
    from focus.storage.reader import DatabaseReader
    from focus.storage.shard_merge import as_one

    paths = [each.expanduser() for each in db]
    with (
        as_one(paths, crawl, bodies=bodies) as one,
        DatabaseReader(one.path, running=one.running) as found,
    ):
        yield found


@cli.command(cls=Command)
@DB
@_CRAWL
@JSON
@click.argument("url")
def why(db: Path, crawl: str, as_json: bool, url: str) -> None:
    """Tell why a URL was taken when it was, or why it was not.

    Shown are the way to it from a seed, with the texts of the links, and its relevance by
    part with the words that were found; or why it failed, was dropped, or still waits.
    Evidence is what its priority was added up from: of the links to it (member: an index page
    that names the topic lists it; subtopic: its text has a word that relevant pages have in
    their titles), of the hub that brought it and of its place. Named are
    keywords and features of the topic in the link's text or address. Ahead is what was taken
    before it since its parent was, or waits with more priority now.

    \b
    Example:
        focus why https://sports.sina.com.cn/china/
    """
    from focus.storage.evidence import explained
    from focus.storage.reader import DatabaseReader
    from focus.urls.normal_form import fingerprint, seed_candidates

    candidates = seed_candidates(url)
    with DatabaseReader(db.expanduser()) as reader:
        number = reader.crawl_id(crawl)
        found = reader.why(number, candidates[0], key=fingerprint(candidates[0]))
        answer = explained(reader, number, found)
    if as_json:
        tell_json(answer)
        return
    from focus.commands.status_output import why_lines

    tell(why_lines(answer), err=not answer.state)


cli.add_command(changes)
cli.add_command(search)
cli.add_command(backup)
cli.add_command(restore)


# -- teaching it --------------------------------------------------------------------

for command in (
    topic,
    train,
    label,
    judge,
    kb,
    compare_command,
    report_command,
    watch,
):
    cli.add_command(command)
cli.add_command(serve)
cli.add_command(cluster)


# -- about focus itself -------------------------------------------------------------


@cli.command(cls=Command)
def strategies() -> None:
    """List the strategies and relevance models with their numbers.

    \b
    Example:
        focus strategies
    """
    from focus.commands.preview import strategies_lines

    tell(strategies_lines())


@cli.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete `focus` commands.

    \b
    Example:
        focus completion bash > ~/.local/share/bash-completion/completions/focus
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "focus", COMPLETE).source())
