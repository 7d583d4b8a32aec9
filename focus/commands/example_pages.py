"""Options that name example pages for `focus topic`, and the sources of these pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from focus.commands.crawl import network_options
from focus.commands.options.option import DB, add_options, option, print_note
from focus.errors import ConfigError
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.learn.kb.knowledge_base import KnowledgeBase
    from focus.learn.page_sources import PageSources, StoredCrawls
    from focus.learn.topic_building import SourcedPage
    from focus.topic.topic import Topic

_MAX_NAMED = 3  # pages named in a note

ARCHIVE = option(
    "--archive",
    kind="file",
    help="Take pages from this recorded web (.warc, .warc.gz or .warc.zst) instead of the network.",
)
CRAWL = option(
    "--crawl",
    metavar="ID|latest|all",
    help="Take pages from this crawl in the database; with --db alone, from the latest.",
)
KB = option(
    "--kb",
    "base",
    kind="file",
    help="Add other names and related terms from this knowledge base (`focus research kb "
    "import`); football is the included one.",
)


page_options = add_options([ARCHIVE, CRAWL, DB, network_options])
"""Options with the source of pages: --archive, --crawl, --db, and those for requests."""

example_options = add_options(
    option(
        name,
        multiple=True,
        metavar="FILE|DIR|URL",
        help=f"Page {which} topic, or a folder or .jsonl file of such pages (repeatable).",
    )
    for name, which in (("--example", "on"), ("--not-example", "off"))
)
"""--example and --not-example."""


def make_sources(ctx: click.Context, options: dict[str, Any]) -> PageSources:
    """Return the sources of pages that the options name."""
    from focus.commands.settings import page_source
    from focus.learn.page_sources import PageSources

    stored, archive = _stored_crawls(ctx, options), options["archive"]
    if archive is not None and stored is not None:
        raise ConfigError("--archive and --db (or --crawl) exclude each other; give one of them")
    if archive is not None and not archive.is_file():
        raise ConfigError("--archive {archive}: there is no such file", archive=archive)
    return PageSources(page_source(options, archive), stored)


def _stored_crawls(ctx: click.Context, options: dict[str, Any]) -> StoredCrawls | None:
    """Return the crawls of --db or --crawl, or None if neither was typed."""
    from focus.learn.page_sources import StoredCrawls

    has_db = ctx.get_parameter_source("db") is ParameterSource.COMMANDLINE
    if options["crawl"] is None and not has_db:
        return None
    return StoredCrawls(Path(options["db"]).expanduser(), options["crawl"] or "latest")


def open_knowledge_base(path: Path | None, stack: ExitStack) -> KnowledgeBase | None:
    """Open the knowledge base of --kb until the stack ends."""
    if path is None:
        return None
    from focus.learn.kb.knowledge_base import open_knowledge_base

    return stack.enter_context(open_knowledge_base(path))


def collect_examples(
    places: Sequence[str], sources: PageSources, subject: Topic
) -> list[SourcedPage]:
    """Return the pages of --example, and warn of those that list other pages."""
    from focus.learn.page_sources import collect_pages, find_index_pages

    pages = collect_pages(places, sources, subject, print_complaint)
    if lists := find_index_pages(pages):
        print_note(
            "Example pages that list other pages ({count} of {total}): {pages}. Their words are "
            "those of many articles; give articles on the topic instead, and use the lists "
            "as seeds",
            count=len(lists),
            total=len(pages),
            pages=", ".join([*lists[:_MAX_NAMED], *["…"] * (len(lists) > _MAX_NAMED)]),
        )
    return pages


def print_complaint(line: str) -> None:
    """Print a note about a page that is left out."""
    click.echo(f"focus: {printable(line)}", err=True)
