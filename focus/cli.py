"""The tree of `focus` commands; each is defined in a module of `focus.commands`.

Data goes to standard output, everything else to standard error. Errors are FocusError
and end up in `__main__`. A command imports what is slow to import when it runs, so that
`focus --help` and shell completion are quick.
"""

from __future__ import annotations

from pathlib import Path

import click

from focus import __version__
from focus.commands.backup import backup, restore
from focus.commands.changes import changes
from focus.commands.cluster import cluster
from focus.commands.compare import compare_command
from focus.commands.completion import completion
from focus.commands.crawl import NETWORK_NAMES, REACH_NAMES, crawl
from focus.commands.demo import demo
from focus.commands.export import export
from focus.commands.kb import kb
from focus.commands.label import label
from focus.commands.options import config_file
from focus.commands.options.help import Group
from focus.commands.report import report_command
from focus.commands.search import search
from focus.commands.serve import serve
from focus.commands.status import status
from focus.commands.strategies import strategies
from focus.commands.topic import topic
from focus.commands.train import train
from focus.commands.watch import watch
from focus.commands.why import why


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="focus")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Crawl a topic: from these sites, the pages about it, best first.

    \b
    Example:
        focus crawl --seed sports.sina.com.cn --topic 足球 --max-pages 1000
        focus export --relevant > football.jsonl

    Options may also stand in focus.toml and in FOCUS_* variables; the command line wins
    over variables, these over the file.
    """
    if ctx.invoked_subcommand in ("completion", "strategies"):
        return
    found = config_file.find(Path.cwd())
    ctx.default_map = config_file.defaults(found, {"crawl": crawl})
    database = config_file.database(found)
    for name, subcommand in cli.commands.items():
        for each in subcommand.params if name not in ("demo", "serve") else ():
            if each.name == "db":
                default = [database] if each.multiple else database
                ctx.default_map.setdefault(name, {}).setdefault("db", default)
    asked = {**ctx.default_map.get("crawl", {}), "db": database}
    known = {key: asked[key] for key in (*NETWORK_NAMES, "db") if key in asked}
    for group in (topic, watch):
        ctx.default_map[str(group.name)] = dict.fromkeys(group.commands, known)
    ctx.default_map["serve"] = known
    opened = {key: asked[key] for key in REACH_NAMES if key in asked}
    ctx.default_map["cluster"] = {"frontier": asked, "worker": opened}


for command in (
    crawl, demo,
    export, status, why, changes, search, backup, restore,
    topic, train, label, kb, compare_command, report_command, watch, serve, cluster,
    strategies, completion,
):  # fmt: skip
    cli.add_command(command)
