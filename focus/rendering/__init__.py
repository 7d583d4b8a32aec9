"""Running the scripts of pages in the system's Chromium, which itself has no network.

    chromium — the browser process: search, start behind a closed proxy, memory, end
    devtools — commands and events of the browser (Chrome DevTools Protocol) over a pipe
    subrequests — which requests of a page are allowed; sends them with the crawl's own fetcher
    tab — one page: gets its response, waits for its scripts, returns its HTML
    renderer — `Renderer`: several tabs in one browser, restarted when it dies or grows
    render_fallback — `RenderFallback`: which results are rendered, and the page that results

A page that seems to need scripts (`focus.html.shell`) was fetched by an ordinary request.
`RenderFallback` waits for the crawl delay of its host and has `Renderer` open a tab with a browser
context of its own. The tab requests the URL and receives the stored response, so that no page is
requested twice. Requests of its scripts are intercepted before they leave the browser
(`Fetch.requestPaused`) and answered by `SubRequests` through `focus.fetch`, with the guard, limits,
User-Agent and TLS settings of the crawl. When no request has been made for a while, the document is
read as HTML and goes to a scorer process like any page.

The only way out of the browser is a proxy that refuses every connection, so that nothing that
escapes interception (WebSockets, service workers, prefetch, WebRTC, QUIC) reaches a server. Where
rendering fails, the page stays as it was fetched, with the reason (`records.Rendering`). Every wait
has a limit.

It must not import sessions of crawls or anything above. No driver such as Playwright is used: it
would take a second process of 100 MB, does not intercept redirects, and does not report which
process to kill.
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
from focus.rendering.render_fallback import RenderFallback
from focus.rendering.renderer import Renderer
from focus.rendering.subrequests import SubRequests


def usable(config: RenderConfig, browser: Path | None) -> str:
    """Return the browser's program; ConfigError if it is missing or its sandbox cannot work."""
    program = executable(browser)
    check_sandbox(sandbox=config.sandbox)
    return program


async def render_fallback(
    config: CrawlConfig,
    scorer: Scorer,
    sessions: Sessions,
    stack: AsyncExitStack,
    *,
    browser: Path | None = None,
) -> RenderFallback | None:
    """Return the renderer of a crawl with its browser started; None if it renders no page.

    browser   program of the browser; None searches PATH

    Raises ConfigError if there is no usable browser. The renderer is closed with the stack.
    """
    if config.render.mode == "never":
        return None
    program = usable(config.render, browser)
    fetch = replace(config.fetch, any_type=True, sitemaps=False)
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
    if config.render.starts_early:
        await renderer.start()
    return RenderFallback(config.render, renderer, scorer)
