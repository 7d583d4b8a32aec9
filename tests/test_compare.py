"""Comparing strategies on a recorded web."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import focus
from focus.archive.replay import Archive
from focus.commands.compare_output import board_lines
from focus.errors import ArchiveError, ConfigError
from focus.evaluate.compare import RUNS, batches, compare, seed_order
from focus.evaluate.comparison import Comparison, load
from focus.evaluate.ground_truth import budget_of
from focus.evaluate.link_graph import (
    BESIDE_A_CRAWL,
    PageIndex,
    code_digest,
    link_graph,
    whole_hosts,
)
from focus.evaluate.ranking import TrialResult
from focus.evaluate.variants import variants
from tests.support.recorded import GOOD, HOST, page, record, spec, write_labels

GOOD_PATHS = [f"/g/{n}" for n in range(GOOD)]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    record(folder)
    return folder


def fresh(web: Path, tmp_path: Path) -> Path:
    """The same web in a folder of the test's own."""
    for file in web.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def value(found: Comparison, strategy: str, name: str) -> float:
    for group in found.groups:
        for score in group.scores:
            if score.variant.startswith(strategy + "/"):
                number = score.measures[name].value
                assert number is not None
                return number
    raise AssertionError(strategy)


def without_times(path: Path) -> bytes:
    data = json.loads(path.read_bytes())
    del data["timing"]
    return json.dumps(data, ensure_ascii=False).encode()


def runs(folder: Path) -> list[TrialResult]:
    lines = (folder / RUNS).read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=TrialResult) for line in lines if line]


