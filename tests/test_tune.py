"""Searching for a strategy's best numbers on a recorded web."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest
from click.testing import CliRunner, Result

from focus.cli import cli
from focus.commands.settings import read_topic, topic_params
from focus.errors import ConfigError, FocusError, TopicError
from focus.evaluate import tune as tuning
from focus.evaluate.holdout import crawls, split
from focus.evaluate.judgments import TopicTask, read_topics
from focus.evaluate.link_graph import BESIDE_A_CRAWL, code_digest
from focus.evaluate.search_space import Range, fitted, near, read_range, spread
from focus.evaluate.tune import Search, base_variant, tune
from focus.evaluate.tuning_result import Tried, Tuned, compared
from focus.score.strategy import strategy_class
from focus.terminal.tuning import tuned_lines
from focus.topic.topic import from_toml, from_words
from focus.topic.topic_file import to_toml, with_params
from tests.support.recorded import HOST, record, spec

GAMMA = Range("gamma", 0.0, 1.0)
TOPIC = f'name = "football"\nkeywords = ["足球"]  # mine\nseeds = ["{HOST}/", "{HOST}/list/bad"]\n'


@pytest.fixture
def web(tmp_path: Path) -> Path:
    record(tmp_path)
    return tmp_path


def silent(what: str, done: int, of: int) -> None:
    """No progress."""


def search(web: Path, strategy: str = "topic-pagerank", **changes: object) -> Search:
    order = spec(web, strategy, seed_orders=4, budget="40", topics=web / "topics.json")
    base = base_variant(strategy, "evidence", "none", [], None)
    tasks = read_topics((web / "topics.json").read_text("utf-8"), "topics")
    made = Search(
        spec=msgspec.structs.replace(order, variants=(base,)),
        tasks=tuple(tasks),
        ranges=(GAMMA,),
        trials=6,
    )
    return msgspec.structs.replace(made, **changes)


def without_times(tuned: Tuned) -> Tuned:
    return msgspec.structs.replace(tuned, seconds=0.0, continued=0)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["tune", *map(str, args)])


def refusal(result: Result) -> str:
    """What a refused command would say, as one line."""
    error = result.exception
    return str(error) if isinstance(error, FocusError) else result.output


# -- ranges -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high", "log", "whole"),
    [
        ("gamma=0.1..0.9", 0.1, 0.9, False, False),
        ("T=1..10", 1, 10, False, True),
        ("f=1e-3..1:log", 0.001, 1, True, False),
        ("x=-2.5..-1", -2.5, -1, False, False),
    ],
)
def test_ranges(text: str, low: float, high: float, log: bool, whole: bool) -> None:
    found = read_range(text)
    assert (found.low, found.high, found.log, found.whole) == (low, high, log, whole)
    values = [found.value(n / 100) for n in range(100)]
    assert values == sorted(values)
    assert values[0] == low
    assert low <= values[-1] <= high


def test_a_range_reaches_both_ends_of_whole_numbers() -> None:
    found = read_range("T=1..3")
    assert {found.value(n / 100) for n in range(100)} == {1.0, 2.0, 3.0}


def test_choices_and_a_fixed_number() -> None:
    assert {read_range("W=10|20|40").value(n / 10) for n in range(10)} == {10.0, 20.0, 40.0}
    assert read_range("a=1.5").choices == (1.5,)


@pytest.mark.parametrize(
    "text", ["gamma", "gamma=", "=1..2", "gamma=2..1", "gamma=1..1", "f=0..1:log", "g=a|b", "g=1.."]
)
def test_no_ranges(text: str) -> None:
    with pytest.raises(ConfigError):
        read_range(text)


def test_ends_without_a_point_mean_whole_numbers_where_the_parameter_has_such() -> None:
    assert fitted(read_range("W=10..40"), [40.0, 20.0]).whole
    assert not fitted(read_range("gamma=0..1"), [0.2, 0.8]).whole


def test_points_spread_over_all_strips_and_stay_inside() -> None:
    points = spread(2, 8, Random(1))
    for column in zip(*points, strict=True):
        assert sorted(int(x * 8) for x in column) == list(range(8))
    rng = Random(2)
    assert all(0 <= x < 1 for _ in range(500) for x in near((0.01, 0.99), 0.3, rng))


# -- the halves ---------------------------------------------------------------------


def test_few_topics_are_halved_by_seed_orders_and_many_by_topic(web: Path) -> None:
    class Fake(msgspec.Struct):
        task: TopicTask

    def prepared(topics: int, seeds: int) -> list[Fake]:
        pages = tuple(f"http://{n}.test/" for n in range(seeds))
        topic = from_words("x")
        return [
            Fake(TopicTask(msgspec.structs.replace(topic, name=f"t{n}"), pages))
            for n in range(topics)
        ]

    few = split(prepared(2, 4), 6, 0)  # type: ignore[arg-type]
    assert few.what == "seed orders"
    assert few.train.keys() == few.confirm.keys() == {"t0", "t1"}
    assert all(not set(few.train[name]) & set(few.confirm[name]) for name in few.train)
    assert crawls(few.train) == crawls(few.confirm) == 6
    many = split(prepared(5, 1), 6, 0)  # type: ignore[arg-type]
    assert many.what == "topics"
    assert (len(many.train), len(many.confirm)) == (3, 2)
    assert not many.train.keys() & many.confirm.keys()
    assert crawls(many.train) == 3  # one seed has one order
    assert split(prepared(5, 1), 6, 1) != many  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="cannot be halved"):
        split(prepared(1, 1), 6, 0)  # type: ignore[arg-type]


def test_the_gain_is_that_of_the_means_over_topics() -> None:
    ours, theirs = {"a": [0.4, 0.6], "b": [0.3]}, {"a": [0.4, 0.4], "b": [0.3]}
    found = compared(ours, theirs, "topics")
    assert (found.auc, found.auc_defaults, found.gain) == (0.4, 0.35, 0.05)
    assert (found.wins, found.losses, found.ties) == (1, 0, 1)
    assert (found.unit, found.units) == ("topic", 2)
    assert found.low == 0.0
    by_crawl = compared(ours, theirs, "seed orders")
    assert (by_crawl.units, by_crawl.ties) == (3, 2)
    alone = compared({"a": [0.5]}, {"a": [0.4]}, "topics")
    assert (alone.gain, alone.low, alone.high) == (0.1, None, None)


# -- the search ---------------------------------------------------------------------


def test_a_search_finds_what_is_better_and_says_the_same_twice(web: Path) -> None:
    order = search(web, "shark-search", ranges=(read_range("gamma=0..1"),))
    found = tune(order, silent)
    assert found.best.auc == max(each.auc for each in [found.defaults, *found.tried])
    assert len(found.tried) == 6
    assert found.values.keys() == {"shark-search"}
    assert all(0 <= each.values["gamma"] <= 1 for each in found.tried)
    assert found.halves == "seed orders"
    other = tune(order, silent)
    assert without_times(other) == without_times(found)
    assert other.continued == 0  # what a finished search crawled is not kept
    msgspec.json.decode(msgspec.json.encode(found), type=Tuned)
    alone = compared({"a": [0.5]}, {"a": [0.4]}, "seed orders")
    best = Tried({"gamma": 0.123}, 0.5)
    lines = tuned_lines(msgspec.structs.replace(found, best=best, confirmed=alone))
    assert any("+0.1000 (+25.0%), no interval over 1 crawl; 1 won" in line for line in lines)


def test_the_number_of_processes_changes_nothing(web: Path) -> None:
    one = search(web, trials=3)
    two = msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, jobs=2))
    assert without_times(tune(one, silent)) == without_times(tune(two, silent))


def test_an_interrupted_search_goes_on(web: Path) -> None:
    def interrupt(what: str, done: int, of: int) -> None:
        if what == "crawling" and done == 5:
            raise KeyboardInterrupt

    order = search(web)
    with pytest.raises(KeyboardInterrupt):
        tune(order, interrupt)
    told: list[tuple[str, int, int]] = []
    found = tune(order, lambda *step: told.append(step))
    assert found.continued >= 5
    crawling = [(done, of) for what, done, of in told if what == "crawling"]
    assert crawling == sorted(crawling)
    assert all(done <= of for done, of in crawling)
    assert not list((web / "cache" / "tuning").glob("*.jsonl"))


def test_values_are_tried_once_and_a_small_range_ends_the_search(web: Path) -> None:
    found = tune(search(web, ranges=(read_range("gamma=0.1|0.06|0.9"),), trials=12), silent)
    values = [each.values["gamma"] for each in found.tried]
    assert sorted(values) == [0.1, 0.9]  # 0.06 is the default


def test_relevance_models_are_tuned_too(web: Path) -> None:
    base = base_variant("best-first", "position", "none", [("alpha", 0.3)], None)
    order = search(web, "best-first")
    order = msgspec.structs.replace(
        order,
        spec=msgspec.structs.replace(order.spec, variants=(base,)),
        ranges=(read_range("position.beta=0.5..1.0"),),
        trials=2,
    )
    found = tune(order, silent)
    assert found.values.keys() == {"position"}
    assert found.variant.model_params == {"alpha": 0.3}


def test_parameters_that_nobody_has_are_refused(web: Path) -> None:
    with pytest.raises(ConfigError, match=r"--param nobody: topic-pagerank and evidence have no"):
        tune(search(web, ranges=(Range("nobody", 0, 1),)), silent)
    with pytest.raises(ConfigError, match="given twice"):
        tune(search(web, ranges=(GAMMA, GAMMA)), silent)
    with pytest.raises(ConfigError, match="nothing to search for"):
        tune(search(web, ranges=()), silent)


# -- the command, and the topic file ------------------------------------------------


def test_the_numbers_go_into_the_topic_file(web: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = web / "football.toml"
    file.write_text(TOPIC, encoding="utf-8")
    real = tuning.compared

    def gained(*halves: object) -> object:
        return msgspec.structs.replace(real(*halves), gain=0.01)  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "compared", gained)
    args = ("--archive", web / "web.warc.gz", "--topic", file, "--strategy", "topic-pagerank")
    args += ("--param", "γ=0.7..0.9", "--param", "raw=1", "--trials", "2", "--jobs", "1")
    args += ("--labels", web / "labels.tsv")
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert "searched on 1 topic, confirmed on other orders of seeds" in result.output
    text = file.read_text("utf-8")
    assert text.startswith(TOPIC)
    topic = read_topic(str(file))
    numbers = topic_params(topic, strategy_class("topic-pagerank"))
    assert numbers.keys() == {"gamma"}


def test_without_a_gain_nothing_is_written(web: Path) -> None:
    args = ("--archive", web / "web.warc.gz", "--topics", web / "topics.json", "--jobs", "1")
    args += ("--strategy", "best-first", "--param", "bound=1e5..9e5", "--trials", "2")
    result = run(*args, "-o", web / "new.toml")
    assert result.exit_code == 0, result.output
    assert "The defaults are the best" in result.output
    assert "No gain" in result.output
    assert not (web / "new.toml").exists()
    assert run(*args, "-o", web / "all.json").exit_code == 0
    found = msgspec.json.decode((web / "all.json").read_bytes(), type=Tuned)
    assert found.judge == "labels"


def test_without_labels_it_is_self_judged_and_says_so(web: Path) -> None:
    file = web / "football.toml"
    file.write_text(TOPIC, encoding="utf-8")
    result = run(
        "--archive", web / "web.warc.gz", "--topic", file, "--strategy", "topic-pagerank",
        "--param", "gamma=0..1", "--trials", "2", "--jobs", "1",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "self-judged: evidence" in result.output
    assert "Note: self-judged" in result.output


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--param", "gamma=1..0"), "must be under"),
        (("--param", "gamma=0..1", "--topic", "rugby"), "not in the topics file"),
        (("--param", "gamma=0..1", "-o", "x.txt"), "must end in .toml"),
        (("--param", "gamma=0..1", "-o", "nowhere/x.toml"), "there is no folder"),
        (("--param", "zeta=0..1"), "no such parameter"),
        ((), "Missing option '--param'"),
    ],
)
def test_what_cannot_be_done_is_refused(web: Path, args: tuple[str, ...], said: str) -> None:
    result = run(
        "--archive", web / "web.warc.gz", "--topics", web / "topics.json", "--jobs", "1",
        "--strategy", "topic-pagerank", *args,
    )  # fmt: skip
    assert result.exit_code != 0
    assert said in refusal(result)


def test_numbers_enter_a_topic_file_and_leave_the_rest_alone() -> None:
    text = with_params(TOPIC, "t.toml", "topic-pagerank", {"gamma": 0.25, "W": 30.0})
    assert text.startswith(TOPIC)
    assert from_toml(text, "t").params == {"topic-pagerank": {"gamma": 0.25, "W": 30.0}}
    text = text.replace("gamma = 0.25", "gamma = 0.25 # old") + "\n[sources]\nx = 'y'\n"
    again = with_params(text, "t.toml", "topic-pagerank", {"gamma": 1 / 3, "a": 2.0})
    assert "gamma = 0.3333  # old" in again
    topic = from_toml(again, "t")
    assert topic.params == {"topic-pagerank": {"a": 2.0, "gamma": 0.3333, "W": 30.0}}
    assert topic.sources == {"x": "y"}
    assert from_toml(to_toml(topic), "t") == topic
    with pytest.raises(TopicError, match=r"cannot put a table \[params.bfs\]"):
        with_params(TOPIC + "params = {}\n", "t.toml", "bfs", {"x": 1.0})


def test_a_crawl_takes_the_numbers_of_its_topic_file(web: Path) -> None:
    file = web / "football.toml"
    file.write_text(TOPIC + "[params.topic-pagerank]\ngamma = 0.77\n", encoding="utf-8")

    def plan(*more: str) -> str:
        args = ["crawl", "--topic", str(file), "--strategy", "topic-pagerank", "--dry-run"]
        result = CliRunner().invoke(cli, [*args, *more])
        assert result.exit_code == 0, result.output
        return result.output

    assert "gamma=0.77" in plan()
    assert "gamma=0.5" in plan("--param", "gamma=0.5")
    assert "gamma=0.8" in plan("--as-published")
    assert "gamma" not in plan("--strategy", "best-first")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[params.topic-pagerang]\ngamma = 1.0\n", "did you mean 'topic-pagerank'"),
        ("[params.topic-pagerank]\ngama = 1.0\n", "has no 'gama'"),
        ("[params.topic-pagerank]\ngamma = 'x'\n", "Expected `float`"),
    ],
)
def test_numbers_that_nobody_has_are_refused(web: Path, table: str, said: str) -> None:
    file = web / "football.toml"
    file.write_text(TOPIC + table, encoding="utf-8")
    args = ["crawl", "--topic", str(file), "--strategy", "topic-pagerank", "--dry-run"]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code != 0
    assert said in refusal(result)


# -- what a kept crawl hangs on -----------------------------------------------------


def test_a_crawl_imports_nothing_that_its_digest_leaves_out() -> None:
    """Else a change there would leave stale crawls in an interrupted comparison."""
    code = "import sys, focus.evaluate.trial; print(*(m for m in sys.modules if 'focus.' in m))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    judging = {"focus.evaluate.ranking", "focus.metrics"}
    judging |= {"focus.metrics.measures", "focus.metrics.significance"}
    for module in set(found.stdout.split()) - judging:
        path = module.removeprefix("focus.").replace(".", "/")
        parts = {path + ".py", path, path.partition("/")[0]}
        assert parts.isdisjoint(BESIDE_A_CRAWL), module


def test_every_part_that_a_digest_leaves_out_is_there() -> None:
    root = Path(tuning.__file__).parents[1]
    assert [part for part in BESIDE_A_CRAWL if not (root / part).exists()] == []
    assert code_digest(without=BESIDE_A_CRAWL) != code_digest()


def test_results_of_a_search_can_be_read_by_anyone(web: Path) -> None:
    found = json.loads(msgspec.json.encode(tune(search(web, trials=2), silent)))
    assert found["schema"] == "focus-tuning/1"
    assert {"judge", "best", "defaults", "tried", "confirmed", "values"} <= found.keys()
