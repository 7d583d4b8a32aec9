"""May this account, or this address, be tried once more? Each failure doubles the wait.

A try is counted before its password is looked at, so that many at once gain nothing; names
that nobody has are counted like others, so that the answer tells nothing.
"""

from __future__ import annotations

import sqlite3
from ipaddress import IPv6Address, ip_address

FREE = {
    "user": 5,
    "address": 20,
    "test": 10,
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


def spend(db: sqlite3.Connection, keys: list[str], *, now: float) -> float:
    """Count a try, in the caller's transaction; or say how many seconds it comes too early,
    and count nothing.
    """
    db.execute("DELETE FROM attempt WHERE last < ?", (now - FORGET_S,))
    early = 0.0
    for each in keys:
        row = db.execute("SELECT n, last FROM attempt WHERE who = ?", (each,)).fetchone()
        if row is not None:
            early = max(early, row[1] + wait_s(each.partition(":")[0], row[0]) - now)
    if early <= 0:
        db.executemany(
            "INSERT INTO attempt (who, n, last) VALUES (?, 1, ?) "
            "ON CONFLICT (who) DO UPDATE SET n = n + 1, last = excluded.last",
            [(each, now) for each in keys],
        )
    return max(0.0, early)


def succeeded(db: sqlite3.Connection, user: str, address: str) -> None:
    """A log-in that was good: the account is free again, the address has its try back. (Its
    other failures stay, or an account of one's own would be the way to guess others'.)
    """
    db.execute("DELETE FROM attempt WHERE who = ?", (user,))
    db.execute("UPDATE attempt SET n = max(0, n - 1) WHERE who = ?", (address,))
