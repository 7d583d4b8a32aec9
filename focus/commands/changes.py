"""`focus changes`: changes of pages that revisits have found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import DB, JSON, Command, option, print_json, print_lines
from focus.i18n import say, say_all
from focus.text.formatting import format_local_time, format_table, printable

if TYPE_CHECKING:
    from focus.storage.views import RecordedChange


@click.command(cls=Command)
@DB
@option("--crawl", default="latest", metavar="ID|all", help="Select a crawl, or all.")
@option(
    "--since",
    kind="instant",
    help="Show only changes found since then: 2026-01-31, 2026-01-31T18:00 or 7d (ago).",
)
@option("--limit", type=click.IntRange(1), default=50, metavar="N", help="Show at most N pages.")
@JSON
@click.argument("url", required=False)
def changes(
    db: Path, crawl: str, since: float | None, limit: int, as_json: bool, url: str | None
) -> None:
    """Show which pages changed, and when that was found.

    Lists the changes that `focus crawl --refresh` found, newest first, of all pages or of one URL.
    text, title: the main text or the title changed. links: the page has links that are new to the
    crawl. gone: status 404 or 410, or a page that says so. moved: the URL redirects. back: the page
    exists again.

    \b
    Example:
        focus changes --since 7d
        focus changes https://sports.sina.com.cn/china/
    """
    from focus.storage import revisited_pages
    from focus.storage.reader import DatabaseReader
    from focus.urls.normal_form import read_url, url_fingerprint

    key = url_fingerprint(read_url(url)) if url is not None else None
    with DatabaseReader(db.expanduser()) as reader:
        crawls = reader.crawl_ids(crawl)
        changes_ = reader.read(
            lambda base: revisited_pages.load_changes(
                base, crawls, key=key, since=since, limit=limit
            )
        )
    if as_json:
        print_json(changes_)
        return
    print_lines(change_lines(changes_), err=not changes_)


def change_lines(changes: Sequence[RecordedChange]) -> list[str]:
    """Return a table with a line for each revisit that found a change."""
    if not changes:
        return [say("No changes found yet; `focus crawl --refresh 7d` checks for them.")]
    rows = [
        (format_local_time(change.at), _kinds_text(change), printable(change.url))
        for change in changes
    ]
    return format_table([say_all("found", "change", "page"), *rows], indent="")


def _kinds_text(change: RecordedChange) -> str:
    """Return the kinds of a change, as `text, links +3`, with old title or new URL."""
    kinds = ", ".join(say(kind) + f" +{change.links}" * (kind == "links") for kind in change.kinds)
    return f"{kinds} ({printable(change.detail, 40)})" if change.detail else kinds
