"""The examples work as they stand: commands that focus takes, files that it reads, an image."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from focus.cli import cli
from tests.test_readme import commands, parse

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.name)
def test_a_script_is_one(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.name)
def test_its_commands_are_those_of_focus(script: Path) -> None:
    text = script.read_text(encoding="utf-8").replace('"$AMQP"', "amqp://u@127.0.0.1/")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.startswith("focus ")]
    words = list(commands("```sh\n" + "\n".join(lines) + "\n```\n"))
    assert words
    for arguments in words:
        parse(arguments)


def test_example_of_nightly_crawl_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("focus.toml", "topic.toml"):
        (tmp_path / name).write_bytes((EXAMPLES / "night" / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(cli, ["crawl", "--dry-run"])
    assert ran.exit_code == 0, ran.output
    assert "足球" in ran.output


def test_example_notebook_compiles() -> None:
    path = EXAMPLES / "notebook" / "crawl.py"
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_systemd_unit_of_frontier_can_write_its_database() -> None:
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    [unit] = (item for item in re.findall(r"```ini\n(.*?)```", text, re.S) if "frontier" in item)
    (command,) = re.findall(r"ExecStart=/usr/local/bin/(.*)", unit.replace("\\\n", " "))
    assert "StateDirectory=focus\n" in unit and "--db ${STATE_DIRECTORY}/" in command
    [arguments] = commands(f"```sh\n{command}\n```\n")
    parse(arguments)


def test_source_distribution_contains_files_of_makefile_and_tests() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        packed = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / item.lstrip("/")).exists() for item in packed)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    read = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    run = re.findall(r"(?<![\w./-])(\.ci|docs|bench)/", makefile)
    named = re.findall(r'ROOT / "([^"/]+)', "\n".join(read))
    missing = {f"/{item}" for item in (*run, *named) if (ROOT / item).exists()} - set(packed)
    assert missing <= {"/pyproject.toml"}  # which is always there


def test_image_installs_existing_extras() -> None:
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    extras = re.findall(r"'\.\[([\w,]+)\]'", image)
    with (ROOT / "pyproject.toml").open("rb") as file:
        known = tomllib.load(file)["project"]["optional-dependencies"]
    assert extras and set(extras[0].split(",")) <= set(known)


def test_files_copied_into_image_exist() -> None:
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {
        name for line in re.findall(r"^COPY (?!--)(.+) \S+$", image, re.M) for name in line.split()
    }
    assert copied == {item[1:] for item in patterns if item.startswith("!")}


def test_ci_names_tests_that_exist() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    lowest = re.findall(r"^lowest=\((.*?)\)", script, re.M | re.S)[0].split()
    timing = re.findall(r"^TIMING = set\((.*?)\.split", conftest, re.M | re.S)[0]
    names = [*(f"test_{name}" for name in lowest), *re.findall(r"test_\w+", timing)]
    assert not [name for name in names if not (ROOT / "tests" / f"{name}.py").exists()]
