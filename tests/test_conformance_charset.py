"""Charsets against the cases of others: html5lib, WHATWG decoders, MIME types, real pages."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from focus.text.charset import charset_from_content_type, decode
from focus.text.codecs import decode_as, encoding_from_label

SHARED = Path(os.environ.get("FOCUS_SHARED", Path(__file__).parents[2] / "shared"))
CASES = SHARED / "conformance" / "encoding"
pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="conformance data not here (set FOCUS_SHARED)"
)


def rows(name: str) -> list[Any]:
    data: list[Any] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return data


def test_prescan_encoding_html5lib_cases() -> None:
    wrong = []
    cases = [row for row in rows("html5lib_prescan.json") if "scripted" not in row["file"]]
    for row in cases:
        body = bytes.fromhex(row["data_hex"])
        got = decode(body)[1]
        if (
            body.isascii()
            and got == "utf-8"
            and encoding_from_label(row["encoding"]) == "windows-1252"
        ):
            continue  # nothing declared, nothing beyond ASCII: the same text by either name
        if got != encoding_from_label(row["encoding"]):
            wrong.append((body[:200], row["encoding"], got))
    assert len(cases) > 20
    assert not wrong


@pytest.mark.parametrize("encoding", ["big5", "euc-jp", "euc-kr", "gb18030", "shift_jis"])
def test_decode_as_whatwg_cases(encoding: str) -> None:
    for row in rows(f"decode_{encoding}.json"):
        assert decode_as(bytes.fromhex(row["hex"]), encoding) == row["text"], row["hex"]


def test_decode_as_gbk_pointers() -> None:
    """The test these come from takes pointer % 190 itself as the trail byte."""
    for row in rows("gbk_pointers.json"):
        pair = bytes((row["pointer"] // 190 + 0x81, row["pointer"] % 190))
        assert decode_as(pair, "gbk") == row["text"]


def test_charset_from_content_type_whatwg_cases() -> None:
    for row in rows("mime_charset.json"):
        known = row["encoding"] not in (None, "PARSE-FAILURE")
        want = encoding_from_label(row["encoding"]) if known else None
        assert charset_from_content_type(row["header"]) == want, row["header"]


TRUE_ENCODING = {
    "utf-8-sig": "utf-8",
    "GB2312": "gbk",
    "windows-1251-bulgarian": "windows-1251",
    "windows-1251-russian": "windows-1251",
    "windows-1255-hebrew": "windows-1255",
    "UTF-32LE": None,  # no encoding of the web
}


@pytest.mark.parametrize("with_label", [True, False])
def test_decode_real_pages_with_and_without_label(with_label: bool) -> None:
    wrong, count = [], 0
    for file in sorted((CASES / "realpages").glob("*/*")):
        folder = file.parent.name
        want = TRUE_ENCODING.get(folder, encoding_from_label(folder))
        if want is None:
            continue
        body = file.read_bytes()
        if not with_label:
            body = re.sub(rb"(?i)encoding=|charset=", b"", body)
        count += 1
        got = decode(body)[1]
        if got != want and {got, want} != {"gb18030", "gbk"}:
            wrong.append((folder, file.name, got))
    assert count > 30
    assert len(wrong) <= 0.02 * count, wrong
