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
from focus.commands.options.option import DB, Command, add_options, option, print_lines, print_note
from focus.commands.options.value_types import ANY_KIND
from focus.commands.running import run_crawl_command, run_loop
from focus.config import (
    CRAWL_SECTION,
    FILE_ONLY,
    LIMIT_SECTION,
    NETWORK_SECTION,
    OUTPUT_SECTION,
    SCOPE_SECTION,
    SCRIPT_SECTION,
    SESSION_SECTION,
    SPEED_SECTION,
    RenderConfig,
)

if TYPE_CHECKING:
    from focus.commands.settings import CrawlPlan
    from focus.session import RunReport

_what_option = partial(option, section=CRAWL_SECTION, variable=True)
_network_option = partial(option, section=NETWORK_SECTION, variable=True)
_output_option = partial(option, section=OUTPUT_SECTION, variable=True)

llm_options = add_options(
    [
        _what_option(
            "--llm",
            kind="web address",
            help="Use the model at URL for terms, or as a judge.",
        ),
        _what_option(
            "--llm-model", kind="text", help="Name of the model, with --llm.", is_rare=True
        ),
        option(
            "--llm-key-file",
            section=FILE_ONLY,
            variable=True,
            kind="file",
            help="File with the key for --llm in its first line; else the key is FOCUS_LLM_KEY.",
        ),
    ]
)
"""Options that name an endpoint, its model and the file of its key."""

_TOPIC_OPTIONS = [
    _what_option(
        "--seed", multiple=True, metavar="URL", help="Add a URL or host to start from (repeatable)."
    ),
    _what_option(
        "--seeds-file",
        kind="input",
        help="Read seeds from FILE, one per line; - is standard input.",
    ),
    _what_option(
        "--topic",
        metavar="WORDS|FILE",
        help="Words such as 足球,英超:0.8, or a topic file (.toml).",
    ),
    *declared_options(CRAWL_SECTION),
    llm_options,
    _what_option(
        "--param",
        multiple=True,
        kind="parameter",
        help="Set a parameter of the strategy or model, such as gamma=0.3 or relevance.alpha=0.5 "
        "(repeatable).",
        is_rare=True,
    ),
]

_REQUEST_OPTIONS = [
    _network_option(
        "--contact",
        kind="contact",
        help="Address where site owners can reach you, sent in the User-Agent.",
    ),
    _network_option(
        "--user-agent",
        kind="header",
        show_default="focus/VERSION and the contact",
        help="User-Agent to send; its product name selects the robots.txt rules.",
        is_rare=True,
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
        is_rare=True,
        help="Fetch URLs again that failed in an earlier run, all or of these kinds, such as "
        "timeout,http-5xx.",
    ),
    _output_option(
        "--summary", kind="file", help="Write a summary of the run to FILE as JSON.", is_rare=True
    ),
    option(
        "-n",
        "--dry-run",
        section=OUTPUT_SECTION,
        is_flag=True,
        help="Show what would be done, without any request.",
    ),
    _output_option("-q", "--quiet", is_flag=True, help="Print nothing unless something fails."),
    _output_option("-v", "--verbose", is_flag=True, help="Print a line for every request."),
    _output_option(
        "--log-file", kind="file", help="Append a line for every request to FILE.", is_rare=True
    ),
    *declared_options(FILE_ONLY),
    option(
        "--fail-error-rate",
        section=FILE_ONLY,
        variable=True,
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Exit with code 4 if more than SHARE of the URLs failed.",
    ),
]

crawl_options = add_options(
    [
        *_TOPIC_OPTIONS,
        *declared_options(SCOPE_SECTION),
        *declared_options(LIMIT_SECTION),
        *declared_options(SPEED_SECTION),
        *declared_options(SCRIPT_SECTION),
        *_REQUEST_OPTIONS,
        *declared_options(SESSION_SECTION),
        *_OUTPUT_OPTIONS,
    ]
)
"""All options of `focus crawl`, in the order of its help."""

JUDGE_NAMES = ("judge", "judge_questions")
judge_options = add_options(
    [*(setting.option() for setting in DECLARED if setting.key in JUDGE_NAMES), llm_options]
)
"""Options that name a judge and the endpoint that it may use."""

_SCRIPT_SETTINGS = [
    setting for setting in DECLARED if setting.record is RenderConfig or setting.field == "browser"
]
SCRIPT_NAMES = tuple(setting.key for setting in _SCRIPT_SETTINGS)
script_options = add_options(setting.option() for setting in _SCRIPT_SETTINGS)
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
@click.argument("url", nargs=-1)
@crawl_options
@click.pass_context
def crawl(ctx: click.Context, /, url: tuple[str, ...], **options: Any) -> None:
    """Crawl for pages about a topic, or continue such a crawl.

    Press Ctrl-C to stop; the same command continues. Options may also be set in focus.toml and
    in variables (docs/cli.md, which also lists the exit codes).

    \b
    Example:
        focus crawl sports.sina.com.cn --topic 足球 --max-pages 1000 \\
            --contact mailto:me@example.com
    """
    options["seed"] = (*url, *options["seed"])
    from focus.commands import settings

    for line in () if options["quiet"] else misspelt_variables(os.environ):
        print_note("Note: {line}", line=line)
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
        from focus.session.priority import yield_to_server

    async def crawl(plan: CrawlPlan, watcher: Any) -> RunReport:
        with yield_to_server(plan.paths.db):
            return await session.run(plan.config, plan.paths, watcher, judge=plan.judge)

    def work(plan: CrawlPlan, watcher: Any) -> RunReport:
        return run_loop(crawl(plan, watcher))

    return run_crawl_command(plan, options, work)


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
