"""`focus search`: searches stored pages for words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import (
    DB,
    JSON,
    SINCE_PUBLISHED,
    UNTIL_PUBLISHED,
    Command,
    option,
    print_json,
    print_lines,
)
from focus.commands.progress_bar import show_progress
from focus.errors import ConfigError
from focus.i18n import say
from focus.text.formatting import format_count, format_local_time, printable, replace_unprintable

if TYPE_CHECKING:
    from focus.storage.passages import Passage
    from focus.storage.search import SearchHit, SearchResults

Mark = Callable[[str], str]
"""Emphasizes a text, as a terminal or a test needs it."""


class MinusWordsCommand(Command):
    """A command that reads `-word` as an excluded word, not as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments as click does, with `-word` as part of the query."""
        return super().parse_args(ctx, [_escape_minus(arg) for arg in args])


def _escape_minus(arg: str) -> str:
    if not arg.startswith("-") or arg.startswith("--") or arg in ("-", "-h"):
        return arg
    word = arg[1:]
    return f'－"{word}"' if " " in word and '"' not in word else f"－{word}"


@click.command(cls=MinusWordsCommand)
@click.argument("query", nargs=-1, required=True, metavar="WORD...")
@DB
@option("--topic", metavar="NAME", help="Search only crawls for this topic.")
@option("--crawl", default="all", metavar="ID|latest|all", help="Search only this crawl.")
@option("--host", metavar="HOST", help="Show only pages of this host and its subdomains.")
@option(
    "--since",
    kind="instant",
    help="Show only pages fetched since then: 2026-01-31, 2026-01-31T18:00 or 7d (ago).",
)
@SINCE_PUBLISHED
@UNTIL_PUBLISHED
@option("--relevant", is_flag=True, help="Show only relevant pages.")
@option(
    "--sort",
    type=click.Choice(["relevance", "published", "fetched"]),
    show_default="best match",
    help="Sort by relevance to the topic or by date, newest first.",
)
@option(
    "--limit", type=click.IntRange(1, 1000), default=10, metavar="N", help="Show at most N pages."
)
@option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip the first N pages.")
@JSON
def search(query: tuple[str, ...], db: Path, as_json: bool, **options: Any) -> None:
    """Search the titles and texts of stored pages.

    Pages with all words come first, then pages with some of them. "Several words" in quotes are a
    phrase, which a page must contain; protect these quotes from the shell. A page must not contain
    -word. Chinese needs no spaces between words. Case, width, accents, and traditional or
    simplified characters make no difference.

    Pages that were stored since the last search are indexed first, even while a crawl runs. The
    index is a separate file beside the database, FILE-search, which may be deleted.

    \b
    Example:
        focus search 欧冠 决赛 -彩票
        focus search '"champions league" final' --since 7d --json
    """
    from focus.storage.results import Selection
    from focus.storage.search import search as find
    from focus.storage.search_index import SearchIndex
    from focus.storage.search_terms import parse_query

    paging = {name: options.pop(name) for name in ("limit", "offset")}
    selection = Selection(**options | {"sort": options["sort"] or ""})
    with SearchIndex(db.expanduser()) as index:
        text = " ".join(query)
        parse_query(text, index.segmenter)  # report a mistake before a long update
        index.reader.crawl_ids(selection.crawl, selection.topic)
        with show_progress("Indexing") as progress:
            index.update(progress)
        results = find(index, text, selection, **paging)
    if not results.indexed:
        raise ConfigError("{db} has no pages yet; `focus crawl` fetches some", db=db)
    if as_json:
        print_json(results)
        return
    if not results.pages:
        print_lines([f"Nothing found in {format_count(results.indexed, 'page')}"], err=True)
        return
    marking = (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") not in ("dumb", "unknown")
    )
    for line in result_lines(results, mark=partial(click.style, bold=True) if marking else str):
        click.echo(line)


def result_lines(results: SearchResults, mark: Mark) -> list[str]:
    """Return the results, four lines each, and their number."""
    lines: list[str] = []
    for number, hit in enumerate(results.hits, results.offset + 1):
        lines += [*_hit_lines(number, hit, mark), ""]
    return [*lines, _count_line(results)]


def _hit_lines(number: int, hit: SearchHit, mark: Mark) -> list[str]:
    untitled = say("(no title)")
    facts = [hit.host, format_local_time(hit.fetched_at)]
    if hit.changed_at is not None:
        facts.append(say("changed {when}", when=format_local_time(hit.changed_at)[:10]))
    facts.append(say("relevance {relevance:.2f}", relevance=hit.relevance))
    if hit.published_at is not None:
        facts.append(say("published {when}", when=format_local_time(hit.published_at)[:10]))
    if hit.missing:
        facts.append(say("without: {words}", words=", ".join(hit.missing)))
    if hit.similar:
        facts.append(say("+{similar:,} similar", similar=hit.similar))
    return [
        f"{number}. {marked_text(hit.title, mark) or untitled}",
        f"   {printable(hit.url)}",
        f"   {printable(' · '.join(facts))}",
        f"   {marked_text(hit.snippet, mark)}".rstrip(),
    ]


def marked_text(passage: Passage, mark: Mark) -> str:
    """Return a passage as one printable line with marks; control characters become spaces."""
    text, done, parts = passage.text, 0, []
    for begin, end in passage.marks:
        parts += [replace_unprintable(text[done:begin]), mark(replace_unprintable(text[begin:end]))]
        done = end
    return "".join([*parts, replace_unprintable(text[done:])]).strip()


def _count_line(results: SearchResults) -> str:
    pages = format_count(results.pages, "page")
    if results.with_all_words < results.pages:
        return say(
            "{pages} of {indexed:,}, {with_all_words:,} with all words",
            pages=pages,
            indexed=results.indexed,
            with_all_words=results.with_all_words,
        )
    if results.complete:
        return say("{pages} of {indexed:,}", pages=pages, indexed=results.indexed)
    return say("More than {pages} of {indexed:,}", pages=pages, indexed=results.indexed)
