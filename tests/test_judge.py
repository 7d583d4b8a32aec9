"""`focus judge`: samples of what crawls fetched, judged by people, and scores by these."""

import json
from pathlib import Path
from random import Random

import pytest

from focus.errors import ConfigError
from focus.evaluate.compare import compare
from focus.evaluate.pools import (
    PooledPage,
    SampledPage,
    answered,
    from_tsv,
    judged_score,
    pooled,
    sampled,
    to_tsv,
)
from focus.terminal.judging import summed_up
from tests.support import recorded
from tests.support.command import Focus, record, runner, settle


def page(url: str, said: str, weight: float = 1.0, stratum: str = "relevant, all") -> SampledPage:
    return SampledPage("t", url, said, stratum, weight)


def test_a_pool_has_each_page_once_and_knows_how_many_fetched_it() -> None:
    one = [("a", 0.9, True), ("b", 0.1, False)]
    assert pooled([one]) == [PooledPage("a", 1, 0.9, True), PooledPage("b", 1, 0.1, False)]
    both = pooled([one, [("a", 0.2, False)], [("a", 0.8, True)]])
    assert both == [PooledPage("a", 3, None, True), PooledPage("b", 1, None, False)]


def test_a_sample_has_every_stratum_and_stands_for_the_pool() -> None:
    pool = [PooledPage(f"{n}", 1, n / 100, n >= 90) for n in range(100)]
    drawn = sampled("t", pool, 40, Random(0))
    assert {each.stratum for each in drawn} == {
        "relevant, upper half", "relevant, lower half", "others, upper half", "others, lower half",
    }  # fmt: skip
    assert sum(each.weight for each in drawn) == pytest.approx(100, abs=1e-3)
    assert drawn == sampled("t", pool, 40, Random(0))


def test_judgments_are_kept_in_a_file_and_read_back() -> None:
    pages = [page("http://a/", "y", 2.5), page("http://b/", ""), page("http://c/", "p")]
    assert from_tsv(to_tsv(pages), "f") == pages
    with pytest.raises(ConfigError, match=r"is no judgments\.tsv"):
        from_tsv("url\n", "f")
    with pytest.raises(ConfigError, match="f:2: is not topic"):
        from_tsv(to_tsv(pages).replace("\ty\t", "\tmaybe\t"), "f")


def test_answers_come_from_a_file() -> None:
    pages = [page("http://a/", ""), page("http://b/", "")]
    found = answered(pages, "# mine\nhttp://b/ partly\n\nhttp://z/\tn\n", "f")
    assert [each.said for each in found] == ["", "p"]
    with pytest.raises(ConfigError, match="f:1"):
        answered(pages, "http://a/ perhaps not", "f")


def test_a_score_by_judgments_worked_number() -> None:
    judged = {"t": {1: page("a", "y"), 2: page("b", "n"), 3: page("c", "y", 4.0)}}
    found = judged_score("x", [{"t": {1: 1, 2: 2}}], judged, {"t": 4})
    assert (found.topics, found.judged) == (1, 2)
    assert (found.recall.value, found.harvest.value, found.auc.value) == (0.2, 0.5, 0.2)
    assert found.recall.low <= 0.2 <= found.recall.high


def test_what_a_sample_says_of_a_crawl() -> None:
    pages = [
        *(SampledPage("t", f"r{n}", "y" if n else "n", "relevant", 2.0, 0.9) for n in range(4)),
        *(SampledPage("t", f"o{n}", "n", "others", 4.0, 0.1) for n in range(3)),
        SampledPage("t", "o4", "p", "others", 4.0, 0.1),
    ]
    found = summed_up(pages, 24, 48)
    assert (found.on, found.partly, found.off) == (3, 1, 4)
    assert found.relevant.value == 0.75
    assert found.others.value == 0.125
    assert found.precision.value == pytest.approx((8 * 0.75 + 16 * 0.125) / 24)
    assert found.recall == pytest.approx(6 / 8)
    assert found.harvest is not None
    assert found.harvest.value == pytest.approx(found.precision.value / 2)
    assert [each.found for each in found.bins] == [0.125, 0.75]


# -- the command --------------------------------------------------------------------


