"""Says what a channel is: how it is set up, and how it brings a message to somebody.

    class Bottle(Channel):
        kind, metavar, help = "bottle", "FOLDER", "By a file in this folder."
        labels = {"en": "Folders, one per line"}

        @classmethod
        def is_address(cls, text): return text.startswith("/")

        async def deliver(self, message, address, *, user):
            Path(address, message.id).write_text(message.text)
            return Delivered()

From such a class follow the option `--bottle FOLDER` of `focus watch add`, its line in
docs/cli.md, its field in the browser, and a queue of its own in the outbox.
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


class InstallationOption(msgspec.Struct, frozen=True):
    """An option of `watch run`, `test` and `serve`: a channel's need of the installation.

    name  as in `--smtp-url` and FOCUS_SMTP_URL; its value is `settings.options["smtp_url"]`
    """

    name: str
    metavar: str
    help: str
    show_default: str = ""


class Channel:
    """A way to reach people; one is made for each round of delivery, and closed after it.

    What the class says:

    kind         as in `mail:a@b.org`, and its option `--mail`
    metavar      of the option's value
    help         of the option, one sentence
    labels       of the field in the browser, by language; `en` at least
    may_be_bare  the option may stand alone, too: a channel `feed` without an address
    own          `mail`, `phone`: accounts use their confirmed one; "": they type addresses
    admin_only   whether only administrators may name an address
    is_secret    whether addresses hold secrets, as tokens: sealed when kept, never shown
    signs        whether its receivers check a signature by a secret of ours
    for_accounts  whether only accounts of `focus serve` have it: no option of `focus watch`
    most         addresses of one alert in the browser
    at_once      messages under way at once
    options      what it needs to know of the installation

    settings  how to send; `store` and `clock` (Unix seconds) for those that need them
    """

    kind: ClassVar[str]
    metavar: ClassVar[str]
    help: ClassVar[str]
    labels: ClassVar[Mapping[str, str]]
    may_be_bare: ClassVar[bool] = False
    own: ClassVar[str] = ""
    admin_only: ClassVar[bool] = False
    is_secret: ClassVar[bool] = True
    signs: ClassVar[bool] = False
    for_accounts: ClassVar[bool] = False
    most: ClassVar[int] = 5
    at_once: ClassVar[int] = 1
    options: ClassVar[tuple[InstallationOption, ...]] = ()

    def __init__(
        self, settings: DeliverySettings, store: AlertStore, *, clock: Callable[[], float]
    ) -> None:
        self.settings, self.store, self.clock = settings, store, clock

    # -- setting up -------------------------------------------------------------------

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether messages can be brought there, as far as the text tells."""
        raise NotImplementedError

    @classmethod
    def typed(cls, address: str) -> str:
        """The address as it is kept, of what was typed at the command line."""
        return address

    @classmethod
    def check_new(cls, address: str) -> None:
        """ConfigError for an address that cannot be used here and now; when it is typed."""

    @classmethod
    def check_installation(cls, settings: DeliverySettings) -> None:
        """ConfigError for options of the installation that make no sense."""

    @classmethod
    def is_sent(cls, address: str) -> bool:
        """Whether messages are sent; False: people look there by themselves."""
        return True

    @classmethod
    def is_ready(cls, settings: DeliverySettings) -> bool:
        """Whether accounts can use it at this installation."""
        return True

    @classmethod
    def of_account(cls, address: str, user: User) -> str | None:
        """The address that an account may use for a given one; None: none."""
        if cls.own:
            mine: str | None = getattr(user, cls.own)
            return mine
        return None if cls.admin_only and not user.admin else address

    @classmethod
    def masked(cls, address: str) -> str:
        """An address fit to be shown."""
        return MASK if cls.is_secret and address else address

    # -- sending ----------------------------------------------------------------------

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Bring one message; what the receiver does is the outcome, nothing is raised for it."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of what is kept open."""
