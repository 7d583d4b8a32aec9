"""URLs against the cases of others: WPT, urlcanon, crawler-commons, the public suffix list."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from focus.text.codecs import escape_query
from focus.urls.normal_form import UrlJoiner, duplicate_key, normalise, registrable_domain

SHARED = Path(os.environ.get("FOCUS_SHARED", Path(__file__).parents[2] / "shared"))
CASES = SHARED / "conformance"


def rows(name: str) -> list[Any]:
    file = CASES / name
    if not file.exists():
        pytest.skip(f"{name}: conformance data not here (set FOCUS_SHARED)")
    data: list[Any] = json.loads(file.read_text(encoding="utf-8"))
    return [row for row in data if not isinstance(row, str)]


def requested(href: str) -> str | None:
    """What `normalise` is to give for a WHATWG href: web only, without fragment, credentials
    and the last dot of a name.
    """
    if not href.startswith(("http://", "https://")):
        return None
    scheme, _, rest = href.partition("#")[0].partition("//")
    authority, slash, tail = rest.partition("/")
    name, colon, port = authority.rpartition("@")[2].partition(":")
    name = re.sub(r"(?<=[^.])\.$", "", name)
    return f"{scheme}//{name}{colon}{port}{slash}{tail}"


@pytest.mark.parametrize("file", ["urltestdata", "ada_extra_urltestdata"])
def test_wpt_urls_are_serialised_or_rejected_as_browsers_do(file: str) -> None:
    wrong = []
    for row in rows(f"wpt-url/{file}.json"):
        want = None if row.get("failure") else requested(row["href"])
        base = row.get("base")
        got = [normalise(row["input"], base)]
        if base is not None:
            got.append(UrlJoiner(base).join(row["input"]))
        if any(url != want for url in got):
            wrong.append((row["input"], base, want, got))
    assert not wrong


@pytest.mark.parametrize("file", ["toascii", "IdnaTestV2"])
def test_idna_hosts_become_punycode_or_are_rejected(file: str) -> None:
    wrong = []
    for row in rows(f"wpt-url/{file}.json"):
        want = requested(f"https://{row['output']}/x") if row["output"] else None
        if normalise(f"https://{row['input']}/x") != want:
            wrong.append(row)
    assert not wrong


def test_queries_are_escaped_in_the_encoding_of_the_page() -> None:
    deviations = {("\ue5e5", "gb18030")}  # the standard excludes U+E5E5, Python's codec has it
    skipped = {"utf-8", "iso-2022-jp"}  # iso-2022-jp pages are served as UTF-8 here: stateful
    for row in rows("wpt-url/percent-encoding.json"):
        for encoding, want in row["output"].items():
            if encoding in skipped or (row["input"], encoding) in deviations:
                continue
            got = normalise("http://h/?" + escape_query(row["input"], encoding))
            assert got == "http://h/?" + want, (row["input"], encoding)


def test_public_suffix_cases() -> None:
    for row in rows("publicsuffix/cases.json"):
        if row["domain"]:
            domain = row["domain"].lower()
            assert registrable_domain(domain) == (row["registrable"] or domain), domain


def test_ipv4_in_all_its_spellings() -> None:
    for row in rows("url-normal/urlcanon_funky_ipv4.json"):
        want = row["expected"] and f"http://{row['expected']}/"
        assert normalise(f"http://{row['input']}/") == want, row


def test_dot_segments() -> None:
    special = next(
        row for row in rows("url-normal/urlcanon_path_dots.json") if row["input"] == "special"
    )
    for path, want in special["expected"].items():
        slashed = want.replace("\\", "/")  # as the URL Standard reads a backslash
        assert normalise(f"http://h{path}") == f"http://h{slashed}", path


def test_session_ids_in_paths() -> None:
    table = next(
        row for row in rows("url-normal/urlcanon_surt.json") if row["input"] == "stripPathSessionId"
    )
    for path, want in table["expected"].items():
        assert duplicate_key(normalise(f"http://h{path}") or "") == f"http://h{want}", path


def test_idempotence_list() -> None:
    for row in rows("url-normal/urlcanon_idempotence.json"):
        url = normalise(row["input"])
        assert url is None or normalise(url) == url


def test_relative_references_of_other_tables() -> None:
    for row in rows("url-normal/cc_resolve.json"):
        assert normalise(row["input"], row["base"] or None) == requested(row["url"]), row


def test_validity_as_other_tables_see_it() -> None:
    assert all(normalise(row["row"][0]) is None for row in rows("url-normal/cc_invalid.json"))