@pytest.fixture
def focus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Focus:
    settle(tmp_path, monkeypatch)
    pages = {
        f"http://a.test/{n}": f"<!doctype html><meta charset=utf-8>"
        f"<title>{'足球' if n % 3 == 0 else '天气'} {n}</title>"
        f"<p>{'足球' if n % 3 == 0 else '天气'} {' '.join(f'w{n}x{i}' for i in range(60))}"
        f"<a href=/{2 * n + 1}>x</a><a href=/{2 * n + 2}>y</a>"
        for n in range(30)
    }
    record(tmp_path / "web.warc.gz", pages)
    return runner(capfd)


def crawled(focus: Focus, db: str, *more: str) -> None:
    where = ("--archive", "web.warc.gz", "--seed", "http://a.test/0", "--topic", "足球")
    assert focus("crawl", *where, "--workers", "1", "--db", db, *more).code == 0


def test_a_sitting_is_kept_and_gone_on_with(focus: Focus, tmp_path: Path) -> None:
    crawled(focus, "a.db")
    first = focus("judge", "--db", "a.db", "--number", "12", said="y\nn\np\ns\nq\n")
    assert first.code == 0
    assert "3 pages of 12 drawn judged: 1 on topic, 1 partly, 1 off" in first.out
    assert "1 of 12" in first.err
    assert "relevance" not in first.err  # the judge's opinion would lead
    rows = from_tsv((tmp_path / "judgments.tsv").read_text("utf-8"), "f")
    assert [each.said for each in rows[:4]] == ["y", "n", "p", ""]
    again = focus("judge", "--db", "a.db", "--number", "12", "--json", said="n\n" * 9)
    found = json.loads(again.out)
    assert (found["on"], found["partly"], found["off"], found["pages"]) == (1, 1, 10, 30)
    low, value, high = found["precision"][1], found["precision"][0], found["precision"][2]
    assert 0 <= low <= value <= high <= 1
    assert found["harvest"][0] < value  # robots.txt and failures are requests, too


def test_a_line_that_is_no_answer_ends_it_and_what_was_said_is_kept(focus: Focus) -> None:
    crawled(focus, "a.db")
    ended = focus("judge", "--db", "a.db", said="y\nmaybe not\n")
    assert ended.code == 2
    assert "line 2: 'maybe not' is not y, n, p, s or q" in ended.err
    assert "1 page of" in focus("judge", "--db", "a.db", said="").out


def test_crawls_are_pooled_and_compared_by_judgments(focus: Focus, tmp_path: Path) -> None:
    crawled(focus, "a.db", "--strategy", "bfs", "--max-pages", "10")
    crawled(focus, "b.db", "--strategy", "dfs", "--max-pages", "10")
    asked = ("judge", "--pool", "a.db,b.db", "--number", "9")
    said = "".join(f"http://a.test/{n}\t{'y' if n % 3 == 0 else 'n'}\n" for n in range(30))
    (tmp_path / "said").write_text(said)
    ended = focus(*asked, "--answers", "said")
    assert ended.code == 0
    assert "9 pages of 9 drawn judged" in ended.out
    assert "Calibration" not in ended.out  # of several judges there is none
    crawled(focus, "c.db", "--max-pages", "5")
    other = focus("judge", "--db", "c.db", "--depth", "3", "-o", "c.tsv", "--answers", "said")
    assert "per request" not in other.out
    assert focus("judge", "--pool", "a.db,nowhere.db").code == 2


def test_compare_scores_by_judgments(tmp_path: Path) -> None:
    recorded.record(tmp_path)
    judged = [
        SampledPage("football", f"{recorded.HOST}/g/{n}", "y", "relevant", 3.0) for n in range(4)
    ]
    judged += [SampledPage("football", f"{recorded.HOST}/b/0", "n", "others", 8.0)]
    judged += [SampledPage("football", "http://elsewhere.test/", "n", "others", 8.0)]
    file = tmp_path / "judgments.tsv"
    file.write_text(to_tsv(judged), encoding="utf-8")
    found = compare(recorded.spec(tmp_path, "bfs", "best-link", judgments=file))
    scores = {each.variant.partition("/")[0]: each for each in found.judged}
    assert scores["best-link"].recall.value == scores["bfs"].recall.value == 1.0
    assert scores["best-link"].auc.value > scores["bfs"].auc.value
    assert 0 < scores["bfs"].harvest.value < 1
    assert any(each.what == "judged pages that are not in the archive" for each in found.remarks)
    file.write_text(to_tsv([SampledPage("football", "http://no.test/", "y", "x", 1.0)]))
    with pytest.raises(ConfigError, match="has no judgment of these topics"):
        compare(recorded.spec(tmp_path, "bfs", judgments=file))
