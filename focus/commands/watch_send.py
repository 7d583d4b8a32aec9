"""`focus watch run` and `focus watch test`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.alert_access import AlertName, chosen, opened
from focus.commands.cluster import address_of, broker_options
from focus.commands.crawl import network_options, script_options
from focus.commands.options.channel import (
    HOW,
    ChannelCommand,
    installation_values,
    key_file,
    store_options,
)
from focus.commands.options.option import answer, option, tell
from focus.i18n import say, translate
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.alerts.run import WatchRunSummary
    from focus.alerts.settings import DeliverySettings
    from focus.cluster.address import Address
    from focus.learn.memory_crawl import PageSource
    from focus.storage.alerts.store import AlertStore


sending_options = option(
    "--base-url",
    section=HOW,
    variable=True,
    metavar="URL",
    help="Where the web pages are reached, for links in messages.",
)
"""What sending needs to know beside the options of channels and the key."""


@click.command(cls=ChannelCommand, takes="installation")
@click.argument("names", metavar="[NAME]...", nargs=-1, type=AlertName())
@option("--now", "at_once", is_flag=True, help="Check all alerts (or those named), due or not.")
@option("--dry-run", is_flag=True, help="Say what is due, and do nothing.")
@option("-v", "--verbose", is_flag=True, help="Say what was done; without, only trouble is told.")
@sending_options
@script_options
@network_options
@broker_options
@store_options
@click.pass_context
def run(ctx: click.Context, /, db: Path, names: tuple[str, ...], **options: Any) -> None:
    """Check what is due, deliver what is new, and end.

    Made for cron: it is quiet unless there is trouble, and a second one ends at once. Exit
    codes: 0 done, 1 something could not be visited or delivered, 2 wrong use, 4 no site at all
    could be visited (where our own network was away, all stays due), 5 a crawl holds the
    database (nothing was visited, all stays due), 6 another `focus watch run` is at work.

    With --amqp the sites are asked by the workers of a cluster (docs/cluster.md), and decided on
    here: with the same results and the same politeness.

    \b
    Example:
        focus watch run
    """
    from focus.alerts.run import AlreadyRunning, due_alerts, watch_lock
    from focus.commands.watch_output import due_lines

    now = time.time()
    with opened(db, now, makes=not options["dry_run"]) as store:
        wanted = None
        if names or options["at_once"]:
            meant = chosen(store, names) if names else store.alerts.list_alerts()
            wanted = [each.id for each in meant]
        if options["dry_run"]:
            alerts = due_alerts(store, now=now, alert_ids=wanted)
            answer(due_lines(store, alerts, now, at_once=wanted is not None), False)
            return
        try:
            with watch_lock(store.path):
                ran = _ran(store, wanted, options)
        except AlreadyRunning as error:
            if options["verbose"]:
                tell([translate(error.message)], err=True)
            ctx.exit(error.exit_code)
    ctx.exit(_tell(ran, verbose=options["verbose"]))


@click.command(cls=ChannelCommand, takes="installation")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=AlertName())
@sending_options
@script_options
@network_options
@broker_options
@store_options
@click.pass_context
def check(ctx: click.Context, /, db: Path, names: tuple[str, ...], **options: Any) -> None:
    """Check alerts now, and deliver what is new.

    What came of it is said. A site is left alone that was visited less than a minute ago. Exit
    codes as of `run`.

    \b
    Example:
        focus watch check 欧冠
    """
    from focus.alerts.run import watch_lock

    with opened(db, time.time()) as store:
        wanted = [each.id for each in chosen(store, names)]
        with watch_lock(store.path):
            ran = _ran(store, wanted, options)
    ctx.exit(_tell(ran, verbose=True))


def _ran(
    store: AlertStore, wanted: Sequence[int] | None, options: dict[str, Any]
) -> WatchRunSummary:
    """Do what is due, with the options that say how to ask and how to send."""
    import asyncio

    from focus.alerts import delivery_process
    from focus.alerts.run import run_due
    from focus.alerts.visit import create_visit
    from focus.commands.settings import watched_web

    web, around = watched_web(options), None
    if (cluster := cluster_of(options)) is not None:
        from focus.cluster.visits import visits_by

        around = visits_by(cluster)
    deliver = delivery_process.delivery_in_process(store, settings_of(store, options, web))
    visit = create_visit(store, web, around=around)
    return asyncio.run(run_due(store, visit, deliver, clock=time.time, alert_ids=wanted))


def cluster_of(options: dict[str, Any]) -> Address | None:
    """The cluster whose workers visit, if --amqp names one."""
    return address_of(options) if options["amqp"] else None


@click.command(cls=ChannelCommand, takes="installation")
@click.argument("name", type=AlertName())
@sending_options
@network_options
@store_options
@click.pass_context
def test(ctx: click.Context, /, db: Path, name: str, **options: Any) -> None:
    """Send a test message by each channel of an alert.

    Exit code 1 when one of them fails; it is said why.

    \b
    Example:
        focus watch test 欧冠
    """
    import asyncio

    from focus.alerts.delivery import NotDelivered, mask_channel, sent_channels
    from focus.alerts.outbox_relay import send_test_message
    from focus.commands.settings import web_of
    from focus.storage.alerts.records import LOCAL_USER

    failed = False
    with opened(db, time.time()) as store:
        owned = chosen(store, (name,))[0]
        how = settings_of(store, options, web_of(options))
        for channel in sent_channels(owned.alert.channels):
            sending = send_test_message(
                store, how, user=LOCAL_USER, channel=channel, clock=time.time
            )
            outcome = asyncio.run(sending)
            failed |= isinstance(outcome, NotDelivered)
            said = say("sent")
            if isinstance(outcome, NotDelivered):
                said = say("failed: {why}", why=outcome.reason)
            click.echo(f"{printable(mask_channel(channel))}: {printable(said)}")
    ctx.exit(1 if failed else 0)


def settings_of(store: AlertStore, options: dict[str, Any], web: PageSource) -> DeliverySettings:
    """How to send, as `sending_options` say, else as was stored."""
    from focus.alerts import settings
    from focus.alerts.delivery import check_installation

    found = settings.read(
        store,
        options=installation_values(options),
        base_url=options["base_url"],
        key_file=key_file(),
        fetch=web.fetch,
    )
    check_installation(found)
    return found


def _tell(ran: WatchRunSummary, *, verbose: bool) -> int:
    """Say what a run came to; the exit code."""
    from focus.commands.watch_output import ran_lines

    for failure in [*ran.failures, *(ran.repeated_failures if verbose else ())]:
        click.echo(f"focus: {printable(failure)}", err=True)
    if verbose:
        tell(ran_lines(ran), err=True)
    if ran.is_busy:
        return 5
    if ran.has_only_failures:
        return 4
    return 1 if ran.failures or ran.repeated_failures else 0
