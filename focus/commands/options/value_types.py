"""Converts the text of an option to a checked number, pattern or name.

Each reader takes a text and raises ConfigError with one line that names valid values.
`checked_type` makes a click type of it, so that the message contains option and variable.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from focus.alerts.addresses import is_web_address
from focus.errors import ConfigError
from focus.i18n import translate
from focus.records import FailureKind
from focus.registry import Registry
from focus.scheduling.retries import TEMPORARY
from focus.text.formatting import parse_duration, parse_size, printable

T = TypeVar("T")

ANY_KIND = "all"
"""Text for all kinds of failures that may be temporary."""

_GREEK = str.maketrans(
    {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "λ": "lambda"}
)


def checked_type(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a reader as a function that click can use as a type."""

    def convert(value: str) -> T:
        try:
            return read(str(value))
        except ConfigError as error:
            raise click.BadParameter(translate(error.message)) from None

    return convert


def parse_positive_duration(text: str) -> float:
    """Return the seconds of a duration longer than 0."""
    if (seconds := parse_duration(text)) <= 0:
        raise ConfigError("must be longer than 0")
    return seconds


def parse_instant(text: str) -> float:
    """Return the Unix seconds of a date, a time, or a time span before now."""
    from focus.storage.results import parse_since

    return parse_since(text, now=time.time())


def parse_instant_end(text: str) -> float:
    """Return the Unix seconds of the end of a day, of a time, or of a time span before now."""
    is_day = re.fullmatch(r"\s*\d{4}-\d\d-\d\d\s*", text) is not None
    return parse_instant(text) + (86400.0 if is_day else 0.0)


def parse_positive_size(text: str) -> int:
    """Return the bytes of a size larger than 0."""
    if (number := parse_size(text)) <= 0:
        raise ConfigError("must be more than 0")
    return number


def parse_relevance(text: str) -> float:
    """Return a relevance; most models return 0 to 1, and none as much as 10."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 10:
        raise ConfigError("{text!r} is not a relevance; write a number from 0 to 1", text=text)
    return number


def parse_failure_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of failures in a list with commas; `all` means temporary ones."""
    kinds = [part.strip() for part in text.split(",") if part.strip()]
    for kind in kinds:
        if kind != ANY_KIND and kind not in [*FailureKind]:
            near = get_close_matches(kind, [*FailureKind], 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(FailureKind)}"
            raise ConfigError("{each!r} is not a kind of failure; {hint}", each=kind, hint=hint)
    if not kinds:
        raise ConfigError("give a kind of failure, such as timeout")
    return tuple(sorted({*kinds, *TEMPORARY} - {ANY_KIND} if ANY_KIND in kinds else {*kinds}))


def parse_pattern(text: str) -> str:
    """Return a regular expression after checking it."""
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError(
            "{text!r} is not a regular expression: {error}", text=text, error=error
        ) from None
    return text


def parse_network(text: str) -> str:
    """Return a range of IP addresses; a single address is a range of one."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise ConfigError(
            "{text!r} is not a network; write one like 127.0.0.0/8 or ::1", text=text
        ) from None


def parse_endpoint(text: str) -> str:
    """Return ADDR:PORT or [v6]:PORT after checking it."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(\d{1,5})", text)
    if not match or not 0 < int(match[2]) < 65536:
        raise ConfigError("{text!r} is not ADDR:PORT, like 127.0.0.1:8080", text=text)
    return text


def parse_proxy_url(text: str) -> str:
    """Return http://HOST:PORT, with or without credentials, after checking it."""
    if not re.fullmatch(r"https?://[^\s/?#]+/?", text):
        raise ConfigError("{text!r} is not like http://HOST:PORT", text=printable(text))
    return text


def parse_web_address(text: str) -> str:
    """Return an http(s) URL without credentials after checking it."""
    if not is_web_address(text) or "@" in text or re.search(r"\s", text):
        raise ConfigError("{text!r} is not like http://HOST:PORT/v1", text=printable(text))
    return text


def parse_header_text(text: str) -> str:
    """Return text that is valid in a request header."""
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise ConfigError("must be printable ASCII, because it is sent in a request header")
    return text.strip()


def parse_contact(text: str) -> str:
    """Return a web address or a mail address after checking it."""
    address = parse_header_text(text)
    mail = r"(?:mailto:)?[^\s@<>(),;:]+@[^\s@<>(),;:]+\.[^\s@<>(),;:.]+"
    if not re.fullmatch(rf"https?://[^\s/?#()<>]+\.[^\s()<>]+|{mail}", address):
        raise ConfigError(
            "{address!r} is not an address; give one like https://example.com/bot or "
            "me@example.com",
            address=address,
        )
    return address


