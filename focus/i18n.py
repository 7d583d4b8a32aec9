"""Messages for users and their translation with gettext.

A message is an id, which is an English text with placeholders, and values for the placeholders.
The catalogue of a language (focus.po under focus/locale, compiled to focus.mo) contains the
translation of each id. Code that creates a message does not know the language of its reader:

    line = msg("no alert {name!r}; there is {known}", name="f1", known="旅游")
    line                →  no alert 'f1'; there is 旅游
    translate(line, "zh")   →  没有关注“f1”；现有：旅游
    encode_message(line)    →  {"id":"no alert {name!r}; there is {known}","values":{"name":…}}

The command line has one language, which `set_language` sets; `say` creates a message and
translates it to that language. Ids are literals, so that `docs/make_messages.py` finds them in the
source; tests/test_messages.py checks that each has a Chinese translation. Texts of servers and
other programs are plain `str` and are not translated.
"""

from __future__ import annotations

import gettext
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

LANGUAGES = ("zh", "en")
LOCALE_FOLDER = Path(__file__).parent / "locale"
DOMAIN = "focus"
_LOCALES = {"zh": "zh_CN"}
_ENCODED_PREFIX = '{"id":'

SYSTEM_MESSAGES = (
    "Connection refused", "Connection reset by peer", "Connection unexpectedly closed",
    "Network is unreachable", "No route to host", "No space left on device", "File exists",
    "No such file or directory", "Is a directory", "Not a directory", "Permission denied",
    "Temporary failure in name resolution", "timed out", "certificate has expired",
    "self-signed certificate", "unable to get local issuer certificate",
)  # fmt: skip
"""Error texts of the operating system and OpenSSL that are used as ids."""

_current_language = "en"


class Msg(str):
    """A message; as a `str` it is its English text.

    id      English text with placeholders
    plural  the same for the plural, used unless the value `n` is 1; empty if there is none
    values  values of the placeholders
    """

    __slots__ = ("id", "plural", "values")
    id: str
    plural: str
    values: Mapping[str, Any]

    def __new__(cls, id: str, plural: str = "", values: Mapping[str, Any] | None = None) -> Msg:
        filled = {name: _storable_value(value) for name, value in (values or {}).items()}
        chosen = plural if plural and filled["n"] != 1 else id
        self = super().__new__(cls, chosen.format(**filled) if filled else chosen)
        self.id, self.plural, self.values = id, plural, filled
        return self

    def __str__(self) -> str:
        return str.__str__(self)[:]

    def map_texts(self, change: Callable[[str], str]) -> Msg:
        """Return the message with `change` applied to each value that is a text."""
        values = {
            name: value.map_texts(change) if isinstance(value, Msg) else change(value)
            for name, value in self.values.items()
            if isinstance(value, str)
        }
        return Msg(self.id, self.plural, {**self.values, **values})

    def __reduce__(self) -> tuple[type[Msg], tuple[str, str, Mapping[str, Any]]]:
        return Msg, (self.id, self.plural, self.values)


def _storable_value(value: object) -> object:
    """Return a value as number, text or message; of an exception, its message."""
    if isinstance(value, BaseException):
        return error_message(value)
    return value if isinstance(value, str | int | float) else str(value)


def error_message(error: BaseException) -> str:
    """Return the message of an exception: its `Msg`, the system's error text, or its own text."""
    if error.args and isinstance(error.args[0], Msg):
        return error.args[0]
    if isinstance(error, OSError) and error.strerror:
        return msg(error.strerror)
    return str(error)


def msg(id: str, /, **values: object) -> Msg:
    """Return the message with this id and these values. A `Msg` is returned unchanged."""
    return id if isinstance(id, Msg) else Msg(id, "", values)


def plural(singular: str, plural_text: str, /, *, n: float, **values: object) -> Msg:
    """Return a message in the singular or plural, by `n`."""
    return Msg(singular, plural_text, {"n": n, **values})


def chain_messages(*messages: str) -> str:
    """Return messages as one, each the cause of the one before.

    Example: `host-given-up: robots.txt: no such host`. Empty messages are left out.
    """
    parts = [message for message in messages if message]
    if len(parts) < 2:
        return parts[0] if parts else ""
    return msg("{where}: {what}", where=parts[0], what=chain_messages(*parts[1:]))


