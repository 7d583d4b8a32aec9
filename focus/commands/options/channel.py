"""Makes the options of commands that follow from the channels, our own and those of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from focus.commands.options.option import DB, Command, adding, option
from focus.config import OUTPUT_SECTION

HOW = "How to be told"
_KEY_FILE = "focus.key_file"  # in the context's meta


def _remember(ctx: click.Context, _: click.Parameter, chosen: Path | None) -> None:
    ctx.meta[_KEY_FILE] = chosen


KEY = option(
    "--key-file",
    section=OUTPUT_SECTION,
    variable=True,
    kind="file",
    show_default="beside the database: focus.db.key",
    help="What seals passwords and addresses, and signs; made on first use. Keep a copy of it.",
    expose_value=False,
    callback=_remember,
)


store_options = adding([KEY, DB])
"""Where alerts are kept, and what seals their secrets."""


def key_file() -> Path | None:
    """What --key-file said to the command that is running."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.meta.get(_KEY_FILE)


class ChannelCommand(Command):
    """A command with options of channels, which are looked for when they are first needed.

    takes  `alert`: where an alert is told; `installation`: what sending needs to know
    """

    def __init__(self, *args: Any, takes: str, **attributes: Any) -> None:
        self._takes = takes
        self._own: list[click.Parameter] = []
        self._whole: list[click.Parameter] = []
        super().__init__(*args, **attributes)

    @property
    def params(self) -> list[click.Parameter]:
        """All parameters, those of channels first in their section."""
        if not self._whole:
            added = alert_params() if self._takes == "alert" else installation_params()
            at = [getattr(each, "section", "") for each in self._own].index(HOW)
            self._whole = [*self._own[:at], *added, *self._own[at:]]
        return self._whole

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._own = own


def alert_params() -> Iterator[click.Parameter]:
    """`--mail ADDRESS` and the like; an option that may be bare gives "" then."""
    from focus.alerts.delivery import CHANNELS

    for kind, channel in CHANNELS.items():
        if channel.is_for_accounts:
            continue
        bare = {"is_flag": False, "flag_value": ""} if channel.can_be_bare else {}
        yield _made(f"--{kind}", multiple=True, metavar=channel.metavar, help=channel.help, **bare)


def installation_params() -> Iterator[click.Parameter]:
    """`--smtp-url URL` and the like, each with its variable."""
    from focus.alerts.delivery import CHANNELS

    for channel in CHANNELS.values():
        for each in channel.options:
            shown = {"show_default": each.show_default} if each.show_default else {}
            yield _made(
                f"--{each.name}", variable=True, metavar=each.metavar, help=each.help, **shown
            )


def installation_values(options: dict[str, Any]) -> dict[str, str]:
    """What was given of these options, by name with underscores."""
    from focus.alerts.delivery import CHANNELS

    names = [
        each.name.replace("-", "_") for channel in CHANNELS.values() for each in channel.options
    ]
    return {name: options[name] for name in names if options[name]}


def chosen(options: dict[str, Any]) -> tuple[str, ...]:
    """The channels that were typed, checked, () for none; the inbox is one of any that were."""
    from focus.alerts.delivery import CHANNELS, INBOX, check_channel

    named = []
    for kind, channel in CHANNELS.items():
        for text in options.get(kind, ()):
            address = channel.normalise_address(text)
            named.append(f"{kind}:{address}" if address else kind)
            check_channel(named[-1])
            channel.check_new_address(address)
    return (INBOX, *dict.fromkeys(named)) if named else ()


def _made(name: str, **attributes: Any) -> click.Parameter:
    def nothing() -> None: ...

    option(name, section=HOW, **attributes)(nothing)
    made: list[click.Parameter] = nothing.__click_params__  # type: ignore[attr-defined]
    return made[0]
