"""Write docs/cli.md, docs/zh/cli.md and docs/focus.1 from the commands.

Usage: python docs/make_cli.py

The Chinese page has the words of the catalogue; only what frames the commands stands here twice.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from focus import i18n
from focus.alerts.delivery import CHANNELS
from focus.cli import cli
from focus.commands.options.help import paragraphs
from focus.commands.options.option import show_full_help
from focus.config import FILE_ONLY
from focus.i18n import say
from focus.registry import RENAMED, RENAMED_COMMANDS

DOCS = Path(__file__).parent
PAGES = {"en": DOCS / "cli.md", "zh": DOCS / "zh" / "cli.md"}

INTRO = """\
# Command line

`python docs/make_cli.py` writes this page from the commands; a test checks that it is up to date.
[Using focus](usage.md) is ordered by task instead.

Data goes to standard output, messages go to standard error. An option takes its value from the
command line, else from its variable, else from `focus.toml`, else the default applies. `focus.toml`
is in the working directory, the nearest folder above it, or your configuration folder; options of
`focus crawl` stand under `[crawl]`, and paths are relative to the file's folder.

```toml
db = "football.db"             # for every command

[crawl]
seed = ["sports.sina.com.cn"]
topic = "足球,英超:0.8"
strategy = "topic-pagerank"
param = {gamma = 0.3}          # a parameter of this strategy
max-pages = 10000
delay = "2s"
```

Times are written 90 (seconds), 45s, 30m, 1h30m or 2d; sizes 65536 (bytes), 64K, 500M or 2G,
in powers of 1,024.

| exit code | meaning |
|---|---|
| 0 | done: a limit or the target is reached, no URL is left, or SIGTERM arrived |
| 1 | the disk is full, a file or the database cannot be used, or focus has a bug |
| 2 | an option, variable, topic or configuration file is invalid |
| 3 | no page was fetched; the reason is given for each seed |
| 4 | more URLs failed than `FOCUS_FAIL_ERROR_RATE` allows, or no watched site could be visited |
| 5 | another crawl uses the database |
| 6 | another `focus watch run` is active |
| 7 | the broker of a cluster cannot be used, or its frontier or workers are missing |
| 8 | no host could be reached during `FOCUS_MAX_OFFLINE`; the same command continues |
| 130 | Ctrl-C; the same command continues |
"""


RENAMED_INTRO = (
    "## Renamed and removed",
    "",
    "Old names of commands and options work until the next release, with a note. A variable in the",
    "second column replaces an option; for `focus crawl` it is also a key under `[crawl]` in",
    "`focus.toml`, such as `max-body`.",
    "",
    "| old | now |",
    "|---|---|",
)
RENAMED_INTRO_ZH = (
    "## 改名和去掉的",
    "",
    "命令和选项的旧名称在下一版之前仍可用，并有提示。第二列中的变量代替选项；"
    "对 `focus crawl`，它也是 `focus.toml` 中 `[crawl]` 下的键，例如 `max-body`。",
    "",
    "| 旧 | 新 |",
    "|---|---|",
)
REMOVED = (
    "| `focus judge` | `focus label`, or TREC judgments with `focus research compare --labels` |",
    "| `focus tune`, `--profile`, `--vectors`, strategy `learned` | removed; use `yield` |",
)
REMOVED_ZH = (
    "| `focus judge` | `focus label`；`focus research compare --labels` 读取 TREC 格式的判断 |",
    "| `focus tune`、`--profile`、`--vectors`、策略 `learned` | 已去掉；请用 `yield` |",
)

INTRO_ZH = """\
# 命令行

`python docs/make_cli.py` 从各条命令生成本页；有一个测试检查它是最新的。\
[使用说明](usage.md)按任务编排。

数据写到标准输出，消息写到标准错误。选项依次取自命令行、变量、`focus.toml`，都没有时用默认值。\
`focus.toml` 在工作目录、其上最近一层文件夹或你的配置文件夹中；\
`focus crawl` 的选项写在 `[crawl]` 下，路径相对于文件所在的文件夹。

```toml
db = "football.db"             # 对每条命令有效

[crawl]
seed = ["sports.sina.com.cn"]
topic = "足球,英超:0.8"
strategy = "topic-pagerank"
param = {gamma = 0.3}          # 该策略的参数
max-pages = 10000
delay = "2s"
```

时长写作 90（秒）、45s、30m、1h30m 或 2d；大小写作 65536（字节）、64K、500M 或 2G，以 1,024 进位。