def test_an_informed_strategy_beats_an_uninformed_one(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", "random", "best-first", out=tmp_path, baseline="bfs"))
    (topic,) = found.topics
    assert (topic.relevant, topic.targets, topic.budget) == (GOOD + 1, GOOD, 3 * GOOD + 20)
    aucs = {name: value(found, name, "auc") for name in ("bfs", "random", "best-first")}
    assert aucs["best-first"] > max(aucs["bfs"], aucs["random"]) > 0
    assert found.judge == "labels"
    assert value(found, "best-first", "model_precision") == 1.0
    assert value(found, "best-first", "found") == GOOD
    assert [r.what for r in found.remarks] == ["seeds that are not in the archive"]
    (group,) = found.groups
    assert group.baseline == "bfs/tuned/evidence/none"
    versus = group.scores[-1].versus["auc"]
    assert (versus.wins, versus.losses, versus.p) == (1, 0, 1.0)
    assert versus.ratio and versus.ratio > 1


def test_a_narrow_terminal_gets_fewer_columns_and_whole_figures(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", "best-first", out=tmp_path, baseline="bfs"))
    wide, narrow = (board_lines(found, width=width) for width in (200, 80))
    assert max(map(len, narrow[:-2])) <= 80  # remarks and times are lines of text
    figures = {text for line in wide for text in line.split()}
    heads = next(line for line in narrow if "AUC" in line).split()
    assert {"strategy", "AUC", "R@T"} <= set(heads)
    for name in ("bfs", "best-first"):
        row = next(line for line in narrow if line.split()[:1] == [name]).split()
        assert set(row) <= figures
    assert any("no room for " in line for line in narrow)
    assert not any("no room for " in line for line in wide)


def test_one_topic_has_no_interval(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", "best-first", out=tmp_path, baseline="bfs"))
    score = found.groups[0].scores[0]
    assert (score.measures["auc"].low, score.measures["auc"].high, score.band) == (None, None, [])
    assert score.versus == {} or score.versus["auc"].low is None
    text = "\n".join(board_lines(found))
    assert f"{score.measures['auc'].value:.3f}".lstrip("0") + "-" not in text


def test_no_crawl_is_above_the_oracle(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", "best-first", "best-link", "dfs", out=tmp_path))
    for score in found.groups[0].scores:
        pairs = zip(score.topics[0].curve, found.topics[0].oracle, strict=True)
        assert all(ours <= best for ours, best in pairs)
    assert not any("oracle" in remark.what for remark in found.remarks)


def test_labels_cannot_leak_into_the_order_of_fetches(web: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    folder = fresh(web, tmp_path)
    compare(spec(folder, "best-link", "yield", out=one, budget="40"))
    write_labels(folder, {f"/b/{n}": 1 for n in range(20)} | {f"/g/{n}": 0 for n in range(5)})
    compare(spec(folder, "best-link", "yield", out=other, budget="40"))
    orders = [[(run.variant, run.order, run.pages) for run in runs(out)] for out in (one, other)]
    assert orders[0] == orders[1]
    assert [run.key for run in runs(one)] == [run.key for run in runs(other)]


def test_twice_the_same_gives_the_same_at_any_number_of_processes(
    web: Path, tmp_path: Path
) -> None:
    names = ("bfs", "random", "best-link")
    compare(spec(web, *names, out=tmp_path / "1", jobs=1))
    compare(spec(web, *names, out=tmp_path / "2", jobs=2))
    assert without_times(tmp_path / "1/results.json") == without_times(tmp_path / "2/results.json")
    assert (tmp_path / "1/results.csv").read_bytes() == (tmp_path / "2/results.csv").read_bytes()


def test_an_interrupted_comparison_goes_on(web: Path, tmp_path: Path) -> None:
    def interrupt(what: str, done: int, of: int) -> None:
        if what == "crawling" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(spec(web, "bfs", "best-first", out=tmp_path), interrupt)
    with (tmp_path / RUNS).open("ab") as file:
        file.write(b'{"key": "torn by a k')
    told = []
    found = compare(spec(web, "bfs", "best-first", out=tmp_path), lambda *step: told.append(step))
    assert (found.timing.trials, found.timing.continued) == (4, 3)
    assert told == [("crawling", 3, 4), ("crawling", 4, 4)]
    compare(spec(web, "bfs", "best-first", out=tmp_path / "whole"))
    assert without_times(tmp_path / "results.json") == without_times(
        tmp_path / "whole/results.json"
    )


def test_a_changed_setting_is_run_anew(web: Path, tmp_path: Path) -> None:
    compare(spec(web, "bfs", out=tmp_path))
    assert compare(spec(web, "bfs", out=tmp_path)).timing.continued == 2
    assert compare(spec(web, "bfs", out=tmp_path, budget="30")).timing.continued == 0
    assert compare(spec(web, "bfs", out=tmp_path)).timing.continued == 2


def test_every_request_counts(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", out=tmp_path, budget="50"))
    numbers = found.groups[0].scores[0].topics[0].orders[0]
    assert numbers["requests"] == 50 or numbers["unlabelled"]
    (run, _) = runs(tmp_path)
    assert len(run.pages) == len(run.said) == numbers["requests"]
    assert run.redirects == 1
    assert run.robots == 2  # a.test has none, nor is there a b.test
    assert sum(page < 0 for page in run.pages) == run.robots + run.redirects + run.failures


def test_a_page_of_two_urls_counts_once(web: Path, tmp_path: Path) -> None:
    found = compare(spec(web, "bfs", out=tmp_path, budget="200"))
    with Archive.open(web / "web.warc.gz", cache_dir=web / "cache") as archive:
        index = PageIndex(archive)
    numbers = {index.of(f"{HOST}/g/0"), index.of(f"{HOST}/g/0/index.html")}
    assert numbers <= set(runs(tmp_path)[0].pages)
    assert value(found, "bfs", "found") == GOOD


def test_the_link_graph_follows_redirects_and_is_kept(web: Path) -> None:
    with Archive.open(web / "web.warc.gz", cache_dir=web / "cache") as archive:
        index, told = PageIndex(archive), list[tuple[str, int, int]]()

        def graph_of(cache: str) -> tuple[object, set[int]]:
            graph = link_graph(
                web / "web.warc.gz",
                archive,
                jobs=1,
                progress=lambda *step: told.append(step),
                cache_dir=web / cache,
            )
            return graph.links, graph.redirects

        (web / "other").mkdir()
        links, redirects = graph_of("other")
        made = len(told)
        assert graph_of("other") == (links, redirects)
        assert len(told) == made == 1
    old, target = index.of(f"{HOST}/old"), index.of(f"{HOST}/list/good")
    assert old is not None
    assert redirects == {old}
    assert isinstance(links, list)
    assert links[old] == (target,)
    assert old in links[index.of(f"{HOST}/") or 0]


def test_a_model_may_judge_in_place_of_labels(web: Path, tmp_path: Path) -> None:
    ways = tuple(variants(["bfs"], relevance=["position", "boolean"], judge="boolean"))
    order = spec(web, out=tmp_path, labels=None, hubs=None, judge="boolean", variants=ways)
    found = compare(order)
    assert found.judge == "self-judged: boolean"
    assert [v.self_judged for v in found.variants] == [False, True]
    assert found.topics[0].targets == GOOD + 1  # the listing, too, speaks of it


@pytest.mark.parametrize("mask", ["meta", "urls", "both"])
def test_masks_reach_the_crawls(web: Path, tmp_path: Path, mask: str) -> None:
    ways = tuple(variants(["bfs"], relevance=["position"], masks=["none", mask]))
    found = compare(spec(web, out=tmp_path, variants=ways))
    assert [group.mask for group in found.groups] == ["none", mask]


def test_links_that_are_not_recorded_may_be_left_out(tmp_path: Path) -> None:
    """Of s.test there is a sample, of none.test nothing; a.test is there but for one dead link."""
    outside = [f"http://s.test/{n}" for n in range(9)]
    more: dict[str, bytes | str] = {
        "/list/good": page("list", "http://none.test/", "http://s.test/", *GOOD_PATHS),
        "http://s.test/": page("sample", *outside),
        "http://s.test/0": page("one of nine"),
    }
    record(tmp_path, more)
    ways = tuple(variants(["bfs"], unrecorded=["ask", "skip"]))
    found = compare(spec(tmp_path, variants=ways, budget="200", seed_orders=1))
    assert [group.unrecorded for group in found.groups] == ["ask", "skip"]
    asked, left_out = (group.scores[0].topics[0].measures for group in found.groups)
    # none.test, its robots.txt and eight pages of s.test; /dead is a true 404, and so is the seed
    assert (asked["failures"] or 0) - (left_out["failures"] or 0) == 9
    assert (asked["robots"] or 0) - (left_out["robots"] or 0) == 1
    assert left_out["failures"] == 2
    assert left_out["found"] == asked["found"] == GOOD
    text = "\n".join(board_lines(found))
    assert text.count("unrecorded links left out") == 1


def test_a_host_is_wholly_recorded_when_its_own_links_are() -> None:
    def asked(host: str, there: int, missing: int) -> set[tuple[str, bytes, bool]]:
        return {(host, bytes([n]), n < there) for n in range(there + missing)}

    links = asked("whole", 41, 9) | asked("sample", 7, 3) | asked("just", 8, 2)
    assert whole_hosts(links) == ("just", "whole")


def test_bad_input_is_told(web: Path, tmp_path: Path) -> None:
    folder = fresh(web, tmp_path)
    write_labels(folder, {"/g/1": 1}, "http://z.test/\tfootball\t1\tx", "u\tnobody\t1\tx", "broken")
    found = compare(spec(folder, "bfs"))
    told = {remark.what: remark.count for remark in found.remarks}
    assert told["labelled pages that are not in the archive"] == 1
    assert told["labels of unknown topics"] == 1
    assert told["broken lines in the labels"] == 1
    assert load(folder / "out/results.json").remarks == found.remarks


def test_a_topic_without_targets_is_refused(web: Path, tmp_path: Path) -> None:
    folder = fresh(web, tmp_path)
    write_labels(folder, {})
    with pytest.raises(ConfigError, match="no relevant page can be reached"):
        compare(spec(folder, "bfs"))


def test_input_that_is_not_there(web: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there are no labels; give --labels FILE, or --judge"):
        compare(spec(web, "bfs", labels=None))
    with pytest.raises(ConfigError, match=r"nowhere\.tsv: cannot be read"):
        compare(spec(web, "bfs", labels=tmp_path / "nowhere.tsv"))
    with pytest.raises(ArchiveError, match="cannot read the archive"):
        compare(spec(web, "bfs", archive=tmp_path / "nowhere.warc"))


@pytest.mark.parametrize(("text", "budget"), [("800", 800), ("3x", 50), ("1.5X", 35), ("2×", 40)])
def test_budgets(text: str, budget: int) -> None:
    assert budget_of(text, 10) == budget


@pytest.mark.parametrize("text", ["", "0", "0x", "x", "-3", "3y", "1e3"])
def test_no_budgets(text: str) -> None:
    with pytest.raises(ConfigError, match="--budget"):
        budget_of(text, 10)


def test_parameters_find_their_owners() -> None:
    given = [("topic-pagerank.gamma", 0.5), ("alpha", 0.1)]
    ways = variants(["topic-pagerank", "shark-search"], relevance=["position"], params=given)
    assert [way.params["gamma"] for way in ways] == [0.5, ways[1].params["gamma"]]
    assert ways[1].params["gamma"] != 0.5
    assert all(way.model_params == {"alpha": 0.1} for way in ways)
    with pytest.raises(ConfigError, match="--param nobody: no strategy or model"):
        variants(["bfs"], params=[("nobody", 1.0)])


def test_a_form_appears_once() -> None:
    ways = variants(["bfs", "topic-pagerank"], forms=["tuned", "published"])
    assert [way.label for way in ways] == ["bfs", "topic-pagerank", "topic-pagerank (published)"]
    assert [way.form for way in variants(["bfs"], forms=["published"])] == ["published"]


def test_seed_orders_differ_and_repeat(web: Path) -> None:
    from focus.evaluate.judgments import TopicTask
    from focus.topic.topic import from_words

    task = TopicTask(from_words("x"), tuple(f"http://{n}.test/" for n in range(8)))
    assert seed_order(task, 0) == seed_order(task, 0) != seed_order(task, 1)
    assert sorted(seed_order(task, 1)) == sorted(task.seeds)


def test_few_batches_are_split_over_the_processes() -> None:
    from focus.config import CrawlConfig
    from focus.evaluate.trial import Trial

    trials = [Trial(str(n), "v", "t", n, CrawlConfig()) for n in range(5)]
    assert sorted(len(batch.trials) for batch in batches(trials, 2)) == [2, 3]
    assert len(batches(trials, 1)) == 1


# -- which code a stored trial depends on -------------------------------------------


def test_trial_imports_no_module_that_its_digest_leaves_out() -> None:
    """A change of such a module would leave outdated trials in an interrupted comparison."""
    code = "import sys, focus.evaluate.trial; print(*(m for m in sys.modules if 'focus.' in m))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    judging = {"focus.evaluate.ranking", "focus.metrics"}
    judging |= {"focus.metrics.measures", "focus.metrics.significance"}
    for module in set(loaded.stdout.split()) - judging:
        path = module.removeprefix("focus.").replace(".", "/")
        parts = {path + ".py", path, path.partition("/")[0]}
        assert parts.isdisjoint(BESIDE_A_CRAWL), module


def test_every_part_that_a_digest_leaves_out_exists() -> None:
    root = Path(focus.__file__).parent
    assert [part for part in BESIDE_A_CRAWL if not (root / part).exists()] == []
    assert code_digest(without=BESIDE_A_CRAWL) != code_digest()
