"""Character encodings: which one a page is in, and what its bytes say then."""

import codecs
import hashlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from focus.text.charset import charset_from_content_type, decode, prescan_encoding, to_utf8
from focus.text.codecs import codec_for, decode_as, encoding_from_label
from tests.support.cases import cases

NEWS = "中国足球队在世界杯预选赛中取得胜利，主教练在新闻发布会上说球员们表现出色。"
TAIWAN = "中國足球隊在世界盃預選賽中取得勝利，總教練在記者會上表示球員們表現出色。"
KOREAN = "대한민국 축구 국가대표팀이 월드컵 예선에서 승리를 거두었다고 감독이 기자회견에서 말했다."
JAPANESE = "サッカー日本代表がワールドカップ予選で勝利を収め、監督は記者会見で選手たちをほめた。"
LATIN = "text/html; charset=iso-8859-1"
RUSSIAN = "Сборная России по футболу одержала победу в отборочном матче чемпионата мира."


def page(text: str, encoding: str, label: str = "") -> bytes:
    meta = f'<meta charset="{label}">' if label else ""
    head = f"<!DOCTYPE html><html><head>{meta}<title>{text}</title></head>"
    return f"{head}<body><p>{text}</p></body>".encode(encoding)


@cases(
    "body, header, encoding",
    (page(NEWS, "utf-8"), None, "utf-8"),
    (page(NEWS, "utf-8", "gb2312"), "text/html; charset=gbk", "utf-8"),
    (page(NEWS, "utf-8"), "text/html; charset=iso-8859-1", "utf-8"),
    *((page(NEWS, "gbk", label), LATIN, "gb18030") for label in ("", "iso-8859-1")),
    (page(JAPANESE, "shift_jis"), LATIN, "shift_jis"),
    (page(RUSSIAN, "cp1251"), LATIN, "windows-1251"),
    (page(NEWS, "gbk", "gb2312"), None, "gbk"),
    (page(NEWS, "gbk"), "text/html; charset=GB2312", "gbk"),
    (page(NEWS, "gbk"), None, "gb18030"),
    (page(NEWS, "gbk", "utf-8"), "text/html; charset=utf-8", "gb18030"),
    (page(NEWS, "gbk", "gbk"), "text/html; charset=utf-8", "gbk"),
    (page(NEWS, "gbk", "utf-8"), None, "gb18030"),
    (page(TAIWAN, "big5"), None, "big5"),
    (page(TAIWAN, "big5", "big5"), None, "big5"),
    (page(KOREAN, "euc-kr"), None, "euc-kr"),
    (page(JAPANESE, "euc-jp"), None, "euc-jp"),
    (page(JAPANESE, "shift_jis"), None, "shift_jis"),
    (page(JAPANESE, "iso2022_jp", "iso-2022-jp"), None, "iso-2022-jp"),
    (page(RUSSIAN, "cp1251"), None, "windows-1251"),
    (page(RUSSIAN, "koi8-r", "koi8-r"), None, "koi8-r"),
    (page(NEWS, "utf-16-le"), None, "utf-16le"),
    (page(NEWS, "utf-16-be"), None, "utf-16be"),
    (codecs.BOM_UTF8 + page(NEWS, "utf-8", "gbk"), "text/html; charset=big5", "utf-8"),
    (codecs.BOM_UTF16_LE + NEWS.encode("utf-16-le"), "text/html; charset=utf-8", "utf-16le"),
    (codecs.BOM_UTF16_BE + NEWS.encode("utf-16-be"), None, "utf-16be"),
)
def test_decode_returns_text_and_encoding(body: bytes, header: str | None, encoding: str) -> None:
    text, detected = decode(body, header)
    assert detected == encoding
    assert "\ufffd" not in text and "\ufeff" not in text
    assert any(sentence in text for sentence in (NEWS, TAIWAN, KOREAN, JAPANESE, RUSSIAN))


def test_decode_utf8_with_broken_character_stays_utf8() -> None:
    cut = page(NEWS, "utf-8") + "中".encode()[:2] + b"</html>"
    for header in (None, "text/html; charset=utf-8"):
        text, encoding = decode(cut, header)
        assert (encoding, text.count("\ufffd")) == ("utf-8", 1)


