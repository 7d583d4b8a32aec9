"""Channels that deliver messages: one module and one entry of `CHANNELS` for each.

    channel                 base class `Channel` and the outcomes of a delivery
    mail, mail_headers      e-mail over SMTP; encoding of its header fields
    sms, sms_gateway        short messages; HTTP request of a gateway
    webhook,                signed JSON by POST; the secrets that sign it, and their rotation
    signing_secrets
    apprise                 other services through the library apprise
    feed                    Atom feed, written to a file or served by `focus serve`

Channels of other packages register through the entry point group `focus.channels`. Options, their
documentation, the fields in the browser and the queues of the outbox are derived from `CHANNELS`.
Only `alerts.outbox_relay` calls `deliver`. Channels import neither leases nor each other, except
that SMS may be sent through apprise and with the limits of webhooks.

smtplib blocks, so that another thread has to interrupt it when a mail server stops answering.
"""

from __future__ import annotations

from collections.abc import Iterable

from focus.alerts.delivery.apprise import Apprise
from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.delivery.feed import Feed
from focus.alerts.delivery.mail import Mail
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
    "mask_channel",
    "sent_channels",
    "signed_channels",
    "split_channel",
]

INBOX = "inbox"
"""Channel that every alert has: its matches are listed there in any case."""

SEALED = "sealed:2:"
"""Prefix of an address that was encrypted with another key file (`alerts.sealed_channels`)."""

CHANNELS: Registry[type[Channel]] = Registry(
    "focus.channels",
    "channel",
    {channel.kind: channel for channel in (Mail, Sms, Webhook, Apprise, Feed)},
)


def split_channel(channel: str) -> tuple[str, str]:
    """Return kind and address of a channel.

    Example: `mail:a@b.org` gives (`mail`, `a@b.org`); `feed` gives (`feed`, "").
    """
    kind, _, address = channel.partition(":")
    return kind, address


def check_channel(text: str) -> None:
    """Raise ConfigError for a text that is no channel, or whose address is invalid."""
    kind, address = split_channel(text)
    if kind != INBOX and kind not in CHANNELS:
        known = ", ".join((INBOX, *CHANNELS))
        raise ConfigError(
            "channel {text!r}: {kind!r} is not one of {known}", text=text, kind=kind, known=known
        )
    if not address:
        is_valid = kind == INBOX or CHANNELS[kind].can_be_bare
    else:
        is_valid = kind != INBOX and (
            address.startswith(SEALED) or CHANNELS[kind].is_address(address)
        )
    if not is_valid:
        raise ConfigError(
            "channel {text!r}: {kind} cannot send to this address", text=text, kind=kind
        )


def check_installation(settings: DeliverySettings) -> None:
    """Raise ConfigError if a channel's options of the installation are invalid."""
    for channel in CHANNELS.values():
        channel.check_installation(settings)


def sent_channels(channels: Iterable[str]) -> list[str]:
    """Return the channels of an alert to which messages are sent."""
    parts = ((channel, *split_channel(channel)) for channel in channels)
    return [
        channel
        for channel, kind, address in parts
        if kind != INBOX and kind in CHANNELS and CHANNELS[kind].is_delivered_to(address)
    ]


def signed_channels(channels: Iterable[str]) -> list[str]:
    """Return the channels to which signed messages are sent (`signing_secrets`)."""
    return [
        channel
        for channel in sent_channels(channels)
        if CHANNELS[split_channel(channel)[0]].is_signed
    ]


def mask_channel(channel: str) -> str:
    """Return a channel without the secrets of its address, to be shown."""
    kind, address = split_channel(channel)
    if not address:
        return channel
    if kind not in CHANNELS or address.startswith(SEALED):
        return f"{kind}:{MASK}"
    return f"{kind}:{CHANNELS[kind].mask(address)}"
