"""`focus watch run` and `focus watch test`: visits and deliveries."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.alert_access import AlertName, open_alerts, select_alerts
from focus.commands.crawl import judge_options, network_options, script_options
from focus.commands.options.channel import (
    CHANNEL_SECTION,
    ChannelCommand,
    installation_values,
    key_file,
    store_options,
)
from focus.commands.options.option import option, print_lines, print_result
from focus.commands.progress_bar import show_progress
from focus.i18n import say, translate
from focus.text.formatting import printable
from focus.text.reason_labels import explain_codes

if TYPE_CHECKING:
    from focus.alerts.run import WatchRunSummary
    from focus.alerts.settings import DeliverySettings
    from focus.learn.memory_crawl import PageSource
    from focus.storage.alerts.store import AlertStore


sending_options = option(
    "--base-url",
    section=CHANNEL_SECTION,
    variable=True,
    metavar="URL",
    help="Public address of `focus serve`, for links in messages.",
)
"""What sending needs besides the options of channels and the key file."""


@click.command(cls=ChannelCommand, takes="installation")
@click.argument("names", metavar="[NAME]...", nargs=-1, type=AlertName())
@option(
    "--now",
    "at_once",
    is_flag=True,
    help="Check all alerts, or those named, even if they are not due.",
)
@option("--dry-run", is_flag=True, help="Show what is due, without doing it.")
@option("-v", "--verbose", is_flag=True, help="Print what was done, not only failures.")
@sending_options
@script_options
@judge_options
@network_options
@store_options
@click.pass_context
def run(ctx: click.Context, /, db: Path, names: tuple[str, ...], **options: Any) -> None:
    """Check the alerts that are due and send what is new.

    It is made for cron: it prints only failures, and a second `focus watch run` ends at once. Exit
    codes: 0 done; 1 a site could not be visited or a message could not be sent; 2 an option is
    invalid; 4 no site could be visited; 5 a crawl uses the database; 6 another `focus watch run` is
    running. After code 5, and after code 4 without a network, everything stays due.

    \b
    Example:
        focus watch run
    """
    from focus.alerts.run import AlreadyRunning, due_alerts, watch_lock
    from focus.commands.watch_output import due_lines, resting_lines

    now = time.time()
    verbose = options["verbose"] or sys.stderr.isatty()
    with open_alerts(db, now, creates=not options["dry_run"]) as store:
        alert_ids = None
        if names or options["at_once"]:
            selected = select_alerts(store, names) if names else store.alerts.list_alerts()
            alert_ids = [stored_alert.id for stored_alert in selected]
        alerts = due_alerts(store, now=now, alert_ids=alert_ids)
        due = list(due_lines(store, alerts, now, at_once=alert_ids is not None))
        if options["dry_run"]:
            print_result(due, False)
            return
        if verbose:
            print_lines(due, err=True)
        if alert_ids is not None:
            print_lines(resting_lines(store, alerts, now), err=True)
        try:
            with watch_lock(store.path):
                summary = _run_due_work(store, alert_ids, options)
        except AlreadyRunning as error:
            if verbose:
                print_lines([translate(error.message)], err=True)
            ctx.exit(error.exit_code)
    ctx.exit(_print_run(summary, verbose=verbose))


def _run_due_work(
    store: AlertStore, alert_ids: Sequence[int] | None, options: dict[str, Any]
) -> WatchRunSummary:
    """Do all due work, with the options for requests and sending."""
    import asyncio

    from focus.alerts import delivery_process
    from focus.alerts.run import run_due
    from focus.alerts.visit import create_visit
    from focus.commands.settings import watch_source

    web = watch_source(options)
    deliver = delivery_process.delivery_in_process(
        store, read_delivery_settings(store, options, web)
    )
    with show_progress(say("Visiting")) as progress:
        at_once = alert_ids is not None
        visit = create_visit(store, web, progress=progress, allows_networks=True, at_once=at_once)
        return asyncio.run(run_due(store, visit, deliver, clock=time.time, alert_ids=alert_ids))


@click.command(cls=ChannelCommand, takes="installation")
@click.argument("name", type=AlertName())
@sending_options
@network_options
@store_options
@click.pass_context
def test(ctx: click.Context, /, db: Path, name: str, **options: Any) -> None:
    """Send a test message through each channel of an alert.

    Prints the reason and exits with code 1 if one of them fails.

    \b
    Example:
        focus watch test 欧冠
    """
    import asyncio

    from focus.alerts.delivery import NotDelivered, mask_channel, sent_channels
    from focus.alerts.outbox_relay import send_test_message
    from focus.commands.settings import page_source
    from focus.storage.alerts.records import LOCAL_USER

    failed = False
    with open_alerts(db, time.time()) as store:
        stored_alert = select_alerts(store, (name,))[0]
        delivery_settings = read_delivery_settings(store, options, page_source(options))
        for channel in sent_channels(stored_alert.alert.channels):
            delivery = send_test_message(
                store, delivery_settings, user=LOCAL_USER, channel=channel, clock=time.time
            )
            outcome = asyncio.run(delivery)
            failed |= isinstance(outcome, NotDelivered)
            text = say("sent")
            if isinstance(outcome, NotDelivered):
                text = say("failed: {why}", why=outcome.reason)
            click.echo(f"{printable(mask_channel(channel))}: {printable(text)}")
    ctx.exit(1 if failed else 0)


def read_delivery_settings(
    store: AlertStore, options: dict[str, Any], web: PageSource
) -> DeliverySettings:
    """Return the delivery settings: the options, and stored settings for missing ones."""
    from focus.alerts import settings
    from focus.alerts.delivery import check_installation

    delivery_settings = settings.read(
        store,
        options=installation_values(options),
        base_url=options["base_url"],
        key_file=key_file(),
        fetch=web.fetch,
    )
    check_installation(delivery_settings)
    return delivery_settings


def _print_run(summary: WatchRunSummary, *, verbose: bool) -> int:
    """Print the result of a run, and return the exit code."""
    from focus.commands.watch_output import run_lines

    for failure in [*summary.failures, *(summary.repeated_failures if verbose else ())]:
        click.echo(f"focus: {printable(explain_codes(failure))}", err=True)
    if verbose:
        print_lines(run_lines(summary), err=True)
    if summary.is_busy:
        return 5
    if summary.has_only_failures:
        return 4
    return 1 if summary.failures or summary.repeated_failures else 0
