"""What the documents tell people to type, click and open is really there."""

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from focus.cli import cli
from focus.registry import RENAMED, RENAMED_COMMANDS
from focus.score.strategy import STRATEGIES

ROOT = Path(__file__).parents[1]
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = [
    *READMES,
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
STRATEGY_PAGES = [ROOT / "docs" / "strategies.md", ROOT / "docs" / "zh" / "strategies.md"]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_RUNS = re.compile(  # a shell's line, a unit file's, a crontab's; not what focus prints
    r"""^(?:\$ |ExecStart=\S*/|[\d*/]+ [\d*]+ .*/)?focus"? +([a-z].*)$"""
)
_REMOVED = re.compile(  # sections about names that are gone
    r"^##+ (?:Removed|Renamed and removed|改名和去掉的)\n.*?(?=^##|\Z)", re.DOTALL | re.MULTILINE
)
_ENDS = {"|", ">", "<", "&&", ";"}  # what ends a command in a shell


def page_text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every `focus …` in blocks of code."""
    for language, block in _FENCE.findall(text):
        lines = [] if language == "toml" else block.replace("\\\n", " ").splitlines()
        for match in filter(None, (_RUNS.match(line.strip()) for line in lines)):
            lexer = shlex.shlex(match[1], posix=True, punctuation_chars="|><&;")
            lexer.whitespace_split = True
            yield list(takewhile(lambda word: word not in _ENDS, lexer))


def parse(arguments: list[str]) -> None:
    """Read a command line as the program would, and run nothing."""
    command: click.Command = cli
    rest = list(arguments)
    with suppress(click.exceptions.Exit):  # --help
        while isinstance(command, click.Group):
            ctx = command.make_context(command.name, list(rest))
            name, subcommand, rest = command.resolve_command(ctx, rest)
            assert subcommand is not None, name
            command = subcommand
        command.make_context(command.name, rest)


def find_command(words: list[str]) -> click.Command:
    """The command that these words begin with; old names of commands count, too."""
    for old_name, new_name in RENAMED_COMMANDS.items():
        if ["focus", *words][: old_name.count(" ") + 1] == old_name.split():
            words[: old_name.count(" ")] = new_name.partition(" --")[0].split()[1:]
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    assert command is not cli, "there is no such command"
    return command


def list_options(command: click.Command) -> set[str]:
    """All options of a command and of those under it."""
    typed = [param for param in command.params if not getattr(param, "hidden", False)]
    own = {name for param in typed for name in (*param.opts, *param.secondary_opts)}
    own |= {"--help", "--help-all", "-h", *(old.split()[-1] for old in RENAMED)}
    under = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(list_options, under))


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No focus.toml and no variable of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for option in cli.commands["crawl"].params:
        if isinstance(option.envvar, str):
            monkeypatch.delenv(option.envvar, raising=False)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_documented_commands_exist(page: Path) -> None:
    for arguments in commands(page_text(page)):
        try:
            parse(arguments)
        except click.ClickException as error:
            pytest.fail(f"{page.name}: focus {shlex.join(arguments)}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_and_options_in_running_text_exist(page: Path) -> None:
    for code in _CODE.findall(_REMOVED.sub("", _FENCE.sub("", page_text(page)))):
        if re.match(r"focus [a-z]", code):
            words = code.partition(" |")[0].split()[1:]
            known = list_options(find_command(words))
            assert {word for word in words if word.startswith("-")} <= known, f"{page.name}: {code}"
        elif re.match(r"--?[a-z]", code):
            assert code.split()[0].rstrip(",") in list_options(cli), f"{page.name}: {code}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_files_that_are_shown_can_be_used(page: Path) -> None:
    for block in (
        block for language, block in _FENCE.findall(page_text(page)) if language == "toml"
    ):
        if "[crawl]" in block:
            Path("focus.toml").write_text(block, encoding="utf-8")
            ran = CliRunner().invoke(cli, ["crawl", "--dry-run"])
        else:
            Path("topic.toml").write_text(block, encoding="utf-8")
            ran = CliRunner().invoke(cli, ["crawl", "--dry-run", "--topic", "topic.toml"])
        assert ran.exit_code == 0, f"{page.name}: {ran.exception}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page_text(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        assert file.is_file(), f"{page.name}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", page_text(file), re.M)
            assert heading in [item.lower().replace(" ", "-") for item in headings], target


SOURCES = {
    path.relative_to(ROOT).as_posix(): page_text(path)
    for folder in ("focus", "tests", "bench", "docs", ".ci", "examples")
    for path in (ROOT / folder).rglob("*.py")
}
_NAME = re.compile(
    r"(?P<file>(?:(?:focus|tests|bench|docs)/)[\w./-]*|(?:[\w-]+/)*[\w-]+\.py)"
    r"|(?P<module>(?:focus|tests|bench)(?:\.\w+)+)"
    r"|(?P<owner>[A-Z]\w+)\.(?P<member>[A-Za-z_]\w*)(?:[(\[ ].*)?"
)
_PLACEHOLDER = re.compile(r"(^|[./])[A-Z]+([./]|$)")  # NAME.py, focus.NAME.tasks


def exists(name: str) -> bool:
    """Return whether a name in back-ticks exists, where it looks like a name of this project.

    Names are files (`focus/cli.py`, `cli.py`), modules and what is in them (`focus.cli`) and
    members of classes (`Frontier.push`).
    """
    match = _NAME.fullmatch(name.removesuffix("()"))
    if match is None or _PLACEHOLDER.search(name):
        return True
    if file := match["file"]:
        return (ROOT / file).exists() or any(f"/{path}".endswith(f"/{file}") for path in SOURCES)
    if module := match["module"]:
        return module.startswith(("focus.db", "focus.toml")) or is_dotted_name(module)
    classes = [text for text in SOURCES.values() if re.search(rf"class {match['owner']}\b", text)]
    return not classes or any(is_defined(match["member"], text) for text in classes)


def is_defined(name: str, text: str) -> bool:
    """Return whether a module defines or imports a name, or has an attribute of that name."""
    return (
        re.search(rf"(def|class|import|as|self\.|^) *{name}\b|\"{name}\"", text, re.M) is not None
    )


def is_dotted_name(name: str) -> bool:
    path, _, last = name.replace(".", "/").rpartition("/")
    if (ROOT / path / last).is_dir() or f"{path}/{last}.py" in SOURCES:
        return True
    text = SOURCES.get(f"{path}.py") or SOURCES.get(f"{path}/__init__.py") or ""
    package = (text for path, text in SOURCES.items() if path.startswith("focus/"))
    is_entry_point_group = any(f'"{name}"' in text for text in package)
    return is_entry_point_group or is_defined(last, text)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=str)
def test_names_in_a_document_exist(page: Path) -> None:
    names = set(_CODE.findall(_FENCE.sub("", page_text(page))))
    assert not [name for name in sorted(names) if not exists(name)]


def test_names_in_docstrings_exist() -> None:
    names = {(path, name) for path, text in SOURCES.items() for name in _CODE.findall(text)}
    assert not [f"{path}: {name}" for path, name in sorted(names) if not exists(name)]


def test_package_docstring_lists_every_module() -> None:
    missing = []
    for page in (ROOT / "focus").rglob("__init__.py"):
        words = re.findall(r"\w+", ast.get_docstring(ast.parse(page.read_text("utf-8"))) or "")
        modules = {path.stem for path in page.parent.glob("*.py")} - {"__init__"}
        packages = {path.parent.name for path in page.parent.glob("*/__init__.py")}
        missing += [
            f"{page.parent.name}: {name}" for name in (modules | packages).difference(words)
        ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_documents_name_no_machine(page: Path) -> None:
    assert not re.search(r"/work/|/tmp/|/root/|/opt/|simple/|index-url", page_text(page))


@pytest.mark.parametrize("readme", READMES, ids=IDS[:2])
def test_readme_is_short(readme: Path) -> None:
    assert len(page_text(readme).splitlines()) <= 130


@pytest.mark.parametrize("page", STRATEGY_PAGES, ids=str)
def test_strategy_page_lists_every_strategy_in_order(page: Path) -> None:
    rows = re.findall(r"^\| `([\w-]+)`.*? \| .*? \| .*? \|$", page_text(page), re.M)
    assert rows == list(STRATEGIES)


def test_both_readmes_say_to_type_the_same() -> None:
    english, chinese = (list(commands(page_text(readme))) for readme in READMES)
    assert english == chinese
    blocks = [_FENCE.findall(page_text(readme)) for readme in READMES]
    bare_blocks = [[re.sub(r" +#.*", "", code) for _, code in block] for block in blocks]
    assert bare_blocks[0] == bare_blocks[1]
