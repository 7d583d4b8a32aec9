"""`focus cluster`: the roles of a crawl on several machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from focus.commands.crawl import REACH_NAMES, crawl_options, reach_options
from focus.commands.options.declared import DECLARED, changed_options
from focus.commands.options.help import Group
from focus.commands.options.option import (
    JSON,
    Command,
    add_options,
    option,
    print_json,
    print_lines,
    print_result,
)
from focus.commands.running import run_crawl_command, run_loop
from focus.config import SCRIPT_SECTION
from focus.errors import ConfigError

if TYPE_CHECKING:
    from focus.cluster.address import Address
    from focus.commands.settings import CrawlPlan

cluster_option = partial(option, section="The cluster")
PASSWORD_VARIABLE = "FOCUS_AMQP_PASSWORD"
UNLIMITED_CONCURRENCY = 1 << 20  # concurrent requests; the slots of the workers are the limit

_BROKER_OPTIONS = [
    cluster_option(
        "--amqp",
        variable=True,
        metavar="URL",
        help="The broker: amqp[s]://USER@HOST:PORT/VHOST. Its password is better not here "
        f"but in a file or in {PASSWORD_VARIABLE}.",
    ),
    cluster_option(
        "--amqp-password-file",
        variable=True,
        kind="file",
        help="The first line of this file is the broker's password.",
    ),
    cluster_option(
        "--amqp-ca",
        variable=True,
        kind="file",
        help="Trust the certificates in this file (PEM), with amqps://.",
    ),
    cluster_option(
        "--amqp-plain",
        variable=True,
        is_flag=True,
        help="Speak amqp:// to another machine, too: unencrypted, in a network of your own.",
    ),
    cluster_option(
        "--cluster",
        variable=True,
        kind="plain name",
        default="main",
        help="One of several clusters on a broker.",
    ),
]
_SLOTS = cluster_option("--slots", kind="count", default=64, help="Requests at the same time.")


broker_options = add_options(_BROKER_OPTIONS)
"""Options with the address of the broker and the name of the cluster."""


def broker_address(options: dict[str, Any]) -> Address:
    """Return the address of the broker. Raises ConfigError if it or its password is missing."""
    _need_aio_pika()
    from focus.cluster.address import read_address

    if not options["amqp"]:
        raise ConfigError("no broker; give one with --amqp amqps://USER@HOST/")
    password = os.environ.get(PASSWORD_VARIABLE)
    if (file := options["amqp_password_file"]) is not None:
        from focus.commands.settings import read_text

        password = read_text(file, "password file").partition("\n")[0].strip()
    plain, cluster = options["amqp_plain"], options["cluster"]
    return read_address(options["amqp"], password, options["amqp_ca"], plain=plain, cluster=cluster)


def _need_aio_pika() -> None:
    try:
        import aio_pika  # noqa: F401
    except ImportError:
        raise ConfigError(
            "a cluster needs aio-pika; install it: pip install 'focus-crawler[cluster]'"
        ) from None


@click.group(cls=Group)
def cluster() -> None:
    """Crawl on several machines, joined by RabbitMQ.

    Frontiers decide what is asked for, and when; workers ask and judge. See docs/cluster.md.

    \b
    Example:
        focus cluster start --shards 2 --workers 3 --seed example.com --topic football
    """


@cluster.command(cls=Command)
@cluster_option(
    "--shard",
    variable=True,
    metavar="N/OF",
    default="1/1",
    help="Which frontier this is, of how many.",
)
@broker_options
@crawl_options
@click.pass_context
def frontier(ctx: click.Context, /, shard: str, **options: Any) -> None:
    """Be a frontier: own hosts, their queues and the database.

    It is the crawl of `focus crawl`, whose requests are made by workers. All shards of a
    cluster get the same options, but for --shard and --db. The text of pages is not sent to
    the database unless --keep says so; workers can record what they fetch. Without
    --concurrency the workers' slots are the bound.

    \b
    Example:
        focus cluster frontier --shard 1/2 --amqp amqps://focus@broker/ --db s1.db \\
            --seed sports.sina.com.cn --topic 足球
    """
    from focus.commands import settings

    address = broker_address(options)
    plan = _with_cluster_defaults(
        ctx, settings.plan_crawl(options | dict.fromkeys(_WORKER_OPTIONS))
    )
    if options["dry_run"]:
        from focus.commands.dry_run import OPTIONS_WITH_ROWS, dry_run_lines

        also = changed_options(ctx, excluded=OPTIONS_WITH_ROWS)
        print_lines(
            [*dry_run_lines(plan, also), f"  shard       {shard} of cluster {options['cluster']}"]
        )
        return
    ctx.exit(_run_frontier(plan, address, shard, options))


_WORKER_OPTIONS = (
    *("archive", "warc", "workers"),
    *("cookie_jar", "cookie", "cookie_file", "credentials"),  # no frontier makes requests
    *(
        setting.key for setting in DECLARED if setting.setting.section == SCRIPT_SECTION
    ),  # workers have no browser
    "refresh",  # rounds and their limits are of one crawl, not of a cluster's
)
frontier.params = [param for param in frontier.params if param.name not in _WORKER_OPTIONS]


def _with_cluster_defaults(ctx: click.Context, plan: CrawlPlan) -> CrawlPlan:
    """Return the plan with the defaults that differ in a cluster."""
    config = plan.config
    if ctx.get_parameter_source("concurrency") is ParameterSource.DEFAULT:
        config = replace(config, concurrency=UNLIMITED_CONCURRENCY)
    if ctx.get_parameter_source("keep") is ParameterSource.DEFAULT:
        config = replace(config, analysis=replace(config.analysis, keep="none"))
    return replace(plan, config=config)


def _run_frontier(plan: CrawlPlan, address: Address, shard: str, options: dict[str, Any]) -> int:
    from focus.cluster.node import ShardNode
    from focus.cluster.sharding import read_shard
    from focus.session import run

    number = read_shard(shard)

    def crawl(watcher: Any) -> Any:
        async def work() -> Any:
            around = ShardNode(number, address, say=watcher.say)
            return await run(plan.config, plan.paths, watcher, runtime=around)

        return run_loop(work())

    return run_crawl_command(plan, options, crawl)


@cluster.command(cls=Command)
@_SLOTS
@cluster_option(
    "--processes",
    kind="count",
    show_default="cores - 1",
    help="Processes that read and score pages.",
)
@cluster_option(
    "--warc",
    kind="folder",
    help="Record requests and responses in a file of this folder (WARC 1.1).",
)
@cluster_option("--name", kind="plain name", help="What it is called in `cluster status`.")
@broker_options
@reach_options
@option("-q", "--quiet", is_flag=True, help="Say nothing unless it goes wrong.")
@click.pass_context
def worker(ctx: click.Context, /, **options: Any) -> None:
    """Be a worker: fetch and judge what the frontiers say.

    It keeps nothing: it may be killed at any time, and there may be any number. It ends by
    `focus cluster stop` or `drain`, or by Ctrl-C or SIGTERM, when it has finished what it has.
    What leads past the guard (--allow-net, --insecure, --proxy, --connect-to) is given to
    frontiers and workers alike: a worker ends where the frontiers ask for more than it was given.

    \b
    Example:
        focus cluster worker --amqp amqps://focus@broker/ --slots 128
    """
    address = broker_address(options)
    from focus.cluster.reach import Reach
    from focus.cluster.worker import WorkerOptions, WorkerRole

    if (warc := options["warc"]) is not None and not warc.is_dir():
        raise ConfigError("--warc {warc}: there is no such folder; make it first", warc=warc)
    processes = options["processes"] or max(1, (os.cpu_count() or 2) - 1)
    reach = Reach(**{name: options[name] for name in REACH_NAMES})
    plan = WorkerOptions(options["slots"], processes, warc, options["name"] or "", reach)
    say = (lambda text: None) if options["quiet"] else (lambda text: click.echo(text, err=True))

    async def work() -> str:
        return await WorkerRole(address, plan, say=say).run()

    ctx.exit(130 if run_loop(work()) == "interrupted" else 0)


# -- all of them --------------------------------------------------------------------


@cluster.command(cls=Command, context_settings={"ignore_unknown_options": True})
@cluster_option("--shards", type=click.IntRange(1, 64), default=1, metavar="N", help="Frontiers.")
@cluster_option("--workers", type=click.IntRange(1, 256), default=2, metavar="N", help="Workers.")
@_SLOTS
@cluster_option(
    "--folder",
    default=Path("focus-cluster"),
    kind="folder",
    help="Where the shards keep their databases: shard1.db and so on.",
)
@broker_options
@click.argument("crawl", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF CRAWL]...")
@click.pass_context
def start(ctx: click.Context, /, crawl: tuple[str, ...], **options: Any) -> None:
    """Start all roles on this machine, and end with the crawl.

    A role that dies is started anew. Without --amqp a RabbitMQ is started as well, in a folder
    of its own, if rabbitmq-server is installed. All options of `focus crawl` but --db may follow.

    \b
    Example:
        focus cluster start --shards 2 --workers 3 --seed example.com --topic football
    """
    from contextlib import ExitStack

    from focus.cluster.launcher import LocalCluster, databases

    _need_aio_pika()
    folder: Path = options["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if not options["amqp"]:
            from focus.cluster.private_broker import PrivateBroker

            options["amqp"] = stack.enter_context(PrivateBroker()).url
        address = broker_address(options)
        reach = ["--amqp", address.url, "--cluster", address.cluster]
        reach += ["--amqp-ca", str(address.ca)] if address.ca else []
        reach += ["--amqp-plain"] if options["amqp_plain"] else []
        shards, slots = options["shards"], str(options["slots"])
        frontiers = [
            ["cluster", "frontier", "--shard", f"{at}/{shards}", *reach, "--db", str(db), *crawl]
            for at, db in enumerate(databases(folder, shards), 1)
        ]
        worker = ["cluster", "worker", *reach, *_reach_arguments(crawl), "--slots", slots]
        worker += ["--processes", "1", "--quiet"]
        workers = [worker] * options["workers"]
        say = lambda text: click.echo(text, err=True)  # noqa: E731
        local = stack.enter_context(
            LocalCluster(frontiers, workers, password=address.password, say=say)
        )
        ctx.exit(local.run())


def _reach_arguments(crawl: Sequence[str]) -> list[str]:
    """Return the options of the crawl that pass the SSRF guard, as arguments of its workers."""
    known = frontier.make_context("frontier", list(crawl), resilient_parsing=True).params
    arguments = [part for network in known["allow_net"] or () for part in ("--allow-net", network)]
    arguments += ["--insecure"] if known["insecure"] else []
    for name in ("proxy", "connect_to"):
        arguments += [f"--{name.replace('_', '-')}", known[name]] if known[name] else []
    return arguments


@cluster.command(cls=Command)
@broker_options
@JSON
@click.pass_context
def status(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Show shards, workers and what waits between them.

    Exit code 0: all shards are there and a worker is ready; 7: not so.

    \b
    Example:
        focus cluster status --amqp amqps://focus@broker/ --json | jq .healthy
    """
    import asyncio

    address = broker_address(options)
    from focus.cluster.control import as_json as plain
    from focus.cluster.control import look
    from focus.commands.cluster_output import cluster_lines

    state = asyncio.run(look(address))
    print_result(plain(state) if as_json else cluster_lines(state), as_json)
    ctx.exit(0 if state.is_healthy else 7)


