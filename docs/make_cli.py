"""Write docs/cli.md and docs/focus.1 from the commands themselves: python docs/make_cli.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from focus.alerts.delivery import CHANNELS
from focus.cli import cli

PAGE = Path(__file__).with_name("cli.md")

INTRO = """\
# Command line

Made by `python docs/make_cli.py` from the commands; a test holds that it is up to date.

[Using focus](usage.md) goes by what you want to do instead of by option.

Data goes to standard output, everything else to standard error. An option may also stand
in its variable or, for `focus crawl`, under `[crawl]` in `focus.toml` (the nearest one upward
from the working directory, else the one in the user's configuration folder); the command line
wins over variables, these over the file, the file over the defaults. Paths in the file count
from its folder.

```toml
db = "football.db"             # for every command

[crawl]
seed = ["sports.sina.com.cn"]
topic = "足球,英超:0.8"
strategy = "topic-pagerank"
param = {gamma = 0.3}          # a number of this strategy
max-pages = 10000
delay = "2s"
```

Times are written 90 (seconds), 45s, 30m, 1h30m or 2d; sizes 65536 (bytes), 64K, 500M or 2G,
in powers of 1,024.

| exit code | meaning |
|---|---|
| 0 | done: a limit or the target is reached, nothing is left, or SIGTERM came |
| 1 | the disk, a file or focus itself is at fault |
| 2 | an option, variable, topic or configuration file makes no sense |
| 3 | not one page was fetched; each seed is named with the reason |
| 4 | more failures than `--fail-error-rate` allows; or no watched site could be visited |
| 5 | another crawl is using the database |
| 6 | another `focus watch run` is at work |
| 7 | the broker of a cluster cannot be used, or a role of it is missing |
| 8 | no host at all could be reached for `--max-offline`; all waits, and the same command goes on |
| 130 | Ctrl-C; everything fetched is kept, and the same command continues |
"""


CHANNELS_INTRO = """\
Where `focus watch add` and the form in the browser let messages go; the inbox has every page in any
case. Packages of others [add channels](api.md) by an entry point."""


def page() -> str:
    """The whole page."""
    parts = [INTRO, *("\n".join(_command(name, command)) for name, command in commands())]
    parts.append("\n".join(_channels()))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands with their full names, in the order of the page."""
    for name in sorted(cli.commands, key=_order):
        yield from _with_subcommands(name, cli.commands[name])


def _with_subcommands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner, each in command.commands.items():
            yield from _with_subcommands(f"{name} {inner}", each)


def _order(name: str) -> int:
    order = [
        "crawl",
        "export",
        "status",
        "why",
        "search",
        "topic",
        "train",
        "label",
        "kb",
        "strategies",
        "demo",
    ]
    return order.index(name) if name in order else len(order)


def _command(name: str, command: click.Command) -> Iterator[str]:
    ctx = click.Context(command, info_name=f"focus {name}")
    yield f"## focus {name}"
    yield ""
    yield f"`focus {name} {' '.join(command.collect_usage_pieces(ctx))}`"
    yield ""
    yield from _prose(inspect.cleandoc(command.help or ""))
    section = ""
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if getattr(option, "section", "Options") != section:
            section = getattr(option, "section", "Options")
            yield from ("", f"| {section} | | default | variable |", "|---|---|---|---|")
        yield _row(option, ctx)
    yield ""


def _channels() -> Iterator[str]:
    """How alerts are told, as the channels say themselves."""
    yield from ("## Channels", "", CHANNELS_INTRO, "")
    yield "| | | several at once | installation |"
    yield "|---|---|---:|---|"
    for kind, channel in CHANNELS.items():
        option = kind if channel.for_accounts else f"--{kind} {channel.metavar}"
        spelled = f"`{option}`".replace("|", "\\|")
        says = inspect.cleandoc(channel.__doc__ or "").split("\n")[0]
        needs = ", ".join(f"`--{each.name}`" for each in channel.options)
        yield f"| {spelled} | {says} | {channel.at_once} | {needs} |"


def _prose(text: str) -> Iterator[str]:
    """Help as Markdown: click's unwrapped paragraphs become blocks of code."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            code = [line for line in lines[1:] if line.startswith(" ")]
            yield from ("```sh", *inspect.cleandoc("\n".join(["", *code])).split("\n"), "```", "")
        else:
            yield from (*lines, "")


def _row(option: click.Option, ctx: click.Context) -> str:
    record = option.get_help_record(ctx)
    assert record is not None
    extra = option.get_help_extra(ctx)
    default = str(extra.get("default", "")).strip("()")
    variable = ", ".join(f"`{name}`" for name in extra.get("envvars", ()))
    cells = (f"`{record[0]}`", option.help or "", default, variable)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    import make_man  # it needs this module

    make_man.PAGE.write_text(make_man.page(), encoding="utf-8")
