"""Detects the character encoding of a page and decodes it.

Order: byte order mark, then proof by the bytes themselves that they are UTF-8, then the
label of the HTTP header, then that of the page, then the bytes again: UTF-8 with a few
broken places, Chinese in GB18030, and only then a general detector.

Labels lie, the bytes of UTF-8 do not: text in another encoding that is by chance valid
UTF-8 is a few characters long at most. So a valid UTF-8 page needs no search for labels
(which also makes it the cheap case), and a page that says UTF-8 but is not is judged anew.

The detector is faust-cchardet (uchardet in C++, no dependencies of its own, loaded when
first needed). uchardet errs on some GB pages; these the GB18030 test has caught before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from focus.text.codecs import codec_for, decode_as, encoding_of

__all__ = ["charset_from_content_type", "codec_for", "decode", "decode_as", "in_utf8", "prescan"]

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_CONVINCING: Final = 32  # trail bytes that are no chance: 16 Chinese characters, 32 Cyrillic
_PRESCAN_BYTES: Final = 16 * 1024
_SAMPLE_FROM: Final = 128 * 1024  # bytes of the page that a sample may be drawn from
_SAMPLE_BYTES: Final = 8192


def decode(body: bytes, content_type: str | None = None) -> tuple[str, str]:
    """(text, encoding): the page as text, and the WHATWG name (lower case) it was read by.

    `content_type` is the value of the HTTP header. Never raises: unreadable bytes become
    U+FFFD. A byte order mark is not part of the text.
    """
    text, encoding, _ = _decoded(body, content_type)
    return text, encoding


def in_utf8(body: bytes, content_type: str | None = None) -> tuple[bytes, str]:
    """`decode`, but the text in UTF-8: that of a valid page of UTF-8 is the page itself."""
    text, encoding, is_plain = _decoded(body, content_type)
    return body if is_plain else text.encode("utf-8", "replace"), encoding


def _decoded(body: bytes, content_type: str | None) -> tuple[str, str, bool]:
    """`decode`, and whether the page is its text in UTF-8 as it stands."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return decode_as(body[len(bom) :], encoding), encoding, False
    text = _strict_utf8(body)
    if text is not None and _is_surely_utf8(body, text):
        return text, "utf-8", True
    encoding = _choose(body, content_type, disproved=text is None)
    if text is not None and encoding == "utf-8":
        return text, encoding, True
    return decode_as(body, encoding), encoding, False


def _choose(body: bytes, content_type: str | None, *, disproved: bool) -> str:
    """The encoding of a page that is not surely UTF-8; `disproved`: surely not valid UTF-8."""
    http = charset_from_content_type(content_type) if content_type else None
    if http and not (http == "utf-8" and disproved):
        return http
    meta = prescan(body)
    if meta and not (meta == "utf-8" and disproved) and http is None:
        return meta
    fallback = "utf-8" if "utf-8" in (http, meta) else "windows-1252"
    if not disproved:
        return _utf16_without_bom(body) or "utf-8"
    sample = _sample(body)
    if _is_mostly_utf8(sample):
        return "utf-8"
    if meta and meta != "utf-8":
        return meta
    return _utf16_without_bom(body) or _guess(sample) or fallback


# What the bytes say


