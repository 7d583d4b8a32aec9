"""Flags, variables, focus.toml and defaults make the configuration that was meant."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pytest import CaptureFixture, MonkeyPatch

from focus.__main__ import main
from focus.cli import cli, crawl
from focus.commands.options import config_file
from focus.commands.settings import CrawlPlan, make_user_agent, read_topic, split_params
from focus.config import AnalysisConfig, CrawlConfig, FetchConfig, RunPaths
from focus.errors import ConfigError
from tests.support.cases import cases

Ordered = Callable[..., CrawlPlan]
BASE = ["--seed", "a.test", "--topic", "足球"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    """An empty home and working directory, no FOCUS_* variables."""
    for name in ("work", "config", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("platformdirs.user_config_dir", lambda app: str(tmp_path / "config"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda app: str(tmp_path / "data"))
    for option in crawl.params:
        monkeypatch.delenv(str(option.envvar), raising=False)
    return tmp_path


@pytest.fixture
def ordered(monkeypatch: MonkeyPatch) -> Ordered:
    """Runs `focus crawl ARGUMENTS` up to the order."""
    seen: list[CrawlPlan] = []

    def crawled(order: CrawlPlan, options: dict[str, Any]) -> int:
        seen.append(order)
        return 0

    monkeypatch.setattr("focus.commands.crawl._run_crawl", crawled)

    def run(*arguments: str) -> CrawlPlan:
        cli.main(["crawl", *arguments], standalone_mode=False)
        return seen.pop()

    return run


def toml(folder: Path, text: str) -> None:
    (folder / "focus.toml").write_text(text, encoding="utf-8")


def words(text: str) -> list[str]:
    return text.split()


def error_line(capsys: CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """The one line that a wrong command ends with."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("focus: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("focus: error: ").rstrip("\n")


# -- defaults -----------------------------------------------------------------------


def test_option_defaults_equal_config_defaults(ordered: Ordered) -> None:
    config, plain = ordered(*BASE).config, CrawlConfig()
    assert config.seeds == ("a.test",)
    for name in ("strategy", "params", "politeness", "scope", "limits", "concurrency", "workers"):
        assert getattr(config, name) == getattr(plain, name)
    assert config.analysis.relevance == AnalysisConfig().relevance
    assert config.fetch.max_body_bytes == FetchConfig().max_body_bytes
    assert config.fetch.total_timeout_s == FetchConfig().total_timeout_s
    assert config.fetch.content_types == FetchConfig().content_types


def test_options_set_their_config_fields(ordered: Ordered, home: Path) -> None:
    (home / "web.warc").touch()
    result = ordered(
        *BASE,
        *words("--strategy bfs --relevance boolean --threshold 0.7 --as-published"),
        *words("--max-pages 1 --max-requests 2 --max-time 1m --max-bytes 3k --max-depth 4"),
        *words("--target 5 --concurrency 6 --per-host 7 --delay 0"),
        *words("--workers 8 --scope host --allow x --allow y --deny z"),
        *words("--user-agent bot/1.0 --contact a@b.test --proxy http://p.test:80"),
        *words("--allow-net 127.0.0.1/8 --insecure --ignore-robots --max-body 1M --timeout 9"),
        *words(f"--archive {home / 'web.warc'} --keep none --fresh --db x.db"),
    )
    config = result.config
    assert (config.strategy, config.as_published) == ("bfs", True)
    assert (config.concurrency, config.workers, config.agent) == (6, 8, "bot")
    analysis = config.analysis
    assert (analysis.relevance, analysis.threshold, analysis.keep) == ("boolean", 0.7, "none")
    assert analysis.as_published
    limits = config.limits
    assert (limits.max_pages, limits.max_requests, limits.max_time_s) == (1, 2, 60)
    assert (limits.max_bytes, limits.target, config.scope.max_depth) == (3072, 5, 4)
    expected = ("host", ("x", "y"), ("z",))
    assert (config.scope.scope, config.scope.allow, config.scope.deny) == expected
    politeness = config.politeness
    assert (politeness.per_host, politeness.delay_s, politeness.ignore_robots) == (7, 0, True)
    assert config.fetch == FetchConfig(
        user_agent="bot/1.0 (+a@b.test)", total_timeout_s=9, max_body_bytes=1 << 20,
        max_raw_bytes=1 << 20, allow_net=("127.0.0.0/8",), insecure=True,
        proxy="http://p.test:80", concurrency=6,
    )  # fmt: skip
    assert result.paths == RunPaths(db=Path("x.db"), archive=home / "web.warc", fresh=True)


