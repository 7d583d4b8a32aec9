"""The papers' experiments: their files, the web they run on, and the verdicts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.papers import experiment as files
from bench.papers import outcome, portal
from focus.archive.replay import Archive
from focus.score.parameters import default_params
from focus.score.relevance import model_class
from focus.score.strategy import strategy_class

PAPERS = Path(__file__).parents[1] / "bench" / "papers"


def test_every_experiment_can_be_read_and_names_what_is_there() -> None:
    found = files.experiments(PAPERS, [])
    assert sorted(found) == ["p1-1", "p1-2", "p2", "p3", "p5"]
    for name, experiment in found.items():
        ways = experiment.ways()
        assert len({way.name for way in ways}) == len(ways), name
        for way in ways:
            published = way.form == "published"
            kind = strategy_class(way.strategy)
            assert way.params.keys() <= default_params(kind, as_published=published).keys()
            model_class(way.model)
        names = {way.name for way in ways}
        for claim in experiment.claim:
            for form in ("as published", "tuned"):
                for side in (claim.better, claim.worse):
                    assert not side or f"{side}, {form}" in names, (name, claim.text)
        assert all(claim.paper for claim in experiment.claim)
        assert experiment.topic in ("keywords", "p4", "p5")
        assert experiment.other.keys() <= {"generated", "recorded"}


def test_ways_are_guided_by_the_model_of_their_form() -> None:
    p5 = files.experiments(PAPERS, ["p5"])["p5"]
    models = {way.name: way.model for way in p5.ways()}
    assert models["gene-authority, as published"] == "adaptive"
    assert models["pagerank, as published"] == "cosine"  # named: P5's, not P1's
    assert models["gene-authority, tuned"] == "evidence"


def test_alpha_runs_from_0_to_1_in_both_forms() -> None:
    p3 = files.experiments(PAPERS, ["p3"])["p3"]
    swept = [way for way in p3.ways() if "alpha" in way.params]
    assert len(swept) == 12
    assert {round(way.params["alpha"] + way.params["beta"], 6) for way in swept} == {1.0}
    assert sorted({way.params["alpha"] for way in swept}) == [n / 5 for n in range(6)]


def test_a_generated_web_is_recorded_whole_and_alike(tmp_path: Path) -> None:
    made = portal.Portal(pages=150, hosts=6, portals=2)
    one, other = (
        portal.recorded_web(made, tmp_path / "1"),
        portal.recorded_web(made, tmp_path / "2"),
    )
    assert sorted(file.name for file in one.iterdir()) == [
        "aliases.tsv", "hubs.tsv", "labels.tsv", "topics.json", "web.warc.gz",
    ]  # fmt: skip
    for file in one.iterdir():
        assert file.read_bytes() == (other / file.name).read_bytes(), file.name
    web = portal.generate(1, pages=150, hosts=6, portals=2)
    with Archive.open(one / "web.warc.gz", cache_dir=tmp_path / "cache") as archive:
        assert archive.damage is None
        for url in web.urls():
            assert archive.lookup(url).body == web.respond(url).body
        traps = [url for url in archive.urls() if web.canonical(url) is None]
    assert len(traps) <= 6 * portal.TRAP_PAGES_PER_HOST + len(web.hosts)
    assert portal.recorded_web(made, tmp_path / "1") == one  # not made again


def found_of(topics: int, ours: float, theirs: float) -> Any:
    """What an experiment of two ways found: `ours` and `theirs` relevant of 100."""

    def way(strategy: str, share: float) -> Any:
        numbers = {
            "pages": 100.0, "relevant": 100 * share, "precision": share, "own_relevant": 50.0,
            "own_precision": 0.5, "recall": share, "average_precision": share,
            "own_average_precision": 0.5, "efficiency": 1.0,
        }  # fmt: skip
        each = [
            outcome.TopicResult(
                f"t{n}", numbers, [1.0], [1.0], [0.1, 0.2, share], "max-pages reached"
            )
            for n in range(topics)
        ]
        return outcome.WayResult(
            f"{strategy}, as published", strategy, "published", "cosine", {}, each
        )

    facts = [outcome.TopicFacts(f"t{n}", 200, 150, 1) for n in range(topics)]
    ways = [way("gene", ours), way("best-first", theirs)]
    return outcome.ExperimentResult("0", "generated", 1000, "x", facts, ways)


@pytest.mark.parametrize(
    ("topics", "ours", "theirs", "said"),
    [
        (6, 0.4, 0.3, "**holds**"),
        (6, 0.3, 0.4, "**does not hold**"),
        (6, 0.3, 0.3, "open"),
        (1, 0.4, 0.3, "ahead"),
        (1, 0.3, 0.4, "behind"),
        (1, 0.3, 0.3, "equal"),
    ],
)
def test_verdicts_follow_from_the_numbers(
    topics: int, ours: float, theirs: float, said: str
) -> None:
    claim = files.Claim("x", "precision", "gene", "best-first")
    found = found_of(topics, ours, theirs)
    verdict = outcome.verdict(found, claim, "published", "precision")
    assert verdict == f"{said}: {ours:.0%}".replace("%", ".0 %") + f" to {theirs * 100:.1f} %"
    assert outcome.verdict(found, claim, "tuned", "precision") == ""


def test_a_report_has_each_claim_with_its_verdict_or_why_there_is_none() -> None:
    p2 = files.experiments(PAPERS, ["p2"])["p2"]
    result = found_of(6, 0.2, 0.4)
    text = outcome.report(p2, result)
    assert (
        "| gene has the higher recall at the end | clearly higher (curve) | as published |" in text
    )
    assert "**does not hold**: 20.0 % to 40.0 %" in text
    other = msgspec.structs.replace(p2, other={"generated": "it has no chemistry."})
    text = outcome.report(other, result)
    assert "No verdict on the generated web: it has no chemistry." in text
    assert "does not hold" not in text


@pytest.mark.parametrize("path", sorted((PAPERS.parent / "results").glob("p*.json")))
def test_stored_results_can_be_reported(path: Path) -> None:
    name = path.name.partition(".")[0]
    result = msgspec.json.decode(path.read_bytes(), type=outcome.ExperimentResult)
    text = outcome.report(files.experiments(PAPERS, [name])[name], result)
    assert all(f"| {way.name} |" in text for way in result.ways)
