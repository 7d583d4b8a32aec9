"""Detects the character encoding of a page and decodes it.

Order: byte order mark; proof by the bytes themselves that they are UTF-8; label of the HTTP
header; label in the page; the bytes again: UTF-8 with a few broken characters, Chinese in
GB18030, and at last a general detector.

Labels can be wrong, the bytes of UTF-8 cannot: text in another encoding that is valid UTF-8 by
chance is a few characters long at most. So a valid UTF-8 page needs no search for labels (which
also makes it the cheap case), and the label utf-8 of a page that is not valid UTF-8 is ignored.

The detector is faust-cchardet (uchardet in C++, without dependencies, loaded when first needed).
uchardet misjudges some GB pages; the GB18030 test recognises these first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from focus.text.codecs import decode_as, encoding_from_label

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_MIN_TRAIL_BYTES: Final = 32  # trail bytes that exclude chance: 16 Chinese characters, 32 Cyrillic
_PRESCAN_BYTES: Final = 16 * 1024
_SAMPLE_REGION_BYTES: Final = 128 * 1024  # bytes of the page from which a sample is taken
_SAMPLE_BYTES: Final = 8192


def decode(body: bytes, content_type: str | None = None) -> tuple[str, str]:
    """Return the text of a page and the WHATWG name (lower case) of the encoding it was read in.

    `content_type` is the value of the HTTP header. Never raises: unreadable bytes become
    U+FFFD. A byte order mark is not part of the text.
    """
    text, encoding, _ = _decode(body, content_type)
    return text, encoding


def to_utf8(body: bytes, content_type: str | None = None) -> tuple[bytes, str]:
    """Return the same as `decode`, but the text in UTF-8.

    The text of a valid UTF-8 page is the page itself, without a copy.
    """
    text, encoding, is_plain = _decode(body, content_type)
    return body if is_plain else text.encode("utf-8", "replace"), encoding


def _decode(body: bytes, content_type: str | None) -> tuple[str, str, bool]:
    """Return the result of `decode`, and whether the page is its own text in UTF-8."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return decode_as(body[len(bom) :], encoding), encoding, False
    text = _strict_utf8(body)
    if text is not None and _is_surely_utf8(body, text):
        return text, "utf-8", True
    encoding = _choose_encoding(body, content_type, is_invalid_utf8=text is None)
    if encoding == "windows-1252":
        encoding = _other_than_latin(body, is_invalid_utf8=text is None) or encoding
    if text is not None and encoding == "utf-8":
        return text, encoding, True
    return decode_as(body, encoding), encoding, False


def _choose_encoding(body: bytes, content_type: str | None, *, is_invalid_utf8: bool) -> str:
    """Return the encoding of a page that is not certainly UTF-8."""
    http = charset_from_content_type(content_type) if content_type else None
    if http and not (http == "utf-8" and is_invalid_utf8):
        return http
    meta = prescan_encoding(body)
    if meta and not (meta == "utf-8" and is_invalid_utf8) and http is None:
        return meta
    fallback = "utf-8" if "utf-8" in (http, meta) else "windows-1252"
    if not is_invalid_utf8:
        return _utf16_without_bom(body) or "utf-8"
    sample = _take_sample(body)
    if _is_mostly_utf8(sample):
        return "utf-8"
    if meta and meta != "utf-8":
        return meta
    return _utf16_without_bom(body) or _detect_encoding(sample) or fallback


def _other_than_latin(body: bytes, *, is_invalid_utf8: bool) -> str | None:
    """Return the encoding of a page labelled as Latin by its server's default, None if it is Latin.

    Bytes beyond ASCII stand alone in Latin text, and side by side in Chinese, Russian or Greek.
    """
    if not is_invalid_utf8:
        return None if body.isascii() else "utf-8"
    sample = _take_sample(body)
    if not _are_side_by_side(sample) or len(_high_bytes(sample)) < _MIN_TRAIL_BYTES:
        return None
    if prescan_encoding(body) not in (None, "utf-8", "windows-1252"):
        return None  # the page contradicts its server: the header counts, as in browsers
    return _detect_encoding(sample)


