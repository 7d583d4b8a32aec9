"""Removed features are refused with one line that names the replacement."""

from pathlib import Path

import pytest

from focus.errors import ConfigError
from focus.i18n import translate
from focus.registry import REMOVED
from focus.score.strategy import strategy_class
from tests.support.command import Focus

LEARNED = str(REMOVED["strategy learned"])
CRAWL = ("crawl", "--seed", "a.test", "--dry-run")


def refuse(focus: Focus, *arguments: str) -> str:
    """Run a command that must be refused and return its error message."""
    ended = focus(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    return ended.err.removeprefix("focus: error: ").rstrip("\n")


def test_learned_strategy_on_the_command_line_is_refused(focus: Focus) -> None:
    message = refuse(focus, *CRAWL, "--topic", "足球", "--strategy", "learned")
    assert message == f"--strategy: {LEARNED}"


def test_learned_strategy_in_focus_toml_is_refused(focus: Focus, tmp_path: Path) -> None:
    file = tmp_path / "focus.toml"
    file.write_text('[crawl]\nstrategy = "learned"\n', encoding="utf-8")
    message = refuse(focus, *CRAWL, "--topic", "足球")
    assert message == f"{file}: strategy in [crawl]: {LEARNED}"


def test_learned_strategy_in_a_topic_file_is_refused(focus: Focus, tmp_path: Path) -> None:
    file = tmp_path / "football.toml"
    text = 'name = "football"\nkeywords = ["足球"]\n[params.learned]\ncompany = 2.0\n'
    file.write_text(text, encoding="utf-8")
    assert refuse(focus, *CRAWL, "--topic", str(file)) == LEARNED


def test_learned_strategy_in_a_stored_configuration_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        strategy_class("learned")
    assert str(caught.value) == LEARNED


def test_removed_option_in_focus_toml_names_its_replacement(focus: Focus, tmp_path: Path) -> None:
    (tmp_path / "focus.toml").write_text("[crawl]\nprofile = true\n", encoding="utf-8")
    assert refuse(focus, *CRAWL, "--topic", "足球") == REMOVED["focus crawl --profile"]


@pytest.mark.parametrize("name", [name for name in REMOVED if name.startswith("focus ")])
def test_removed_command_or_option_names_its_replacement(focus: Focus, name: str) -> None:
    assert refuse(focus, *name.split()[1:], "--archive", "web.warc.gz") == REMOVED[name]


@pytest.mark.parametrize("name", REMOVED)
def test_message_of_a_removed_feature_has_a_translation(name: str) -> None:
    line = ConfigError(REMOVED[name]).message
    assert translate(line, "zh") != str(line)
