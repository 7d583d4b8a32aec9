"""The options against traps, near-duplicates and slow servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from focus.commands.options import value_types
from focus.commands.options.option import FAR, FAST, Decorator, option
from focus.config import CrawlConfig, TrapConfig
from focus.text.formatting import read_span, span

_DEFAULT = CrawlConfig()
_TRAPS, _PACE = _DEFAULT.traps, _DEFAULT.politeness

TRAP_OPTIONS: list[Decorator] = [
    option(
        "--trap-budget",
        section=FAR,
        variable=True,
        type=click.IntRange(0),
        metavar="N",
        default=_TRAPS.budget,
        help="Requests for URLs of one pattern that bring next to nothing, ten times that for a "
        "whole host, and for all hosts of a domain; what pays is asked on. Hosts of a domain "
        "beyond 200 have to be earned, by two relevant pages each. 0: no bound (trap-budget).",
    ),
    option(
        "--max-segments",
        section=FAR,
        variable=True,
        type=click.IntRange(1),
        metavar="N",
        default=_TRAPS.max_segments,
        help="Parts that the path of a URL may have (trap-path).",
    ),
    option(
        "--max-combinations",
        section=FAR,
        variable=True,
        type=click.IntRange(1),
        metavar="N",
        default=_TRAPS.max_combinations,
        help="Different sets of parameters that one path may be asked for with (trap-query).",
    ),
    option(
        "--ignore-traps",
        section=FAR,
        variable=True,
        is_flag=True,
        help="Follow what looks like a trap: repeating paths, calendars, endless parameters.",
    ),
    option(
        "--count-duplicates",
        section=FAR,
        variable=True,
        is_flag=True,
        help='Let nearly the same text be relevant every time, and take pages that say "not '
        'found" for pages.',
    ),
]

PACE_OPTIONS: list[Decorator] = [
    option(
        "--per-ip",
        section=FAST,
        variable=True,
        type=click.IntRange(0),
        metavar="N",
        default=_PACE.per_ip,
        help="Requests at once to hosts that share an address, and so many in one --delay, "
        "robots.txt included; 0: as many as there are hosts. With --proxy and --connect-to "
        "it is 0.",
    ),
    option(
        "--slowdown",
        section=FAST,
        variable=True,
        type=value_types.checked(read_span),
        metavar="TIME",
        default=span(_PACE.max_slowdown_s),
        help="Rest a host up to so long when it answers slower than it did, or with 429 or 503; "
        "0s: never more than --delay.",
    ),
]


def traps(options: Mapping[str, Any]) -> TrapConfig:
    """What these options say of traps."""
    return TrapConfig(
        is_on=not options["ignore_traps"],
        max_segments=options["max_segments"],
        max_combinations=options["max_combinations"],
        budget=options["trap_budget"],
    )