# Encoding from the bytes


def _strict_utf8(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _is_surely_utf8(body: bytes, text: str) -> bool:
    """Return whether valid UTF-8 has too much beyond ASCII to be so by chance."""
    trail_bytes = len(body) - len(text)
    return trail_bytes >= _MIN_TRAIL_BYTES or (
        trail_bytes > 0 and _FIND_LONG_SEQUENCE(body) is not None
    )


def _is_mostly_utf8(sample: bytes) -> bool:
    """Return whether a sample is UTF-8 with few broken places, such as a character cut in two."""
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return len(_without_ascii(text)) - broken > 10 * broken


def _utf16_without_bom(body: bytes) -> str | None:
    """Return utf-16le or utf-16be if every other byte of the beginning is zero, as in markup."""
    head = body[:1024]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if not head or max(even, odd) * 5 < len(head) or min(even, odd) * 10 > max(even, odd):
        return None
    return "utf-16le" if odd > even else "utf-16be"


def _take_sample(body: bytes) -> bytes:
    """Return some kilobytes of the page that are rich in bytes beyond ASCII, without markup."""
    return _ASCII_STRETCH.sub(b" ", body[:_SAMPLE_REGION_BYTES])[:_SAMPLE_BYTES]


def _without_ascii(text: str) -> str:
    return _ASCII_RUN.sub("", text)


def _high_bytes(sample: bytes) -> bytes:
    return sample.translate(None, _ASCII_BYTES)


def _are_side_by_side(sample: bytes) -> bool:
    """Return whether most bytes beyond ASCII have another one beside them, unlike in Latin text."""
    return sum(map(len, _HIGH_RUN.findall(sample))) >= 0.6 * len(_high_bytes(sample))


def _detect_encoding(sample: bytes) -> str | None:
    """Return GB18030 if the sample reads as Chinese, else the detector's result or None.

    The detector counts only if the bytes agree: those of letters with accents stand alone, and are
    several, and those of other scripts stand side by side.
    """
    are_side_by_side = _are_side_by_side(sample)
    if are_side_by_side and _is_likely_chinese(sample):
        return "gb18030"
    if not are_side_by_side and len(_high_bytes(sample)) < _MIN_TRAIL_BYTES:
        return None
    from cchardet import detect  # imported late: one page in a thousand needs it

    result = detect(sample)
    name, confidence = result["encoding"] or "", result["confidence"] or 0.0
    encoding = encoding_from_label(_DETECTOR_NAMES.get(name.upper(), name))
    is_latin = encoding in _LATIN_ENCODINGS
    is_sure = confidence >= 0.5 and encoding not in ("utf-8", "replacement")
    return encoding if is_sure and is_latin != are_side_by_side else None


def _is_likely_chinese(sample: bytes) -> bool:
    """Return whether a sample decoded as GB18030 has the characters of Chinese text.

    Nearly any pair of bytes is *valid* GB18030, also Big5, EUC-KR, EUC-JP and Shift_JIS.
    Modern Chinese uses the 3,755 characters of GB2312's first level (rows B0-D7, sorted by
    pinyin) for over 99 % of its text, and all rows of them; Korean syllables use rows B0-C8
    only; Japanese has its kana in rows A4 and A5.
    """
    characters = _without_ascii(decode_as(sample, "gb18030"))
    lead_bytes = characters.encode("gb2312", "ignore")[::2]
    common = len(lead_bytes.translate(None, _NOT_LEVEL_1))
    punctuation = len(lead_bytes.translate(None, _NOT_PUNCTUATION))
    late_rows = len(lead_bytes.translate(None, _NOT_LATE_ROWS))
    if not common or common + punctuation < 0.85 * len(characters):
        return False
    return common < 10 or late_rows > 0.15 * common


def _bytes_outside(first: int, last: int) -> bytes:
    return bytes(byte for byte in range(256) if not first <= byte <= last)


_FIND_LONG_SEQUENCE: Final = re.compile(rb"[\xe0-\xf4]").search
_ASCII_RUN: Final = re.compile("[\x00-\x7f]+")
_ASCII_STRETCH: Final = re.compile(rb"<[a-zA-Z/!][^<>\x80-\xff]*>|(?<![\x80-\xff])[\x00-\x7f]{40,}")
_ASCII_BYTES: Final = bytes(range(128))
_LATIN_ENCODINGS: Final = frozenset(
    "windows-1250 windows-1252 windows-1254 windows-1257 windows-1258 iso-8859-2 iso-8859-3"
    " iso-8859-4 iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 macintosh".split()
)
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]{2,}")
_NOT_LEVEL_1: Final = _bytes_outside(0xB0, 0xD7)
_NOT_PUNCTUATION: Final = _bytes_outside(0xA1, 0xA3)
_NOT_LATE_ROWS: Final = _bytes_outside(0xC9, 0xD7)
_DETECTOR_NAMES: Final = {
    "UHC": "euc-kr",
    "CP949": "euc-kr",
    "MAC-CYRILLIC": "x-mac-cyrillic",
    "MACCYRILLIC": "x-mac-cyrillic",
}