def _strict_utf8(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _is_surely_utf8(body: bytes, text: str) -> bool:
    """Valid UTF-8 with so much beyond ASCII that no other encoding gives it by chance."""
    trail_bytes = len(body) - len(text)
    return trail_bytes >= _CONVINCING or (trail_bytes > 0 and _LONG_SEQUENCE(body) is not None)


def _is_mostly_utf8(sample: bytes) -> bool:
    """UTF-8 with few broken places, such as a character cut in two by a template."""
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return len(_without_ascii(text)) - broken > 10 * broken


def _utf16_without_bom(body: bytes) -> str | None:
    """UTF-16 shows in markup, where every other byte is zero."""
    head = body[:1024]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if not head or max(even, odd) * 5 < len(head) or min(even, odd) * 10 > max(even, odd):
        return None
    return "utf-16le" if odd > even else "utf-16be"


def _sample(body: bytes) -> bytes:
    """Some kilobytes of the page that are rich in bytes beyond ASCII: markup left out."""
    return _ASCII_STRETCH.sub(b" ", body[:_SAMPLE_FROM])[:_SAMPLE_BYTES]


def _without_ascii(text: str) -> str:
    return _ASCII_RUN.sub("", text)


def _guess(sample: bytes) -> str | None:
    """GB18030 if that reads as Chinese, else what the detector says, None if it is lost."""
    if _reads_as_chinese(sample):
        return "gb18030"
    from cchardet import detect  # optional weight: a page in a thousand needs it

    result = detect(sample)
    name, confidence = result["encoding"] or "", result["confidence"] or 0.0
    encoding = encoding_of(_DETECTOR_NAMES.get(name, name))
    return None if confidence < 0.5 or encoding in ("utf-8", "replacement") else encoding


def _reads_as_chinese(sample: bytes) -> bool:
    """Whether these bytes, as GB18030, are the characters that Chinese text is made of.

    Nearly any pair of bytes is *valid* GB18030, also Big5, EUC-KR, EUC-JP and Shift_JIS.
    Modern Chinese uses the 3,755 characters of GB2312's first level (rows B0-D7, sorted by
    pinyin) for over 99 % of its text, and all rows of them; Korean syllables stand in rows
    B0-C8 only; Japanese has its kana in rows A4 and A5.
    """
    characters = _without_ascii(decode_as(sample, "gb18030"))
    leads = characters.encode("gb2312", "ignore")[::2]
    common = len(leads.translate(None, _NOT_LEVEL_1))
    punctuation = len(leads.translate(None, _NOT_PUNCTUATION))
    late = len(leads.translate(None, _NOT_LATE))
    if not common or common + punctuation < 0.85 * len(characters):
        return False
    return common < 10 or late > 0.15 * common


def _all_but(first: int, last: int) -> bytes:
    return bytes(byte for byte in range(256) if not first <= byte <= last)


_LONG_SEQUENCE: Final = re.compile(rb"[\xe0-\xf4]").search
_ASCII_RUN: Final = re.compile("[\x00-\x7f]+")
_ASCII_STRETCH: Final = re.compile(rb"<[a-zA-Z/!][^<>\x80-\xff]*>|(?<![\x80-\xff])[\x00-\x7f]{40,}")
_NOT_LEVEL_1: Final = _all_but(0xB0, 0xD7)
_NOT_PUNCTUATION: Final = _all_but(0xA1, 0xA3)
_NOT_LATE: Final = _all_but(0xC9, 0xD7)
_DETECTOR_NAMES: Final = {"UHC": "euc-kr", "MAC-CYRILLIC": "x-mac-cyrillic", "CP949": "euc-kr"}


# What the header says


def charset_from_content_type(value: str) -> str | None:
    """The encoding that a Content-Type header names (WHATWG MIME Sniffing, 4.4).

    None if the type itself is malformed, or no known label is given; the first charset
    parameter with a value counts.
    """
    essence, _, rest = value.partition(";")
    if not _ESSENCE.fullmatch(essence.strip("\t\n\r ")):
        return None
    for name, label in _parameters(rest):
        if name == "charset":
            return encoding_of(label)
    return None


def _parameters(rest: str) -> Iterator[tuple[str, str]]:
    """name, value of the parameters behind the type; the malformed ones are left out."""
    for match in _PARAMETER.finditer(rest):
        name, quoted, plain = match.groups()
        value = (
            _ESCAPED.sub(r"\1", quoted) if quoted is not None else (plain or "").rstrip("\t\n\r ")
        )
        valid = _VALUE.fullmatch(value) and (quoted is not None or value)
        if _TOKEN.fullmatch(name) and valid:
            yield name.lower(), value


_TOKEN: Final = re.compile(r"[-!#$%&'*+.^_`|~A-Za-z0-9]+")
_ESSENCE: Final = re.compile(rf"{_TOKEN.pattern}/{_TOKEN.pattern}")
_VALUE: Final = re.compile("[\t\x20-\x7e\x80-\xff]*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PARAMETER: Final = re.compile(
    r'[\t\n\r ]*([^;=]*)(?:=(?:"((?:[^"\\]|\\.|\\\Z)*)"?[^;]*|([^;]*)))?(?:;|\Z)', re.DOTALL
)


# What the page says


def prescan(body: bytes) -> str | None:
    """The encoding that a page declares in its first 16 KiB (HTML, "prescan a byte stream").

    Comments and other markup are stepped over as the standard does it, so that a `<meta`
    inside an attribute or a comment is none. An XML declaration counts if no meta does.
    The standard stops at 1,024 bytes, but then starts the parser over when a later meta
    comes along; looking further at once has that effect.
    """
    head = body[:_PRESCAN_BYTES]
    at = head.find(b"<") if b"charset" in head.lower() else -1
    while at >= 0:
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)
            at = end + 2 if end >= 0 else len(head)
        elif meta := _META.match(head, at):
            encoding, at = _meta_encoding(head, meta.end() - 1)
            if encoding:
                return encoding
        elif tag := _TAG.match(head, at):
            _, at = _attributes(head, tag.end())
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            end = head.find(b">", at)
            at = end if end >= 0 else len(head)
        else:
            at += 1
        at = head.find(b"<", at)
    return _xml_encoding(head)


def _meta_encoding(head: bytes, at: int) -> tuple[str | None, int]:
    """What the `<meta` whose attributes begin here declares, and where it ends."""
    attributes, end = _attributes(head, at)
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv") == b"content-type":
        match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        label = match and (match[1] or match[2] or match[3])
    encoding = encoding_of(label.decode("latin-1")) if label and end <= len(head) else None
    return _DECLARED_AS.get(encoding or "", encoding), end


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Attributes up to `>` in lower case, and where that is; past `head` if it is cut off."""
    found: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, at):
        closed, name, *values = match.groups()
        at = match.end()
        if closed:
            return found, at
        if at >= len(head):
            break
        found.setdefault(name.lower(), next(filter(None, values), b"").lower())
    return found, len(head) + 1


def _xml_encoding(head: bytes) -> str | None:
    for start, encoding in ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be")):
        if head.startswith(start):
            return encoding
    match = _XML_DECLARATION.match(head)
    declared = encoding_of(match[2].decode("latin-1")) if match else None
    return _DECLARED_AS.get(declared or "", declared)


_DECLARED_AS: Final = {
    "utf-16le": "utf-8",  # else the declaration could not have been read
    "utf-16be": "utf-8",
    "x-user-defined": "windows-1252",
}
_META: Final = re.compile(rb"<meta[\t\n\f\r /]", re.IGNORECASE)
_TAG: Final = re.compile(rb"</?[A-Za-z][^\t\n\f\r >]*")
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*(?:(>)|(=?[^\t\n\f\r />=]*)[\t\n\f\r ]*"
    rb"(?:=[\t\n\f\r ]*(?:\"([^\"]*)\"?|'([^']*)'?|([^\t\n\f\r >]*)))?)"
)
_CONTENT_CHARSET: Final = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*))"
)
_XML_DECLARATION: Final = re.compile(
    rb"<\?xml[^>]*?encoding[\0-\x20]*=[\0-\x20]*([\"'])([^\0-\x20\"'>]*)\1"
)
