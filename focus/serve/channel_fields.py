"""Makes the fields by which people choose channels in a form, and reads what was chosen.

A channel by an account's own confirmed address, or by none, is a box to tick; of others the
addresses are typed, one per line. All follow from what the channels say of themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from focus.alerts.delivery import CHANNELS, INBOX, Channel, check_channel, split_channel
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext
from focus.storage.alerts.records import User

FIRST = {
    "mail": msg("Give and confirm your mail address in the settings first."),
    "phone": msg("Give and confirm your telephone number in the settings first."),
}
"""What an account has to have -> what is said to those that have not."""
_FOR_ADMINS = msg("This channel is for administrators.")


class ChannelField(NamedTuple):
    """A field named `kind`.

    is_box   to tick; else addresses are typed
    value    `on` of a ticked box; addresses, one per line
    missing  that the account has no confirmed address of its own; "": nothing is missing
    """

    kind: str
    label: str
    is_box: bool
    value: str
    missing: str


def of_channels(request: RequestContext, channels: Iterable[str]) -> list[ChannelField]:
    """The fields for these channels of an alert."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for kind, address in map(split_channel, channels):
        by_kind[kind].append(address)
    return _fields(
        request,
        {
            kind: "on" if _is_box(CHANNELS[kind]) else "\n".join(addresses)
            for kind, addresses in by_kind.items()
            if kind in CHANNELS
        },
    )


def usual(request: RequestContext) -> list[ChannelField]:
    """The fields of a new alert: what its owner wants by default, else mail."""
    return of_channels(request, request.me.channels or ("mail",))


def typed(request: RequestContext) -> list[ChannelField]:
    """The fields as they were filled in."""
    return _fields(request, request.form)


def _fields(request: RequestContext, values: dict[str, str]) -> list[ChannelField]:
    how, me = request.app_state.settings(), request.me
    found = []
    for kind, channel in CHANNELS.items():
        if not channel.is_available(how) or (channel.is_admin_only and not me.admin):
            continue
        own: str = (getattr(me, channel.account_field) or "") if channel.account_field else ""
        label = channel.labels.get(request.language, channel.labels["en"])
        found.append(
            ChannelField(
                kind,
                label.format(address=own),
                _is_box(channel),
                values.get(kind, ""),
                FIRST[channel.account_field] if channel.account_field and not own else "",
            )
        )
    return found


def _is_box(channel: type[Channel]) -> bool:
    return bool(channel.account_field) or channel.can_be_bare


# -- what was chosen ----------------------------------------------------------------


def chosen(request: RequestContext) -> tuple[tuple[str, ...], dict[str, str]]:
    """The channels of an alert that were chosen, and of those that cannot be: kind -> why not."""
    found, wrong = [INBOX], dict[str, str]()
    for kind in CHANNELS:
        try:
            found += _checked(_named(request, [kind]))
        except ConfigError as error:
            wrong[kind] = error.message
    return tuple(found), wrong


def usual_of(request: RequestContext) -> list[str]:
    """What was chosen for new alerts, own addresses by their kind alone; as `chosen`."""
    own = [kind for kind, channel in CHANNELS.items() if channel.account_field]
    others = _checked(_named(request, [kind for kind in CHANNELS if kind not in own]))
    return [*(kind for kind in own if request.form.get(kind)), *others]


def _named(request: RequestContext, kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        channel, text = CHANNELS[kind], request.form.get(kind, "").strip()
        lines = [""] if _is_box(channel) else text.split()[: channel.max_addresses]
        for line in lines if text else ():
            address = channel.account_address(line, request.me)
            if address is None:
                raise Wrong(FIRST.get(channel.account_field, _FOR_ADMINS))
            yield _joined(kind, address)


def allowed(me: User, channels: Iterable[str]) -> tuple[str, ...]:
    """Those of an alert's channels that an account may have; to own addresses, so many at most."""
    kept: dict[str, dict[str, None]] = defaultdict(dict)
    for kind, address in map(split_channel, channels):
        if kind in CHANNELS:
            may = CHANNELS[kind].account_address(address, me)
            if may is not None and len(kept[kind]) < CHANNELS[kind].max_addresses:
                kept[kind][_joined(kind, may)] = None
    return (INBOX, *(each for kind in CHANNELS for each in kept[kind]))


def _joined(kind: str, address: str) -> str:
    return f"{kind}:{address}" if address else kind


def _checked(named: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(named))
    for each in found:
        check_channel(each)
        kind, address = split_channel(each)
        if kind in CHANNELS:
            CHANNELS[kind].check_new_address(address)
    return found