@cluster.command(cls=Command)
@broker_options
@JSON
def stop(as_json: bool, **options: Any) -> None:
    """End the crawl and all its roles.

    Shards finish what is under way, as after Ctrl-C. Nothing is lost, and the same commands
    continue the crawl.

    \b
    Example:
        focus cluster stop --amqp amqps://focus@broker/
    """
    _send_order(options, "stop", "", as_json=as_json)


@cluster.command(cls=Command)
@option("--worker", default="", metavar="NAME", show_default="all", help="Only this worker.")
@broker_options
@JSON
def drain(worker: str, as_json: bool, **options: Any) -> None:
    """Let workers finish what they have, and end.

    The crawl goes on with the others, or waits until there are some.

    \b
    Example:
        focus cluster drain --amqp amqps://focus@broker/ --worker worker-7
    """
    _send_order(options, "drain", worker, as_json=as_json)


def _send_order(options: dict[str, Any], what: str, worker: str, *, as_json: bool) -> None:
    import asyncio

    address = broker_address(options)
    from focus.cluster import control

    state = asyncio.run(control.tell(address, what, worker))
    workers = [
        worker_state.worker for worker_state in state.workers if worker in ("", worker_state.worker)
    ]
    shards = [shard_state.shard for shard_state in state.shards] if what == "stop" else []
    if as_json:
        print_json({"order": what, "shards": shards, "workers": workers})
    elif not shards and not workers:
        print_lines([f"Nobody of cluster {options['cluster']} was there to hear it"])
    else:
        print_lines([f"Told to {what}: {len(shards)} shards, {len(workers)} workers"])


@cluster.command("add-seeds", cls=Command)
@click.argument("seeds", nargs=-1, required=True, metavar="URL...")
@broker_options
@JSON
def add_seeds(seeds: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Add seeds to a crawl that is under way.

    \b
    Example:
        focus cluster add-seeds --amqp amqps://focus@broker/ sports.sohu.com sports.qq.com
    """
    import asyncio

    from focus.urls.normal_form import seed_candidates

    address = broker_address(options)
    from focus.cluster.control import sow

    for seed in seeds:
        seed_candidates(seed)
    to = asyncio.run(sow(address, seeds))
    lines = [f"{seed}: to shard {shard}" for seed, shard in to.items()]
    print_result({"seeds": to} if as_json else lines, as_json)
