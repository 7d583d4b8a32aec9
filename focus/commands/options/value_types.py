"""Turns the text of an option into a checked number, pattern or name.

Every reader takes a text and raises ConfigError with one line that says what would do;
`checked` makes a click type of it, so that the complaint names option and variable.
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

from focus.errors import ConfigError
from focus.i18n import translate
from focus.records import FailureKind
from focus.registry import Registry
from focus.scheduling.retries import TEMPORARY
from focus.text.formatting import parse_duration, parse_size, printable

T = TypeVar("T")

ANY_KIND = "all"
"""What stands for all kinds of failures that may be over by now."""

_GREEK = str.maketrans(
    {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "λ": "lambda"}
)


def checked(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader of ours as click wants it."""

    def convert(value: str) -> T:
        try:
            return read(str(value))
        except ConfigError as error:
            raise click.BadParameter(translate(error.message)) from None

    return convert


def positive_span(text: str) -> float:
    """Seconds, more than none."""
    if (seconds := parse_duration(text)) <= 0:
        raise ConfigError("must be longer than 0")
    return seconds


def instant(text: str) -> float:
    """Unix seconds of a date, a time, or a span before now."""
    from focus.storage.results import parse_since

    return parse_since(text, now=time.time())


def positive_size(text: str) -> int:
    """Bytes, more than none."""
    if (number := parse_size(text)) <= 0:
        raise ConfigError("must be more than 0")
    return number


def failure_kinds(text: str) -> tuple[str, ...]:
    """Kinds of failures, with commas between them; `all` are those that may be over by now."""
    kinds = [each.strip() for each in text.split(",") if each.strip()]
    for each in kinds:
        if each != ANY_KIND and each not in [*FailureKind]:
            near = get_close_matches(each, [*FailureKind], 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(FailureKind)}"
            raise ConfigError("{each!r} is no kind of failure; {hint}", each=each, hint=hint)
    if not kinds:
        raise ConfigError("name a kind of failure, like timeout")
    return tuple(sorted({*kinds, *TEMPORARY} - {ANY_KIND} if ANY_KIND in kinds else {*kinds}))


def pattern(text: str) -> str:
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError(
            "{text!r} is no regular expression: {error}", text=text, error=error
        ) from None
    return text


def network(text: str) -> str:
    """A range of addresses; a bare address is a range of one."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise ConfigError(
            "{text!r} is no network; write one like 127.0.0.0/8 or ::1", text=text
        ) from None


def endpoint(text: str) -> str:
    """ADDR:PORT, [v6]:PORT."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(\d{1,5})", text)
    if not match or not 0 < int(match[2]) < 65536:
        raise ConfigError("{text!r} is not ADDR:PORT, like 127.0.0.1:8080", text=text)
    return text


def proxy_url(text: str) -> str:
    """http://HOST:PORT, with credentials or without."""
    if not re.fullmatch(r"https?://[^\s/?#]+/?", text):
        raise ConfigError("{text!r} is not like http://HOST:PORT", text=printable(text))
    return text


def header_text(text: str) -> str:
    """What may stand in a request header."""
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise ConfigError("must be printable ASCII, as it goes into a request header")
    return text.strip()


def contact(text: str) -> str:
    """A web address or a mail address."""
    address = header_text(text)
    mail = r"(?:mailto:)?[^\s@<>(),;:]+@[^\s@<>(),;:]+\.[^\s@<>(),;:.]+"
    if not re.fullmatch(rf"https?://[^\s/?#()<>]+\.[^\s()<>]+|{mail}", address):
        raise ConfigError(
            "{address!r} is no address; give one like https://example.com/bot or me@example.com",
            address=address,
        )
    return address


def plain_name(text: str) -> str:
    """A name that may stand in the name of a queue."""
    if not re.fullmatch(r"[\w-]+", text):
        raise ConfigError("{text!r}: letters, digits, - and _ only", text=text)
    return text