@cases(
    "body, header, want",
    (b"", None, ("", "utf-8")),
    (b"plain", None, ("plain", "utf-8")),
    (b"plain", "text/html; charset=gbk", ("plain", "gbk")),
    (b"caf\xe9", "text/html; charset=latin1", ("café", "windows-1252")),
    (b"Acme\xae boots, caf\xe9s", None, ("Acme® boots, cafés", "windows-1252")),
    (b"\xc3\x82 \xc2\xa0\xc2", LATIN, ("Ã‚ Â\xa0Â", "windows-1252")),
    (b"\xd6\xd0", "text/html; charset=zlib_codec", ("中", "gb18030")),
    (b"\xd6\xd0", "text/html; charset=idna", ("中", "gb18030")),
    ("é".encode(), "text/html; charset=gbk", ("茅", "gbk")),  # two bytes prove nothing
    *(("é".encode(), header, ("é", "utf-8")) for header in (None, LATIN)),
    (b"<meta charset=gbk>\xd6\xd0", LATIN, ("<meta charset=gbk>ÖÐ", "windows-1252")),
    (b"\xff", "text/html; charset=utf-8", ("\ufffd", "utf-8")),
    (b"x", "text/html; charset=iso-2022-kr", ("\ufffd", "replacement")),
    (b"\x80", "text/html; charset=x-user-defined", ("\uf780", "x-user-defined")),
)
def test_decode_short_bodies(body: bytes, header: str | None, want: tuple[str, str]) -> None:
    assert decode(body, header) == want


@settings(deadline=None)
@given(st.binary(max_size=300), st.none() | st.text(max_size=60))
@example(b"\x81\x30", "text/html;charset=gb18030")
@example(b"<meta charset=", None)
@example(b"<meta content='charset=\"", None)
def test_decode_any_bytes_never_raises(body: bytes, header: str | None) -> None:
    for prefix in (b"", b"<meta charset=", b"<meta http-equiv=content-type content='charset"):
        text, encoding = decode(prefix + body, header)
        text.encode("utf-8", "surrogatepass")
        assert encoding_from_label(encoding) == encoding


@settings(deadline=None)
@given(st.binary(max_size=40), st.sampled_from(
    ["gb18030", "big5", "euc-kr", "shift_jis", "euc-jp", "iso-2022-jp", "utf-16le", "windows-1255"]
))  # fmt: skip
def test_decode_as_any_bytes_returns_no_surrogates(body: bytes, encoding: str) -> None:
    decode_as(body, encoding).encode()


@pytest.mark.parametrize("charset", ["utf-8", "gb18030", "utf-16-le", "utf-8-sig"])
@given(st.text(max_size=40), st.binary(max_size=3))
def test_to_utf8_any_page_equals_encoded_decode(charset: str, text: str, broken: bytes) -> None:
    body = page(NEWS + text, charset) + broken
    decoded, encoding = decode(body)
    assert to_utf8(body) == (decoded.encode(), encoding)


@given(st.text(min_size=24, alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5)))
def test_decode_valid_utf8_ignores_label(text: str) -> None:
    assert decode(text.encode(), "text/html; charset=gb2312") == (text, "utf-8")


def test_codec_for_standard_labels_only() -> None:
    assert codec_for("\tGB2312 ") == codec_for("gbk") == "gb18030"
    assert codec_for("UTF8") == "utf-8"
    assert codec_for("latin1") == "cp1252"
    assert codec_for("ks_c_5601-1987") == "cp949"
    for wrong in (*"zlib_codec idna utf-7 utf_8 cp037 rot13 utf-32".split(), "", "\x0butf-8"):
        assert codec_for(wrong) is None
    for label in ("utf-8", "big5", "hz-gb-2312", "x-user-defined", "iso-8859-8-i", "koi8-u"):
        codecs.lookup(codec_for(label) or "")


DIGESTS = {
    # MD5 over all two-byte sequences 80-FF x 00-FF as an independent WHATWG decoder reads
    # them, one UTF-8 line each, but for the three pairs that codec.py names.
    "gb18030": "7f7facd0155cc06fd692cc90a58d1726",
    "big5": "fd8f99d2f6ff5471b134acb990e93954",
    "euc-kr": "a0657c8e620208602f7524f56df6d9c8",
    "shift_jis": "00468756063e4c86e4d0a22a8688740b",
    "euc-jp": "614c8736ba80cfcbd32607a51b129370",
}


@pytest.mark.parametrize("encoding", DIGESTS)
def test_decode_as_all_pairs_follow_the_standard(encoding: str) -> None:
    known = {("big5", b"\xa2\x41"), ("big5", b"\xa2\x42")}
    lines = [
        decode_as(pair, encoding)
        for lead in range(0x80, 0x100)
        for trail in range(0x100)
        if (encoding, pair := bytes((lead, trail))) not in known
    ]
    digest = hashlib.md5("\n".join(lines).encode(), usedforsecurity=False).hexdigest()
    assert digest == DIGESTS[encoding]


