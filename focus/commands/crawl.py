"""`focus crawl` and its options, some of which other commands use, too.

Most options are declared at the fields of `focus.config` that they fill. Defined here are those
that fill no field directly: inputs that are read and checked first (seeds, topic, parameters,
User-Agent), and output. `settings` makes a `CrawlConfig` from all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from focus.cluster.reach import Reach
from focus.commands.options.declared import DECLARED, changed_options, declared_options
from focus.commands.options.option import DB, Command, add_options, option, print_lines
from focus.commands.options.value_types import ANY_KIND
from focus.commands.running import run_crawl_command, run_loop
from focus.config import (
    CRAWL_SECTION,
    FILE_ONLY,
    LIMIT_SECTION,
    NETWORK_SECTION,
    OUTPUT_SECTION,
    SCRIPT_SECTION,
    SERVER_SECTION,
    SESSION_SECTION,
    SPEED_SECTION,
)

if TYPE_CHECKING:
    from focus.commands.settings import CrawlPlan
    from focus.session import RunReport

_what_option = partial(option, section=CRAWL_SECTION, variable=True)
_network_option = partial(option, section=NETWORK_SECTION, variable=True)
_output_option = partial(option, section=OUTPUT_SECTION, variable=True)

_TOPIC_OPTIONS = [
    _what_option(
        "--seed",
        multiple=True,
        metavar="URL",
        help="Start here; a bare host is tried as https, then http. Repeatable.",
    ),
    _what_option(
        "--seeds-file",
        kind="input",
        help="More seeds, one a line, # begins a comment; - is the standard input.",
    ),
    _what_option(
        "--topic", metavar="WORDS|FILE", help="Words like 足球,英超:0.8 or a topic file (.toml)."
    ),
    *declared_options(CRAWL_SECTION),
    _what_option(
        "--param",
        multiple=True,
        kind="parameter",
        help="Set a number of the strategy or the model, e.g. gamma=0.3 or "
        "relevance.alpha=0.5; Greek letters will do. Repeatable.",
    ),
]

_REQUEST_OPTIONS = [
    _network_option(
        "--contact",
        kind="contact",
        help="Where a site's owner can reach you; goes into the User-Agent.",
    ),
    _network_option(
        "--user-agent",
        kind="header",
        show_default="focus/VERSION and the contact",
        help="How to introduce yourself; robots.txt is read for its product name.",
    ),
    *declared_options(NETWORK_SECTION),
]

_OUTPUT_OPTIONS = [
    DB,
    *declared_options(OUTPUT_SECTION),
    _output_option(
        "--retry-failed",
        multiple=True,
        is_flag=False,
        flag_value=ANY_KIND,
        kind="failures",
        help="Ask again for what failed in an earlier run: for these kinds of failure, e.g. "
        "timeout,http-5xx; without a KIND for all that may be over by now. Repeatable.",
    ),
    _output_option("--report", kind="file", help="Write the summary here, whole, as JSON."),
    _output_option(
        "--fail-error-rate",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Exit with 4 if more than this share of the run's URLs failed, e.g. 0.5.",
    ),
    option(
        "-n",
        "--dry-run",
        section=OUTPUT_SECTION,
        is_flag=True,
        help="Say what would be done; request nothing.",
    ),
    _output_option("-q", "--quiet", is_flag=True, help="Say nothing unless it goes wrong."),
    _output_option("-v", "--verbose", is_flag=True, help="A line for every request."),
    _output_option(
        "--log-file",
        kind="file",
        help="Append a line for every request here; a file that was renamed is begun anew "
        "(logrotate).",
    ),
    *declared_options(FILE_ONLY),
]

crawl_options = add_options(
    [
        *_TOPIC_OPTIONS,
        *declared_options(LIMIT_SECTION),
        *declared_options(SPEED_SECTION),
        *declared_options(SERVER_SECTION),
        *declared_options(SCRIPT_SECTION),
        *_REQUEST_OPTIONS,
        *declared_options(SESSION_SECTION),
        *_OUTPUT_OPTIONS,
    ]
)
"""All options of `focus crawl`, in the order of its help."""

script_options = add_options(declared_options(SCRIPT_SECTION))
"""Options for running the scripts of pages."""

network_options = add_options(_REQUEST_OPTIONS)
"""Options for sending requests, for commands that fetch a few pages."""

NETWORK_NAMES = (
    "contact",
    "user_agent",
    *(setting.key for setting in DECLARED if setting.setting.section == NETWORK_SECTION),
)
"""Keys of these options; focus.toml's [crawl] applies to them, too."""

REACH_NAMES = Reach.__struct_fields__
"""Options that pass the SSRF guard or reduce what it sees."""

reach_options = add_options(
    setting.option() for setting in DECLARED if setting.field in REACH_NAMES
)
"""These options, for workers of a cluster."""


@click.command(cls=Command)
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

    plan = settings.plan_crawl(options)
    if options["dry_run"]:
        from focus.commands.dry_run import OPTIONS_WITH_ROWS, dry_run_lines
        from focus.session import crawl_identity
        from focus.storage.reader import find_last_crawl

        known = (
            None
            if plan.paths.fresh
            else find_last_crawl(plan.paths.db, crawl_identity(plan.config))
        )
        print_lines(
            dry_run_lines(plan, changed_options(ctx, excluded=OPTIONS_WITH_ROWS), continues=known)
        )
        return
    ctx.exit(_run_crawl(plan, options))


def _run_crawl(plan: CrawlPlan, options: dict[str, Any]) -> int:
    from focus.http.tls import defer_certificate_loading

    with defer_certificate_loading():  # aiohttp makes two contexts when it is imported
        from focus import session

    def work(watcher: Any) -> RunReport:
        return run_loop(session.run(plan.config, plan.paths, watcher))

    return run_crawl_command(plan, options, work, notes=misspelt_variables(os.environ))


def misspelt_variables(environment: Iterable[str]) -> list[str]:
    """Return a note for each FOCUS_* variable that looks like a misspelt one."""
    known = [str(param.envvar) for param in crawl.params if param.envvar]
    unknown = [name for name in environment if name.startswith("FOCUS_") and name not in known]
    suggestions = {name: get_close_matches(name, known, 1, 0.85) for name in unknown}
    return [
        f"{name} is not known; did you mean {matches[0]}?"
        for name, matches in suggestions.items()
        if matches
    ]