def media_type(text: str) -> str:
    """type/subtype."""
    if not re.fullmatch(r"[\w.+-]+/[\w.+-]+", text):
        raise ConfigError("{text!r} is no media type like text/html", text=text)
    return text.lower()


def parameter(text: str) -> tuple[str, float]:
    """NAME=NUMBER; a Greek letter is read as its name."""
    name, equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not name.strip() or not math.isfinite(number):
        raise ConfigError("{text!r} is not NAME=NUMBER, like gamma=0.3", text=text)
    return parameter_name(name), number


def parameter_name(text: str) -> str:
    """A parameter's name; a Greek letter is read as its name."""
    return text.strip().translate(_GREEK)


class RegisteredName(NamedTuple):
    """Names in a registry of another module, which is loaded only when one is read."""

    module: str
    attribute: str

    def names(self) -> Registry[Any]:
        """The names, each with what it stands for."""
        found: Registry[Any] = getattr(import_module(self.module), self.attribute)
        return found

    def read(self, text: str) -> str:
        """One of the names."""
        self.names().find(text)
        return text

    def complete(
        self, ctx: click.Context, param: click.Parameter, start: str
    ) -> list[CompletionItem]:
        """The names that begin so, for the shell."""
        return [
            CompletionItem(name, help=getattr(kind, "summary", None))
            for name, kind in self.names().items()
            if name.startswith(start)
        ]


class FieldNames(click.ParamType[str]):
    """Names of fields of a result, with commas between them; a shell completes the last one."""

    name = "fields"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The fields that begin so and are not named yet."""
        from focus.storage.results import COMPUTED_FIELDS, FIELDS

        *before, start = incomplete.split(",")
        fixed = "".join(f"{name}," for name in before)
        known = [name for name in (*FIELDS, *COMPUTED_FIELDS) if name not in before]
        return [CompletionItem(fixed + name) for name in known if name.startswith(start)]


STRATEGY = RegisteredName("focus.score.strategy", "STRATEGIES")
MODEL = RegisteredName("focus.score.relevance", "RELEVANCE")


class ValueKind(NamedTuple):
    """A type of option: its name in the help, how it is read, how a shell completes it."""

    metavar: str
    type: Any
    complete: Any = None


KINDS = {
    "count": ValueKind("N", click.IntRange(1)),
    "number": ValueKind("NUMBER", float),
    "share": ValueKind("SHARE", click.FloatRange(0.0, 1.0, min_open=True, max_open=True)),
    "text": ValueKind("TEXT", str),
    "secret": ValueKind("TEXT", str),
    "time": ValueKind("TIME", checked(parse_duration)),
    "positive time": ValueKind("TIME", checked(positive_span)),
    "instant": ValueKind("WHEN", checked(instant)),
    "size": ValueKind("SIZE", checked(parse_size)),
    "positive size": ValueKind("SIZE", checked(positive_size)),
    "file": ValueKind("FILE", click.Path(dir_okay=False, path_type=Path)),
    "input": ValueKind("FILE", click.Path(dir_okay=False, allow_dash=True, path_type=Path)),
    "folder": ValueKind("DIR", click.Path(file_okay=False, path_type=Path)),
    "strategy": ValueKind("NAME", checked(STRATEGY.read), STRATEGY.complete),
    "model": ValueKind("NAME", checked(MODEL.read), MODEL.complete),
    "parameter": ValueKind("NAME=NUMBER", checked(parameter)),
    "fields": ValueKind("A,B,C", FieldNames()),
    "pattern": ValueKind("REGEX", checked(pattern)),
    "network": ValueKind("CIDR", checked(network)),
    "endpoint": ValueKind("ADDR:PORT", checked(endpoint)),
    "proxy": ValueKind("URL", checked(proxy_url)),
    "contact": ValueKind("URL|MAIL", checked(contact)),
    "header": ValueKind("TEXT", checked(header_text)),
    "plain name": ValueKind("NAME", checked(plain_name)),
    "media type": ValueKind("TYPE", checked(media_type)),
    "failures": ValueKind("[KIND]", checked(failure_kinds)),
}
"""How texts are read, by the name that a declaration says."""