@cases(
    "encoding, body, text",
    ("gb18030", b"\x80", "€"),
    ("gb18030", b"\xa8\xbc\x81\x35\xf4\x37", "ḿ\ue7c7"),
    ("gb18030", b"\xa6\xd9\xa3\xa0", "︐\u3000"),
    ("gb18030", b"\x81\x30", "\ufffd"),
    ("gb18030", b"\x81\x30A", "\ufffd0A"),
    ("gb18030", b"\x81\x30\x81A", "\ufffd0丄"),
    ("gb18030", b"\xff\xd6\xd0", "\ufffd中"),
    ("gb18030", b"\xfe\x39\xfe\x39", "\ufffd"),
    ("big5", b"\x87\xdf\x88\x62\xa4\xa4", "鿋Ê̄中"),
    ("big5", b"\x83<p>", "\ufffd<p>"),
    ("euc-jp", b"\xad\xa1\xfc\xfc\x8f\xa2", "①￤\ufffd"),
    ("euc-jp", b"\x8f\xa2A", "\ufffdA"),
    ("shift_jis", b"\xa0\xfd\x82\xa0", "\ufffd\ufffdあ"),
    ("windows-1252", b"\x80\x81", "€\x81"),
    ("windows-1255", b"\xca", "\u05ba"),
    ("iso-8859-8", b"\xa1", "\ufffd"),
    ("koi8-u", b"\xae\xbe", "ўЎ"),
    ("iso-2022-jp", b"\x1b$B$\"\x1b(I1\x1b(J\\~\x1b(Bx\x0e", "あｱ¥‾x\ufffd"),
)  # fmt: skip
def test_decode_as_follows_the_encoding_standard(encoding: str, body: bytes, text: str) -> None:
    assert decode_as(body, encoding) == text


def test_decode_as_large_broken_body_uses_no_callbacks() -> None:
    assert decode_as(b"\xff" * 1_000_000, "big5") == "\ufffd" * 1_000_000


@cases(
    "html, encoding",
    (b"<meta charset=gbk>", "gbk"), (b"<META\nCHARSET = 'Big5' >", "big5"),
    (b"<meta/charset=utf-8>", "utf-8"),
    (b'<meta http-equiv="Content-Type" content="text/html; charset=gb2312">', "gbk"),
    (b'<meta content="text/html; charset=gb2312" http-equiv=content-type>', "gbk"),
    (b"<meta content='charset=gb2312'>", None),
    (b"<meta http-equiv=refresh content='charset=gb2312'>", None),
    (b"<meta charset=utf-16le>", "utf-8"), (b"<meta charset=x-user-defined>", "windows-1252"),
    (b"<meta charset=nonsense><meta charset=gbk>", "gbk"),
    (b"<meta charset=gbk charset=big5>", "gbk"),
    (b"<!-- <meta charset=gbk> --><meta charset=big5>", "big5"),
    (b"<!--><meta charset=big5>", "big5"),
    (b"<a title='<meta charset=gbk>'><meta charset=big5>", "big5"),
    (b"<a title=<meta charset=gbk>", None),
    (b"</p <meta charset=gbk><meta charset=big5>", "big5"),
    (b"<? x ><meta charset=gbk>", "gbk"), (b"<metadata charset=gbk>", None),
    (b"<meta charset='gbk", None), (b"<meta charset=gbk", None),
    (b'<?xml version="1.0" encoding="gb2312"?><p>', "gbk"),
    (b'<?xml version="1.0" encoding="utf-16"?><p>', "utf-8"), (b"<\0?\0x\0m\0l\0", "utf-16le"),
    (b" " * 3000 + b"<meta charset=gbk>", "gbk"), (b" " * 20000 + b"<meta charset=gbk>", None),
    (b"", None),
)  # fmt: skip
def test_prescan_encoding_declarations(html: bytes, encoding: str | None) -> None:
    assert prescan_encoding(html) == encoding


@cases(
    "header, encoding",
    ("text/html; charset=GBK", "gbk"),
    ("text/html; charset='gbk'", None),
    ('text/html; charset="g\\bk"', "gbk"),
    ('text/html; charset="gbk; x', None),
    ("text/html; charset=bogus; charset=gbk", None),
    ("text/html; charset=gbk; charset=big5", "gbk"),
    ("text/html; charset=; charset=gbk", "gbk"),
    ("text/html; x=\"charset=gbk\"; charset=big5", "big5"),
    ("text/html; charset = gbk", None),
    ("text/html; charset= gbk", "gbk"),
    ("charset=gbk", None),
    ("text; charset=gbk", None),
)  # fmt: skip
def test_charset_from_content_type_headers(header: str, encoding: str | None) -> None:
    assert charset_from_content_type(header) == encoding


def test_decode_mac_cyrillic_is_detected() -> None:
    text = "Сегодня вечером состоится матч между двумя сильнейшими командами страны. " * 5
    assert decode(text.encode("mac_cyrillic"), "text/html") == (text, "x-mac-cyrillic")
