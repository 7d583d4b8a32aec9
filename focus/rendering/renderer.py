"""Renders pages in one browser, so many at once; begins it anew when it dies, hangs or grows.

A page in whose time the browser dies is tried once more, alone, so that others do not pay for it;
then it stays as it came. A browser that dies `MAX_DEATHS` times with no page between is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from focus.config import RenderConfig
from focus.errors import ConfigError
from focus.i18n import chain_messages, msg
from focus.records import FetchResult, Rendering
from focus.rendering.chromium import Chromium
from focus.rendering.devtools import BrowserGone, CommandRefused, DevTools
from focus.rendering.subrequests import Allowance, SubRequests
from focus.rendering.tab import Came, Snapshot, TabCrashed, TooLarge, opened
from focus.text.formatting import format_size as amount

MAX_DEATHS = 5
_WATCH_S = 0.5
_START_S = 60.0
_IDLE_SHARE = 0.5  # of the memory allowed, with which an idle browser is begun anew


class Rendered(NamedTuple):
    """A page that was rendered: its HTML, or where it was sent, or why neither.

    raw_bytes   off the sockets, of all that it asked for
    goes_on     a list on it was growing when the limit was reached
    """

    rendering: Rendering
    html: bytes = b""
    sent_to: str | None = None
    detail: str = ""
    raw_bytes: int = 0
    goes_on: bool = False


class _Browser:
    """A browser that runs, and the conversation with it."""

    def __init__(self, process: Chromium) -> None:
        self.process = process
        self.tools = DevTools(process.reader, process.writer)
        self.tabs = 0
        self.why = ""  # it was killed by us
        self._reading = asyncio.create_task(self.tools.read())

    @property
    def is_gone(self) -> bool:
        return self._reading.done()

    def kill(self, why: str) -> None:
        self.why = self.why or why
        self.process.kill()

    async def close(self) -> None:
        await self.process.close()
        await self._reading


class Renderer:
    """Renders for one crawl. `subrequests` answers what pages ask for; it is closed with it.

    max_bytes   of a page as its scripts leave it
    """

    def __init__(
        self,
        config: RenderConfig,
        subrequests: SubRequests,
        *,
        program: str,
        user_agent: str,
        max_bytes: int,
    ) -> None:
        self._config = config
        self._subrequests = subrequests
        self._user_agent = user_agent
        self._max_bytes = max_bytes
        self._program = program
        self._places = asyncio.Semaphore(config.max_tabs)
        self._one_alone = asyncio.Lock()
        self._starting = asyncio.Lock()
        self._browser: _Browser | None = None
        self._watching: asyncio.Task[None] | None = None
        self._deaths = 0
        self._why = ""  # it died last

    async def begin(self) -> None:
        """Start the browser; ConfigError if it does not answer."""
        try:
            await self._running()
        except BrowserGone as error:
            raise ConfigError(
                "--render: {program} does not start; to see why, run: {program} --headless "
                "--dump-dom about:blank",
                program=self._program,
            ) from error

    async def render(self, fetch: FetchResult, charset: str) -> Rendered:
        """Return the page after its scripts have run on the body, decoded by `charset`."""
        async with self._places:
            rendered = await self._once(fetch, charset)
        if rendered is None:
            async with self._alone():
                rendered = await self._once(fetch, charset)
        died = chain_messages(msg("the browser crashed twice"), self._why)
        return rendered or Rendered(Rendering.CRASH, detail=died)

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """With no other page in the browser."""
        async with self._one_alone, contextlib.AsyncExitStack() as stack:
            for _ in range(self._config.max_tabs):
                await stack.enter_async_context(self._places)
            yield

    async def _once(self, fetch: FetchResult, charset: str) -> Rendered | None:
        """One try; None: the browser died."""
        if self._deaths >= MAX_DEATHS:
            return Rendered(Rendering.CRASH, detail=msg("the browser crashed repeatedly"))
        page = Came(fetch, charset, Allowance())
        try:
            snapshot = await self._render_snapshot(page)
        except BrowserGone:
            self._deaths += 1
            return None
        except TimeoutError:
            limit = self._config.timeout_s
            detail = msg("not finished after {limit:g} s", limit=limit)
            rendered = Rendered(Rendering.TIMEOUT, detail=detail)
        except TooLarge as error:
            rendered = Rendered(Rendering.TOO_LARGE, detail=str(error))
        except TabCrashed as error:
            rendered = Rendered(Rendering.CRASH, detail=str(error))
        else:
            rendered = Rendered(
                Rendering.RENDERED, snapshot.html, snapshot.sent_to, goes_on=snapshot.goes_on
            )
        self._deaths = 0
        return rendered._replace(raw_bytes=page.allowance.bytes)

    async def _render_snapshot(self, page: Came) -> Snapshot:
        browser = await self._running()
        browser.tabs += 1
        try:
            async with opened(browser.tools, self._subrequests, page, browser.kill) as tab:
                return await tab.draw(self._config.timeout_s, self._max_bytes)
        finally:
            browser.tabs -= 1

    # -- the browser --------------------------------------------------------------

    async def _running(self) -> _Browser:
        """Return the browser, started if necessary; BrowserGone if it does not start."""
        async with self._starting:
            if self._browser is not None and self._browser.is_gone:
                await self._end()
            if self._browser is None:
                try:
                    process = await Chromium.start(
                        self._program, user_agent=self._user_agent, sandbox=self._config.sandbox
                    )
                except OSError as error:
                    raise BrowserGone from error
                browser = self._browser = _Browser(process)
                try:
                    await browser.tools.call("Browser.getVersion", "", _START_S)
                except (TimeoutError, CommandRefused) as error:
                    browser.kill(msg("the browser does not respond"))
                    raise BrowserGone from error
                self._watching = asyncio.create_task(self._watch(browser))
            return self._browser

    async def _watch(self, browser: _Browser) -> None:
        """Look after its memory as long as it lives."""
        max_bytes = self._config.max_memory_bytes
        while not browser.is_gone:
            await asyncio.sleep(_WATCH_S)
            size = await asyncio.to_thread(browser.process.memory)
            if size > max_bytes or (size > max_bytes * _IDLE_SHARE and not browser.tabs):
                browser.kill(msg("the browser used {size} of memory", size=amount(size)))

    async def _end(self) -> None:
        browser, self._browser = self._browser, None
        self._why = browser.why if browser is not None else ""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None
        if browser is not None:
            await browser.close()

    async def close(self) -> None:
        """End the browser, and give up all connections."""
        async with self._starting:
            await self._end()
        await self._subrequests.close()
