"""By which ways do messages reach people? One module each, all with one function:

    async deliver(message, address, …, now) -> Delivered | Failed

`mail` speaks SMTP, `webhook` posts signed JSON, `apprise` hands over to a library of other
services; they never raise for what a receiver does. `feed` is the odd one: people come and
take it. The courier is the only one that calls them.
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