# -- precedence ---------------------------------------------------------------------


def test_flag_overrides_variable(ordered: Ordered, home: Path, monkeypatch: MonkeyPatch) -> None:
    def delay(*flags: str) -> float:
        return ordered(*BASE, *flags).config.politeness.delay_s

    assert delay() == 1.0
    toml(home / "work", "[crawl]\ndelay = '2s'\n")
    assert delay() == 2.0
    monkeypatch.setenv("FOCUS_DELAY", "3s")
    assert delay() == 3.0
    assert delay("--delay", "4s") == 4.0


def test_nearest_focus_toml_is_used(ordered: Ordered, home: Path, monkeypatch: MonkeyPatch) -> None:
    toml(home / "config", "[crawl]\nper-host = 2\n")
    assert ordered(*BASE).config.politeness.per_host == 2
    toml(home, "[crawl]\nper_host = 3\n")
    assert ordered(*BASE).config.politeness.per_host == 3
    (home / "work" / "deep").mkdir()
    toml(home / "work", "[crawl]\nconcurrency = 9\n")
    monkeypatch.chdir(home / "work" / "deep")
    config = ordered(*BASE).config
    assert (config.politeness.per_host, config.concurrency) == (1, 9)


def test_focus_toml_sets_all_kinds_of_options(ordered: Ordered, home: Path) -> None:
    (home / "topic.toml").write_text("name='t'\nkeywords=['a', 'b:0.5']\n", encoding="utf-8")
    toml(
        home,
        """
        db = "t.db"
        [crawl]
        seed = ["a.test", "b.test"]
        topic = "topic.toml"
        strategy = "topic-pagerank"
        param = {gamma = 0.3, "relevance.alpha" = 1}
        relevance = "position"
        max-time = 60
        max_bytes = "1M"
        insecure = true
        deny = "x"
        warc = "out.warc.gz"
        """,
    )
    result = ordered()
    assert result.config.seeds == ("a.test", "b.test")
    assert [word.text for word in result.topic.keywords] == ["a", "b"]
    assert result.config.params == {"gamma": 0.3}
    assert result.config.analysis.params == {"alpha": 1}
    assert (result.config.limits.max_time_s, result.config.limits.max_bytes) == (60, 1 << 20)
    assert result.config.fetch.insecure
    assert (result.config.scope.deny, result.paths.db) == (("x",), home / "t.db")
    assert result.paths.warc == home / "out.warc.gz"


