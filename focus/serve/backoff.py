"""Counts tries by account and by address; each failure doubles the wait until the next.

A try is counted before its password is looked at, so that many at once gain nothing; names
that nobody has are counted like others, so that the answer tells nothing.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from focus.storage.alerts.store import AlertStore

FREE = {
    "user": 5,
    "address": 20,
    "test": 10,
    "try": 10,
    "check": 10,
    "browser": 10,
    "reset": 3,
    "register": 5,
    "mail": 3,
    "sms": 3,
    "code": 3,
}
"""Kind of key -> tries without any wait."""
LONGEST_S = 900.0
FORGET_S = 86400.0


def key(kind: str, who: str) -> str:
    """`user:ana`, `address:192.0.2.1`; of IPv6 the network, which is one household's."""
    if kind != "address" and kind != "register":
        return f"{kind}:{who.casefold()[:64]}"
    try:
        address = ip_address(who)
    except ValueError:
        return f"{kind}:{who[:64]}"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return f"{kind}:{address.ipv4_mapped}"
        return f"{kind}:{IPv6Address(int(address) >> 64 << 64)}/64"
    return f"{kind}:{address}"


def wait_s(kind: str, n: int) -> float:
    """Seconds after the n-th try until the next. Worked: user: 0 … 0 (4), 1 (5), 2 (6), 4 (7)."""
    over = n - FREE[kind]
    return 0.0 if over < 0 else min(LONGEST_S, 2.0 ** min(over, 20))


def spend(store: AlertStore, keys: list[str], *, now: float) -> float:
    """Count a try; or say how many seconds it comes too early, and count nothing."""
    with store.transaction():
        store.attempts.forget(before=now - FORGET_S)
        early = max(
            (
                last + wait_s(key.partition(":")[0], tries) - now
                for key, tries, last in store.attempts.of(keys)
            ),
            default=0.0,
        )
        if early <= 0:
            store.attempts.count(keys, now=now)
    return max(0.0, early)


def succeeded(store: AlertStore, user: str, address: str) -> None:
    """Reset the failures of the account and take back the attempt of the address.

    Other failures of the address stay: otherwise, a guesser with an account could reset them.
    """
    store.attempts.clear(user)
    store.attempts.take_back(address)
