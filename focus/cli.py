"""The tree of `focus` commands; each is defined in a module of `focus.commands`.

Results go to standard output, everything else to standard error. Errors are FocusErrors, which
`__main__` reports. A command imports slow packages when it runs, so that `focus --help` and shell
completion are quick.
"""

from __future__ import annotations

import click

from focus import __version__
from focus.commands.backup import backup, restore
from focus.commands.changes import changes
from focus.commands.cluster import cluster
from focus.commands.completion import completion
from focus.commands.crawl import NETWORK_NAMES, REACH_NAMES, crawl
from focus.commands.demo import demo
from focus.commands.export import export
from focus.commands.label import label
from focus.commands.options import config_file
from focus.commands.options.help import Group
from focus.commands.report import report_command
from focus.commands.research import research
from focus.commands.search import search
from focus.commands.serve import serve
from focus.commands.status import status
from focus.commands.strategies import strategies
from focus.commands.topic import topic
from focus.commands.watch import watch
from focus.commands.why import why


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="focus")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Crawl sites for pages about a topic, best pages first.

    \b
    Example:
        focus crawl sports.sina.com.cn --topic 足球 --max-pages 1000
        focus export --relevant > football.jsonl

    Options may also be set in focus.toml and in FOCUS_* variables. The command line overrides
    variables, and variables override the file.
    """
    if ctx.invoked_subcommand in ("completion", "strategies"):
        return
    config = config_file.find_config_file()
    ctx.default_map = config_file.command_defaults(config, {"crawl": crawl})
    database = config_file.database_path(config)
    for name, subcommand in cli.commands.items():
        for param in subcommand.params if name not in ("demo", "serve") else ():
            if param.name == "db":
                default = [database] if param.multiple else database
                ctx.default_map.setdefault(name, {}).setdefault("db", default)
    crawl_defaults = {**ctx.default_map.get("crawl", {}), "db": database}
    network_defaults = {
        key: crawl_defaults[key] for key in (*NETWORK_NAMES, "db") if key in crawl_defaults
    }
    for group in (topic, watch):
        ctx.default_map[str(group.name)] = dict.fromkeys(group.commands, network_defaults)
    ctx.default_map["research"] = {"train": {"db": database}, "compare": {"db": database}}
    ctx.default_map["serve"] = network_defaults
    reach_defaults = {key: crawl_defaults[key] for key in REACH_NAMES if key in crawl_defaults}
    ctx.default_map["cluster"] = {"frontier": crawl_defaults, "worker": reach_defaults}


for command in (
    crawl, demo, status, export, search, why, report_command, changes,
    topic, label, watch, serve,
    backup, restore, cluster, research, strategies, completion,
):  # fmt: skip
    cli.add_command(command)
