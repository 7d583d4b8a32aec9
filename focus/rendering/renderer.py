"""Renders pages in one browser, which is restarted when it dies, hangs or uses too much memory.

If the browser dies, its pages are tried once more, one at a time, so that a page that kills it
costs only itself. After `MAX_DEATHS` deaths without a rendered page no page is rendered.
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
from focus.rendering.tab import ReceivedPage, Snapshot, TabCrashed, TooLarge, open_tab
from focus.text.formatting import format_size as amount

MAX_DEATHS = 5
_WATCH_S = 0.5
_START_S = 60.0
_IDLE_SHARE = 0.5  # of the allowed memory, at which an idle browser is restarted


class Rendered(NamedTuple):
    """Result of rendering a page: its HTML, the address it navigated to, or the failure.

    raw_bytes   bytes received for its requests
    has_more    whether a list on it was growing when the limit was reached
    """

    rendering: Rendering
    html: bytes = b""
    navigated_to: str | None = None
    detail: str = ""
    raw_bytes: int = 0
    has_more: bool = False


class _Browser:
    """A running browser and the connection to it."""

    def __init__(self, process: Chromium) -> None:
        self.process = process
        self.tools = DevTools(process.reader, process.writer)
        self.tabs = 0
        self.why = ""  # reason for which `kill` was called
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
    """Renderer of one crawl.

    subrequests  answers the requests of pages; closed with the renderer
    max_bytes    maximum size of a rendered page
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
        self._tab_slots = asyncio.Semaphore(config.max_tabs)
        self._exclusive = asyncio.Lock()
        self._starting = asyncio.Lock()
        self._browser: _Browser | None = None
        self._watch_task: asyncio.Task[None] | None = None
        self._deaths = 0
        self._why = ""  # reason of the last death

    async def start(self) -> None:
        """Start the browser. Raises ConfigError if it does not respond."""
        try:
            await self._ensure_browser()
        except BrowserGone as error:
            raise ConfigError(
                "--render: {program} does not start; to see why, run: {program} --headless "
                "--dump-dom about:blank",
                program=self._program,
            ) from error

    async def render(self, fetch: FetchResult, charset: str) -> Rendered:
        """Return the page after its scripts have run on the body, decoded by `charset`."""
        async with self._tab_slots:
            rendered = await self._try_render(fetch, charset)
        if rendered is None:
            async with self._reserve_browser():
                rendered = await self._try_render(fetch, charset)
        died = chain_messages(msg("the browser crashed twice"), self._why)
        return rendered or Rendered(Rendering.CRASH, detail=died)

    @contextlib.asynccontextmanager
    async def _reserve_browser(self) -> AsyncIterator[None]:
        """Return a context manager in which no other page is rendered."""
        async with self._exclusive, contextlib.AsyncExitStack() as stack:
            for _ in range(self._config.max_tabs):
                await stack.enter_async_context(self._tab_slots)
            yield

    async def _try_render(self, fetch: FetchResult, charset: str) -> Rendered | None:
        """Try to render a page; None if the browser died."""
        if self._deaths >= MAX_DEATHS:
            return Rendered(Rendering.CRASH, detail=msg("the browser crashed repeatedly"))
        page = ReceivedPage(fetch, charset, Allowance())
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
                Rendering.RENDERED, snapshot.html, snapshot.navigated_to, has_more=snapshot.has_more
            )
        self._deaths = 0
        return rendered._replace(raw_bytes=page.allowance.bytes)

    async def _render_snapshot(self, page: ReceivedPage) -> Snapshot:
        browser = await self._ensure_browser()
        browser.tabs += 1
        try:
            async with open_tab(browser.tools, self._subrequests, page, browser.kill) as tab:
                return await tab.render(self._config.timeout_s, self._max_bytes)
        finally:
            browser.tabs -= 1

    # -- the browser --------------------------------------------------------------

    async def _ensure_browser(self) -> _Browser:
        """Return the browser, started if necessary. Raises BrowserGone if it does not start."""
        async with self._starting:
            if self._browser is not None and self._browser.is_gone:
                await self._close_browser()
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
                self._watch_task = asyncio.create_task(self._watch_memory(browser))
            return self._browser

    async def _watch_memory(self, browser: _Browser) -> None:
        """Kill the browser when it uses too much memory."""
        max_bytes = self._config.max_memory_bytes
        while not browser.is_gone:
            await asyncio.sleep(_WATCH_S)
            size = await asyncio.to_thread(browser.process.memory)
            if size > max_bytes or (size > max_bytes * _IDLE_SHARE and not browser.tabs):
                browser.kill(msg("the browser used {size} of memory", size=amount(size)))

    async def _close_browser(self) -> None:
        browser, self._browser = self._browser, None
        self._why = browser.why if browser is not None else ""
        if self._watch_task is not None:
            self._watch_task.cancel()
            await asyncio.gather(self._watch_task, return_exceptions=True)
            self._watch_task = None
        if browser is not None:
            await browser.close()

    async def close(self) -> None:
        """Close the browser and all connections."""
        async with self._starting:
            await self._close_browser()
        await self._subrequests.close()
