"""The channels by which messages reach people: one module and one line below for each.

    channel                 `Channel`: what each says of itself, and `deliver`
    mail                    e-mail by SMTP
    sms, sms_gateway        short messages; how a gateway is asked over HTTP
    webhook, http_post,     signed JSON, posted; the secrets that sign, and change
    signing_secrets
    apprise                 a library of other services
    feed                    an Atom feed: a file, or what people fetch from `focus serve`
    push, push_encryption   notifications of browsers (Web Push); how a message is encrypted

A channel of another package registers by the entry point group `focus.channels`. Options,
their documentation, the fields of the browser and the queues of the outbox follow from
`CHANNELS`. `alerts.outbox_relay` alone delivers by them; they know no lease and no other channel.

What surprised us: smtplib blocks, so that a mail server which falls silent has to be cut off
from another thread; and an answer's head says all, so that a webhook's body is never read.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.alerts.delivery.apprise import Apprise
from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.delivery.feed import Feed
from focus.alerts.delivery.mail import Mail
from focus.alerts.delivery.push import Push
from focus.alerts.delivery.sms import Sms
from focus.alerts.delivery.webhook import Webhook
from focus.alerts.settings import MASK, DeliverySettings
from focus.errors import ConfigError
from focus.registry import Registry

__all__ = [
    "CHANNELS",
    "INBOX",
    "SEALED",
    "Channel",
    "Delivered",
    "DeliveryOutcome",
    "NotDelivered",
    "check_channel",
    "check_installation",
    "masked_channel",
    "parted",
    "sent_of",
    "signed_of",
]

INBOX = "inbox"
"""The channel of every alert: what was found stands there in any case."""

SEALED = "sealed:2:"
"""Begins an address that another key file has sealed (`alerts.sealed_channels`)."""

CHANNELS: Registry[type[Channel]] = Registry(
    "focus.channels", {each.kind: each for each in (Mail, Sms, Push, Webhook, Apprise, Feed)}
)


def parted(channel: str) -> tuple[str, str]:
    """(`mail`, `a@b.org`) of `mail:a@b.org`; (`feed`, "") of `feed`."""
    kind, _, address = channel.partition(":")
    return kind, address


def check_channel(text: str) -> None:
    """ConfigError for what is no channel, or none that can be delivered to."""
    kind, address = parted(text)
    if kind != INBOX and kind not in CHANNELS:
        known = ", ".join((INBOX, *CHANNELS))
        raise ConfigError(
            "channel {text!r}: {kind!r} is none of {known}", text=text, kind=kind, known=known
        )
    if not address:
        good = kind == INBOX or CHANNELS[kind].may_be_bare
    else:
        good = kind != INBOX and (address.startswith(SEALED) or CHANNELS[kind].is_address(address))
    if not good:
        raise ConfigError(
            "channel {text!r}: no address that {kind} can deliver to", text=text, kind=kind
        )


def check_installation(settings: DeliverySettings) -> None:
    """ConfigError for what the installation says of a channel and makes no sense."""
    for channel in CHANNELS.values():
        channel.check_installation(settings)


def sent_of(channels: Iterable[str]) -> list[str]:
    """Those of an alert's channels by which messages are sent."""
    found = ((each, *parted(each)) for each in channels)
    return [
        each
        for each, kind, address in found
        if kind != INBOX and kind in CHANNELS and CHANNELS[kind].is_sent(address)
    ]


def signed_of(channels: Iterable[str]) -> list[str]:
    """Those by which messages are sent that a secret of ours signs (`signing_secrets`)."""
    return [each for each in sent_of(channels) if CHANNELS[parted(each)[0]].signs]


def masked_channel(channel: str) -> str:
    """A channel fit to be shown."""
    kind, address = parted(channel)
    if not address:
        return channel
    if kind not in CHANNELS or address.startswith(SEALED):
        return f"{kind}:{MASK}"
    return f"{kind}:{CHANNELS[kind].masked(address)}"
