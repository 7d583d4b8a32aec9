"""The runtime of a crawl whose requests are made by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from focus.cluster.address import Address
from focus.cluster.messages import WorkerSetup
from focus.cluster.transport import ClusterTransport
from focus.config import CrawlConfig, RunPaths
from focus.engine.transports import Clock, Transport
from focus.errors import ConfigError
from focus.score.strategy import strategy_class
from focus.session.runtime import Runtime


class ClusterRuntime(Runtime):
    """Runtime of the frontier of a cluster: `session.run(…, runtime=ClusterRuntime(…))`."""

    def __init__(
        self, address: Address, *, say: Callable[[str], object] = lambda text: None
    ) -> None:
        self._address, self._say = address, say

    async def make_transport(
        self, config: CrawlConfig, paths: RunPaths, stack: AsyncExitStack
    ) -> Transport:
        """Connect to the broker and begin a run. Raises ClusterError if there is no broker."""
        if config.politeness.per_host > 1 and config.politeness.delay_s > 0:
            raise ConfigError(
                "--per-host: a cluster sends one request at a time to a host; leave it out"
            )
        analysis = strategy_class(config.strategy).extend_analysis(config.analysis)
        setup = WorkerSetup("", config.fetch, analysis, config.parse_limit_s)
        transport = ClusterTransport(self._address, setup, clock=Clock(), say=self._say)
        stack.push_async_callback(transport.close)
        await transport.open()
        return transport
