"""`focus crawl` and all of its options.

An option's default stands in `config`; its FOCUS_* variable and its key in focus.toml
follow from its name. `readers` make plain numbers, texts and paths of what is typed,
`settings` a `CrawlConfig` of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from focus.commands.options import value_types
from focus.commands.options.option import (
    DB,
    FAR,
    FAST,
    FILE,
    NETWORK,
    OUTPUT,
    WHAT,
    Decorator,
    option,
)
from focus.commands.options.politeness import PACE_OPTIONS, TRAP_OPTIONS
from focus.commands.options.server_limits import SERVER_OPTIONS
from focus.config import NOFOLLOW, CrawlConfig
from focus.text.formatting import read_span, span

_DEFAULT = CrawlConfig()


def _crawl(*names: str, section: str, **attributes: Any) -> Decorator:
    read = attributes.get("type")
    if callable(read) and not isinstance(read, click.ParamType):
        attributes["type"] = value_types.checked(read)
    return option(*names, section=section, variable=True, **attributes)


def _flag(*names: str, section: str, help: str) -> Decorator:
    return _crawl(*names, section=section, is_flag=True, help=help)


_WHAT_OPTIONS = [
    _crawl(
        "--seed",
        section=WHAT,
        multiple=True,
        metavar="URL",
        help="Start here; a bare host is tried as https, then http. Repeatable.",
    ),
    _crawl(
        "--seeds-file",
        section=WHAT,
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        help="More seeds, one a line, # begins a comment; - is the standard input.",
    ),
    _crawl(
        "--topic",
        section=WHAT,
        metavar="WORDS|FILE",
        help="Words like 足球,英超:0.8 or a topic file (.toml).",
    ),
    _crawl(
        "--strategy",
        section=WHAT,
        metavar="NAME",
        type=value_types.STRATEGY.read,
        default=_DEFAULT.strategy,
        shell_complete=value_types.STRATEGY.complete,
        help="Which link comes next; `focus strategies` lists them.",
    ),
    _crawl(
        "--relevance",
        section=WHAT,
        metavar="NAME",
        type=value_types.MODEL.read,
        show_default=f"the topic file's, else {_DEFAULT.analysis.relevance}",
        shell_complete=value_types.MODEL.complete,
        help="What makes a page relevant; `focus strategies` lists the models.",
    ),
    _crawl(
        "--threshold",
        section=WHAT,
        type=float,
        metavar="NUMBER",
        show_default="the topic file's, else the model's",
        help="A page with more relevance than this is relevant.",
    ),
    _flag(
        "--as-published",
        section=WHAT,
        help="Strategy, relevance model and topic as in the paper, not as tuned since.",
    ),
    _crawl(
        "--param",
        section=WHAT,
        multiple=True,
        metavar="NAME=NUMBER",
        type=value_types.parameter,
        help="Set a number of the strategy or the model, e.g. gamma=0.3 or "
        "relevance.alpha=0.5; Greek letters will do. Repeatable.",
    ),
    _flag(
        "--sitemaps",
        section=WHAT,
        help="Read the sitemaps of the seeds' hosts, and the RSS and Atom feeds that relevant "
        "pages name, as further sources of links.",
    ),
    _crawl(
        "--archive",
        section=WHAT,
        metavar="FILE",
        type=FILE,
        help="Crawl this recorded web (.warc or .arc, plain, .gz or .zst), not the network.",
    ),
]

_FAR_OPTIONS = [
    _crawl(
        "--max-pages",
        section=FAR,
        type=click.IntRange(1),
        metavar="N",
        help="End after so many pages.",
    ),
    _crawl(
        "--max-requests",
        section=FAR,
        type=click.IntRange(1),
        metavar="N",
        help="End after so many requests, failures and robots.txt included.",
    ),
    _crawl(
        "--max-time",
        section=FAR,
        type=value_types.positive_span,
        metavar="TIME",
        help="End this run after 45s, 30m, 1h30m, 2d and so on.",
    ),
    _crawl(
        "--max-offline",
        section=FAR,
        type=read_span,
        metavar="TIME",
        default=span(_DEFAULT.max_offline_s),
        help="End this run with 8 when no host at all could be reached for so long: nothing "
        "is failed, all waits. 0: at once.",
    ),
    _crawl(
        "--max-bytes",
        section=FAR,
        type=value_types.positive_size,
        metavar="SIZE",
        help="End after so much was received, e.g. 500M or 2G.",
    ),
    _crawl(
        "--target",
        section=FAR,
        type=click.IntRange(1),
        metavar="N",
        help="End after so many relevant pages.",
    ),
    _crawl(
        "--max-depth",
        section=FAR,
        type=click.IntRange(0),
        metavar="N",
        help="Follow so many links from a seed at most.",
    ),
    _crawl(
        "--min-priority",
        section=FAR,
        type=float,
        metavar="NUMBER",
        help="Drop links that the strategy gives less than this.",
    ),
    _crawl(
        "--scope",
        section=FAR,
        type=click.Choice(["host", "domain", "any"]),
        default=_DEFAULT.scope.scope,
        help="Stay on the seeds' hosts, on their domains, or go anywhere.",
    ),
    _crawl(
        "--allow",
        section=FAR,
        multiple=True,
        metavar="REGEX",
        type=value_types.pattern,
        help="Only URLs that this finds something in. Repeatable: any of them.",
    ),
    _crawl(
        "--deny",
        section=FAR,
        multiple=True,
        metavar="REGEX",
        type=value_types.pattern,
        help="No URL that this finds something in. Repeatable.",
    ),
    _crawl(
        "--nofollow",
        section=FAR,
        type=click.Choice(NOFOLLOW),
        default=_DEFAULT.nofollow,
        help="Links with rel=nofollow, ugc or sponsored: follow them like any other, weigh them "
        "half, or skip them.",
    ),
    _crawl(
        "--content-type",
        section=FAR,
        multiple=True,
        metavar="TYPE",
        type=value_types.media_type,
        default=_DEFAULT.fetch.content_types,
        help="Take only these. Repeatable.",
    ),
]

_FAST_OPTIONS = [
    _crawl(
        "--delay",
        section=FAST,
        type=read_span,
        metavar="TIME",
        default=span(_DEFAULT.politeness.delay_s),
        help="From one request to a host to the next; a longer Crawl-delay in its "
        f"robots.txt is honoured up to {span(_DEFAULT.politeness.max_crawl_delay_s)}.",
    ),
    _crawl(
        "--per-host",
        section=FAST,
        type=click.IntRange(1),
        metavar="N",
        default=_DEFAULT.politeness.per_host,
        help="Requests to one host at once.",
    ),
    _crawl(
        "--concurrency",
        section=FAST,
        type=click.IntRange(1),
        metavar="N",
        default=_DEFAULT.concurrency,
        help="Requests at once in all.",
    ),
    _crawl(
        "--eager",
        section=FAST,
        is_flag=True,
        help="Ask every host that is due, however poor its URLs, though --max-pages or "
        "--max-requests will cut the crawl: faster, with far less on topic.",
    ),
    _crawl(
        "--workers",
        section=FAST,
        type=click.IntRange(1),
        metavar="N",
        show_default="cores - 1",
        help="Processes that read and score pages.",
    ),
]

_REACH_OPTIONS = [
    _crawl(
        "--proxy",
        section=NETWORK,
        metavar="URL",
        type=value_types.proxy_url,
        help="Ask through this HTTP proxy (none is taken from the environment).",
    ),
    _crawl(
        "--connect-to",
        section=NETWORK,
        metavar="ADDR:PORT",
        type=value_types.endpoint,
        help="Make every connection to here, in plain HTTP; the Host header stays.",
    ),
    _crawl(
        "--allow-net",
        section=NETWORK,
        multiple=True,
        metavar="CIDR",
        type=value_types.network,
        help="Open private addresses like 127.0.0.0/8, which are refused. Repeatable.",
    ),
    _flag("--insecure", section=NETWORK, help="Do not verify TLS certificates."),
]

_NETWORK_OPTIONS = [
    _crawl(
        "--contact",
        section=NETWORK,
        metavar="URL|MAIL",
        type=value_types.contact,
        help="Where a site's owner can reach you; goes into the User-Agent.",
    ),
    _crawl(
        "--user-agent",
        section=NETWORK,
        metavar="TEXT",
        type=value_types.header_text,
        show_default="focus/VERSION and the contact",
        help="How to introduce yourself; robots.txt is read for its product name.",
    ),
    *_REACH_OPTIONS,
    _flag(
        "--ignore-robots",
        section=NETWORK,
        help="Do not ask for robots.txt (only on sites of your own).",
    ),
]

_OUTPUT_OPTIONS = [
    DB,
    _flag(
        "--fresh",
        section=OUTPUT,
        help="Begin a new crawl though an earlier one could be continued.",
    ),
    _crawl(
        "--retry-failed",
        section=OUTPUT,
        multiple=True,
        is_flag=False,
        flag_value=value_types.ANY_KIND,
        metavar="[KIND]",
        type=value_types.failure_kinds,
        help="Ask again for what failed in an earlier run: for these kinds of failure, e.g. "
        "timeout,http-5xx; without a KIND for all that may be over by now. Repeatable.",
    ),
    _crawl(
        "--wait",
        section=OUTPUT,
        type=read_span,
        metavar="TIME",
        default="0s",
        help="Wait so long for a database that another crawl is using.",
    ),
    _crawl(
        "--keep",
        section=OUTPUT,
        type=click.Choice(["all", "relevant", "none"]),
        default=_DEFAULT.analysis.keep,
        help="Of which pages to keep the text.",
    ),
    _crawl(
        "--warc",
        section=OUTPUT,
        metavar="FILE",
        type=FILE,
        help="Record requests and responses here (WARC 1.1).",
    ),
    _crawl(
        "--report",
        section=OUTPUT,
        metavar="FILE",
        type=FILE,
        help="Write the summary here, whole, as JSON.",
    ),
    _crawl(
        "--fail-error-rate",
        section=OUTPUT,
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Exit with 4 if more than this share of the run's URLs failed, e.g. 0.5.",
    ),
    option(
        "-n",
        "--dry-run",
        section=OUTPUT,
        is_flag=True,
        help="Say what would be done; request nothing.",
    ),
    _flag("-q", "--quiet", section=OUTPUT, help="Say nothing unless it goes wrong."),
    _flag("-v", "--verbose", section=OUTPUT, help="A line for every request."),
    _flag("--profile", section=OUTPUT, help="Tell at the end where the time went, by stage."),
    _crawl(
        "--log-format",
        section=OUTPUT,
        type=click.Choice(["text", "json"]),
        default="text",
        help="How log lines are written; json is one object a line.",
    ),
    _crawl(
        "--log-file",
        section=OUTPUT,
        metavar="FILE",
        type=FILE,
        help="Append a line for every request here, in --log-format.",
    ),
]


def crawl_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """All options of `focus crawl`, in the order of its help."""
    sections: Sequence[list[Decorator]] = (
        _WHAT_OPTIONS,
        _FAR_OPTIONS,
        TRAP_OPTIONS,
        _FAST_OPTIONS,
        PACE_OPTIONS,
        SERVER_OPTIONS,
        _NETWORK_OPTIONS,
        _OUTPUT_OPTIONS,
    )
    for add in reversed([add for section in sections for add in section]):
        function = add(function)
    return function


NETWORK_NAMES = (
    "contact",
    "user_agent",
    "proxy",
    "connect_to",
    "allow_net",
    "insecure",
    "ignore_robots",
)
"""Of `network_options`, as commands get them; focus.toml's [crawl] holds for these, too."""


REACH_NAMES = ("allow_net", "insecure", "proxy", "connect_to")
"""The options that lead past the guard, or make it see less."""


def reach_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """These options, for workers of a cluster."""
    for add in reversed(_REACH_OPTIONS):
        function = add(function)
    return function


def network_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Those of `focus crawl` that say how to ask, for commands that fetch a few pages."""
    for add in reversed(_NETWORK_OPTIONS):
        function = add(function)
    return function
