"""Comparing strategies on a recorded web."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from focus.archive.replay import Archive
from focus.commands.compare_output import comparison_lines
from focus.errors import ArchiveError, ConfigError
from focus.evaluate.compare import RUNS_FILE, group_trials, run_comparison, shuffle_seeds
from focus.evaluate.comparison import Comparison
from focus.evaluate.ground_truth import parse_budget
from focus.evaluate.link_graph import PageIndex, find_recorded_hosts, load_link_graph
from focus.evaluate.ranking import TrialResult
from focus.evaluate.variants import list_variants
from tests.support.cases import cases
from tests.support.command import Focus
from tests.support.recorded import GOOD, HOST, load_results, page, record, spec, write_labels

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


def value(result: Comparison, strategy: str, name: str) -> float:
    for group in result.groups:
        for score in group.scores:
            if score.variant.startswith(strategy + "/"):
                return score.measures[name].value
    raise AssertionError(strategy)


def without_times(path: Path) -> bytes:
    data = json.loads(path.read_bytes())
    del data["timing"]
    return json.dumps(data, ensure_ascii=False).encode()


def runs(folder: Path) -> list[TrialResult]:
    lines = (folder / RUNS_FILE).read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=TrialResult) for line in lines if line]


def test_informed_strategy_beats_breadth_first(web: Path, tmp_path: Path) -> None:
    result = run_comparison(spec(web, "bfs", "random", "best-first", out=tmp_path, baseline="bfs"))
    (topic,) = result.topics
    assert (topic.relevant, topic.targets, topic.budget) == (GOOD + 1, GOOD, 3 * GOOD + 20)
    aucs = {name: value(result, name, "auc") for name in ("bfs", "random", "best-first")}
    assert aucs["best-first"] > max(aucs["bfs"], aucs["random"]) > 0
    assert result.judge == "labels"
    assert value(result, "best-first", "model_precision") == 1.0
    assert value(result, "best-first", "found") == GOOD
    assert [r.what for r in result.remarks] == ["seeds that are not in the archive"]
    (group,) = result.groups
    assert group.baseline == "bfs/tuned/evidence/none"
    versus = group.scores[-1].versus["auc"]
    assert (versus.wins, versus.losses, versus.p) == (1, 0, 1.0)
    assert versus.ratio and versus.ratio > 1


def test_interval_of_single_topic_is_none(web: Path, tmp_path: Path) -> None:
    result = run_comparison(spec(web, "bfs", "best-first", out=tmp_path, baseline="bfs"))
    score = result.groups[0].scores[0]
    assert (score.measures["auc"].low, score.measures["auc"].high, score.band) == (None, None, [])
    assert score.versus == {} or score.versus["auc"].low is None
    text = "\n".join(comparison_lines(result))
    assert f"{score.measures['auc'].value:.3f}".lstrip("0") + "-" not in text


def test_recall_of_crawls_is_at_most_the_oracle(web: Path, tmp_path: Path) -> None:
    result = run_comparison(spec(web, "bfs", "best-first", "best-link", "dfs", out=tmp_path))
    for score in result.groups[0].scores:
        pairs = zip(score.topics[0].curve, result.topics[0].oracle, strict=True)
        assert all(ours <= best for ours, best in pairs)
    assert not any("oracle" in remark.what for remark in result.remarks)


def test_fetch_order_does_not_depend_on_labels(web: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "other"
    folder = fresh(web, tmp_path)
    run_comparison(spec(folder, "best-link", "yield", out=first, budget="40"))
    write_labels(folder, {f"/b/{n}": 1 for n in range(20)} | {f"/g/{n}": 0 for n in range(5)})
    run_comparison(spec(folder, "best-link", "yield", out=second, budget="40"))
    orders = [[(run.variant, run.order, run.pages) for run in runs(out)] for out in (first, second)]
    assert orders[0] == orders[1]
    assert [run.key for run in runs(first)] == [run.key for run in runs(second)]


def test_comparison_is_equal_for_any_number_of_processes(web: Path, tmp_path: Path) -> None:
    names = ("bfs", "random", "best-link")
    run_comparison(spec(web, *names, out=tmp_path / "1", jobs=1))
    run_comparison(spec(web, *names, out=tmp_path / "2", jobs=2))
    assert without_times(tmp_path / "1/results.json") == without_times(tmp_path / "2/results.json")
    assert (tmp_path / "1/results.csv").read_bytes() == (tmp_path / "2/results.csv").read_bytes()


def test_interrupted_comparison_continues(web: Path, tmp_path: Path) -> None:
    def interrupt(done: float, total: float) -> None:
        if (done, total) == (3, 4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_comparison(spec(web, "bfs", "best-first", out=tmp_path), interrupt)
    with (tmp_path / RUNS_FILE).open("ab") as file:
        file.write(b'{"key": "torn by a k')
    steps = []
    order = spec(web, "bfs", "best-first", out=tmp_path)
    result = run_comparison(order, lambda *step: steps.append(step))
    assert (result.timing.trials, result.timing.continued) == (4, 3)
    assert steps == [(3, 4), (4, 4)]
    run_comparison(spec(web, "bfs", "best-first", out=tmp_path / "whole"))
    whole = without_times(tmp_path / "whole/results.json")
    assert without_times(tmp_path / "results.json") == whole


def test_changed_setting_runs_trials_again(web: Path, tmp_path: Path) -> None:
    run_comparison(spec(web, "bfs", out=tmp_path))
    assert run_comparison(spec(web, "bfs", out=tmp_path)).timing.continued == 2
    assert run_comparison(spec(web, "bfs", out=tmp_path, budget="30")).timing.continued == 0
    assert run_comparison(spec(web, "bfs", out=tmp_path)).timing.continued == 2


def test_measures_count_every_request(web: Path, tmp_path: Path) -> None:
    result = run_comparison(spec(web, "bfs", out=tmp_path, budget="50"))
    numbers = result.groups[0].scores[0].topics[0].orders[0]
    assert numbers["requests"] == 50 or numbers["unlabelled"]
    (run, _) = runs(tmp_path)
    assert len(run.pages) == len(run.verdicts) == numbers["requests"]
    assert run.redirects == 1
    assert run.robots == 2  # a.test has none, nor is there a b.test
    assert sum(page < 0 for page in run.pages) == run.robots + run.redirects + run.failures


def test_page_with_two_urls_counts_once(web: Path, tmp_path: Path) -> None:
    result = run_comparison(spec(web, "bfs", out=tmp_path, budget="200"))
    with Archive.open(web / "web.warc.gz", cache_dir=web / "cache") as archive:
        index = PageIndex(archive)
    numbers = {index.find_page(f"{HOST}/g/0"), index.find_page(f"{HOST}/g/0/index.html")}
    assert numbers <= set(runs(tmp_path)[0].pages)
    assert value(result, "bfs", "found") == GOOD


def test_link_graph_follows_redirects_and_is_cached(web: Path) -> None:
    with Archive.open(web / "web.warc.gz", cache_dir=web / "cache") as archive:
        index, steps = PageIndex(archive), list[tuple[float, float]]()

        def load_graph(cache: str) -> tuple[object, set[int]]:
            options = {"progress": lambda *step: steps.append(step), "cache_dir": web / cache}
            graph = load_link_graph(web / "web.warc.gz", archive, jobs=1, **options)
            return graph.links, graph.redirects

        (web / "other").mkdir()
        links, redirects = load_graph("other")
        result = len(steps)
        assert load_graph("other") == (links, redirects)
        assert len(steps) == result == 1
    old, target = index.find_page(f"{HOST}/old"), index.find_page(f"{HOST}/list/good")
    assert old is not None and redirects == {old}
    assert isinstance(links, list) and links[old] == (target,)
    assert old in links[index.find_page(f"{HOST}/") or 0]


def test_judge_option_replaces_labels_by_a_model(web: Path, tmp_path: Path) -> None:
    variants = tuple(list_variants(["bfs"], relevance=["position", "boolean"], judge="boolean"))
    order = spec(web, out=tmp_path, labels=None, hubs=None, judge="boolean", variants=variants)
    result = run_comparison(order)
    assert result.judge == "self-judged: boolean"
    assert [v.self_judged for v in result.variants] == [False, True]
    assert result.topics[0].targets == GOOD + 1  # the listing, too, speaks of it


@pytest.mark.parametrize("mask", ["meta", "urls", "both"])
def test_masks_are_applied_to_crawls(web: Path, tmp_path: Path, mask: str) -> None:
    variants = tuple(list_variants(["bfs"], relevance=["position"], masks=["none", mask]))
    result = run_comparison(spec(web, out=tmp_path, variants=variants))
    assert [group.mask for group in result.groups] == ["none", mask]


def test_unrecorded_skip_leaves_out_missing_links(tmp_path: Path) -> None:
    """Of s.test there is a sample, of none.test nothing; a.test is there but for one dead link."""
    outside = [f"http://s.test/{n}" for n in range(9)]
    more: dict[str, bytes | str] = {
        "/list/good": page("list", "http://none.test/", "http://s.test/", *GOOD_PATHS),
        "http://s.test/": page("sample", *outside),
        "http://s.test/0": page("one of nine"),
    }
    record(tmp_path, more)
    variants = tuple(list_variants(["bfs"], unrecorded=["ask", "skip"]))
    result = run_comparison(spec(tmp_path, variants=variants, budget="200", seed_orders=1))
    assert [group.unrecorded for group in result.groups] == ["ask", "skip"]
    asked, left_out = (group.scores[0].topics[0].measures for group in result.groups)
    # none.test, its robots.txt and eight pages of s.test; /dead is a true 404, and so is the seed
    assert (asked["failures"] or 0) - (left_out["failures"] or 0) == 9
    assert (asked["robots"] or 0) - (left_out["robots"] or 0) == 1
    assert left_out["failures"] == 2
    assert left_out["found"] == asked["found"] == GOOD
    text = "\n".join(comparison_lines(result))
    assert text.count("unrecorded links left out") == 1


def test_find_recorded_hosts_requires_share_of_own_links() -> None:
    def asked(host: str, there: int, missing: int) -> set[tuple[str, bytes, bool]]:
        return {(host, bytes([n]), n < there) for n in range(there + missing)}

    links = asked("whole", 41, 9) | asked("sample", 7, 3) | asked("just", 8, 2)
    assert find_recorded_hosts(links) == ("just", "whole")


def test_unusable_input_is_reported_as_remarks(web: Path, tmp_path: Path) -> None:
    folder = fresh(web, tmp_path)
    write_labels(folder, {"/g/1": 1}, "http://z.test/\tfootball\t1\tx", "u\tnobody\t1\tx", "broken")
    result = run_comparison(spec(folder, "bfs"))
    remarks = {remark.what: remark.count for remark in result.remarks}
    assert remarks["labelled pages that are not in the archive"] == 1
    assert (remarks["labels of unknown topics"], remarks["broken lines in the labels"]) == (1, 1)
    assert load_results(folder / "out").remarks == result.remarks


def test_topic_without_targets_raises_error(web: Path, tmp_path: Path) -> None:
    folder = fresh(web, tmp_path)
    write_labels(folder, {})
    with pytest.raises(ConfigError, match="no relevant page can be reached"):
        run_comparison(spec(folder, "bfs"))


def test_missing_input_file_raises_error(web: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there are no labels; give --labels FILE, or --judge"):
        run_comparison(spec(web, "bfs", labels=None))
    with pytest.raises(ConfigError, match=r"nowhere\.tsv: cannot be read"):
        run_comparison(spec(web, "bfs", labels=tmp_path / "nowhere.tsv"))
    with pytest.raises(ArchiveError, match="cannot read the archive"):
        run_comparison(spec(web, "bfs", archive=tmp_path / "nowhere.warc"))


@pytest.mark.parametrize(("text", "budget"), [("800", 800), ("3x", 50), ("1.5X", 35), ("2×", 40)])
def test_parse_budget_valid_text_returns_requests(text: str, budget: int) -> None:
    assert parse_budget(text, 10) == budget


@pytest.mark.parametrize("text", ["", "0", "0x", "x", "-3", "3y", "1e3"])
def test_parse_budget_invalid_text_raises_error(text: str) -> None:
    with pytest.raises(ConfigError, match="--budget"):
        parse_budget(text, 10)


def test_list_variants_assigns_parameters_to_owners() -> None:
    pairs = [("topic-pagerank.gamma", 0.5), ("alpha", 0.1)]
    variants = list_variants(
        ["topic-pagerank", "shark-search"], relevance=["position"], params=pairs
    )
    assert [way.params["gamma"] for way in variants] == [0.5, variants[1].params["gamma"]]
    assert variants[1].params["gamma"] != 0.5
    assert all(way.model_params == {"alpha": 0.1} for way in variants)
    with pytest.raises(ConfigError, match="--param nobody: no strategy or model"):
        list_variants(["bfs"], params=[("nobody", 1.0)])


def test_list_variants_lists_equal_forms_once() -> None:
    rows = list_variants(["bfs", "topic-pagerank"], forms=["tuned", "published"])
    assert [way.label for way in rows] == ["bfs", "topic-pagerank", "topic-pagerank (published)"]
    assert [way.form for way in list_variants(["bfs"], forms=["published"])] == ["published"]


def test_shuffle_seeds_depends_only_on_topic_and_number(web: Path) -> None:
    from focus.evaluate.judgments import TopicTask
    from focus.topic.topic import from_words

    task = TopicTask(from_words("x"), tuple(f"http://{n}.test/" for n in range(8)))
    assert shuffle_seeds(task, 0) == shuffle_seeds(task, 0) != shuffle_seeds(task, 1)
    assert sorted(shuffle_seeds(task, 1)) == sorted(task.seeds)


def test_group_trials_splits_few_groups_for_jobs() -> None:
    from focus.config import CrawlConfig
    from focus.evaluate.trial import Trial

    trials = [Trial(str(n), "v", "t", n, CrawlConfig()) for n in range(5)]
    assert sorted(len(batch.trials) for batch in group_trials(trials, 2)) == [2, 3]
    assert len(group_trials(trials, 1)) == 1


# A crawl in a database


def test_compare_command_uses_crawl_in_database(web: Path, focus: Focus) -> None:
    crawl = ["crawl", f"{HOST}/", "--topic", "足球", "--archive", str(web / "web.warc.gz")]
    assert focus(*crawl, "--db", "f.db", "-q").code == 0
    command = ["research", "compare", "--db", "f.db", "--strategy", "bfs", "--strategy", "yield"]
    judged = focus(*command, "--jobs", "1", "-o", "judged")
    assert judged.code == 0, judged.err
    assert "evidence judges" in judged.err
    assert load_results(Path("judged")).settings["seed_orders"] == 1
    with closing(sqlite3.connect("f.db")) as db:
        pages = db.execute("SELECT id, url, url LIKE '%/g/%' FROM page_text").fetchall()
        rows = [("足球", url, number, is_good, 0.0) for number, url, is_good in pages]
        db.executemany("INSERT INTO label VALUES (?, ?, ?, ?, ?)", rows)
        db.commit()
    assert focus(*command, "--jobs", "1", "-o", "labelled").code == 0
    result = load_results(Path("labelled"))
    assert result.judge == "labels"
    assert result.topics[0].targets == sum(is_good for *_, is_good in pages) >= GOOD


@cases(
    "options, message",
    (["--archive", "web.warc.gz"], "--archive needs --topics"),
    (["--labels", "l.tsv"], "--labels needs --archive"),
    (["--db", "no.db"], "there is no database at no.db"),
)
def test_compare_command_contradicting_input_raises_error(
    focus: Focus, options: list[str], message: str
) -> None:
    ended = focus("research", "compare", "--strategy", "bfs", "-o", "out", *options)
    assert ended.code != 0 and message in ended.err
    assert not Path("out").exists()