# Encoding from the header


def charset_from_content_type(value: str) -> str | None:
    """Return the encoding that a Content-Type header names (WHATWG MIME Sniffing, 4.4).

    The first charset parameter with a value counts. Returns None if the media type is malformed or
    the label is unknown or missing.
    """
    essence, _, rest = value.partition(";")
    if not _ESSENCE.fullmatch(essence.strip("\t\n\r ")):
        return None
    for name, label in _parse_parameters(rest):
        if name == "charset":
            return encoding_from_label(label)
    return None


def _parse_parameters(rest: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of the well-formed parameters that follow the media type."""
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


# Encoding declared in the page


def prescan_encoding(body: bytes) -> str | None:
    """Return the encoding that a page declares in its first 16 KiB (HTML, "prescan a byte stream").

    Comments and other markup are skipped as in the standard, so that a `<meta` inside an attribute
    or a comment does not count. An XML declaration counts if no meta does. The standard stops at
    1,024 bytes, but restarts the parser at a later meta; reading further has the same effect.
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
            _, at = _parse_attributes(head, tag.end())
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            end = head.find(b">", at)
            at = end if end >= 0 else len(head)
        else:
            at += 1
        at = head.find(b"<", at)
    return _xml_encoding(head)


def _meta_encoding(head: bytes, at: int) -> tuple[str | None, int]:
    """Return the encoding declared by a `<meta` whose attributes begin at `at`, and its end."""
    attributes, end = _parse_attributes(head, at)
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv") == b"content-type":
        match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        label = match and (match[1] or match[2] or match[3])
    encoding = encoding_from_label(label.decode("latin-1")) if label and end <= len(head) else None
    return _DECLARATION_OVERRIDES.get(encoding or "", encoding), end


def _parse_attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes up to `>` in lower case, and its position.

    The position is past the end of `head` if the tag is cut off.
    """
    attributes: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, at):
        closing, name, *values = match.groups()
        at = match.end()
        if closing:
            return attributes, at
        if at >= len(head):
            break
        attributes.setdefault(name.lower(), next(filter(None, values), b"").lower())
    return attributes, len(head) + 1


def _xml_encoding(head: bytes) -> str | None:
    for start, encoding in ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be")):
        if head.startswith(start):
            return encoding
    match = _XML_DECLARATION.match(head)
    declared = encoding_from_label(match[2].decode("latin-1")) if match else None
    return _DECLARATION_OVERRIDES.get(declared or "", declared)


_DECLARATION_OVERRIDES: Final = {
    "utf-16le": "utf-8",  # a declaration in real UTF-16 could not be read here
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
