"""The options that name example pages for `focus topic`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from focus.commands.crawl import network_options
from focus.commands.options.option import DB, adding, option
from focus.errors import ConfigError
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.learn.kb.knowledge_base import KnowledgeBase
    from focus.learn.page_sources import PageSources, StoredCrawls

ARCHIVE = option(
    "--archive",
    kind="file",
    help="Take pages from this recorded web (.warc or .arc, plain, .gz or .zst), not the network.",
)
CRAWL = option(
    "--crawl",
    metavar="ID|latest|all",
    help="Take pages from this crawl in the database; with --db alone: from the latest.",
)
KB = option(
    "--kb",
    "base",
    kind="file",
    help="Know other names of things from this knowledge base (`focus kb import`); football: the "
    "one that comes with focus. What it puts under the topic becomes its narrower terms.",
)


page_options = adding([ARCHIVE, CRAWL, DB, network_options])
"""Where pages of URLs come from: --archive, --crawl, --db, and how to ask the network."""

example_options = adding(
    option(
        name,
        multiple=True,
        metavar="FILE|DIR|URL",
        help=f"A page {which} topic, or a folder or .jsonl file of them. Repeatable.",
    )
    for name, which in (("--example", "on"), ("--not-example", "off"))
)
"""--example and --not-example."""


def sources(ctx: click.Context, options: dict[str, Any]) -> PageSources:
    """Where pages of URLs come from, as ordered."""
    from focus.commands.settings import web_of
    from focus.learn.page_sources import PageSources

    stored, archive = _stored(ctx, options), options["archive"]
    if archive is not None and stored is not None:
        raise ConfigError("--archive and --db (or --crawl) exclude each other; give one of them")
    if archive is not None and not archive.is_file():
        raise ConfigError("--archive {archive}: there is no such file", archive=archive)
    return PageSources(web_of(options, archive), stored)


def _stored(ctx: click.Context, options: dict[str, Any]) -> StoredCrawls | None:
    """The crawls meant by --db or --crawl; None when neither was typed."""
    from focus.learn.page_sources import StoredCrawls

    typed = ctx.get_parameter_source("db") is ParameterSource.COMMANDLINE
    if options["crawl"] is None and not typed:
        return None
    return StoredCrawls(Path(options["db"]).expanduser(), options["crawl"] or "latest")


def knowledge(path: Path | None, stack: ExitStack) -> KnowledgeBase | None:
    """The knowledge base of --kb, open until the stack ends."""
    if path is None:
        return None
    from focus.learn.kb.knowledge_base import open_knowledge_base

    return stack.enter_context(open_knowledge_base(path))


def complain(line: str) -> None:
    """Tell of what is left out."""
    click.echo(f"focus: {printable(line)}", err=True)
