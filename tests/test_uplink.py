"""Outages of our own network are told from hosts that fail."""

from __future__ import annotations

import pytest

from focus.engine.uplink import LONGEST_PAUSE_S, Uplink, Verdict, is_answer, sent_away
from focus.records import FailureKind as K
from focus.records import FetchResult


def fetch(kind: K | None, at: float = 0.0, **more: object) -> FetchResult:
    return FetchResult("http://x.test/", at, failure=kind, detail="why", **more)  # type: ignore[arg-type]


def row(text: str, *, tries: str = "") -> Uplink:
    """`a+` answers; `a:dns` fails; the hosts of `tries` failed when asked for that alone."""
    uplink = Uplink()
    for at, each in enumerate(text.split()):
        host, _, kind = each.rstrip("+").partition(":")
        if each.endswith("+"):
            uplink.answered(host, f"http://{host}", float(at))
        else:
            uplink.failed(host, f"http://{host}", fetch(K(kind), float(at)))
    for host in tries.split():
        uplink.failed(host, f"http://{host}", fetch(K.TIMEOUT, 99.0), is_try=True)
    return uplink


@pytest.mark.parametrize(
    ("text", "tries", "is_idle", "verdict"),
    [
        ("", "", True, Verdict.NONE),
        ("a:connect", "", False, Verdict.NONE),
        ("a:connect", "", True, Verdict.THEIRS),
        ("a+ a:connect a:connect a:connect", "", True, Verdict.THEIRS),
        ("a:dns", "", True, Verdict.THEIRS),
        ("a:timeout a:timeout a:timeout", "", True, Verdict.THEIRS),
        ("a+ a:timeout", "", True, Verdict.SUSPECT),
        ("a+ a:timeout a:timeout a:timeout", "", True, Verdict.SUSPECT),
        ("a+ a:timeout a:timeout", "a", True, Verdict.OURS),
        ("a:unreachable a:dns-temporary", "", True, Verdict.SUSPECT),
        ("a:unreachable a:dns-temporary", "a", True, Verdict.THEIRS),  # it only was silent
        ("a:unreachable a:unreachable a:dns-temporary", "", True, Verdict.SUSPECT),
        ("a:unreachable a:unreachable a:unreachable", "", False, Verdict.NONE),
        ("a:connect b:connect c:dns", "", False, Verdict.NONE),
        ("a:connect b:connect c:dns", "", True, Verdict.THEIRS),
        ("a:connect b:connect c:unreachable", "", False, Verdict.SUSPECT),
        ("a+ a:connect b:connect", "", False, Verdict.SUSPECT),
        ("a+ b:connect c:connect", "a", False, Verdict.OURS),
        ("a+ b+ c+ a:dns b:dns", "", False, Verdict.NONE),
        ("a+ b+ c+ a:dns b:dns c:dns", "", False, Verdict.SUSPECT),
        ("a+ b+ c+ a:dns b:dns c:dns", "c", False, Verdict.OURS),
        ("a+ b+ c+ a:dns b:dns c:dns d+", "", True, Verdict.NONE),
    ],
)
def test_what_a_row_means(text: str, tries: str, is_idle: bool, verdict: Verdict) -> None:
    assert row(text, tries=tries).verdict(is_idle=is_idle) is verdict


def test_an_answer_from_before_ends_nothing() -> None:
    uplink = row("a+ a:dns b:dns c:dns")
    assert not uplink.answered("d.test", "http://d.test", 0.5)
    assert uplink.verdict(is_idle=False) is Verdict.SUSPECT
    assert uplink.answered("d.test", "http://d.test", 9.0)
    assert uplink.verdict(is_idle=False) is Verdict.NONE


def test_a_false_alarm_makes_the_next_one_rarer() -> None:
    uplink = row("a+ b+ c+ d:dns e:dns f:timeout")
    assert uplink.verdict(is_idle=False) is Verdict.SUSPECT
    uplink.answered("a", "http://a", 20.0, is_try=True)
    for number, host in enumerate("ghijkl"):
        assert uplink.verdict(is_idle=False) is Verdict.NONE
        uplink.failed(host, f"http://{host}", fetch(K.TIMEOUT, 30.0 + number))
    assert uplink.verdict(is_idle=False) is Verdict.SUSPECT, "six, not three"


def test_tries_are_further_and_further_apart() -> None:
    uplink = row("a+ a:dns b:dns")
    pauses = []
    for _ in range(7):
        uplink.failed("a", "http://a", fetch(K.TIMEOUT), is_try=True)
        pauses.append(uplink.pause_s())
    assert pauses == [2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]


@pytest.mark.parametrize(
    ("result", "answer", "doubted"),
    [
        (fetch(None), True, False),
        (fetch(K.HTTP_5XX, status=500), True, False),
        (fetch(K.PROTOCOL), True, False),
        (fetch(K.TLS), False, True),
        (fetch(K.GUARD), False, True),
        (fetch(K.CONNECT), False, True),
        (fetch(K.RESET, status=200), False, True),
        (fetch(K.TIMEOUT), False, True),
        (fetch(K.HTTP_5XX, status=511), True, True),
    ],
)
def test_what_proves_something(result: FetchResult, answer: bool, doubted: bool) -> None:
    assert (is_answer(result), Uplink().doubts(result)) == (answer, doubted)


def redirect(to: str, status: int = 302, url: str = "http://x.test/") -> FetchResult:
    return FetchResult(url, 0.0, status=status, redirect_to=to)


@pytest.mark.parametrize(
    ("result", "site"),
    [
        (redirect("https://login.hotel.test/?to=x"), "hotel.test"),
        (redirect("http://10.0.0.1/"), "10.0.0.1"),
        (redirect("http://hotel.test/", status=301), None),
        (redirect("http://hotel.test/", url="https://x.test/"), None),
        (redirect("http://www.x.test/"), None),
        (redirect("http://b.a.test/", url="http://c.a.test/"), None),
        (redirect("http://x.test/other"), None),
    ],
)
def test_who_sends_away(result: FetchResult, site: str | None) -> None:
    assert sent_away(result) == site


def test_a_host_whose_way_it_is_to_send_away_is_believed_in_the_end() -> None:
    uplink = Uplink()
    for _ in range(8):
        assert uplink.doubts(redirect("http://long.test/"))
        uplink.failed("x.test", "http://x.test", redirect("http://long.test/"))
    assert not uplink.doubts(redirect("http://long.test/"))
    assert not uplink.doubts(redirect("http://other.test/")), "no log-in is in two places"