def join_messages(messages: Sequence[str]) -> str:
    """Return messages as one, separated by semicolons; "" for none."""
    if len(messages) < 2:
        return messages[0] if messages else ""
    return msg("{first}; {others}", first=messages[0], others=join_messages(messages[1:]))


def translate(message: str, language: str = "") -> str:
    """Return a message in a language, by default that of the command line.

    A message without a translation is returned in English, a plain text unchanged.
    """
    catalogue = _load_translations(supported_language(language) if language else _current_language)
    if catalogue is None or not isinstance(message, Msg) or not message:
        return str(message)
    if message.plural:
        text = catalogue.ngettext(message.id, message.plural, int(message.values["n"]))
    else:
        text = catalogue.gettext(message.id)
    values = {
        name: translate(value, language) if isinstance(value, Msg) else value
        for name, value in message.values.items()
    }
    return text.format(**values) if values else text


def say(id: str, /, **values: object) -> str:
    """Return the message with this id in the language of the command line."""
    return translate(msg(id, **values))


def say_all(*ids: str) -> tuple[str, ...]:
    """Return several messages in the language of the command line, such as the head of a table."""
    return tuple(map(say, ids))


def mark(id: str, /) -> str:
    """Return an id unchanged; marks it for extraction where no message is created (`N_`)."""
    return id


# -- languages ----------------------------------------------------------------------


def set_language(language: str) -> None:
    """Set the language of the command line."""
    global _current_language
    _current_language = supported_language(language)


def current_language() -> str:
    """Return the language of the command line."""
    return _current_language


def language_tag(language: str) -> str:
    """Return the BCP 47 tag of a language for HTML and mail: "zh-CN" for "zh"."""
    return _LOCALES.get(supported_language(language), "en").replace("_", "-")


def supported_language(name: str) -> str:
    """Return the supported language for a name, such as "zh" for "zh-CN"; "en" if there is none."""
    return _match_language(name) or "en"


def environment_language(environ: Mapping[str, str]) -> str:
    """Return the language that the environment selects by FOCUS_LANG or gettext's variables."""
    names = ("FOCUS_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    preferences = next(filter(None, map(environ.get, names)), "")
    return next(filter(None, map(_match_language, preferences.split(":"))), "en")


def _match_language(name: str) -> str:
    short = name.lower().replace("_", "-").partition("-")[0].partition(".")[0]
    return short if short in LANGUAGES else ""


@cache
def _load_translations(language: str) -> gettext.NullTranslations | None:
    """Return None for English, whose texts are the ids."""
    if language not in _LOCALES:
        return None
    return gettext.translation(DOMAIN, LOCALE_FOLDER, [_LOCALES[language]], fallback=True)


def load_catalogue(language: str) -> gettext.NullTranslations:
    """Return the gettext translations of a language, for templates."""
    return _load_translations(supported_language(language)) or gettext.NullTranslations()


# -- messages that are stored ---------------------------------------------------------


def encode_message(message: str) -> str:
    """Return a message as a database stores it: JSON for a `Msg`, a plain text unchanged."""
    if isinstance(message, Msg):
        return msgspec.json.encode(_to_builtins(message)).decode()
    if message.startswith(_ENCODED_PREFIX):
        return encode_message(Msg("{text}", "", {"text": message}))
    return str(message)


def decode_message(text: str) -> str:
    """Return the message that `encode_message` encoded."""
    return _from_builtins(msgspec.json.decode(text)) if text.startswith(_ENCODED_PREFIX) else text


def _to_builtins(message: Msg) -> dict[str, Any]:
    values = {
        name: _to_builtins(value) if isinstance(value, Msg) else value
        for name, value in message.values.items()
    }
    fields = {"id": message.id, "plural": message.plural, "values": values}
    return {name: value for name, value in fields.items() if value or name == "id"}


def _from_builtins(fields: Mapping[str, Any]) -> Msg:
    values = {
        name: _from_builtins(value) if isinstance(value, dict) else value
        for name, value in fields.get("values", {}).items()
    }
    return Msg(fields["id"], fields.get("plural", ""), values)
