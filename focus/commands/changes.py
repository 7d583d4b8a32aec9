"""`focus changes`: what looks at stored pages have found changed."""

from __future__ import annotations

import time
from pathlib import Path

import click

from focus.commands.options.option import DB, JSON, Command, option, tell, tell_json


@click.command(cls=Command)
@DB
@option("--crawl", default="latest", metavar="ID|all", help="Of this crawl, or of all.")
@option(
    "--since",
    metavar="WHEN",
    help="Only what was found since 2026-01-31, 2026-01-31T18:00 or 7d ago.",
)
@option("--limit", type=click.IntRange(1), default=50, metavar="N", help="Show so many.")
@JSON
@click.argument("url", required=False)
def changes(
    db: Path, crawl: str, since: str | None, limit: int, as_json: bool, url: str | None
) -> None:
    """Show what has changed on pages, and when that was found.

    All that `focus crawl --refresh` has found, the latest first, or the history of one URL: its
    main text is another (text), or its title; it has links to pages that the crawl did not know
    (links); it is gone (404, 410, or it says so), has moved (it redirects), is back.

    \b
    Example:
        focus changes --since 7d
        focus changes https://sports.sina.com.cn/china/
    """
    from focus.commands.status_output import change_lines
    from focus.storage import page_checks
    from focus.storage.reader import DatabaseReader
    from focus.storage.results import parse_since
    from focus.urls.normal_form import fingerprint, seed_candidates

    key = fingerprint(seed_candidates(url)[0]) if url is not None else None
    after = None if since is None else parse_since(since, now=time.time())
    with DatabaseReader(db.expanduser()) as reader:
        crawls = reader.ids(crawl)
        found = reader.run(
            lambda base: page_checks.changes(base, crawls, key=key, since=after, limit=limit)
        )
    if as_json:
        tell_json(found)
        return
    tell(change_lines(found), err=not found)
