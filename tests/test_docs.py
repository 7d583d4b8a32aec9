"""The documents say what the program does."""

import importlib
import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import focus
from focus.cli import cli
from tests.support.cases import cases

DOCS = Path(__file__).parents[1] / "docs"


def flat(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, those of groups too."""
    for name, command in sorted(group.commands.items()):
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from flat(command, f"{prefix}{name} ")


COMMANDS = list(flat(cli))


@pytest.fixture(scope="module")
def make_cli() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("language", ["en", "zh"])
def test_cli_page_is_generated_from_the_commands(make_cli: ModuleType, language: str) -> None:
    shown = make_cli.PAGES[language].read_text(encoding="utf-8")
    assert shown == make_cli.page(language), "run `python docs/make_cli.py`"


def test_manual_page_is_generated_from_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    shown = (DOCS / "focus.1").read_text(encoding="utf-8")
    assert shown == importlib.import_module("make_man").page(), "run `python docs/make_cli.py`"
    for name, command in COMMANDS:
        assert f"\n.SS focus {name}\n".replace("-", "\\-") in shown, name
        assert not command.params or "\n.TP\n" in shown


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_command_has_help_that_ends_with_an_example(name: str, command: click.Command) -> None:
    assert command.help
    last = command.help.rstrip().rpartition("\b")[2]
    assert f"focus {name}" in last
    assert all(line.startswith("    ") for line in last.strip("\n").splitlines()[1:])


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_summary_of_command_fits_the_list(name: str, command: click.Command) -> None:
    assert not command.get_short_help_str(limit=62).endswith("...")


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_options_have_help(name: str, command: click.Command) -> None:
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.opts
            assert option.help.endswith("."), option.opts
            assert option.is_flag or option.metavar or isinstance(option.type, click.Choice)


def test_crawl_options_except_dry_run_have_variables() -> None:
    options = (p for p in cli.commands["crawl"].params if isinstance(p, click.Option))
    for option in options:
        name = max(option.opts, key=len).removeprefix("--").upper().replace("-", "_")
        assert option.envvar == (None if name == "DRY_RUN" else f"FOCUS_{name}")


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix()
)
def test_shown_cluster_commands_name_a_broker(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
             for line in block.splitlines()]  # fmt: skip
    is_set = False
    for line in lines:
        is_set |= "FOCUS_AMQP=" in line
        if re.search(r"focus cluster (?!start)[a-z]", line):
            assert is_set or "--amqp" in line, line


@cases(
    "link, in_site",
    ("[a](cli.md#通知方式)", "[a](cli.md#通知方式)"),
    ("[a](#here)", "[a](#here)"),
    ("[a](https://a.test/b.md)", "[a](https://a.test/b.md)"),
    ("[a](../results.md#p)", "[a](../results.html#p)"),  # the other language
    ("[a](../../SECURITY.md)", "[a](../security.html)"),
    ("![a](../soak.svg)", "![a](soak.svg)"),
    ('<img src="../pictures/watch-inbox-desk.webp">',
     '<img src="pictures/watch-inbox-desk.webp">'),
    ("| `A\\|B` | c\\|d |", "| `A|B` | c\\|d |"),
)  # fmt: skip
def test_link_rewritten_for_site(monkeypatch: pytest.MonkeyPatch, link: str, in_site: str) -> None:
    monkeypatch.syspath_prepend(DOCS)
    site = importlib.import_module("make_site")
    assert site.rewritten(link, "docs/zh/usage.md", site.places()) == in_site
    with pytest.raises(SystemExit, match=r"gone\.md leads to nothing"):
        site.rewritten(f"{link} [b](gone.md)", "docs/zh/usage.md", site.places())


def test_package_description_has_no_broken_link() -> None:
    built = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert "](docs/usage.md)" in text
    for item in built["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(item["pattern"], item["replacement"], text)
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)]+)\)", text))
    assert "[" not in text.partition("```")[0]


def test_source_distribution_lists_parts_from_the_root() -> None:
    built = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    included = built["build"]["targets"]["sdist"]["include"]
    assert all(name.startswith("/") for name in included)  # else `bench` would be any `bench`


@pytest.mark.parametrize("page", [DOCS / "licences.md", DOCS / "zh" / "licences.md"])
def test_licences_and_sbom_agree_with_dependencies(page: Path) -> None:
    """`make licences` writes these files."""
    built = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    listed = {"focus": built["project"]["dependencies"]}
    listed |= built["project"]["optional-dependencies"]
    needed = {
        group: {canonicalize_name(Requirement(item).name) for item in items}
        for group, items in listed.items()
    }
    rows = re.findall(
        r"^\| \[?([\w.-]+).* \| (\S+) \| .+ \| (`.+`) \|$", page.read_text("utf-8"), re.M
    )
    shown = {canonicalize_name(name): set(re.findall(r"\w+", used)) for name, _, used in rows}
    for group, names in needed.items():
        for name in names:
            assert shown[name] & ({group, "focus"} if group != "dev" else set(needed)), name
    pins = (DOCS.parent / "constraints.txt").read_text("utf-8").lower().splitlines()
    assert {f"{name}=={version}".lower() for name, version, _ in rows} <= set(pins)

    bill = json.loads((DOCS.parent / "sbom.cdx.json").read_text("utf-8"))
    tools = {"dev", "docs"}
    parts = {canonicalize_name(item["name"]) for item in bill["components"]}
    assert parts == {name for name, groups in shown.items() if groups - tools}
    direct = {canonicalize_name(re.split("[/@]", ref)[1])
              for ref in bill["dependencies"][0]["dependsOn"]}  # fmt: skip
    assert direct == set().union(*(needed[group] for group in needed.keys() - tools))
    assert bill["metadata"]["component"]["version"] == focus.__version__
    assert built["tool"]["hatch"]["build"]["targets"]["wheel"]["sbom-files"] == ["sbom.cdx.json"]


def test_design_shows_the_layers_that_import_linter_checks() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    for page in (DOCS / "design.md", DOCS / "zh" / "design.md"):
        cells = re.findall(r"^\| \d+ \| (.*?) \|", page.read_text(encoding="utf-8"), re.M)
        rows = [[name.strip("/") for name in re.findall(r"`([^`]+)`", cell)] for cell in cells]
        assert rows == [layer.split(" | ") for layer in reversed(layers)], page


def test_security_page_names_existing_tests() -> None:
    """Each promise of SECURITY.md names the tests that hold it."""
    page = (DOCS.parent / "SECURITY.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| promise \| test \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.M)
    for row in "".join(cells).splitlines():
        named = re.findall(r"`(test_\w+\.py)::(\w+)`", row.rpartition(" | ")[2])
        assert named, row
        for file, function in named:
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            assert f"def {function}(" in text, f"{file}::{function}"
