"""The channels by which messages reach people: one module each, with one function.

    async deliver(message, address, …, now) -> Delivered | NotDelivered

`mail` speaks SMTP, `webhook` posts signed JSON (by `http_post`), `apprise` hands over to a
library of other services, and `sms` to one of those; they never raise for what a receiver
does. `feed` is the odd one: people come and take it. `alerts.outbox_relay` alone calls them;
they know no store, no lease and no other channel.

What surprised us: smtplib blocks, so that a mail server which falls silent has to be cut off
from another thread; and an answer's head says all, so that a webhook's body is never read.
"""

from __future__ import annotations

import msgspec


class Delivered(msgspec.Struct, frozen=True):
    """The receiver has acknowledged it. `detail` is for the log."""

    detail: str = ""


class NotDelivered(msgspec.Struct, frozen=True):
    """It has not, as far as we know.

    retry          trying again later may help
    retry_after_s  the receiver asked for so many seconds; None: it did not
    everyone       no other message of the channel can go out either, now
    """

    reason: str
    retry: bool = True
    retry_after_s: float | None = None
    everyone: bool = False


DeliveryOutcome = Delivered | NotDelivered