| 退出码 | 含义 |
|---|---|
| 0 | 完成：达到限制或目标，没有剩下的 URL，或收到 SIGTERM |
| 1 | 磁盘已满，文件或数据库不能用，或 focus 有错误 |
| 2 | 选项、变量、主题或配置文件无效 |
| 3 | 一个网页也没有抓到；写明每个种子的原因 |
| 4 | 失败的 URL 多于 `FOCUS_FAIL_ERROR_RATE` 允许的，或没有关注的网站可以访问 |
| 5 | 另一次抓取正在使用数据库 |
| 6 | 另一个 `focus watch run` 未结束 |
| 7 | 集群的消息代理不能用，或缺少 frontier 或工作进程 |
| 8 | 在 `FOCUS_MAX_OFFLINE` 期间没有主机可以到达；同一条命令接着抓 |
| 130 | Ctrl-C；同一条命令接着抓 |
"""


CHANNELS_INTRO = """\
Ways to send messages, for `focus watch add` and the form in the browser. The inbox always has every
page. Other packages can [add channels](api.md) by an entry point."""
CHANNELS_INTRO_ZH = """\
用于 `focus watch add` 和浏览器表单的通知方式。收件箱总有全部网页。其他的包可以用入口点\
[添加通知方式](api.md)。"""


def page(language: str = "en") -> str:
    """Return the whole page in a language."""
    before = i18n.current_language()
    i18n.set_language(language)
    try:
        intro = INTRO if language == "en" else INTRO_ZH
        parts = [intro, *("\n".join(_command(name, command)) for name, command in commands())]
        parts += ("\n".join(_channels()), "\n".join(_renamed()))
    finally:
        i18n.set_language(before)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _is_english() -> bool:
    return i18n.current_language() == "en"


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
    show_full_help(ctx)
    yield f"## focus {name}"
    yield ""
    yield f"`focus {name} {' '.join(command.collect_usage_pieces(ctx))}`"
    yield ""
    yield from _prose(inspect.cleandoc(command.help or ""))
    section = ""
    options = [param for param in command.params if isinstance(param, click.Option)]
    for option in sorted(options, key=_is_hidden):
        if getattr(option, "section", "Options") != section:
            section = getattr(option, "section", "Options")
            default, variable = ("default", "variable") if _is_english() else ("默认", "变量")
            yield from ("", f"| {say(section)} | | {default} | {variable} |", "|---|---|---|---|")
        yield _row(option, ctx)
    yield ""


def _is_hidden(option: click.Option) -> bool:
    return getattr(option, "section", "") == FILE_ONLY


def _renamed() -> Iterator[str]:
    """Yield the section on old names of commands and options."""
    yield from RENAMED_INTRO if _is_english() else RENAMED_INTRO_ZH
    yield from (f"| `{old}` | `{new}` |" for old, new in {**RENAMED_COMMANDS, **RENAMED}.items())
    hidden = {
        (max(option.opts, key=len), str(option.envvar))
        for _, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and _is_hidden(option)
    }
    yield from (f"| `{old}` | `{new}` |" for old, new in sorted(hidden))
    yield from REMOVED if _is_english() else REMOVED_ZH
    yield ""


def _channels() -> Iterator[str]:
    """Yield the section on channels, from their own help."""
    if _is_english():
        yield from ("## Channels", "", CHANNELS_INTRO, "")
        yield "| | | several at once | installation |"
    else:
        yield from ("## 通知方式", "", CHANNELS_INTRO_ZH, "")
        yield "| | | 同时几个 | 安装时设置 |"
    yield "|---|---|---:|---|"
    for kind, channel in CHANNELS.items():
        spelled = f"`--{kind} {channel.metavar}`".replace("|", "\\|")
        says = inspect.cleandoc(channel.__doc__ or "").split("\n")[0]
        says = says if _is_english() else say(channel.help)
        needs = ", ".join(f"`--{each.name}`" for each in channel.options)
        yield f"| {spelled} | {says} | {channel.concurrency} | {needs} |"


def _prose(text: str) -> Iterator[str]:
    """Help as Markdown: click's unwrapped paragraphs become blocks of code."""
    for paragraph in text.split("\n\n") if _is_english() else paragraphs(text):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            code = [line for line in lines[1:] if line.startswith(" ")]
            yield from ("```sh", *inspect.cleandoc("\n".join(["", *code])).split("\n"), "```", "")
        else:
            yield from (*(lines if _is_english() else map(say, lines)), "")


def _row(option: click.Option, ctx: click.Context) -> str:
    record = option.get_help_record(ctx)
    key = option.opts[0].removeprefix("--")  # of a setting of focus.toml only
    name = record[0] if record else key if option.is_flag else f"{key} {option.make_metavar(ctx)}"
    extra = option.get_help_extra(ctx)
    default = str(extra.get("default", "")).strip('()"')
    if isinstance(option.show_default, str):
        default = say(default)
    variable = ", ".join(f"`{name}`" for name in extra.get("envvars", ()))
    cells = (f"`{name}`", say(option.help or ""), default, variable)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
    import make_man  # it needs this module

    make_man.PAGE.write_text(make_man.page(), encoding="utf-8")
