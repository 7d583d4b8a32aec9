"""The retry table: by failure kind the wait, the number of tries, and who is to blame.

One row per kind (BUbiNG's tables): wait before the first further try in seconds,
doubled for each one after; tries in all; whether the host as a whole is to blame.
A server that says how long (Retry-After) is taken at its word.
A host to blame rests, too, and is given up after `HOST_FAILURES` in a row.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.records import FailureKind as K

HOST_FAILURES = 6
HOST_KILLERS = frozenset({K.DNS})
"""One of these and the host is given up at once: nothing will be different soon."""
LAST_CHANCE = HOST_FAILURES - 1
"""Failures of a host that was given up by an earlier run: one more, and it is again."""
MAX_WAIT_S = 3600.0


class Policy(NamedTuple):
    """The treatment of one kind of failure."""

    wait_s: float
    tries: int
    blames_host: bool


_ONCE = Policy(0.0, 1, False)
POLICIES: dict[K, Policy] = {
    K.DNS: Policy(0.0, 1, True),
    K.DNS_TEMPORARY: Policy(5.0, 3, True),
    K.UNREACHABLE: Policy(5.0, 3, True),
    K.CONNECT: Policy(5.0, 3, True),
    K.TLS: Policy(0.0, 1, True),
    K.TIMEOUT: Policy(10.0, 2, True),
    K.TOO_SLOW: Policy(60.0, 2, True),
    K.RESET: Policy(5.0, 3, True),
    K.CLOSED: Policy(0.0, 4, False),  # the host's delay is enough
    K.PROTOCOL: Policy(5.0, 2, False),
    K.HTTP_5XX: Policy(10.0, 3, False),
    K.RATE_LIMITED: Policy(60.0, 5, True),
}
"""Kinds that are not listed are final: the page itself is what it is."""

TEMPORARY = frozenset(
    {*POLICIES, K.GUARD, K.PARSE_TIMEOUT, K.PARSE_CRASH, K.POISON, K.HOST_GIVEN_UP}
)
"""Kinds that may be over another day: what `--retry-failed` asks for again."""


def policy(kind: K) -> Policy:
    """The row of a kind of failure."""
    return POLICIES.get(kind, _ONCE)


def wait_s(kind: K, tries: int, retry_after_s: float | None = None) -> float | None:
    """Seconds until the next try after `tries` failed ones; None = no further try.

    Where Retry-After is told, it is that. Worked: second 503: 10·2 = 20 s; with Retry-After: 1,
    1 s.
    """
    row = policy(kind)
    if tries >= row.tries:
        return None
    by_table = row.wait_s * 2.0 ** (tries - 1)
    return min(MAX_WAIT_S, by_table if retry_after_s is None else retry_after_s)
