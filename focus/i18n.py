"""Says to people, in their language, what focus has to say: gettext's messages.

A message is an English text with places for values, which is its id, and the values; the
catalogue of a language (under focus/locale, as focus.po and compiled) has the
text for each id. Code that makes a message does not know who will read it:

    line = msg("no alert {name!r}; there is {known}", name="f1", known="旅游")
    line                →  no alert 'f1'; there is 旅游
    told(line, "zh")    →  没有关注“f1”；现有：旅游
    stored(line)        →  {"id":"no alert {name!r}; there is {known}","values":{"name":…}}

The command line speaks one language, which `use` sets; `say` makes a message and says it at once.
Ids are literals, as `docs/make_messages.py` finds them in the source; tests/test_messages.py holds
that each has its Chinese. What a server or a stranger said is a plain `str`, and stays as it is.
"""

from __future__ import annotations

import gettext
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

LANGUAGES = ("zh", "en")
FOLDER = Path(__file__).parent / "locale"
DOMAIN = "focus"
_LOCALES = {"zh": "zh_CN"}
_BEGINS = '{"id":'

SYSTEM = (
    "Connection refused", "Connection reset by peer", "Connection unexpectedly closed",
    "Network is unreachable", "No route to host", "No space left on device", "File exists",
    "No such file or directory", "Is a directory", "Not a directory", "Permission denied",
    "Temporary failure in name resolution", "timed out", "certificate has expired",
    "self-signed certificate", "unable to get local issuer certificate",
)  # fmt: skip
"""Ids that the operating system and OpenSSL say."""

_spoken = "en"


class Msg(str):
    """A message that was made: in English, as any `str`; `id`, `plural`, `values` are what it
    is translated by (`plural`: the English of more than one, chosen by the value `n`)."""

    __slots__ = ("id", "plural", "values")
    id: str
    plural: str
    values: Mapping[str, Any]

    def __new__(cls, id: str, plural: str = "", values: Mapping[str, Any] | None = None) -> Msg:
        filled = {name: _value(each) for name, each in (values or {}).items()}
        chosen = plural if plural and filled["n"] != 1 else id
        self = super().__new__(cls, chosen.format(**filled) if filled else chosen)
        self.id, self.plural, self.values = id, plural, filled
        return self

    def __str__(self) -> str:
        return str.__str__(self)[:]

    def each(self, change: Callable[[str], str]) -> Msg:
        """The message with every text among its values changed."""
        values = {
            name: each.each(change) if isinstance(each, Msg) else change(each)
            for name, each in self.values.items()
            if isinstance(each, str)
        }
        return Msg(self.id, self.plural, {**self.values, **values})

    def __reduce__(self) -> tuple[type[Msg], tuple[str, str, Mapping[str, Any]]]:
        return Msg, (self.id, self.plural, self.values)


def _value(value: object) -> object:
    """A value as it is kept: a number, a text, or a message, as errors have it."""
    if isinstance(value, BaseException):
        return line_of(value)
    return value if isinstance(value, str | int | float) else str(value)


def line_of(error: BaseException) -> str:
    """What an exception says: the message that it was made with, the system's reason, its text."""
    if error.args and isinstance(error.args[0], Msg):
        return error.args[0]
    if isinstance(error, OSError) and error.strerror:
        return msg(error.strerror)
    return str(error)


def msg(id: str, /, **values: object) -> Msg:
    """A message; one that is made already stays as it is."""
    return id if isinstance(id, Msg) else Msg(id, "", values)


def plural(one: str, many: str, /, *, n: float, **values: object) -> Msg:
    """A message about `n` things."""
    return Msg(one, many, {"n": n, **values})


def within(*lines: str) -> str:
    """What was wrong, from the outside in: `host-given-up: robots.txt: no such host`."""
    said = [line for line in lines if line]
    if len(said) < 2:
        return said[0] if said else ""
    return msg("{where}: {what}", where=said[0], what=within(*said[1:]))


def in_a_row(lines: Sequence[str]) -> str:
    """Lines as one, parted as sentences are; "" for none."""
    if len(lines) < 2:
        return lines[0] if lines else ""
    return msg("{first}; {others}", first=lines[0], others=in_a_row(lines[1:]))


def told(line: str, language: str = "") -> str:
    """A line in a language, the command line's unless given; English where it has no words."""
    catalogue = _catalogue(language_of(language) if language else _spoken)
    if catalogue is None or not isinstance(line, Msg) or not line:
        return str(line)
    if line.plural:
        text = catalogue.ngettext(line.id, line.plural, int(line.values["n"]))
    else:
        text = catalogue.gettext(line.id)
    values = {
        name: told(each, language) if isinstance(each, Msg) else each
        for name, each in line.values.items()
    }
    return text.format(**values) if values else text


def say(id: str, /, **values: object) -> str:
    """A message in the command line's language."""
    return told(msg(id, **values))


def says(*ids: str) -> tuple[str, ...]:
    """Several at once, as the head of a table."""
    return tuple(map(say, ids))


def mark(id: str, /) -> str:
    """An id that is made a message somewhere else (gettext's `N_`)."""
    return id


# -- languages ----------------------------------------------------------------------


def use(language: str) -> None:
    """The language of the command line from now on."""
    global _spoken
    _spoken = language_of(language)


def spoken() -> str:
    """The language of the command line."""
    return _spoken


def tag(language: str) -> str:
    """A language as HTML and mails name it: `zh-CN` for zh (BCP 47)."""
    return _LOCALES.get(language_of(language), "en").replace("_", "-")


def language_of(wanted: str) -> str:
    """The language that we have for a wanted one, as `zh` for `zh-CN`; else English."""
    return _known(wanted) or "en"


def language_of_environment(environ: Mapping[str, str]) -> str:
    """The language that a terminal asks for: FOCUS_LANG, then the variables of gettext."""
    names = ("FOCUS_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    wanted = next(filter(None, map(environ.get, names)), "")
    return next(filter(None, map(_known, wanted.split(":"))), "en")


def _known(wanted: str) -> str:
    short = wanted.lower().replace("_", "-").partition("-")[0].partition(".")[0]
    return short if short in LANGUAGES else ""


@cache
def _catalogue(language: str) -> gettext.NullTranslations | None:
    """None for English, whose texts are the ids."""
    if language not in _LOCALES:
        return None
    return gettext.translation(DOMAIN, FOLDER, [_LOCALES[language]], fallback=True)


def catalogue(language: str) -> gettext.NullTranslations:
    """gettext's own object, for who asks it (templates)."""
    return _catalogue(language_of(language)) or gettext.NullTranslations()


# -- messages that are kept -----------------------------------------------------------


def stored(line: str) -> str:
    """A line as a database keeps it: JSON for a message, a plain text as it is."""
    if isinstance(line, Msg):
        return msgspec.json.encode(_kept(line)).decode()
    return stored(Msg("{text}", "", {"text": line})) if line.startswith(_BEGINS) else str(line)


def read_stored(text: str) -> str:
    """A line that `stored` wrote."""
    return _made(msgspec.json.decode(text)) if text.startswith(_BEGINS) else text


def _kept(line: Msg) -> dict[str, Any]:
    values = {n: _kept(each) if isinstance(each, Msg) else each for n, each in line.values.items()}
    named = {"id": line.id, "plural": line.plural, "values": values}
    return {name: each for name, each in named.items() if each or name == "id"}


def _made(kept: Mapping[str, Any]) -> Msg:
    values = kept.get("values", {}).items()
    made = {name: _made(each) if isinstance(each, dict) else each for name, each in values}
    return Msg(kept["id"], kept.get("plural", ""), made)
