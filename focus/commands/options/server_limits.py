"""The options that bound what a server may do to a crawl, each with its default.

The word in brackets at the end of a help text is what `focus status` calls a failure or
drop by that limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from focus.commands.options import value_types
from focus.commands.options.option import SERVER, Decorator, option
from focus.config import CrawlConfig
from focus.text.formatting import read_size, size, span
from focus.urls.normal_form import MAX_URL

_DEFAULT = CrawlConfig()
_FETCH = _DEFAULT.fetch


def _limit(name: str, help: str, **attributes: Any) -> Decorator:
    return option(name, section=SERVER, variable=True, help=help, **attributes)


def _time(name: str, default_s: float, help: str) -> Decorator:
    read = value_types.checked(value_types.positive_span)
    return _limit(name, help, type=read, metavar="TIME", default=span(default_s))


def _size(
    name: str, default: int, help: str, read: Callable[[str], int] = value_types.positive_size
) -> Decorator:
    return _limit(name, help, type=value_types.checked(read), metavar="SIZE", default=size(default))


def _count(
    name: str, default: int, help: str, *, low: int = 0, high: int | None = None
) -> Decorator:
    return _limit(name, help, type=click.IntRange(low, high), metavar="N", default=default)


SERVER_OPTIONS: list[Decorator] = [
    _time("--timeout", _FETCH.total_timeout_s, "For one request, whole (timeout)."),
    _time("--connect-timeout", _FETCH.connect_timeout_s, "Until a connection stands (timeout)."),
    _time("--read-timeout", _FETCH.read_timeout_s, "Without a byte (timeout)."),
    _size(
        "--min-rate",
        int(_FETCH.min_rate_bytes_s),
        f"Least bytes a second, over {span(_FETCH.min_rate_window_s)}; 0: any will do (too-slow).",
        read=read_size,
    ),
    _size("--max-body", _FETCH.max_body_bytes, "The largest page taken, unpacked (too-large)."),
    _limit(
        "--max-raw",
        "The most bytes taken off the network for one page (too-large).",
        type=value_types.checked(value_types.positive_size),
        metavar="SIZE",
        show_default="as --max-body",
    ),
    _size(
        "--max-headers",
        _FETCH.max_header_bytes,
        "The most bytes of headers taken (headers-too-large).",
    ),
    _count("--max-redirects", _DEFAULT.max_redirects, "Follow so many in a row (redirect)."),
    _count(
        "--max-url",
        _DEFAULT.scope.max_url,
        "Characters of an address; longer ones are dropped (url-too-long).",
        low=32,
        high=MAX_URL,
    ),
    _count(
        "--max-links",
        _DEFAULT.analysis.max_links,
        "Links taken from one page; those after them are only counted.",
    ),
    _time("--parse-timeout", _DEFAULT.parse_limit_s, "To read and score a page (parse-timeout)."),
]
