"""`focus serve`: the web application for a group of people."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from focus.commands.alert_access import machine_zone, open_alerts
from focus.commands.crawl import judge_options, network_options, script_options
from focus.commands.options.channel import (
    ChannelCommand,
    installation_values,
    key_file,
    store_options,
)
from focus.commands.options.option import option, print_note
from focus.commands.watch_send import sending_options
from focus.errors import ConfigError
from focus.i18n import msg

_listen_option = partial(option, section="Address")
MIN_OPEN_FILES = 256  # for connections of clients and visits, and databases


@click.command(cls=ChannelCommand, takes="installation")
@_listen_option("--host", default="127.0.0.1", metavar="ADDRESS", help="Listen on this address.")
@_listen_option(
    "--port", type=click.IntRange(1, 65535), default=8420, metavar="N", help="Listen on this port."
)
@_listen_option(
    "--forget-passwords",
    is_flag=True,
    help="Remove the stored mail server and SMS gateway, if the key file is lost.",
)
@_listen_option(
    "--remove-second-factor",
    metavar="NAME",
    help="Let the account NAME log in by password alone, and exit.",
)
@sending_options
@script_options
@judge_options
@network_options
@store_options
def serve(
    db: Path,
    host: str,
    port: int,
    forget_passwords: bool,
    remove_second_factor: str | None,
    **options: Any,
) -> None:
    """Run the web application for alerts.

    It checks alerts and sends messages like `focus watch run`, without cron. It prints a link; the
    first person who registers with it becomes the administrator. Access from other machines needs
    --host, --base-url and an https proxy. Needs the extra focus-crawler[serve].

    \b
    Example:
        focus serve --base-url https://focus.example.org
    """
    import msgspec

    try:
        from focus.serve import server
        from focus.serve.app_state import AppState
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("focus"):
            raise
        raise ConfigError(
            "focus serve needs {name}; pip install 'focus-crawler[serve]'", name=error.name
        ) from None
    from focus.alerts.delivery import check_installation
    from focus.alerts.settings import delete_sealed
    from focus.commands.settings import watch_source
    from focus.serve.scheduler import SchedulerOptions, SendingOptions
    from focus.session.process_limits import raise_open_file_limit

    if remove_second_factor is not None:
        _remove_second_factor(db, remove_second_factor)
        return
    if (open_files := raise_open_file_limit(MIN_OPEN_FILES)) < MIN_OPEN_FILES:
        raise ConfigError(
            "focus serve needs {open_files} open files, but this process may open only {most}; "
            "raise the limit (ulimit -n)",
            open_files=MIN_OPEN_FILES,
            most=open_files,
        )
    web = watch_source(options)
    with server.open_socket(host, port) as bound:
        local_url = server.local_url(host, port)
        channel_values = installation_values(options)
        sending = SendingOptions(channel_values, options["base_url"], key_file(), web.fetch)
        path = db.expanduser()
        if forget_passwords:
            with open_alerts(db, time.time(), creates=True) as store:
                delete_sealed(store)
        app_state = AppState(
            path, clock=time.time, sending=sending, local_url=local_url, zone=machine_zone()
        )
        origin = app_state.base_url or local_url or f"http://{host}:{port}"
        check_installation(app_state.settings())
        print_note("focus at {url}", url=origin)
        if link := server.first_invitation_url(app_state, origin):
            print_note("To register as the administrator, open {url}", url=link)
        sending = msgspec.structs.replace(sending, base_url=app_state.base_url or None)
        server.serve(app_state, SchedulerOptions(path, web, sending), bound)


def _remove_second_factor(db: Path, name: str) -> None:
    from focus.serve.accounts import remove_second_factor
    from focus.serve.names import normalise_name

    now = time.time()
    with open_alerts(db, now) as store:
        user, _ = store.users.load_login(normalise_name(name))
        if not user:
            raise ConfigError("--remove-second-factor {name}: no such account", name=name)
        remove_second_factor(store, user, msg("command line"), now=now)
    print_note("{name} logs in by password alone now", name=name)