def parse_plain_name(text: str) -> str:
    """Return a name that is valid in the name of a queue."""
    if not re.fullmatch(r"[\w-]+", text):
        raise ConfigError("{text!r}: letters, digits, - and _ only", text=text)
    return text


def parse_parameter(text: str) -> tuple[str, float]:
    """Return name and number of NAME=NUMBER; a Greek letter is read as its name."""
    name, equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not name.strip() or not math.isfinite(number):
        raise ConfigError("{text!r} is not NAME=NUMBER, like gamma=0.3", text=text)
    return parse_parameter_name(name), number


def parse_parameter_name(text: str) -> str:
    """Return the name of a parameter; a Greek letter is read as its name."""
    return text.strip().translate(_GREEK)


class RegisteredName(NamedTuple):
    """A type of option whose values are names in a registry, which is loaded when it is needed."""

    module: str
    attribute: str

    def names(self) -> Registry[Any]:
        """Return the registry."""
        registry: Registry[Any] = getattr(import_module(self.module), self.attribute)
        return registry

    def read(self, text: str) -> str:
        """Return a name of the registry. Raises ConfigError for another."""
        self.names().find(text)
        return text

    def complete(
        self, ctx: click.Context, param: click.Parameter, start: str
    ) -> list[CompletionItem]:
        """Return the names that begin with `start`, for shell completion."""
        return [
            CompletionItem(name, help=getattr(kind, "summary", None))
            for name, kind in self.names().items()
            if name.startswith(start)
        ]


class FieldNames(click.ParamType[str]):
    """Type of an option with a list of field names; a shell completes the last one."""

    name = "fields"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the fields that begin with the text and are not named yet."""
        from focus.storage.results import COMPUTED_FIELDS, FIELDS

        *before, start = incomplete.split(",")
        fixed = "".join(f"{name}," for name in before)
        known = [name for name in (*FIELDS, *COMPUTED_FIELDS) if name not in before]
        return [CompletionItem(fixed + name) for name in known if name.startswith(start)]


STRATEGY = RegisteredName("focus.score.strategy", "STRATEGIES")
MODEL = RegisteredName("focus.score.relevance", "RELEVANCE")


class ValueKind(NamedTuple):
    """A kind of option value: its name in the help, its click type, its shell completion."""

    metavar: str
    type: Any
    complete: Any = None


KINDS = {
    "count": ValueKind("N", click.IntRange(1)),
    "relevance": ValueKind("NUMBER", checked_type(parse_relevance)),
    "share": ValueKind("SHARE", click.FloatRange(0.0, 1.0, min_open=True, max_open=True)),
    "text": ValueKind("TEXT", str),
    "terms": ValueKind("library|none|FILE", str),
    "languages": ValueKind("LANGS", str),
    "secret": ValueKind("TEXT", str),
    "time": ValueKind("TIME", checked_type(parse_duration)),
    "positive time": ValueKind("TIME", checked_type(parse_positive_duration)),
    "instant": ValueKind("WHEN", checked_type(parse_instant)),
    "instant-end": ValueKind("WHEN", checked_type(parse_instant_end)),
    "size": ValueKind("SIZE", checked_type(parse_size)),
    "positive size": ValueKind("SIZE", checked_type(parse_positive_size)),
    "file": ValueKind("FILE", click.Path(dir_okay=False, path_type=Path)),
    "input": ValueKind("FILE", click.Path(dir_okay=False, allow_dash=True, path_type=Path)),
    "folder": ValueKind("DIR", click.Path(file_okay=False, path_type=Path)),
    "strategy": ValueKind("NAME", checked_type(STRATEGY.read), STRATEGY.complete),
    "model": ValueKind("NAME", checked_type(MODEL.read), MODEL.complete),
    "parameter": ValueKind("NAME=NUMBER", checked_type(parse_parameter)),
    "fields": ValueKind("A,B,C", FieldNames()),
    "pattern": ValueKind("REGEX", checked_type(parse_pattern)),
    "network": ValueKind("CIDR", checked_type(parse_network)),
    "endpoint": ValueKind("ADDR:PORT", checked_type(parse_endpoint)),
    "web address": ValueKind("URL", checked_type(parse_web_address)),
    "proxy": ValueKind("URL", checked_type(parse_proxy_url)),
    "contact": ValueKind("URL|MAIL", checked_type(parse_contact)),
    "header": ValueKind("TEXT", checked_type(parse_header_text)),
    "plain name": ValueKind("NAME", checked_type(parse_plain_name)),
    "failures": ValueKind("[KIND]", checked_type(parse_failure_kinds)),
}
"""Kinds of values by the name that declarations use."""
