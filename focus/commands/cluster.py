"""`focus cluster`: a crawl whose requests are made by workers on other machines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from focus.commands.crawl import (
    JUDGE_NAMES,
    REACH_NAMES,
    SCRIPT_NAMES,
    crawl_options,
    reach_options,
)
from focus.commands.options.declared import changed_options
from focus.commands.options.help import Group
from focus.commands.options.option import (
    JSON,
    Command,
    add_options,
    option,
    print_lines,
    print_result,
)
from focus.commands.running import run_crawl_command, run_loop
from focus.config import FILE_ONLY
from focus.errors import ConfigError
from focus.i18n import say, translate
from focus.text.formatting import format_table

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
        help="Address of the broker, amqp[s]://USER@HOST:PORT/VHOST; give its password "
        f"in a file or in {PASSWORD_VARIABLE}.",
    ),
    cluster_option(
        "--amqp-password-file",
        variable=True,
        kind="file",
        help="Read the broker's password from the first line of this file.",
    ),
    cluster_option(
        "--amqp-ca",
        section=FILE_ONLY,
        variable=True,
        kind="file",
        help="Trust the certificates in this file (PEM), with amqps://.",
    ),
    cluster_option(
        "--amqp-plain",
        section=FILE_ONLY,
        variable=True,
        is_flag=True,
        help="Allow unencrypted connections (amqp://) to another machine, in a network of your"
        " own.",
    ),
    cluster_option(
        "--cluster",
        variable=True,
        kind="plain name",
        default="main",
        help="Name of the cluster, if several share the broker.",
    ),
]
_SLOTS = cluster_option(
    "--slots", kind="count", default=64, help="Send at most N requests at the same time."
)


broker_options = add_options(_BROKER_OPTIONS)
"""Options with the address of the broker and the name of the cluster."""


def broker_address(options: dict[str, Any]) -> Address:
    """Return the address of the broker. Raises ConfigError if it or its password is missing."""
    _need_aio_pika()
    from focus.cluster.address import read_address
    from focus.commands.settings import read_secret

    if not options["amqp"]:
        raise ConfigError("no broker; give one with --amqp amqps://USER@HOST/")
    password = read_secret(options["amqp_password_file"], PASSWORD_VARIABLE)
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
    """Crawl with workers on several machines, connected by RabbitMQ.

    One frontier decides which URL is requested when; any number of workers fetch and score pages.
    See docs/cluster.md.

    \b
    Example:
        focus cluster start --workers 3 --seed example.com --topic football
    """


@cluster.command(cls=Command)
@broker_options
@crawl_options
@click.pass_context
def frontier(ctx: click.Context, /, **options: Any) -> None:
    """Run a crawl; the workers of the cluster send its requests.

    It is the crawl of `focus crawl`, with the same options and database. The text of pages is
    stored only if --keep says so; workers can record what they fetch. Without --concurrency the
    slots of the workers are the limit.

    \b
    Example:
        focus cluster frontier --amqp amqps://focus@broker/ --seed sports.sina.com.cn --topic 足球
    """
    from focus.commands import settings

    address = broker_address(options)
    plan = _with_cluster_defaults(
        ctx, settings.plan_crawl(options | dict.fromkeys(_WORKER_OPTIONS))
    )
    if options["dry_run"]:
        from focus.commands.dry_run import OPTIONS_WITH_ROWS, dry_run_lines

        print_lines(dry_run_lines(plan, changed_options(ctx, excluded=OPTIONS_WITH_ROWS)))
        return
    ctx.exit(_run_frontier(plan, address, options))


_WORKER_OPTIONS = (
    *("archive", "warc", "workers"),
    *("cookie_jar", "cookie", "cookie_file", "credentials"),  # no frontier makes requests
    *SCRIPT_NAMES,  # workers have no browser
    *JUDGE_NAMES,  # they score pages where no answers are stored
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


def _run_frontier(plan: CrawlPlan, address: Address, options: dict[str, Any]) -> int:
    from focus.cluster.runtime import ClusterRuntime
    from focus.session import run

    def crawl(plan: CrawlPlan, watcher: Any) -> Any:
        runtime = ClusterRuntime(address, say=watcher.say)
        return run_loop(run(plan.config, plan.paths, watcher, runtime=runtime))

    return run_crawl_command(plan, options, crawl)


@cluster.command(cls=Command)
@_SLOTS
@cluster_option(
    "--processes", kind="count", show_default="cores - 1", help="Run N processes that score pages."
)
@cluster_option(
    "--warc",
    kind="folder",
    help="Record requests and responses in a file of this folder (WARC 1.1).",
)
@cluster_option("--name", kind="plain name", help="Name of this worker in logs.")
@broker_options
@reach_options
@option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def worker(ctx: click.Context, /, **options: Any) -> None:
    """Fetch and score pages for the frontier of a cluster.

    A worker keeps no state: it may be killed at any time, and any number may run. Ctrl-C or SIGTERM
    ends it when its requests have finished. Give the options that weaken the private-network guard
    or TLS (--allow-net, --insecure, --proxy, --connect-to) to both frontier and worker; a worker
    ends if the frontier allows more than the worker does.

    \b
    Example:
        focus cluster worker --amqp amqps://focus@broker/ --slots 128
    """
    address = broker_address(options)
    from focus.cluster.reach import Reach
    from focus.cluster.worker import Worker, WorkerOptions

    if (warc := options["warc"]) is not None and not warc.is_dir():
        raise ConfigError("--warc {warc}: there is no such folder; make it first", warc=warc)
    processes = options["processes"] or max(1, (os.cpu_count() or 2) - 1)
    reach = Reach(**{name: options[name] for name in REACH_NAMES})
    plan = WorkerOptions(options["slots"], processes, warc, options["name"] or "", reach)

    def print_event(text: str) -> None:
        if not options["quiet"]:
            print_lines([translate(text)], err=True)

    async def work() -> str:
        return await Worker(address, plan, say=print_event).run()

    ctx.exit(130 if run_loop(work()) == "interrupted" else 0)


@cluster.command(cls=Command, context_settings={"ignore_unknown_options": True})
@cluster_option(
    "--workers", type=click.IntRange(1, 256), default=2, metavar="N", help="Start N workers."
)
@_SLOTS
@broker_options
@click.argument("crawl", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF CRAWL]...")
@click.pass_context
def start(ctx: click.Context, /, crawl: tuple[str, ...], **options: Any) -> None:
    """Start a frontier and workers on this machine.

    They end with the crawl. Without --amqp a RabbitMQ is started as well, in a folder of its own,
    if rabbitmq-server is installed. All options of `focus crawl` may follow.

    \b
    Example:
        focus cluster start --workers 3 --seed example.com --topic football
    """
    _need_aio_pika()
    with ExitStack() as stack:
        if not options["amqp"]:
            from focus.cluster.private_broker import PrivateBroker

            options["amqp"] = stack.enter_context(PrivateBroker()).url
        address = broker_address(options)
        broker = ["--amqp", address.url, "--cluster", address.cluster]
        environment = dict(os.environ)
        environment |= {"FOCUS_AMQP_CA": str(address.ca)} if address.ca else {}
        environment |= {"FOCUS_AMQP_PLAIN": "1"} if options["amqp_plain"] else {}
        if address.password is not None:
            environment[PASSWORD_VARIABLE] = address.password  # not in the list of processes
        slots = ["--slots", str(options["slots"]), "--processes", "1", "--quiet"]
        worker = ["cluster", "worker", *broker, *_reach_arguments(crawl), *slots]
        for _ in range(options["workers"]):
            process = subprocess.Popen(
                [sys.executable, "-m", "focus", *worker],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        command = [sys.executable, "-m", "focus", "cluster", "frontier", *broker, *crawl]
        ctx.exit(_wait(subprocess.Popen(command, env=environment)))


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of the frontier, which receives Ctrl-C itself."""
    while True:
        with suppress(KeyboardInterrupt):
            return process.wait()


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
    """Show connected workers and waiting messages.

    Exit code 0: a worker is connected; 7: none is.

    \b
    Example:
        focus cluster status --amqp amqps://focus@broker/ --json | jq .workers
    """
    import asyncio

    address = broker_address(options)
    from focus.cluster.status import cluster_status

    state = asyncio.run(cluster_status(address))
    lines = [
        say("Cluster {cluster} at {broker}", cluster=address.cluster, broker=str(address)),
        *format_table(
            [
                (say("frontiers connected"), f"{state['frontiers']:,}"),
                (say("workers connected"), f"{state['workers']:,}"),
                (say("tasks that wait for a worker"), f"{state['tasks']:,}"),
                (say("tasks that no worker survived"), f"{state['poison']:,}"),
            ],
            indent="  ",
            right_aligned={1},
        ),
    ]
    print_result(state if as_json else lines, as_json)
    ctx.exit(0 if state["workers"] else 7)
