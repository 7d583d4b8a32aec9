"""Form fields for the channels of an alert, and the channels in a submitted form.

A channel that uses an address of the account, or none, is a check box; other channels have a text
area with one address per line. The definitions of the channels decide which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from focus.alerts.delivery import CHANNELS, INBOX, Channel, check_channel, split_channel
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve.accounts import InvalidInput
from focus.serve.request import RequestContext
from focus.storage.alerts.records import User

MISSING_ADDRESS = {
    "mail": msg("First enter and confirm your mail address in the settings."),
    "phone": msg("First enter and confirm your phone number in the settings."),
}
"""Account field that a channel needs -> the message if it is missing."""
_ADMINS_ONLY = msg("This channel is for administrators.")


class ChannelField(NamedTuple):
    """A form field named `kind`.

    is_box   whether it is a check box; otherwise addresses are entered
    value    `on` for a checked box, or addresses, one per line
    missing  message if the account lacks the confirmed address; otherwise empty
    """

    kind: str
    label: str
    is_box: bool
    value: str
    missing: str


def make_fields(request: RequestContext, channels: Iterable[str]) -> list[ChannelField]:
    """Return the fields for these channels of an alert."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for kind, address in map(split_channel, channels):
        by_kind[kind].append(address)
    return _build_fields(
        request,
        {
            kind: "on" if _is_box(CHANNELS[kind]) else "\n".join(addresses)
            for kind, addresses in by_kind.items()
            if kind in CHANNELS
        },
    )


def default_fields(request: RequestContext) -> list[ChannelField]:
    """Return the fields of a new alert, with its owner's default channels, or else mail."""
    return make_fields(request, request.me.channels or ("mail",))


def submitted_fields(request: RequestContext) -> list[ChannelField]:
    """Return the fields as submitted."""
    return _build_fields(request, request.form)


def _build_fields(request: RequestContext, values: dict[str, str]) -> list[ChannelField]:
    delivery_settings, me = request.app_state.settings(), request.me
    fields = []
    for kind, channel in CHANNELS.items():
        if not channel.is_available(delivery_settings) or (channel.is_admin_only and not me.admin):
            continue
        address: str = (getattr(me, channel.account_field) or "") if channel.account_field else ""
        label = channel.labels.get(request.language, channel.labels["en"])
        fields.append(
            ChannelField(
                kind,
                label.format(address=address),
                _is_box(channel),
                values.get(kind, ""),
                MISSING_ADDRESS[channel.account_field]
                if channel.account_field and not address
                else "",
            )
        )
    return fields


def _is_box(channel: type[Channel]) -> bool:
    return bool(channel.account_field) or channel.can_be_bare


# -- submitted fields ----------------------------------------------------------------


def submitted_channels(request: RequestContext) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the submitted channels, and an error message for each kind that is not allowed."""
    channels, errors = [INBOX], dict[str, str]()
    for kind in CHANNELS:
        try:
            channels += _check_channels(_submitted_names(request, [kind]))
        except ConfigError as error:
            errors[kind] = error.message
    return tuple(channels), errors


def submitted_defaults(request: RequestContext) -> list[str]:
    """Return the submitted default channels; own addresses are named by their kind only."""
    account_kinds = [kind for kind, channel in CHANNELS.items() if channel.account_field]
    others = _check_channels(
        _submitted_names(request, [kind for kind in CHANNELS if kind not in account_kinds])
    )
    return [*(kind for kind in account_kinds if request.form.get(kind)), *others]


def _submitted_names(request: RequestContext, kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        channel, text = CHANNELS[kind], request.form.get(kind, "").strip()
        lines = [""] if _is_box(channel) else text.split()[: channel.max_addresses]
        for line in lines if text else ():
            address = channel.account_address(line, request.me)
            if address is None:
                raise InvalidInput(MISSING_ADDRESS.get(channel.account_field, _ADMINS_ONLY))
            yield _channel_name(kind, address)


def allowed_channels(me: User, channels: Iterable[str]) -> tuple[str, ...]:
    """Return those of an alert's channels that an account may use, up to each kind's limit."""
    addresses: dict[str, dict[str, None]] = defaultdict(dict)
    for kind, address in map(split_channel, channels):
        if kind in CHANNELS:
            own_address = CHANNELS[kind].account_address(address, me)
            if own_address is not None and len(addresses[kind]) < CHANNELS[kind].max_addresses:
                addresses[kind][_channel_name(kind, own_address)] = None
    return (INBOX, *(name for kind in CHANNELS for name in addresses[kind]))


def _channel_name(kind: str, address: str) -> str:
    return f"{kind}:{address}" if address else kind


def _check_channels(channel_names: Iterable[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(channel_names))
    for name in names:
        check_channel(name)
        kind, address = split_channel(name)
        if kind in CHANNELS:
            CHANNELS[kind].check_new_address(address)
    return names
