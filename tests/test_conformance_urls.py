"""URLs against the cases of others: WPT, urlcanon, crawler-commons, courlan, w3lib, the PSL.

Where another library's table wants something else on purpose, the table `DEVIATIONS` says
why `focus` does not; `same_but_for_form` holds the differences that are one rule each.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from focus.text.codecs import escape_query
from focus.urls.normal_form import UrlJoiner, duplicate_key, normalise, registrable_domain
from tests.support.cases import cases

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


# Tables that record what other normalisers do

HTML = "undoing HTML escapes, CDATA and broken markup is the parser's work"
JUDGED = "an opinion about what is worth visiting: allow/deny rules and the strategy decide that"
MEANT = "the parameter may have a meaning; only well-known tracking names are dropped"
PARENT = "www. and the bare domain are two hosts; a redirect or canonical link joins them"
REDECODED = "unescaping more than once makes a different address"
STANDARD = "the URL Standard reads it in this way"
UNICODE = "host names stay in punycode"
SLASHES = "an empty path segment may have a meaning; servers differ"
CP1251 = "the page's encoding is not given here; UrlJoiner(base, encoding) does it"

_DEVIATIONS = {
    SLASHES: """
        http://foo.com//aa//bb//foo.html https://hanxiao.io//404.html
        http://example.com/something/;jsessionid=E85FAC04E331FFCA55549B10B7C7A4FA
    """,
    STANDARD: """
        http://///// http://example.com?,http://example.com/ http:%/ http:/%2e%2e%2e/a/b
        http:///%2e/a/b http://\x01\x80.com/ http://â\x98\x83.net/
        http://example.com/â\x80®/foo/â\x80\xad/bar http://@:@@host/a/b
        http://test.org/#mtm_campaign=documentation&mtm_keyword=demo&catpage=3 http://0127.0.0.1
        http://2001:0db8:85a3:0000:0000:8a2e:0370:7334 http://1234
    """,
    MEANT: """
        http://foo.com/index?&=1&a=1 http://test.org/?aftr_source=0
        http://test.net/foo.html?testid=1
        http://www.case-modder.de/index.php?sec=artikel&id=68&page=1
        https://httpbun.org/redirect-to?url=http%3A%2F%2Fexample.org
    """,
    PARENT: """
        http://www.foo.com/ http://www.foo.com http://www.example.com/index.html
        http://www.chub.org:443/foo
    """,
    REDECODED: """
        http://host/%%300 http://host/?%25%2536%2531 http://host/asdf%25%32%35asd
    """,
    HTML: """
        https://example.org/abc< <![CDATA[https://www.dwds.de]]>
        https://www.dwds.de/test?param=test&amp;other=test https://g__https://www.dwds.de/
    """,
    JUDGED: """
        https://twitter.com/share?&text=Le%20sabre%20de%20bambou%20%232&via=NouvellesJapon&url=https://nouvellesdujapon.com/le-sabre-de-bambou-2
        http://test.net/foo.html?page=2&lang=en http://livecams.com/
        https://denkiterm.wordpress.com/impressum/ http://www.example.org/index.html
        http://concordia-hagen.de/de/impressum
        https://de.nachrichten.other.com/bundesliga-schiri-boss-fr%C3%B6hlich-f%C3%BCr-175850830.html
        http://0.gravata.html https://httpbun.org/status/404 http://www.a.b/ http://localhost/
        http://a.b/
    """,
    UNICODE: "http://xn--Mnchen-3ya.de",
    "`?1750,4` and `?1750%2C4=` are two addresses": "http://www.example.com/do?1750,4",
    CP1251: """
        http://www.example.com/résumé?country=Россия http://www.example.com/£?unit=µ
    """,
    "nothing is sorted, whatever the separator": "http://www.example.com/do?c=1;b=2;a=3",
    "credentials are dropped": "http://@ho@st/a/b",
}
DEVIATIONS = {url: why for why, urls in _DEVIATIONS.items() for url in urls.split()}


def same_but_for_form(want: str | None, got: str | None) -> bool:
    """Compare two URLs without the differences that are intended.

    other schemes are not crawled · fragments and credentials are never requested ·
    an empty path is `/` · ours sorts no query · `b=` and `b`, `+` and `%20`, and `&`
    without a parameter are kept as they are · the key folds https and default ports
    """

    def plain(url: str) -> tuple[str, list[str]]:
        address, _, query = duplicate_key(normalise(url) or "").partition("?")
        parameters = query.replace("+", "%20").split("&")
        return address, sorted(p.removesuffix("=") for p in parameters if p)

    if want is None or got is None:
        return want == got or (got is None and requested(want or "") is None)
    return plain(want) == plain(got)


@cases(
    "file, given_key, expected",
    ("cc_weird", "url", "normal"),
    ("urlcanon_aggressive", "input", "expected"),
    ("urlcanon_semantic_precise", "input", "expected"),
    ("urlcanon_supplemental_whatwg", "input", "expected"),
)
def test_archive_normalisers_differ_as_documented(file: str, given_key: str, expected: str) -> None:
    unexplained = []
    for row in rows(f"url-normal/{file}.json"):
        typed = row[given_key]
        if "://" not in typed.partition("?")[0] and ":" not in typed:
            continue  # a bare host: that is `seed_candidates`
        got = normalise(typed)
        if not same_but_for_form(row[expected], got) and typed not in DEVIATIONS:
            unexplained.append((typed, row[expected], got))
    assert not unexplained


@cases(
    "file",
    "courlan_clean_url", "courlan_normalize_url", "courlan_scrub_url", "courlan_check_url",
    "w3lib_canonicalize_url", "w3lib_safe_url_string", "w3lib_safe_download_url",
)  # fmt: skip
def test_url_libraries_agree_or_deviation_is_listed(file: str) -> None:
    unexplained = []
    for row in rows(f"url-normal/{file}.json"):
        typed, want = row["args"][0], row.get("result")
        if not isinstance(typed, str):
            continue  # bytes, split results and other Python objects
        want = want[0] if isinstance(want, list) else want
        got = normalise(typed)
        if not same_but_for_form(want, got) and typed not in DEVIATIONS:
            unexplained.append((typed, want, got))
    assert not unexplained


def test_relative_references_of_other_tables() -> None:
    for row in rows("url-normal/cc_resolve.json"):
        assert normalise(row["input"], row["base"] or None) == requested(row["url"]), row
    for row in rows("url-normal/courlan_fix_relative_urls.json"):
        base, href = row["args"]
        assert same_but_for_form(row["result"], normalise(href, base)), row


def test_validity_as_other_tables_see_it() -> None:
    assert all(normalise(row["row"][0]) is None for row in rows("url-normal/cc_invalid.json"))
    for file in ("courlan_is_valid_url", "w3lib_is_url"):
        for row in rows(f"url-normal/{file}.json"):
            typed = row["args"][0]
            valid = normalise(typed) is not None
            assert valid == row["result"] or typed in DEVIATIONS, row


def test_listed_deviations_are_rows_of_the_tables() -> None:
    urls_in_tables = set()
    for file in (CASES / "url-normal").glob("*.json"):
        for row in json.loads(file.read_text(encoding="utf-8")):
            typed = row.get("url", row.get("input", (row.get("args") or [None])[0]))
            if isinstance(typed, str):
                urls_in_tables.add(typed)
    if not urls_in_tables:
        pytest.skip("url-normal: conformance data not here (set FOCUS_SHARED)")
    assert set(DEVIATIONS) <= urls_in_tables
