"""Runs the scripts of pages in the system's Chromium, which itself reaches no network.

    chromium     the process: found, started behind a closed proxy, measured, killed
    devtools     commands to it and events from it (Chrome DevTools Protocol), over a pipe
    subrequests  what a page may ask for besides itself, and who asks for it: our own fetcher
    tab          one page: opened, filled with the answer that we have, waited for, read
    renderer     `Renderer`: so many tabs at once, one browser, begun anew when it dies or grows
    second_look  `SecondLook`: which results are rendered, and what a page is afterwards

A page that seems to need scripts (`focus.html.shell`) came by an ordinary request. `SecondLook`
waits for its host's delay, and has `Renderer` open a tab: a browser context of its own, without
cookies or memory of others. The tab asks for its address and gets the body that we have, so that
no page is asked for twice. What its scripts ask for then comes to us before it leaves the browser
(`Fetch.requestPaused`), and `SubRequests` answers it by `focus.fetch`: guard, limits, User-Agent
and TLS are the crawl's. When nothing has been asked for in a while, the document is read as HTML,
and goes to a scorer worker like any page.

What must stay true. The browser's only way out is a proxy that refuses every connection: whatever
gets past `Fetch` (WebSockets, service workers, prefetch, WebRTC, QUIC) reaches nobody, whoever
finds a new way. No page is lost: where rendering fails, it stays as it came, with the reason
(`records.Rendering`). Every wait has an end: a tab has its time, and a browser that does not answer
is killed.

What surprised us: a driver (Playwright) would cost a second process of 100 MB, does not intercept
redirects, and does not say which process to kill; the dozen commands that are needed take less code
than working around that.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from msgspec.structs import replace

from focus.config import CrawlConfig, RenderConfig
from focus.engine.transports import Scorer
from focus.fetch import WebFetcher
from focus.http.sessions import Sessions
from focus.rendering.chromium import check_sandbox, executable
from focus.rendering.renderer import Renderer
from focus.rendering.second_look import SecondLook
from focus.rendering.subrequests import SubRequests


def usable(config: RenderConfig, browser: Path | None) -> str:
    """The browser's program; ConfigError for none, or for one whose sandbox cannot work."""
    program = executable(browser)
    check_sandbox(sandbox=config.sandbox)
    return program


async def second_look(
    config: CrawlConfig,
    scorer: Scorer,
    sessions: Sessions,
    stack: AsyncExitStack,
    *,
    browser: Path | None = None,
) -> SecondLook | None:
    """What renders the pages of a crawl, its browser started; None if it renders none.

    browser   its program; None: PATH has it

    ConfigError where there is no browser, or none that works. Closed with the stack.
    """
    if config.render.mode == "never":
        return None
    program = usable(config.render, browser)
    fetch = replace(config.fetch, any_type=True, listings=False)
    subrequests = SubRequests(
        WebFetcher(fetch, sessions=sessions),
        WebFetcher(fetch),
        agent=None if config.politeness.ignore_robots else config.agent,
    )
    renderer = Renderer(
        config.render,
        subrequests,
        program=program,
        user_agent=config.fetch.user_agent,
        max_bytes=config.fetch.max_body_bytes,
    )
    stack.push_async_callback(renderer.close)
    if config.render.early:
        await renderer.begin()
    return SecondLook(config.render, renderer, scorer)
