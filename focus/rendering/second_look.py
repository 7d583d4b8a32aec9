"""Decides which pages are rendered, and what a page is afterwards.

    never   none    auto   those that seem to need it (`Rendering.is_shell`)    always   all

A rendered page takes the place of the one that came, unless it is still a shell, or cannot be
scored: then the page stays as it came, with the reason. What a page asks of robots counts,
whichever of the two says it.
"""

from __future__ import annotations

import asyncio
import re

from msgspec.structs import replace

from focus.config import RenderConfig
from focus.documents.kinds import document_kind
from focus.engine.transports import Scorer
from focus.i18n import msg
from focus.records import FetchResult, Page, Rendering, Result
from focus.rendering.renderer import Rendered, Renderer
from focus.rendering.tab import MAX_STEPS

VALIDATORS = "etag", "last-modified"
"""Fields that a page is kept without that was to be rendered: a shell stays as it is while its list
changes, and what could not be rendered is tried again."""


class SecondLook:
    """Makes of a result what its page's scripts make of it, where that is wanted."""

    def __init__(self, config: RenderConfig, renderer: Renderer, scorer: Scorer) -> None:
        self._config = config
        self._match = [re.compile(each) for each in config.match]
        self._renderer = renderer
        self._scorer = scorer

    async def __call__(self, result: Result) -> Result:
        """The result of the rendered page, or the one that came."""
        page = result.page
        if page is None or not self._wants(result.fetch, page):
            return replace(result, page=page and _without_routes(page))
        await asyncio.sleep(result.task.crawl_delay_s)  # it is one more request to that host
        drawn = await self._renderer.render(result.fetch, page.charset)
        fetch = replace(
            result.fetch,
            raw_bytes=result.fetch.raw_bytes + drawn.raw_bytes,
            headers=tuple(each for each in result.fetch.headers if each[0] not in VALIDATORS),
        )
        if drawn.sent_to is not None:
            return Result(result.task, replace(fetch, redirect_to=drawn.sent_to))
        return Result(result.task, fetch, await self._page(result, page, drawn))

    def _wants(self, fetch: FetchResult, page: Page) -> bool:
        """Whether a page that came is to be rendered."""
        if page.failure is not None or fetch.failure is not None or fetch.url_source is not None:
            return False
        if self._config.mode == "auto" and not page.rendering.is_shell:
            return False
        if self._match and not any(each.search(fetch.url) for each in self._match):
            return False
        return document_kind(fetch.header("content-type"), fetch.body) is None

    async def _page(self, result: Result, came: Page, drawn: Rendered) -> Page:
        """The page that counts."""
        if drawn.rendering is not Rendering.RENDERED:
            came = _without_routes(came)
            return replace(came, rendering=drawn.rendering, detail=drawn.detail)
        page = await self._scorer.score(
            result.task.url,
            drawn.html,
            "text/html; charset=utf-8",
            wording=result.task.needs_wording,
            template=result.task.template,
            software=result.task.software,
        )
        if page.failure is not None or page.rendering.is_shell:
            return replace(_without_routes(came), rendering=Rendering.EMPTY)
        return replace(
            page,
            rendering=Rendering.RENDERED,
            detail=msg("a list goes on after {n} steps", n=MAX_STEPS) if drawn.goes_on else "",
            has_endless_list=drawn.goes_on,
            canonical=None if "#" in result.task.url else page.canonical,
            noindex=page.noindex or came.noindex,
            nofollow=page.nofollow or came.nofollow,
            unavailable_after=min(page.unavailable_after, came.unavailable_after),
        )


def _without_routes(page: Page) -> Page:
    """Return a page that is not rendered without links to `#/route`, which need its scripts."""
    links = [link for link in page.links if "#" not in link.url]
    routes = len(page.links) - len(links)
    return replace(page, links=links, omitted_route_count=routes) if routes else page
