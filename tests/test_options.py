"""An option is declared once: by flag, variable and focus.toml it comes to its field."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from pytest import MonkeyPatch

from focus.cli import cli, crawl
from focus.commands.options import config_file
from focus.commands.options.declared import DECLARED, Declared, changed_options
from focus.commands.settings import plan_crawl
from focus.config import FILE_ONLY, RARE_OPTIONS, CrawlConfig

NAMES = [declared.name for declared in DECLARED]
TYPED = [declared for declared in DECLARED if declared.setting.section != FILE_ONLY]

SAMPLES: dict[str, tuple[str, Any]] = {
    "relevance": ("0.25", 0.25), "time": ("77s", 77.0), "size": ("77k", 77 * 1024),
    "strategy": ("bfs", "bfs"), "model": ("boolean", "boolean"),
    "media type": ("text/plain", "text/plain"), "pattern": ("a.c", "a.c"),
    "network": ("10.0.0.0/8", "10.0.0.0/8"), "endpoint": ("127.0.0.1:8080", "127.0.0.1:8080"),
    "proxy": ("http://proxy.test:80", "http://proxy.test:80"), "secret": ("a=1", "a=1"),
    "share": ("0.02", 0.02), "file": ("web.warc", Path("web.warc")), "flag": ("", True),
    "text": ("llm", "llm"), "languages": ("eng", "eng"), "terms": ("none", "none"),
    "instant": ("2026-01-31", 1769817600.0), "instant-end": ("2026-01-31", 1769904000.0),
}  # fmt: skip


def sample(option: Declared) -> tuple[str, Any]:
    """What is typed for an option, and what its field shall hold; not its default."""
    if option.setting.choices:
        value = next(choice for choice in option.setting.choices if choice != option.default)
        return value, value
    if option.kind == "count":
        number = (option.default or option.setting.minimum) + 1
        return str(number), number
    typed, value = ("none", "none") if option.name == "terms" else SAMPLES[option.kind]
    if option.kind == "flag":
        return typed, not option.default
    return typed, (value,) if option.is_many else value


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    """A working directory with a recorded web, and no FOCUS_* variables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.warc").touch()
    monkeypatch.setattr("focus.commands.settings._check_documents", lambda: None)  # an extra
    monkeypatch.setattr("focus.commands.settings.check_ocr", lambda *_, **__: None)  # programs
    for option in crawl.params:
        monkeypatch.delenv(str(option.envvar), raising=False)
    return tmp_path


def stored_value(option: Declared, *flags: str) -> Any:
    """What the field of an option holds after these flags, the variables and focus.toml."""
    values = config_file.command_defaults(
        config_file.find_config_file(Path.cwd()), {"crawl": crawl}
    )
    arguments = ["--seed", "a.test", "--topic", "t", "--db", "f.db", "--llm", "http://h", *flags]
    ctx = crawl.make_context("focus crawl", arguments, default_map=values.get("crawl"))
    result = plan_crawl(ctx.params)
    records = {type(result.paths): result.paths, CrawlConfig: result.config}
    for name in CrawlConfig.__struct_fields__:
        if isinstance(part := getattr(result.config, name), msgspec.Struct):
            records[type(part)] = part
    return getattr(records[option.record], option.field)


@pytest.mark.parametrize("option", TYPED, ids=[item.name for item in TYPED])
def test_declared_option_as_flag_sets_its_field(option: Declared) -> None:
    typed, value = sample(option)
    assert stored_value(option, f"--{option.name}", *filter(None, [typed])) == value
    assert stored_value(option) == option.default


@pytest.mark.parametrize("option", DECLARED, ids=NAMES)
def test_option_as_variable_sets_its_field(option: Declared, monkeypatch: MonkeyPatch) -> None:
    typed, value = sample(option)
    monkeypatch.setenv(option.environment_variable, typed or "1")
    assert stored_value(option) == value


@pytest.mark.parametrize("option", DECLARED, ids=NAMES)
def test_declared_option_in_focus_toml_sets_its_field(option: Declared, folder: Path) -> None:
    typed, value = sample(option)
    (folder / "focus.toml").write_text(
        f"[crawl]\n{option.name} = {f'{typed!r}' if typed else 'true'}\n", encoding="utf-8"
    )
    if option.kind == "file":
        value = folder / value  # a path in the file counts from its folder
    assert stored_value(option) == value


def test_dry_run_lists_set_options_with_sources(folder: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("FOCUS_PROXY", "http://me:secret@proxy.test:80")
    expected = {"slowdown": "90s", "max_headers": "32K", "allow_net": ["10.0.0.0/8", "::1"]}
    arguments = ["--insecure", "--delay", "2s", "--max-body", "1M", "--cookie", "sid=secret"]
    ctx = crawl.make_context("crawl", arguments, default_map=expected)
    assert changed_options(ctx, excluded={"delay"}) == [
        "max-body 1M", "max-headers 32K (focus.toml)",
        "--proxy http://proxy.test:80 (FOCUS_PROXY)",
        "--allow-net 10.0.0.0/8,::1/128 (focus.toml)", "--insecure",
        "slowdown 1m30s (focus.toml)", "--cookie …",
    ]  # fmt: skip


def test_crawl_short_help_fits_75_lines_full_help_has_all(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short = CliRunner().invoke(cli, ["crawl", "--help"]).output
    full = CliRunner().invoke(cli, ["crawl", "--help-all"]).output
    assert {option.name for option in TYPED} >= RARE_OPTIONS
    assert len(short.splitlines()) <= 75
    assert 25 <= short.count("\n  -") <= 32
    for option in TYPED:
        assert f"--{option.name} " in full
        assert (f"--{option.name} " in short) is not (option.name in RARE_OPTIONS)
    assert "FOCUS_DELAY" in full
    assert "FOCUS_DELAY" not in short


def test_url_argument_is_a_seed_before_those_of_the_option(folder: Path) -> None:
    arguments = ["a.test", "b.test", "--seed", "c.test", "--topic", "t", "-n", "--db", "f.db"]
    output = CliRunner().invoke(cli, ["crawl", *arguments]).output
    assert re.findall(r"https://(\w)\.test/,", output) == ["a", "b", "c"]


@pytest.mark.parametrize("source", ["flag", "variable", "file"])
def test_old_option_name_works(source: str, folder: Path, monkeypatch: MonkeyPatch) -> None:
    jar = next(option for option in DECLARED if option.name == "cookie-jar")
    if source == "variable":
        monkeypatch.setenv("FOCUS_COOKIES", "1")
    if source == "file":
        (folder / "focus.toml").write_text("[crawl]\ncookies = true\n", encoding="utf-8")
    assert stored_value(jar, *(["--cookies"] if source == "flag" else [])) is True


def test_hidden_option_typed_sets_its_value_with_a_note(folder: Path) -> None:
    arguments = ["a.test", "--topic", "t", "-n", "--timeout", "3s", "--db", "f.db"]
    result = CliRunner().invoke(cli, ["crawl", *arguments])
    assert "will not have --timeout; set FOCUS_TIMEOUT instead" in result.stderr
    assert "timeout 3s" in result.stdout
