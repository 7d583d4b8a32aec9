"""Delivers short messages to telephones, through the gateway that an administrator has set.

The gateway is an apprise URL with `{phone}` where the number goes, as
`twilio://SID:TOKEN@FROM/{phone}` or `jsons://gateway.example.org/send?to={phone}`. People only
give their number, and confirm it by a code that was sent there.
"""

from __future__ import annotations

import msgspec

from focus.alerts.delivery import DeliveryOutcome, NotDelivered, apprise
from focus.alerts.message import Message
from focus.errors import ConfigError

PLACE = "{phone}"
UNSET = "no SMS gateway is set; ask an administrator"
TITLES = 2  # in a message: each part of 70 characters costs money


async def deliver(message: Message, phone: str, *, gateway: str) -> DeliveryOutcome:
    """Hand one message over, as short as it can be said."""
    if not gateway:
        return NotDelivered(UNSET, everyone=True)
    return await apprise.deliver(short(message), gateway.replace(PLACE, phone))


def short(message: Message) -> Message:
    """Its subject, and the titles of the best pages."""
    titles = [item.title for group in message.groups for item in group.items][:TITLES]
    text = "\n".join(titles) or message.text.partition("\n")[0]
    return msgspec.structs.replace(message, text=text)


def check_gateway(url: str) -> None:
    """ConfigError for a gateway that could not send."""
    if PLACE not in url:
        raise ConfigError(f"SMS gateway: put {PLACE} into it where the number goes")
    apprise.check_may_add(f"apprise:{url.replace(PLACE, '15555550100')}", admin=True)
