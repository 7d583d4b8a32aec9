"""Has the visits of watched sites made by the workers of a cluster.

A visit is a crawl, and each is run as the only shard of a cluster: its requests become tasks, their
results come back to the process of `focus watch run`, which decides and writes as ever. So leases,
politeness and what happens at kills are those of any crawl in a cluster. One visit after the other
has the workers; they take over its settings (the site's topic) when it begins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from focus.cluster.address import Address
from focus.session import Runtime

PATIENCE_S = 60.0
"""Without any worker: the visit is put off, and whoever runs it is told."""


def visits_by(address: Address) -> Callable[[], Runtime]:
    """What makes the runtime of a visit. Needs the extra `cluster`."""
    from focus.cluster.node import ShardNode
    from focus.cluster.sharding import Shard

    return partial(ShardNode, Shard(), address, patience_s=PATIENCE_S)
