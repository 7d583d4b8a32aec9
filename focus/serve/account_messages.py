"""Mails links for forgotten passwords, in a process that the server starts.

    python -m focus.serve.account_messages < options.json

The page for forgotten passwords only stores the name that was typed. This process looks it up and
sends the message, so that neither the response nor the load of the server shows whether there is
such an account.
"""

from __future__ import annotations

import sys
import time

import msgspec

from focus.alerts import settings
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings
from focus.errors import FocusError
from focus.serve import accounts, address_verification
from focus.serve.app_state import log_outcome
from focus.serve.log import LOG, set_up_log
from focus.serve.scheduler import SchedulerOptions, decode_options
from focus.storage.alerts.store import AlertStore, open_store
from focus.text.formatting import printable


def send_pending(store: AlertStore, delivery_settings: DeliverySettings, *, now: float) -> None:
    """Mail a link for each stored request of which the account exists."""
    for data in store.tokens.take_all("forgot", now=now):
        if (reset := accounts.create_reset_token(store, data["name"], now=now)) is not None:
            mail, language, secret = reset
            outcome = address_verification.send_link(
                delivery_settings, mail, language, kind="reset", secret=secret, now=now
            )
            log_outcome("focus-reset", outcome)


def run(options: SchedulerOptions) -> None:
    """Send what is pending in the database of a server."""
    now = time.time()
    sealed = SealedChannels.from_key_file(options.db, options.sending.key_file)
    with open_store(options.db, now=now, language="en", zone="UTC", channels=sealed) as store:
        delivery_settings = settings.read(store, **msgspec.structs.asdict(options.sending))
        send_pending(store, delivery_settings, now=now)


def main() -> int:
    """Run the process."""
    set_up_log()
    try:
        run(decode_options(sys.stdin.buffer.read()))
    except (FocusError, msgspec.DecodeError) as error:
        LOG.warning("%s", printable(str(error)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
