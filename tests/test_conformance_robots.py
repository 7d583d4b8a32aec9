"""robots.txt cases by others (../shared/conformance/robots), where they are at hand."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from focus.http.robots import Robots

SHARED = Path(os.environ.get("FOCUS_SHARED", Path(__file__).parents[2] / "shared"))
CASES = SHARED / "conformance" / "robots"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no conformance cases in {CASES}")

# Where protego and Google's parser (with RFC 9309) contradict each other, Google is
# followed: the specification cases demand it. Test name -> why.
DEVIATIONS = {
    "test_allowed_wildcards": "an agent's name ends at a digit (RFC 9309 2.2.1)",
    "test_1996rfc_examples": "an agent's name ends at a digit (RFC 9309 2.2.1)",
    "test_grouping_unknown_keys": "unknown lines do not end a group (RFC 9309 2.2.4)",
    "test_special_symbols_dual_behaviour": "a final $ is an anchor only (RFC 9309 2.2.3)",
    "group3-hedwig-new]": "an agent is its whole name, not a prefix (RFC 9309 2.2.1)",
    "group3-hedwig-images]": "an agent is its whole name, not a prefix (RFC 9309 2.2.1)",
}
# Directives that focus does not read.
OTHER_FUNCTIONS = {"request_rate", "visit_time"}


def load(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return cases


@pytest.mark.parametrize("name", ["google_cc.json", "google_spec.json"])
def test_allows_google_cases_agree(name: str) -> None:
    wrong = [
        case
        for case in load(name)
        if not case["url"].endswith("/robots.txt")  # always allowed (RFC 9309 2.2.2)
        and Robots.parse(bytes.fromhex(case["robots_hex"])).allows(case["url"], case["agent"])
        is not case["allowed"]
    ]
    assert wrong == []


def test_allows_protego_cases_agree_or_are_listed() -> None:
    wrong, counted = set(), 0
    for case in load("protego.json"):
        if case["fn"] in OTHER_FUNCTIONS:
            continue
        counted += 1
        robots = Robots.parse(case["robots"].encode())
        ask = robots.allows if case["fn"] == "can_fetch" else robots.crawl_delay
        if ask(*case["args"]) != case["result"]:
            wrong.add(case["test"].split("::")[-1])
    assert counted > 100
    assert wrong == set(DEVIATIONS)


def test_parse_real_files() -> None:
    for path in [*(CASES / "real").iterdir(), *(CASES / "files").iterdir()]:
        robots = Robots.parse(path.read_bytes())
        assert robots.allows("http://a.test/some/path?x=y", "focus") in (True, False), path.name
