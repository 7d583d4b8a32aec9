"""A network between a role and the broker that can be cut or go dead.

with Cables(port) as cables:
    cable = cables.lay()   # cable.port leads to the broker
    cable.cut()            # connections are reset, new ones refused at once
    cable.deaden()         # nothing is refused and nothing arrives, as behind a lost route
    cable.mend()           # what was on its way arrives late, as TCP sends it again
"""

import asyncio
import threading
from contextlib import suppress
from typing import Self

CHUNK = 65_536
_FAULTS = (OSError, asyncio.IncompleteReadError)


class Cable:
    """One way to the broker. Its methods may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: int) -> None:
        self.port = 0
        self._loop, self._target = loop, target
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()

    async def lay(self) -> Self:
        """Listen on a port of loopback."""
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        ends = [writer]
        self._open.add(writer)
        try:
            await self._flows.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            ends.append(far_writer)
            self._open.add(far_writer)
            await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))
        except _FAULTS:
            pass
        finally:
            for end in ends:
                self._open.discard(end)
                end.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            await self._flows.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionError("one end hung up")

    def cut(self) -> None:
        """Break it."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        self._is_cut = True
        for end in self._open:
            end.transport.abort()

    def deaden(self) -> None:
        """Let nothing through."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def mend(self) -> None:
        """As it was."""
        self._loop.call_soon_threadsafe(self._mend)

    def _mend(self) -> None:
        self._is_cut = False
        self._flows.set()

    async def close(self) -> None:
        """Take it away."""
        self._server.close()
        self._cut()


class Cables:
    """Cables to one port, run by a thread."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._laid: list[Cable] = []

    def lay(self) -> Cable:
        """One more."""
        cable = Cable(self._loop, self._target)
        self._laid.append(asyncio.run_coroutine_threadsafe(cable.lay(), self._loop).result(600))
        return cable

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for cable in self._laid:
            with suppress(OSError):
                asyncio.run_coroutine_threadsafe(cable.close(), self._loop).result(600)
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(600)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    mine = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not mine]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