def test_variable_with_values_is_split(ordered: Ordered, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("FOCUS_SEED", "a.test b.test")
    monkeypatch.setenv("FOCUS_TOPIC", "machine learning,ai")
    monkeypatch.setenv("FOCUS_INSECURE", "1")
    result = ordered()
    assert result.config.seeds == ("a.test", "b.test")
    assert [word.text for word in result.topic.keywords][:2] == ["machine learning", "ai"]
    assert result.config.fetch.insecure


def test_database_path_sources(ordered: Ordered, home: Path, monkeypatch: MonkeyPatch) -> None:
    assert ordered(*BASE).paths.db == home / "data" / "focus.db"
    toml(home / "config", "[crawl]\n")
    assert ordered(*BASE).paths.db == home / "data" / "focus.db"
    toml(home, "[crawl]\n")
    assert ordered(*BASE).paths.db == home / "focus.db"
    toml(home, "db = 'sub/x.db'\n")
    assert ordered(*BASE).paths.db == home / "sub" / "x.db"
    monkeypatch.setenv("FOCUS_DB", "/v.db")
    assert ordered(*BASE).paths.db == Path("/v.db")
    assert ordered(*BASE, "--db", "f.db").paths.db == Path("f.db")


# -- mistakes in the file -----------------------------------------------------------


@cases(
    "text, complaint",
    ("[crawl]\nmax-page = 3", "unknown key 'max-page' in [crawl]; did you mean 'max-pages'?"),
    ("[crawl]\nzzzz = 3", "unknown key 'zzzz' in [crawl]; see `focus crawl --help`"),
    ("[crawl]\nhelp = true", "unknown key 'help' in [crawl]; "),
    ("[craw]\n", "unknown key 'craw'; did you mean 'crawl'?"),
    ("max_pages = 3", "'max_pages' must stand below a line [crawl]"),
    ("crawl = 3", "crawl must be a table: [crawl]"),
    ("db = 3", "db must be the path of a file, in quotes"),
    ("[crawl]\nmax-pages = 'x'", "max-pages in [crawl]: 'x' is not a valid integer range"),
    ("[crawl]\nmax-pages = 1.5", "max-pages in [crawl]: '1.5' is not a valid integer range"),
    ("[crawl]\nmax-pages = true", "max-pages in [crawl] must be text or a number, not True"),
    ("[crawl]\nmax-pages = [1]", "max-pages in [crawl] must be text or a number, not [1]"),
    ("[crawl]\ndelay = 'x'", "delay in [crawl]: 'x' is not a time; write 90"),
    ("[crawl]\nfresh = 'yes'", "fresh in [crawl] must be true or false, not 'yes'"),
    ("[crawl]\nallow = ['(']", "allow in [crawl]: '(' is not a regular expression"),
    ("[crawl]\nseed = [['a']]", "seed in [crawl] must be text or a number, or a list of them"),
    ("[crawl]\nparam = {gamma = 'x'}", "param in [crawl]: 'gamma=x' is not NAME=NUMBER"),
    ("[crawl\n", "is not valid TOML: "),
)
def test_invalid_focus_toml_error_names_file_and_key(
    home: Path, capsys: CaptureFixture[str], text: str, complaint: str
) -> None:
    toml(home / "work", text)
    line = error_line(capsys, "crawl", *BASE, "-n")
    assert line.startswith(f"{home / 'work' / 'focus.toml'}: ")
    assert complaint in line


def test_focus_toml_not_utf8_is_reported(home: Path, capsys: CaptureFixture[str]) -> None:
    (home / "work" / "focus.toml").write_bytes(b"\xff\xfe")
    assert "focus.toml: is not UTF-8 (byte 0)" in error_line(capsys, "status")


@pytest.mark.parametrize("error", [None, PermissionError])
def test_missing_focus_toml_gives_no_defaults(
    home: Path, error: type[OSError] | None, monkeypatch: MonkeyPatch
) -> None:
    if error is not None:  # the folder belongs to another user
        toml(home, "[crawl]")
        monkeypatch.setattr(Path, "is_file", Mock(side_effect=error))
    assert config_file.find_config_file(home) is None
    assert config_file.command_defaults(None, {}) == {}


# -- mistakes in options ------------------------------------------------------------


@cases(
    "arguments, complaint",
    (
        ["--topic", "x"],
        "no URL to start from; give one, as in `focus crawl example.org --topic WORDS`",
    ),
    (["--seed", "a.test"], "no topic; give one with --topic"),
    ([*BASE, "--seed", "a.test,http://b.test"], "contains white space or several URLs"),
    ([*BASE, "--seed", "ftp://a.test/"], "only http and https can be crawled, not ftp:"),
    (["--seed", "a.test", "--topic", "，"], "contains no word"),
    (["--seed", "a.test", "--topic", "no.txt"], "topic file no.txt: cannot be read: No such file"),
    ([*BASE, "--topic", "b"], '--topic may stand only once: write --topic "a, b", or '),
    ([*BASE, "--seeds-file", "no.txt"], "seeds file no.txt: cannot be read: No such file"),
    ([*BASE, "--strategy", "bestlink"], "--strategy: no strategy 'bestlink'; did you mean"),
    ([*BASE, "--relevance", "x"], "--relevance: no relevance model 'x'; known: "),
    ([*BASE, "--param", "gama=1"], "--param gama: no such parameter; "),
    ([*BASE, "--param", "gamma"], "--param: 'gamma' is not NAME=NUMBER, like gamma=0.3"),
    ([*BASE, "--param", "gamma=nan"], "--param: 'gamma=nan' is not NAME=NUMBER"),
    ([*BASE, "--max-time", "0"], "--max-time: must be longer than 0"),
    ([*BASE, "--max-bytes", "0k"], "--max-bytes: must be more than 0"),
    ([*BASE, "--max-pages", "0"], "--max-pages: 0 is not in the range"),
    ([*BASE, "--deny", "*"], "--deny: '*' is not a regular expression: nothing to repeat"),
    ([*BASE, "--allow-net", "x"], "--allow-net: 'x' is not a network; write one like 127.0.0.0/8"),
    ([*BASE, "--connect-to", "a:99999"], "--connect-to: 'a:99999' is not ADDR:PORT"),
    ([*BASE, "--proxy", "socks5://x"], "--proxy: 'socks5://x' is not like http://HOST:PORT"),
    ([*BASE, "--user-agent", "a\nb: c"], "--user-agent: must be printable ASCII"),
    ([*BASE, "--contact", "我"], "--contact: must be printable ASCII"),
    ([*BASE, "--contact", "a b"], "--contact: 'a b' is not an address; give one like https://"),
    ([*BASE, "--archive", __file__, "--warc", "b.warc"], "--warc records network traffic"),
    ([*BASE, "--archive", "no.warc"], "--archive no.warc: there is no such file"),
    ([*BASE, "--summary", "no/r.json"], "no/r.json: there is no folder "),
    ([*BASE, "--proxy", "http://p:1", "--connect-to", "h:1"], "exclude each other"),
    ([*BASE, "--max-page", "1"], "No such option '--max-page'. (Did you mean one of: "),
)
def test_invalid_option_prints_one_line(
    capsys: CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert complaint in error_line(capsys, "crawl", *arguments)


def test_invalid_variable_is_named(capsys: CaptureFixture[str], monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("FOCUS_DELAY", "soon")
    assert error_line(capsys, "crawl", *BASE).startswith("FOCUS_DELAY: 'soon' is not a time")


# -- seeds, topics, parameters, User-Agent ------------------------------------------


def test_seeds_file_comments_and_duplicates_are_ignored(ordered: Ordered, home: Path) -> None:
    lines = "\ufeffb.test\n# no\n\n http://a.test/#x \nc.test # why\na.test\n"
    (home / "seeds.txt").write_text(lines, encoding="utf-8")
    seeds = ordered(*BASE, "--seeds-file", str(home / "seeds.txt")).config.seeds
    assert seeds == ("a.test", "b.test", "http://a.test/#x", "c.test")
    with pytest.raises(ConfigError, match=r"seeds\.txt': is a file; give it with --seeds-file"):
        ordered("--topic", "x", "--seed", str(home / "seeds.txt"))


def test_seeds_file_dash_reads_input(ordered: Ordered, monkeypatch: MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"s.test\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert ordered("--topic", "x", "--seeds-file", "-").config.seeds == ("s.test",)


def test_topic_file_parameters_are_overridden_by_param(ordered: Ordered, home: Path) -> None:
    file = home / "football.toml"
    text = 'name = "football"\nkeywords = ["足球"]\n[params.topic-pagerank]\ngamma = 0.77\n'
    file.write_text(text, encoding="utf-8")

    def params(*more: str) -> dict[str, float]:
        base = ["--seed", "a.test", "--topic", str(file), "--strategy", "topic-pagerank"]
        return ordered(*base, *more).config.params

    assert params()["gamma"] == 0.77
    assert params("--param", "gamma=0.5")["gamma"] == 0.5
    assert "gamma" not in params("--as-published")
    assert "gamma" not in params("--strategy", "best-first")


@cases(
    "table, complaint",
    ("[params.topic-pagerang]\ngamma = 1.0\n", "did you mean 'topic-pagerank'"),
    ("[params.topic-pagerank]\ngama = 1.0\n", "unknown parameter 'gama'"),
    ("[params.topic-pagerank]\ngamma = 'x'\n", "Expected `float`"),
)
def test_topic_file_parameters_of_unknown_owner_raise_error(
    home: Path, capsys: CaptureFixture[str], table: str, complaint: str
) -> None:
    file = home / "football.toml"
    file.write_text(f'name = "football"\nkeywords = ["足球"]\n{table}', encoding="utf-8")
    arguments = ["--seed", "a.test", "--topic", str(file), "--strategy", "topic-pagerank"]
    assert complaint in error_line(capsys, "crawl", *arguments)


def test_topic_file_sets_seeds_model_and_keywords(ordered: Ordered, home: Path) -> None:
    text = "name='t'\nkeywords=['a']\nseeds=['t.test']\nrelevance='boolean'\n"
    (home / "t.toml").write_text(text, encoding="utf-8")
    result = ordered("--topic", str(home / "t.toml"))
    assert (result.config.seeds, result.config.analysis.relevance) == (("t.test",), "boolean")
    result = ordered(*BASE[:2], "--topic", str(home / "t.toml"), "--relevance", "position")
    assert (result.config.seeds, result.config.analysis.relevance) == (("a.test",), "position")


def test_read_topic_existing_file_or_words(home: Path) -> None:
    assert [word.text for word in read_topic("足球,TCP/IP").keywords] == ["足球", "TCP/IP"]
    (home / "work" / "words").write_text("name='t'\nkeywords=['a']\n", encoding="utf-8")
    assert read_topic("words").name == "t"
    for gone in ("gone.toml", "Gone.TXT", "./gone", str(home / "gone")):
        with pytest.raises(ConfigError, match=r"(?i)gone.*: cannot be read"):
            read_topic(gone)


def test_split_params_assigns_to_strategy_and_model() -> None:
    params = [("gamma", 0.3), ("alpha", 0.5), ("relevance.beta", 0.6), ("strategy.raw", 0.7)]
    expected = ({"gamma": 0.3, "raw": 0.7}, {"alpha": 0.5, "beta": 0.6})
    assert split_params(params, "topic-pagerank", "position") == expected


def test_as_published_applies_to_strategy_model_and_topic(ordered: Ordered, tmp_path: Path) -> None:
    file = tmp_path / "football.toml"
    text = 'name = "足球"\nkeywords = ["足球"]\nrelevance = "evidence"\n[features]\n"欧冠" = 0.5\n'
    file.write_text(text, encoding="utf-8")

    def analysis(*more: str) -> AnalysisConfig:
        return ordered("--seed", "a.test", "--topic", str(file), *more).config.analysis

    assert analysis("--strategy", "topic-pagerank").relevance == "evidence"
    p1 = analysis("--strategy", "topic-pagerank", "--as-published")
    assert (p1.relevance, p1.topic["features"]) == ("position", {})
    p5 = analysis("--strategy", "gene-authority", "--as-published")
    assert (p5.relevance, p5.topic["features"]) == ("adaptive", {"欧冠": 0.5})
    chosen = analysis("--strategy", "gene", "--as-published", "--relevance", "boolean")
    assert chosen.relevance == "boolean"


def test_param_with_greek_letter_is_accepted(ordered: Ordered) -> None:
    options = ("--strategy", "topic-pagerank", "--relevance", "position")
    config = ordered(*BASE, *options, "--param", "γ=0.3", "--param", "relevance.α=0.5").config
    assert (config.params, config.analysis.params) == ({"gamma": 0.3}, {"alpha": 0.5})


def test_unknown_parameter_error_lists_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"known: bfs: none; position: alpha, beta$"):
        split_params([("x", 1.0)], "bfs", "position")
    with pytest.raises(ConfigError, match=r"--param strategy.alpha: .* known: bfs: none$"):
        split_params([("strategy.alpha", 1.0)], "bfs", "position")


@cases(
    "name, contact, header",
    (None, "a@b.test", "(focused crawler; +a@b.test)"),
    (None, None, "(focused crawler; no contact)"),
    ("bot/1", "http://b.test", "bot/1 (+http://b.test)"),
    ("bot/1 (+http://b.test)", "http://b.test", "bot/1 (+http://b.test)"),
)
def test_make_user_agent_has_contact(name: str | None, contact: str | None, header: str) -> None:
    assert make_user_agent(name, contact).endswith(header)


@cases(
    "name, product",
    ("my-bot/2.1 (x)", "my-bot"),
    ("Mozilla/5.0 (compatible; FooBot/1.0; +http://f.test)", "FooBot"),
    ("123", "focus"),
)
def test_product_token_of_user_agent(ordered: Ordered, name: str, product: str) -> None:
    assert ordered(*BASE, "--user-agent", name).config.agent == product


def test_is_anonymous_false_with_contact_or_user_agent(ordered: Ordered) -> None:
    assert ordered(*BASE).is_anonymous
    assert not ordered(*BASE, "--contact", "a@b.test").is_anonymous
    assert not ordered(*BASE, "--user-agent", "bot/1").is_anonymous
