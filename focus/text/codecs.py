"""Decodes bytes by the labels of the WHATWG Encoding Standard, where Python's codecs differ.

Labels, decoders and error recovery are those of the WHATWG Encoding Standard. Python has a codec
close to each; the small tables here contain the differences, so that the result follows the
standard. A label from the network is looked up in the table of this module only: it never reaches
`codecs.lookup`, which would accept `zlib_codec`, `idna` and other codecs that are no charsets.

Differences (found by decoding every one- and two-byte sequence, and the four-byte ones):

    gb18030     lone 0x80 is the euro sign; 20 pairs are mapped as in GB18030-2005 + 2022
    big5        big5hkscs lacks 192 pairs and maps 11 symbols to look-alikes
                (a241 and a242 stay so: they cannot be told from a1fe and a240 afterwards)
    shift_jis   cp932 gives private-use characters for the lone bytes A0, FD, FE, FF
    euc-jp      euc_jp lacks NEC row 13 and the IBM kanji (they are in cp932), 7 look-alikes
                (8fa2b7 stays an ASCII tilde)
    windows-*   Python leaves bytes undefined that are C1 controls; 1255 lacks 0xCA
    koi8-u      0xAE and 0xBE are the Belarusian letter
    any         after a broken pair Python skips one byte; the standard skips two, unless
                the second is ASCII
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Final

_LABEL_TABLE: Final = """
utf-8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866: 866 cp866 csibm866
iso-8859-2: csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3: csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4: csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5: csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e
iso-8859-6: iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7: csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597
iso-8859-7: iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso-8859-8: csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598
iso-8859-8: iso_8859-8 iso_8859-8:1988 visual
iso-8859-8-i: csiso88598i logical
iso-8859-10: csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13: iso8859-13 iso885913
iso-8859-14: iso8859-14 iso885914
iso-8859-15: csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16:
koi8-r: cskoi8r koi koi8 koi8_r
koi8-u: koi8-ru
macintosh: csmacintosh mac x-mac-roman
windows-874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250: cp1250 x-cp1250
windows-1251: cp1251 x-cp1251
windows-1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100
windows-1252: iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
windows-1253: cp1253 x-cp1253
windows-1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9
windows-1254: iso_8859-9:1989 l5 latin5 x-cp1254
windows-1255: cp1255 x-cp1255
windows-1256: cp1256 x-cp1256
windows-1257: cp1257 x-cp1257
windows-1258: cp1258 x-cp1258
x-mac-cyrillic: x-mac-ukrainian
gbk: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030:
big5: big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp: cseucpkdfmtjapanese x-euc-jp
iso-2022-jp: csiso2022jp
shift_jis: csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr: cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601
euc-kr: ksc_5601 windows-949
replacement: csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr
utf-16be: unicodefffe
utf-16le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
x-user-defined:
"""


def _parse_label_table() -> dict[str, str]:
    """Return the encoding name of every WHATWG label in lower case."""
    encodings: dict[str, str] = {}
    for line in _LABEL_TABLE.strip().splitlines():
        name, *labels = line.split()
        encodings |= dict.fromkeys([name[:-1], *labels], name[:-1])
    return encodings


_LABELS: Final = _parse_label_table()

_CODECS: Final = {name: name for name in _LABELS.values()} | {
    "ibm866": "cp866", "iso-8859-8-i": "iso-8859-8", "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic", "windows-874": "cp874", "gbk": "gb18030", "big5": "big5hkscs",
    "euc-jp": "euc_jp", "shift_jis": "cp932", "euc-kr": "cp949", "iso-2022-jp": "iso2022_jp",
    "replacement": "ascii", "x-user-defined": "latin-1",
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
}  # fmt: skip

_MAX_EXACT_BYTES: Final = 512 * 1024
"""Above this size C code replaces broken sequences, with one U+FFFD more or fewer.

