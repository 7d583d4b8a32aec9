"""Base class of the channels: their settings, and how they deliver a message to an address.

    class Bottle(Channel):
        kind, metavar, help = "bottle", "FOLDER", "By a file in this folder."
        labels = {"en": "Folders, one per line"}

        @classmethod
        def is_address(cls, text): return text.startswith("/")

        async def deliver(self, message, address, *, user):
            Path(address, message.id).write_text(message.text)
            return Delivered()

Such a class adds the option `--bottle FOLDER` to `focus watch add`, a line to docs/cli.md, a field
to the form in the browser, and a queue to the outbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from focus.alerts.settings import MASK, DeliverySettings

if TYPE_CHECKING:
    from focus.alerts.message import Message
    from focus.storage.alerts.records import User
    from focus.storage.alerts.store import AlertStore


class Delivered(msgspec.Struct, frozen=True):
    """Outcome of an acknowledged message; `detail` goes to the delivery log."""

    detail: str = ""


class NotDelivered(msgspec.Struct, frozen=True):
    """Outcome of a message that the receiver has not acknowledged.

    retry           Whether another attempt later may succeed.
    retry_after_s   Seconds that the receiver asked to wait, or None.
    blocks_channel  Whether no other message of the channel can be delivered now either.
    """

    reason: str
    retry: bool = True
    retry_after_s: float | None = None
    blocks_channel: bool = False


DeliveryOutcome = Delivered | NotDelivered


class InstallationOption(msgspec.Struct, frozen=True):
    """Option of `watch run`, `watch test` and `serve` that a channel needs once per installation.

    name  As in `--smtp-url` and FOCUS_SMTP_URL; its value is `settings.options["smtp_url"]`.
    """

    name: str
    metavar: str
    help: str
    show_default: str = ""


class Channel:
    """Way to send messages to people; a round of delivery creates one object and closes it.

    Class attributes:

    kind                Name, as in `mail:a@b.org` and in the option `--mail`.
    metavar             Placeholder of the option's value.
    help                Help text of the option, one sentence.
    labels              Label of the field in the browser by language; `en` at least.
    can_be_bare         Whether the option needs no value: a channel `feed` without an address.
    account_field       Column of the account that holds its confirmed address (`mail`, `phone`). An
                        empty string means that accounts type addresses.
    is_admin_only       Whether only administrators may enter an address.
    has_secret_address  Whether addresses contain secrets such as tokens; they are stored encrypted
                        and never shown.
    is_signed           Whether receivers check a signature made with a secret of this installation.
    max_addresses       Largest number of addresses per alert in the browser.
    concurrency         Number of messages in delivery at the same time.
    options             Options that it needs from the installation.

    Attributes: `settings` (how to send), `store`, and `clock` (Unix seconds).
    """

    kind: ClassVar[str]
    metavar: ClassVar[str]
    help: ClassVar[str]
    labels: ClassVar[Mapping[str, str]]
    can_be_bare: ClassVar[bool] = False
    account_field: ClassVar[str] = ""
    is_admin_only: ClassVar[bool] = False
    has_secret_address: ClassVar[bool] = True
    is_signed: ClassVar[bool] = False
    max_addresses: ClassVar[int] = 5
    concurrency: ClassVar[int] = 1
    options: ClassVar[tuple[InstallationOption, ...]] = ()

    def __init__(
        self, settings: DeliverySettings, store: AlertStore, *, clock: Callable[[], float]
    ) -> None:
        self.settings, self.store, self.clock = settings, store, clock

    # -- configuration -----------------------------------------------------------------

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return whether a text looks like an address of this channel."""
        raise NotImplementedError

    @classmethod
    def normalise_address(cls, address: str) -> str:
        """Return the form in which an address from the command line is stored."""
        return address

    @classmethod
    def check_new_address(cls, address: str) -> None:
        """Raise ConfigError for a newly entered address that cannot be used on this machine."""

    @classmethod
    def check_installation(cls, settings: DeliverySettings) -> None:
        """Raise ConfigError for invalid options of the installation."""

    @classmethod
    def is_delivered_to(cls, address: str) -> bool:
        """Return whether messages are sent to an address; False means that people fetch them."""
        return True

    @classmethod
    def is_available(cls, settings: DeliverySettings) -> bool:
        """Return whether accounts of this installation can use the channel."""
        return True

    @classmethod
    def account_address(cls, address: str, user: User) -> str | None:
        """Return the address that an account may use for an entered one, or None."""
        if cls.account_field:
            confirmed: str | None = getattr(user, cls.account_field)
            return confirmed
        return None if cls.is_admin_only and not user.admin else address

    @classmethod
    def mask(cls, address: str) -> str:
        """Return an address without its secrets, to be shown."""
        return MASK if cls.has_secret_address and address else address

    # -- delivery ---------------------------------------------------------------------

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Deliver one message.

        Whatever the receiver does is reported in the outcome and not raised.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Close connections."""
