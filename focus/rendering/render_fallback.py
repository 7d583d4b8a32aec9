"""Decides which pages are rendered, and which version of a page counts.

    never   none    auto   those that seem to need it (`Rendering.is_shell`)    always   all

A rendered page replaces the received one, unless it is still a shell or cannot be scored: then the
page stays as received, with the reason. noindex and nofollow count if either version has them.
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
from focus.workers.messages import Job

VALIDATORS = "etag", "last-modified"
"""Header fields that are not stored for pages to be rendered: a shell is unchanged while its list
changes, and a page that could not be rendered must be tried again."""


class RenderFallback:
    """Replaces the page of a result by the rendered one where the configuration asks for it."""

    def __init__(self, config: RenderConfig, renderer: Renderer, scorer: Scorer) -> None:
        self._config = config
        self._match = [re.compile(pattern) for pattern in config.match]
        self._renderer = renderer
        self._scorer = scorer

    async def __call__(self, result: Result) -> Result:
        """Return the result of the rendered page, or the one that was received."""
        page = result.page
        if page is None or not self._needs_rendering(result.fetch, page):
            return replace(result, page=page and _without_routes(page))
        await asyncio.sleep(result.task.crawl_delay_s)  # it is one more request to that host
        rendered = await self._renderer.render(result.fetch, page.charset)
        fetch = replace(
            result.fetch,
            raw_bytes=result.fetch.raw_bytes + rendered.raw_bytes,
            headers=tuple(field for field in result.fetch.headers if field[0] not in VALIDATORS),
        )
        if rendered.navigated_to is not None:
            return Result(result.task, replace(fetch, redirect_to=rendered.navigated_to))
        return Result(result.task, fetch, await self._choose_page(result, page, rendered))

    def _needs_rendering(self, fetch: FetchResult, page: Page) -> bool:
        """Return whether a received page is to be rendered."""
        if page.failure is not None or fetch.failure is not None or fetch.url_source is not None:
            return False
        if self._config.mode == "auto" and not page.rendering.is_shell:
            return False
        if self._match and not any(pattern.search(fetch.url) for pattern in self._match):
            return False
        return document_kind(fetch.header("content-type"), fetch.body) is None

    async def _choose_page(self, result: Result, original: Page, rendered: Rendered) -> Page:
        """Return the page that counts: the rendered or the received one."""
        if rendered.rendering is not Rendering.RENDERED:
            original = _without_routes(original)
            return replace(original, rendering=rendered.rendering, detail=rendered.detail)
        task, content_type = result.task, "text/html; charset=utf-8"
        seen = task.template, task.software, result.fetch.fetched_at
        page = await self._scorer.score(Job(task.url, rendered.html, content_type, *seen))
        if page.failure is not None or page.rendering.is_shell:
            return replace(_without_routes(original), rendering=Rendering.EMPTY)
        return replace(
            page,
            rendering=Rendering.RENDERED,
            detail=msg("a list goes on after {n} steps", n=MAX_STEPS) if rendered.has_more else "",
            has_endless_list=rendered.has_more,
            canonical=None if "#" in result.task.url else page.canonical,
            noindex=page.noindex or original.noindex,
            nofollow=page.nofollow or original.nofollow,
            unavailable_after=min(page.unavailable_after, original.unavailable_after),
        )


def _without_routes(page: Page) -> Page:
    """Return a page that is not rendered without links to `#/route`, which need its scripts."""
    links = [link for link in page.links if "#" not in link.url]
    routes = len(page.links) - len(links)
    return replace(page, links=links, omitted_route_count=routes) if routes else page