In Python a page of nothing but errors would cost a microsecond for each byte.
"""


def _parse_pair_runs(table: str) -> dict[bytes, str]:
    """Return the characters of Big5 pairs: `a3c0␀␁…` lists those of consecutive pairs."""
    pairs = {}
    for run in table.split():
        lead, trail = bytes.fromhex(run[:4])
        for char in run[4:]:
            pairs[bytes((lead, trail))] = char
            trail = 0xA1 if trail == 0x7E else trail + 1
    return pairs


_EXTRA_BIG5: Final = _parse_pair_runs(
    "877a㡵𡵓𣚞𦀡㻬𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄𥶹瓆鿇垳䤯呌䄱"
    "𣚎堘穲𧭥讏䚮𦺈䆁𥶙箮𢒼鿈𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋 8e69箸 8e6f簆 8e7e糎 8eab緒 8eb4縝 "
    "8ecd者 8ed0耨 8f57菁 8f69蒨 8f6e萏 8fcb覦覩 8ffe起 906d都 907a銹 90dc靜 90f1響 91bf鼖 "
    "9244蔃 92af兙兛兝兞 92c8鍮 92d1瑹 9447浧 94ca禛 95d9邗 9644靝 96ed瀞 96fc嬨 9b76爁 9b78矗 "
    "9b7b纇 9bc6駖 9bde釔 9bec惞 9bf6澶 9c42輶 9c53侻 9c62營 9c68鄄 9c6b鷰 9c77菏 9cbc尐秣 "
    "9cd0婧 9d57輋 9d5a筑 9dc4拐 9ea9恢 9eef痹 9efd汊 9f60鬮 9f66鼗 9fcb僭 9fd8弌 a063蠏 "
    "a077拎 a0d5瑨 a0df煢 a0e4牐 a3c0␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡€ c6cf廴 c6d3无 c6d5癶 "
    "c6d7隶 c6de〃仝 fa5f倩 fa66偽 fabd包 fac5卄 fad5卿 fb48嘅 fbb8婷 fbf3幵 fbf9廐 fc4f彘 "
    "fc6c悤 fcb9撐 fce2晴 fcf1杞 fdb7沜渝 fdbb港 fdf1煮 fe52猪 fe6f瑜 feaa瓩 fedd砉"
)


def _parse_remap(codec: str, table: str) -> dict[int, str]:
    """Return a translation from the characters of Python's codec to those of the standard."""
    items = [(bytes.fromhex(item[:-1]).decode(codec), item[-1]) for item in table.split(" ")]
    return {ord(python_char): char for python_char, char in items if python_char != char}


def _make_finder(remap: dict[int, str]) -> Callable[[str], bool]:
    """Return a function that tells whether a text contains one of the characters in `remap`.

    The function looks at the UTF-8 bytes first: nine texts of ten have none of the lead bytes of
    these characters, and this check takes a fifth of the time.
    """
    leads = {chr(number).encode()[0] for number in remap}
    search = re.compile(f"[{''.join(map(chr, remap))}]").search

    def holds(text: str) -> bool:
        utf8 = text.encode("utf-8", "surrogatepass")
        return any(map(utf8.__contains__, leads)) and search(text) is not None

    return holds


_REMAPS: Final = {
    "gb18030": _parse_remap(
        "gb18030",
        "a3a0\u3000 a6d9︐ a6da︒ a6db︑ a6dc︓ a6dd︔ a6de︕ a6df︖ a6ec︗ a6ed︘ a6f3︙ a8bcḿ "
        "8135f437\ue7c7 fe59龴 fe61龵 fe66龶 fe67龷 fe6d龸 fe7e龹 fe90龺 fea0龻",
    ),
    "big5hkscs": _parse_remap(
        "big5hkscs", "a145‧ a14e﹑ a1c2¯ a1e3～ a1f2⊕ a1f3⊙ a244￥ a246￠ a247￡"
    ),
    "euc_jp": _parse_remap("euc_jp", "a1c1～ a1c2∥ a1dd－ a1f1￠ a1f2￡ a2cc￢"),
    "cp932": _parse_remap("cp932", "a0\ufffd fd\ufffd fe\ufffd ff\ufffd"),
    "koi8-u": _parse_remap("koi8-u", "aeў beЎ"),
    "latin-1": {n: chr(0xF700 + n) for n in range(0x80, 0x100)},
}
_FINDERS: Final = {codec: _make_finder(wrong) for codec, wrong in _REMAPS.items() if wrong}


def encoding_from_label(label: str) -> str | None:
    """Return the encoding of a label, named as `TextDecoder` does; None for an unknown label."""
    return _LABELS.get(label.strip("\t\n\f\r ").lower())


def codec_for(label: str) -> str | None:
    """Return the Python codec nearest to a WHATWG label; None for an unknown label."""
    name = encoding_from_label(label)
    return None if name is None else _CODECS[name]


def decode_as(body: bytes, encoding: str) -> str:
    """Return the text of `body` (without a byte order mark) in an encoding named by WHATWG.

    Unreadable bytes become U+FFFD. Raises KeyError for a name that `encoding_from_label` does
    not return.
    """
    codec = _CODECS[encoding]
    if encoding == "replacement":
        return "\ufffd" if body else ""
    if encoding == "iso-2022-jp":
        return _decode_iso_2022_jp(body)
    is_exact = len(body) <= _MAX_EXACT_BYTES and encoding not in _UNICODE
    text = body.decode(codec, _HANDLERS.get(codec, "focus.byte") if is_exact else "replace")
    needs_remap = _FINDERS.get(codec)
    return text.translate(_REMAPS[codec]) if needs_remap and needs_remap(text) else text


def escape_query(query: str, encoding: str) -> str:
    """Return a link's query with non-ASCII characters percent-encoded in its page's encoding.

    A link to `?kw=足球` on a GBK page requests `?kw=%D7%E3%C7%F2` (URL Standard, "percent-encode
    after encoding"); characters that the encoding lacks become character references. In Unicode
    pages the query is returned unchanged: there the URL parser's own UTF-8 is right.
    """
    if encoding in _UTF8_QUERIES:
        return query
    codec = "gbk" if encoding == "gbk" else _CODECS[encoding]

    def escaped(match: re.Match[str]) -> str:
        try:
            raw = match[0].encode(codec)
        except UnicodeEncodeError:
            return f"%26%23{ord(match[0])}%3B"
        return "".join(chr(byte) if byte in _ALPHANUMERIC else f"%{byte:02X}" for byte in raw)

    return re.sub("[^\x00-\x7f]", escaped, query)


