"""Options of commands that follow from the delivery channels, including those of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from focus.commands.options.option import DB, Command, add_options, option
from focus.config import FILE_ONLY

CHANNEL_SECTION = "Channels"
_KEY_FILE = "focus.key_file"  # key in the meta data of click's context


def _store_key_file(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    ctx.meta[_KEY_FILE] = path


KEY = option(
    "--key-file",
    section=FILE_ONLY,
    variable=True,
    kind="file",
    show_default="beside the database: focus.db.key",
    help="File with the key that encrypts stored passwords and addresses; created on first use. "
    "Keep a copy.",
    expose_value=False,
    callback=_store_key_file,
)


store_options = add_options([KEY, DB])
"""Options with the alert database and the key file of its secrets."""


def key_file() -> Path | None:
    """Return the key file of the running command, None for the one beside the database."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.meta.get(_KEY_FILE)


class ChannelCommand(Command):
    """A command with options of channels, which are looked up when they are first needed.

    `takes` is "alert" for addresses of an alert, "installation" for settings of the sender.
    """

    def __init__(self, *args: Any, takes: str, **attributes: Any) -> None:
        self._takes = takes
        self._own_params: list[click.Parameter] = []
        self._all_params: list[click.Parameter] = []
        super().__init__(*args, **attributes)

    @property
    def params(self) -> list[click.Parameter]:
        """All parameters, with those of channels first in their section."""
        if not self._all_params:
            channel_params = alert_params() if self._takes == "alert" else installation_params()
            position = [getattr(param, "section", "") for param in self._own_params].index(
                CHANNEL_SECTION
            )
            self._all_params = [
                *self._own_params[:position],
                *channel_params,
                *self._own_params[position:],
            ]
        return self._all_params

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._own_params = own


def alert_params() -> Iterator[click.Parameter]:
    """Yield `--mail ADDRESS` and the like; an option that may be bare gives an empty text then."""
    from focus.alerts.delivery import CHANNELS

    for kind, channel in CHANNELS.items():
        bare = {"is_flag": False, "flag_value": ""} if channel.can_be_bare else {}
        yield _make_param(
            f"--{kind}", multiple=True, metavar=channel.metavar, help=channel.help, **bare
        )


def installation_params() -> Iterator[click.Parameter]:
    """Yield `--smtp-url URL` and the like, each with its variable."""
    from focus.alerts.delivery import CHANNELS

    for channel in CHANNELS.values():
        for channel_option in channel.options:
            shown = (
                {"show_default": channel_option.show_default} if channel_option.show_default else {}
            )
            yield _make_param(
                f"--{channel_option.name}",
                variable=True,
                metavar=channel_option.metavar,
                help=channel_option.help,
                **shown,
            )


def installation_values(options: dict[str, Any]) -> dict[str, str]:
    """Return the values of these options, by name with underscores."""
    from focus.alerts.delivery import CHANNELS

    names = [
        channel_option.name.replace("-", "_")
        for channel in CHANNELS.values()
        for channel_option in channel.options
    ]
    return {name: options[name] for name in names if options[name]}


def parse_channels(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the channels of the options, checked, with the inbox unless there are none."""
    from focus.alerts.delivery import CHANNELS, INBOX, check_channel

    channels = []
    for kind, channel in CHANNELS.items():
        for text in options.get(kind, ()):
            address = channel.normalise_address(text)
            channels.append(f"{kind}:{address}" if address else kind)
            check_channel(channels[-1])
            channel.check_new_address(address)
    return (INBOX, *dict.fromkeys(channels)) if channels else ()


def _make_param(name: str, **attributes: Any) -> click.Parameter:
    def nothing() -> None: ...

    option(name, section=CHANNEL_SECTION, **attributes)(nothing)
    params: list[click.Parameter] = nothing.__click_params__  # type: ignore[attr-defined]
    return params[0]
