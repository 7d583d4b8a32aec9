"""The papers' experiments: their files, the web they run on, and the verdicts."""

from pathlib import Path
from typing import Any

import pytest

from bench.papers import experiment as files
from bench.papers import outcome, portal, run
from focus.archive.replay import Archive
from focus.score.parameters import default_params
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class
from tests.support.cases import cases

PAPERS = Path(__file__).parents[1] / "bench" / "papers"


def test_experiments_are_valid_and_name_existing_strategies() -> None:
    experiments = files.experiments(PAPERS, [])
    assert sorted(experiments) == ["p1-1", "p1-2", "p2", "p3", "p5"]
    for name, experiment in experiments.items():
        variants = experiment.list_ways()
        assert len({way.name for way in variants}) == len(variants), name
        for way in variants:
            published = way.form == "published"
            kind = strategy_class(way.strategy)
            assert way.params.keys() <= default_params(kind, as_published=published).keys()
            model_class(way.model)
        names = {way.name for way in variants}
        for claim in experiment.claim:
            for form in ("as published", "tuned"):
                for side in (claim.better, claim.worse):
                    assert not side or f"{side}, {form}" in names, (name, claim.text)
        assert all(claim.paper for claim in experiment.claim)
        assert experiment.topic in ("keywords", "p4", "p5")
        assert experiment.other.keys() <= {"generated", "recorded"}


def test_ways_are_guided_by_the_model_of_their_form() -> None:
    p5 = files.experiments(PAPERS, ["p5"])["p5"]
    models = {way.name: way.model for way in p5.list_ways()}
    assert models["gene-authority, as published"] == "adaptive"
    assert models["pagerank, as published"] == "cosine"  # named: P5's, not P1's
    assert models["gene-authority, tuned"] == "evidence"


def test_alpha_runs_from_0_to_1_in_both_forms() -> None:
    p3 = files.experiments(PAPERS, ["p3"])["p3"]
    swept = [way for way in p3.list_ways() if "alpha" in way.params]
    assert len(swept) == 12
    assert {round(way.params["alpha"] + way.params["beta"], 6) for way in swept} == {1.0}
    assert sorted({way.params["alpha"] for way in swept}) == [n / 5 for n in range(6)]


def test_generated_web_is_recorded_completely(tmp_path: Path) -> None:
    result = portal.Portal(pages=150, hosts=6, portals=2)
    first = portal.recorded_web(result, tmp_path / "1")
    second = portal.recorded_web(result, tmp_path / "2")
    assert sorted(file.name for file in first.iterdir()) == [
        "aliases.tsv", "hubs.tsv", "labels.tsv", "topics.json", "web.warc.gz",
    ]  # fmt: skip
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name
    web = portal.generate(1, pages=150, hosts=6, portals=2)
    with Archive.open(first / "web.warc.gz", cache_dir=tmp_path / "cache") as archive:
        assert archive.damage is None
        for url in web.urls():
            assert archive.lookup(url).body == web.respond(url).body
        traps = [url for url in archive.urls() if web.canonical(url) is None]
    assert len(traps) <= 6 * portal.TRAP_PAGES_PER_HOST + len(web.hosts)
    assert portal.recorded_web(result, tmp_path / "1") == first  # not made again


def make_result(topics: int, ours: float, theirs: float, web: str = "generated") -> Any:
    """Return the result of two ways: `ours` and `theirs` relevant of 100."""

    def way(strategy: str, share: float) -> Any:
        numbers = {"pages": 100.0, "precision": share, "own_precision": 0.5, "recall": share}
        same = [outcome.TopicResult(f"t{n}", numbers) for n in range(topics)]
        name = f"{strategy}, as published"
        return outcome.WayResult(name, strategy, "published", "cosine", {}, same)

    variants = [way("gene", ours), way("best-first", theirs)]
    return outcome.ExperimentResult(web, 1000, 1, variants, "the command", "abc", "2026-11-25")


@cases(
    "topics, ours, theirs, expected",
    (6, 0.4, 0.3, "**holds**: 40.0 % to 30.0 % (10.0 to 10.0)"),
    (6, 0.3, 0.4, "**does not hold**: 30.0 % to 40.0 % (-10.0 to -10.0)"),
    (6, 0.3, 0.3, "open: 30.0 % to 30.0 % (0.0 to 0.0)"),
    (1, 0.4, 0.3, "no interval: 40.0 % to 30.0 %"),
    (3, 0.4, 0.3, "no interval: 40.0 % to 30.0 %"),
)
def test_verdict_by_numbers(topics: int, ours: float, theirs: float, expected: str) -> None:
    claim = files.Claim("x", "precision", "gene", "best-first")
    result = make_result(topics, ours, theirs)
    assert outcome.verdict(result, claim, "published", "precision") == expected
    assert outcome.verdict(result, claim, "tuned", "precision") == ""


def test_merged_webs_have_the_mean_of_each_topic() -> None:
    merged = outcome.merge_webs([make_result(4, 0.2, 0.4), make_result(4, 0.4, 0.4)])
    assert (merged.webs, len(merged.ways[0].topics)) == (2, 4)
    assert [merged.ways[n].mean("precision") for n in (0, 1)] == pytest.approx([0.3, 0.4])


def test_scaled_experiments_are_smaller_throughout() -> None:
    small = files.experiments(PAPERS, ["p1-2"])["p1-2"].scaled(0.1)
    assert (small.generated.pages, small.pages, small.round) == (2000, 1000, 100)


def test_report_lists_claims_verdicts_and_commands() -> None:
    experiments = files.experiments(PAPERS, ["p2"])
    results = [make_result(6, 0.2, 0.4), make_result(6, 0.4, 0.2, "recorded")]
    text = outcome.report(experiments, {"p2": results})
    claim = "| p2 | gene has the higher recall at the end | clearly higher (curve) |"
    assert f"{claim} **does not hold**: 20.0 % to 40.0 % (-20.0 to -20.0) | **holds**: 40" in text
    assert "| p2 | recorded | 1 | 1,000 | 6 | 100 | `the command` | abc | 2026-11-25 |" in text


def test_results_page_equals_output_of_the_script() -> None:
    results = run.read_results(PAPERS.parent / "results")
    lines = outcome.report(files.experiments(PAPERS, []), results).splitlines()
    page = (PAPERS.parents[1] / "docs" / "results.md").read_text("utf-8")
    assert [line for line in lines if line not in page.splitlines()] == []
