"""Retry table: for each failure kind the wait, the number of tries, and whether the host is blamed.

A row (after BUbiNG) has the seconds before the first retry, which double with each further one,
the number of tries in all, and whether the failure counts against the whole host. A Retry-After
header replaces the wait. A blamed host is paused and is abandoned after `MAX_HOST_FAILURES`
failures in a row.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.records import FailureKind as K

MAX_HOST_FAILURES = 6
ABANDONING_FAILURES = frozenset({K.DNS})
"""Failure kinds after which the host is abandoned at once."""
FAILURES_BEFORE_LAST_TRY = MAX_HOST_FAILURES - 1
"""Failure count given to a host that an earlier run abandoned: one more abandons it again."""
MAX_WAIT_S = 3600.0


class Policy(NamedTuple):
    """A row of the retry table."""

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
    K.CLOSED: Policy(0.0, 4, False),  # the crawl delay is a sufficient wait
    K.PROTOCOL: Policy(5.0, 2, False),
    K.HTTP_5XX: Policy(10.0, 3, False),
    K.RATE_LIMITED: Policy(60.0, 5, True),
}
"""Failure kinds that are not listed are not retried."""

TEMPORARY = frozenset(
    {*POLICIES, K.GUARD, K.PARSE_TIMEOUT, K.PARSE_CRASH, K.POISON, K.HOST_ABANDONED}
)
"""Failure kinds that may be gone on another day; `--retry-failed` retries these."""


def retry_policy(kind: K) -> Policy:
    """Return the row of a failure kind."""
    return POLICIES.get(kind, _ONCE)


def retry_wait_s(kind: K, tries: int, retry_after_s: float | None = None) -> float | None:
    """Return the seconds until the next try after `tries` failed ones, None if there is none.

    `retry_after_s` (the server's Retry-After) replaces the wait of the table.

    Example: after the second 503 the wait is 10·2 = 20 s, with "Retry-After: 1" it is 1 s.
    """
    row = retry_policy(kind)
    if tries >= row.tries:
        return None
    by_table = row.wait_s * 2.0 ** (tries - 1)
    return min(MAX_WAIT_S, by_table if retry_after_s is None else retry_after_s)
