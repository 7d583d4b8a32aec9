"""Header fields of a mail as bytes: encoded words (RFC 2047), folding (RFC 5322), addresses.

Text by strangers does not pass through the header parser of the package `email`: that decodes
encoded words inside the text, so that a page's title could add fields and a body to a mail
(CVE-2024-6923), and it loses spaces where it folds. `_encode_field` writes every field and refuses
control characters, also in text that would be encoded.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterator

from focus.i18n import msg

_LINE, _WORD = 76, 75  # characters; RFC 2047, section 2
_LONGEST_LINE = 998  # bytes; RFC 5322, section 2.1.1
_BEFORE, _AFTER = "=?utf-8?b?", "?="
_LONGEST_PLAIN_WORD = 60  # a longer one would not fit into the line of the field's name

_ATOM = r"[^\x00-\x20\x7f()<>@,;:\\\".\[\]]+"
_LOCAL_PART = re.compile(rf'{_ATOM}(?:\.{_ATOM})*|"(?:[^\x00-\x1f\x7f"\\]|\\[\x20-\x7e])+"')
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*|\[[0-9A-Za-z.:]+\]", re.ASCII)


def text_field(name: str, text: str) -> bytes:
    """Return a field of free text, such as Subject, that every reader decodes to `text`.

    ASCII words parted by single spaces are written as they are, any other text as encoded words.
    Raises ValueError for control characters.
    """
    words = text.split(" ")
    if not _is_plain(text, words):
        words = list(_encoded_words(text, _LINE - len(name) - 2))
    lines = [f"{name}:"]
    for position, word in enumerate(words):
        if position and len(lines[-1]) + 1 + len(word) > _LINE:
            lines.append("")
        lines[-1] += f" {word}"
    return _encode_field(name, text, lines)


def structured_field(name: str, value: str) -> bytes:
    """Return a field whose value has a syntax of its own, on one line however long it is.

    Raises ValueError for control characters and for more than 998 bytes.
    """
    return _encode_field(name, value, [f"{name}: {value}"])


def ascii_mail_address(text: str) -> str:
    """Return an address with its domain in ASCII (RFC 5891), as every mail server accepts it.

    Raises ValueError for a text that is no `local-part@domain`.
    """
    local_part, _, domain = text.rpartition("@")
    try:
        domain = ascii_domain(domain)
    except UnicodeError:
        domain = ""
    if not _LOCAL_PART.fullmatch(local_part) or not _DOMAIN.fullmatch(domain):
        raise ValueError(msg("{address!r} is not a mail address", address=text))
    return f"{local_part}@{domain}"


def ascii_domain(domain: str) -> str:
    """Return a domain in ASCII (RFC 5891). Raises UnicodeError if it has none."""
    return domain if domain.isascii() else domain.encode("idna").decode()


def _is_plain(text: str, words: list[str]) -> bool:
    """Return whether readers show a text unchanged that is folded but not encoded."""
    return not text or (
        text.isascii()
        and "=?" not in text
        and all(0 < len(word) <= _LONGEST_PLAIN_WORD for word in words)
    )


def _encoded_words(text: str, room: int) -> Iterator[str]:
    """Yield encoded words of whole characters, the first one at most `room` characters long.

    Readers drop the spaces between encoded words, so that all spaces of the text are inside.
    """
    chunk, size = bytearray(), _word_capacity(room)
    for character in text:
        encoded = character.encode()
        if len(chunk) + len(encoded) > size:
            yield f"{_BEFORE}{b64encode(chunk).decode()}{_AFTER}"
            chunk, size = bytearray(), _word_capacity(_WORD)
        chunk += encoded
    yield f"{_BEFORE}{b64encode(chunk).decode()}{_AFTER}"


def _word_capacity(characters: int) -> int:
    """Return the bytes of text in an encoded word: base64 writes 3 bytes as 4 characters."""
    return (min(characters, _WORD) - len(_BEFORE) - len(_AFTER)) // 4 * 3


def _encode_field(name: str, text: str, lines: list[str]) -> bytes:
    """Return the lines of a field whose meaning is `text`."""
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise ValueError(msg("{name}: it contains a control character", name=name))
    encoded = [line.encode() for line in lines]
    if any(len(line) > _LONGEST_LINE for line in encoded):
        raise ValueError(msg("{name}: it is too long", name=name))
    return b"\r\n".join(encoded) + b"\r\n"
