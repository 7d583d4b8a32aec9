"""Counts attempts per account and address; each failure doubles the wait until the next attempt.

Accounts are counted by id, so that renaming resets nothing. A browser that has logged in to the
account before is counted by itself: failures from elsewhere do not lock its owner out.

An attempt is counted before its password is checked, so that parallel attempts gain nothing.
Unknown names are counted like known ones, so that the response reveals nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

from focus.storage.alerts.store import AlertStore

FREE_ATTEMPTS = {
    "user": 5, "device": 5, "address": 20, "test": 10, "try": 10, "check": 10, "reset": 3,
    "register": 5, "mail": 3, "sms": 3, "code": 3,
}  # fmt: skip
"""Kind of key -> attempts without waiting."""
MAX_WAIT_S = 900.0
FORGET_AFTER_S = 86400.0
_MAX_KEY = 300  # characters; names are cut at 64, which without case may be three times as long


def attempt_key(kind: str, who: str) -> str:
    """Return the key of an attempt: `user:ana`, `address:192.0.2.1`; for IPv6 the /64 network."""
    if kind != "address" and kind != "register":
        return f"{kind}:{who.casefold()[:_MAX_KEY]}"
    try:
        address = ip_address(who)
    except ValueError:
        return f"{kind}:{who[:_MAX_KEY]}"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return f"{kind}:{address.ipv4_mapped}"
        return f"{kind}:{IPv6Address(int(address) >> 64 << 64)}/64"
    return f"{kind}:{address}"


def wait_s(kind: str, attempts: int) -> float:
    """Return the seconds to wait after the n-th attempt.

    Example: for `user` 0 after four attempts, 1 after five, 2 after six, 4 after seven.
    """
    excess = attempts - FREE_ATTEMPTS[kind]
    return 0.0 if excess < 0 else min(MAX_WAIT_S, 2.0 ** min(excess, 20))


def count_attempt(store: AlertStore, keys: Sequence[str], *, now: float) -> float:
    """Count an attempt and return 0, or return the seconds by which it comes too soon.

    An attempt that comes too soon is not counted.
    """
    with store.transaction():
        store.attempts.delete_before(before=now - FORGET_AFTER_S)
        store.attempts.correct_future_times(now)
        too_early_s = max(
            (
                last + wait_s(key.partition(":")[0], tries) - now
                for key, tries, last in store.attempts.load(keys)
            ),
            default=0.0,
        )
        if too_early_s <= 0:
            store.attempts.add(keys, now=now)
    return max(0.0, too_early_s)


def reset_attempts(store: AlertStore, user: str, address: str) -> None:
    """Reset the failures of the account, and take back the attempt of the address.

    Other failures of the address remain; otherwise, a guesser with an account could reset them.
    """
    store.attempts.clear(user)
    store.attempts.remove_one(address)