def _decode_iso_2022_jp(body: bytes) -> str:
    """Decode text whose escape sequences switch between ASCII, Roman, katakana and JIS X 0208."""
    parts = [b"(B", *re.split(rb"\x1b(\([BJI]|\$[@B])", body)]
    return "".join(map(_decode_jis_run, parts[::2], parts[1::2]))


def _decode_jis_run(escape: bytes, run: bytes) -> str:
    if escape.startswith(b"$"):
        return decode_as(run.translate(_SET_HIGH_BIT), "euc-jp")
    text = re.sub(rb"[\x0e\x0f\x1b]", b"\x80", run).decode("ascii", "replace")
    if escape == b"(J":
        return text.replace("\\", "¥").replace("~", "‾")
    return text.translate(_KATAKANA) if escape == b"(I" else text


def _replace_byte(error: UnicodeError) -> tuple[str, int]:
    """Return a C1 control for a byte that Python leaves undefined, else U+FFFD (single-byte)."""
    assert isinstance(error, UnicodeDecodeError)
    byte = error.object[error.start]
    return (chr(byte) if byte < 0xA0 else "\ufffd"), error.start + 1


def _replace_byte_1255(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    char, end = _replace_byte(error)
    return ("\u05ba" if error.object[error.start] == 0xCA else char), end


def _replace_broken_pair(error: UnicodeError) -> tuple[str, int]:
    """Return the standard's character for a pair, or U+FFFD, and where to go on (multi-byte)."""
    assert isinstance(error, UnicodeDecodeError)
    at, lead = error.start, error.object[error.start]
    sequence = error.object[at : at + 4]
    if error.encoding == "gb18030":
        return ("€", at + 1) if lead == 0x80 else ("\ufffd", at + _broken_gb18030_width(sequence))
    if error.encoding == "euc_jp":
        char, width = _decode_euc_jp_pair(sequence)
        return char, at + width
    if error.encoding == "big5hkscs" and sequence[:2] in _EXTRA_BIG5:
        return _EXTRA_BIG5[sequence[:2]], at + 2
    is_lead = lead not in (
        (0x80, 0xA0, 0xFD, 0xFE, 0xFF) if error.encoding == "cp932" else (0x80, 0xFF)
    )
    return "\ufffd", at + (_broken_pair_width(sequence) if is_lead else 1)


def _broken_pair_width(sequence: bytes) -> int:
    """Return the width of a broken pair: an ASCII byte after the lead is read again."""
    return 2 if len(sequence) > 1 and sequence[1] >= 0x80 else 1


def _broken_gb18030_width(sequence: bytes) -> int:
    """Return how many bytes of a broken sequence are consumed; the others are read again."""
    if sequence[0] == 0xFF or len(sequence) == 1 or not 0x30 <= sequence[1] <= 0x39:
        return 1 if sequence[0] == 0xFF else _broken_pair_width(sequence)
    if not all(0x81 <= byte <= 0xFE for byte in sequence[2:3]):
        return 1
    return len(sequence) if all(0x30 <= byte <= 0x39 for byte in sequence[3:]) else 1


def _decode_euc_jp_pair(sequence: bytes) -> tuple[str, int]:
    """Return character and width of a pair that only cp932 has, or of a broken sequence."""
    in_grid = [0xA1 <= byte <= 0xFE for byte in sequence[:2]]
    if sequence[0] == 0x8F and in_grid[1:] == [True]:
        return "\ufffd", 1 + _broken_pair_width(sequence[1:])
    if in_grid == [True, True]:
        row, cell = sequence[0] - 0xA1, sequence[1] - 0xA1
        lead = row // 2 + (0x81 if row < 62 else 0xC1)
        trail = cell + (0x9F if row % 2 else 0x40 if cell < 0x3F else 0x41)
        char = bytes((lead, trail)).decode("cp932", "replace")
        return (char if len(char) == 1 else "\ufffd"), 2
    return "\ufffd", _broken_pair_width(sequence) if sequence[0] in (0x8E, 0x8F) or in_grid[
        0
    ] else 1


_UNICODE: Final = ("utf-8", "utf-16le", "utf-16be")
_UTF8_QUERIES: Final = (*_UNICODE, "replacement", "iso-2022-jp", "x-user-defined")
_ALPHANUMERIC: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_SET_HIGH_BIT: Final = bytes(byte + 0x80 if 0x21 <= byte <= 0x7E else byte for byte in range(256))
_KATAKANA: Final = {byte: chr(0xFF40 + byte) for byte in range(0x21, 0x60)}
_HANDLERS: Final = {
    "cp1255": "focus.1255",
    **dict.fromkeys(("gb18030", "big5hkscs", "cp949", "cp932", "euc_jp"), "focus.pair"),
}
codecs.register_error("focus.byte", _replace_byte)
codecs.register_error("focus.1255", _replace_byte_1255)
codecs.register_error("focus.pair", _replace_broken_pair)
