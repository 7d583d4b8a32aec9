"""Tests of the decision between a failing host and an outage of the local network."""

from __future__ import annotations

from focus.engine.connectivity import MAX_PAUSE_S, Connectivity, Verdict, is_answer, portal_site
from focus.records import FailureKind as K
from focus.records import FetchResult
from tests.support.cases import cases


def fetch(kind: K | None, at: float = 0.0, **more: object) -> FetchResult:
    return FetchResult("http://x.test/", at, failure=kind, detail="why", **more)  # type: ignore[arg-type]


def make_series(text: str, *, probes: str = "") -> Connectivity:
    """Record answers (`a+`) and failures (`a:dns`); probes of the hosts `probes` fail."""
    connectivity = Connectivity()
    for at, part in enumerate(text.split()):
        host, _, kind = part.rstrip("+").partition(":")
        if part.endswith("+"):
            connectivity.record_answer(host, f"http://{host}", float(at))
        else:
            connectivity.record_failure(host, f"http://{host}", fetch(K(kind), float(at)))
    for host in probes.split():
        connectivity.record_failure(host, f"http://{host}", fetch(K.TIMEOUT, 99.0), is_probe=True)
    return connectivity


@cases(
    "text, probes, is_idle, verdict",
    ("", "", True, Verdict.UNDECIDED),
    ("a:connect", "", False, Verdict.UNDECIDED),
    ("a:connect", "", True, Verdict.HOSTS),
    ("a+ a:connect a:connect a:connect", "", True, Verdict.HOSTS),
    ("a:dns", "", True, Verdict.HOSTS),
    ("a:timeout a:timeout a:timeout", "", True, Verdict.HOSTS),
    ("a+ a:timeout", "", True, Verdict.SUSPECTED),
    ("a+ a:timeout a:timeout a:timeout", "", True, Verdict.SUSPECTED),
    ("a+ a:timeout a:timeout", "a", True, Verdict.NETWORK),
    ("a:unreachable a:dns-temporary", "", True, Verdict.SUSPECTED),
    ("a:unreachable a:dns-temporary", "a", True, Verdict.HOSTS),  # it only was silent
    ("a:unreachable a:unreachable a:dns-temporary", "", True, Verdict.SUSPECTED),
    ("a:unreachable a:unreachable a:unreachable", "", False, Verdict.UNDECIDED),
    ("a:connect b:connect c:dns", "", False, Verdict.UNDECIDED),
    ("a:connect b:connect c:dns", "", True, Verdict.HOSTS),
    ("a:connect b:connect c:unreachable", "", False, Verdict.SUSPECTED),
    ("a+ a:connect b:connect", "", False, Verdict.SUSPECTED),
    ("a+ b:connect c:connect", "a", False, Verdict.NETWORK),
    ("a+ b+ c+ a:dns b:dns", "", False, Verdict.UNDECIDED),
    ("a+ b+ c+ a:dns b:dns c:dns", "", False, Verdict.SUSPECTED),
    ("a+ b+ c+ a:dns b:dns c:dns", "c", False, Verdict.NETWORK),
    ("a+ b+ c+ a:dns b:dns c:dns d+", "", True, Verdict.UNDECIDED),
)
def test_judge_failures_by_cause(text: str, probes: str, is_idle: bool, verdict: Verdict) -> None:
    assert make_series(text, probes=probes).judge(is_idle=is_idle) is verdict


def test_record_answer_from_before_the_series_does_not_end_it() -> None:
    connectivity = make_series("a+ a:dns b:dns c:dns")
    assert not connectivity.record_answer("d.test", "http://d.test", 0.5)
    assert connectivity.judge(is_idle=False) is Verdict.SUSPECTED
    assert connectivity.record_answer("d.test", "http://d.test", 9.0)
    assert connectivity.judge(is_idle=False) is Verdict.UNDECIDED


def test_record_answer_to_probe_doubles_hosts_of_wide_series() -> None:
    connectivity = make_series("a+ b+ c+ d:dns e:dns f:timeout")
    assert connectivity.judge(is_idle=False) is Verdict.SUSPECTED
    connectivity.record_answer("a", "http://a", 20.0, is_probe=True)
    for number, host in enumerate("ghijkl"):
        assert connectivity.judge(is_idle=False) is Verdict.UNDECIDED
        connectivity.record_failure(host, f"http://{host}", fetch(K.TIMEOUT, 30.0 + number))
    assert connectivity.judge(is_idle=False) is Verdict.SUSPECTED, "six, not three"


def test_probe_pause_after_each_failed_probe_doubles() -> None:
    connectivity = make_series("a+ a:dns b:dns")
    pauses = []
    for _ in range(7):
        connectivity.record_failure("a", "http://a", fetch(K.TIMEOUT), is_probe=True)
        pauses.append(connectivity.probe_pause_s())
    assert pauses == [2.0, 4.0, 8.0, 16.0, MAX_PAUSE_S, MAX_PAUSE_S, MAX_PAUSE_S]


@cases(
    "result, answers, doubtful",
    (fetch(None), True, False),
    (fetch(K.HTTP_5XX, status=500), True, False),
    (fetch(K.PROTOCOL), True, False),
    (fetch(K.TLS), False, True),
    (fetch(K.GUARD), False, True),
    (fetch(K.CONNECT), False, True),
    (fetch(K.RESET, status=200), False, True),
    (fetch(K.TIMEOUT), False, True),
    (fetch(K.HTTP_5XX, status=511), True, True),
)
def test_is_answer_and_is_doubtful(result: FetchResult, answers: bool, doubtful: bool) -> None:
    assert (is_answer(result), Connectivity().is_doubtful(result)) == (answers, doubtful)


def redirect(to: str, status: int = 302, url: str = "http://x.test/") -> FetchResult:
    return FetchResult(url, 0.0, status=status, redirect_to=to)


@cases(
    "result, site",
    (redirect("https://login.hotel.test/?to=x"), "hotel.test"),
    (redirect("http://10.0.0.1/"), "10.0.0.1"),
    (redirect("http://hotel.test/", status=301), None),
    (redirect("http://hotel.test/", url="https://x.test/"), None),
    (redirect("http://www.x.test/"), None),
    (redirect("http://b.a.test/", url="http://c.a.test/"), None),
    (redirect("http://x.test/other"), None),
)
def test_portal_site_of_redirect_gives_foreign_site(result: FetchResult, site: str | None) -> None:
    assert portal_site(result) == site


def test_is_doubtful_after_eight_redirects_of_one_host_is_false() -> None:
    connectivity = Connectivity()
    for _ in range(8):
        assert connectivity.is_doubtful(redirect("http://long.test/"))
        connectivity.record_failure("x.test", "http://x.test", redirect("http://long.test/"))
    assert not connectivity.is_doubtful(redirect("http://long.test/"))
    assert not connectivity.is_doubtful(redirect("http://other.test/")), (
        "no log-in is in two places"
    )
