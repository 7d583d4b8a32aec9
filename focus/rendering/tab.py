"""Renders one page in a tab of its own: opened, filled, waited for, read, closed.

The document that the tab asks for is answered with the body that we have; it gets no other. When
a script sends the tab elsewhere, that address is the result, as of a redirect. What the page asks
for besides goes to `SubRequests`. The page is done when it has loaded and asked for nothing in
`QUIET_S`, nor in `QUIET_TURNS` turns of its own event loop; or as it stands when its time is nearly
over.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

from focus.i18n import msg
from focus.records import FetchResult
from focus.rendering.devtools import BrowserGone, CommandRefused, DevTools
from focus.rendering.subrequests import Allowance, Answer, SubRequests
from focus.urls.normal_form import normalise

QUIET_S = 0.5
QUIET_TURNS = 5
"""In which a page is asked for a sign of life: one that has no processor is not done."""
MAX_ELEMENTS = 200_000
"""Of a document that is read; the largest honest ones have some 50,000."""
READ_SHARE = 0.25  # of a page's time that is left for reading it
_CLOSE_S = 5.0
_PASSED = ("content-security-policy", "content-language", "referrer-policy")
_BEFORE = """
for (const name of ["WebSocket", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection",
    "EventSource", "SharedWorker"]) delete globalThis[name];
try { delete Navigator.prototype.serviceWorker; } catch {}
globalThis.requestAnimationFrame = then => setTimeout(() => then(performance.now()), 16);
globalThis.cancelAnimationFrame = clearTimeout;
globalThis.open = () => null; globalThis.print = () => {};
"""
# A hidden tab has no window to be made for it (.4 instead of 1.4 CPU seconds a page), hence neither
# a size nor frames: both are told to the page.
_SIZE = {"width": 1280, "height": 1600, "deviceScaleFactor": 1, "mobile": False}
# Run where the page's own scripts cannot have changed what anything means.
_READ = """(() => {
  const all = document.getElementsByTagName("*");
  if (all.length > %d) return {large: all.length + " elements"};
  const shadows = [...all].map(each => each.shadowRoot).filter(Boolean).slice(0, 1000);
  document.querySelectorAll("noscript").forEach(each => each.remove());
  let html = document.documentElement ? document.documentElement.outerHTML : "";
  for (const each of shadows) {
    html += each.innerHTML;
    if (html.length > %d) break;
  }
  if (html.length > %d) return {large: html.length + " characters"};
  if (!document.querySelector("base[href]") && document.baseURI !== %s)
    html = html.replace(/<head[^>]*>/i, head => head + "<base href=" +
      JSON.stringify(document.baseURI) + ">");
  return {html: "<!doctype html>" + html};
})()"""


class TabCrashed(Exception):
    """The page's process has died, alone."""


class TooLarge(Exception):
    """The page that scripts made is over the cap."""


class Snapshot(NamedTuple):
    """A page as its scripts have left it, in UTF-8; or where they have sent it."""

    html: bytes
    sent_to: str | None = None


class Came(NamedTuple):
    """A page as it came: the answer, what its body is decoded by, and what it has asked for."""

    fetch: FetchResult
    charset: str
    allowance: Allowance


class Tab:
    """One page in the browser; `draw` once."""

    def __init__(self, tools: DevTools, session: str, subrequests: SubRequests, page: Came) -> None:
        self._tools = tools
        self._session = session
        self._subrequests = subrequests
        self._fetch, self._charset, self._allowance = page
        self._frame = ""
        self._is_filled = self._is_loaded = self._is_over = False
        self._sent_to: str | None = None
        self._failed: Exception | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._stirred = asyncio.Event()

    async def draw(self, limit_s: float, max_bytes: int) -> Snapshot:
        """Have its scripts run. TimeoutError, TabCrashed, TooLarge; BrowserGone."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + limit_s
        self._tools.hear(self._session, self._on_event)
        try:
            async with asyncio.timeout_at(ends_at):
                await self._open()
                await self._settled(ends_at - READ_SHARE * limit_s)
                if self._sent_to is not None:
                    return Snapshot(b"", self._sent_to)
                return Snapshot(await self._read(ends_at - loop.time(), max_bytes))
        except CommandRefused as error:
            raise TabCrashed(str(error)) from error
        finally:
            self._is_over = True
            self._tools.forget(self._session)
            for each in tuple(self._under_way):
                each.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _open(self) -> None:
        call, session = self._tools.call, self._session
        await call("Page.enable", session)
        self._frame = (await call("Page.getFrameTree", session))["frameTree"]["frame"]["id"]
        await call("Page.addScriptToEvaluateOnNewDocument", session, source=_BEFORE)
        await call("Emulation.setDeviceMetricsOverride", session, **_SIZE)
        await call("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        self._tools.tell("Page.navigate", session, url=self._fetch.url)

    async def _settled(self, until: float) -> None:
        """Until nothing has stirred for a while, or until that instant."""
        quiet = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while self._failed is None and self._sent_to is None and quiet < QUIET_TURNS:
                    quiet = quiet + 1 if await self._is_still() else 0
        if self._failed is not None:
            raise self._failed

    async def _is_still(self) -> bool:
        """Whether nothing stirs in a share of `QUIET_S`, and in the page's next turn after it."""
        self._stirred.clear()
        if not self._is_loaded or self._under_way:
            await self._stirred.wait()
            return False
        await self._unless_stirred(asyncio.sleep(QUIET_S / QUIET_TURNS))
        if not self._stirred.is_set():
            call, session = self._tools.call, self._session
            await self._unless_stirred(call("Runtime.evaluate", session, math.inf, expression="0"))
        return not self._stirred.is_set()

    async def _unless_stirred(self, work: Coroutine[Any, Any, object]) -> None:
        """Until it is over, in whatever way, or something stirs."""
        both = {asyncio.ensure_future(work), asyncio.ensure_future(self._stirred.wait())}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)  # a browser that is gone stirs

    async def _read(self, limit_s: float, max_bytes: int) -> bytes:
        """The document as HTML."""
        call, session = self._tools.call, self._session
        world = await call(
            "Page.createIsolatedWorld", session, limit_s, frameId=self._frame, worldName="focus"
        )
        read = _READ % (MAX_ELEMENTS, max_bytes, max_bytes, json.dumps(self._fetch.url))
        answer = await call(
            "Runtime.evaluate",
            session,
            limit_s,
            expression=read,
            contextId=world["executionContextId"],
            returnByValue=True,
        )
        value = answer.get("result", {}).get("value")
        if not isinstance(value, dict):
            raise TabCrashed("its document cannot be read")
        html = str(value.get("html", "")).encode("utf-8", "replace")
        if "large" in value or len(html) > max_bytes:
            raise TooLarge(str(value.get("large", f"{len(html)} bytes")))
        return html

    # -- events -------------------------------------------------------------------

    def _on_event(self, method: str, params: dict[str, Any]) -> None:
        if self._is_over:
            return
        match method:
            case "Fetch.requestPaused":
                self._paused(params)
            case "Page.loadEventFired":
                self._is_loaded = True
            case "Page.javascriptDialogOpening":
                self._tell("Page.handleJavaScriptDialog", accept=False)
                return  # no sign that the page is getting anywhere
            case "Inspector.targetCrashed":
                self._failed = TabCrashed("its process has died")
            case "gone":
                self._failed = BrowserGone()
            case _:
                return
        self._stirred.set()

    def _paused(self, event: dict[str, Any]) -> None:
        kind, request, number = event["resourceType"], event["request"], event["requestId"]
        if kind != "Document":
            work = self._answer(number, kind, request)
            answering = asyncio.get_running_loop().create_task(work)
            self._under_way.add(answering)
            answering.add_done_callback(self._answered)
        elif event.get("frameId") != self._frame:
            self._refuse(number)
        elif not self._is_filled:
            self._is_filled = True
            headers = tuple(field for field in self._fetch.headers if field[0] in _PASSED)
            html = ("content-type", f"text/html; charset={self._charset}")
            self._fulfil(number, Answer(200, (html, *headers), self._fetch.body))
        else:
            self._refuse(number, "Aborted")
            self._is_loaded = True  # what it was loading, it has given up
            target = normalise(str(request.get("url", "")))
            if request.get("method") == "GET" and target not in (None, self._fetch.url):
                self._sent_to = self._sent_to or target

    def _answered(self, answering: asyncio.Task[None]) -> None:
        self._under_way.discard(answering)
        if not answering.cancelled() and (error := answering.exception()) is not None:
            self._failed = error if isinstance(error, Exception) else TabCrashed(str(error))
        self._stirred.set()

    async def _answer(self, number: str, kind: str, request: dict[str, Any]) -> None:
        found = await self._subrequests.answer(self._fetch.url, kind, request, self._allowance)
        if self._is_over:
            return
        if found is None:
            self._refuse(number)
        else:
            self._fulfil(number, found)

    def _fulfil(self, number: str, answer: Answer) -> None:
        headers = [{"name": name, "value": value} for name, value in answer.headers]
        self._tell(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=answer.status,
            responseHeaders=headers,
            body=base64.b64encode(answer.body).decode(),
        )

    def _refuse(self, number: str, reason: str = "BlockedByClient") -> None:
        self._tell("Fetch.failRequest", requestId=number, errorReason=reason)

    def _tell(self, method: str, **params: object) -> None:
        try:
            self._tools.tell(method, self._session, **params)
        except BrowserGone as error:
            self._failed = error


@contextlib.asynccontextmanager
async def opened(
    tools: DevTools, subrequests: SubRequests, page: Came, hangs: Callable[[str], object]
) -> AsyncIterator[Tab]:
    """A tab in a browser context of its own; `hangs` is told if it cannot be opened or closed.

    BrowserGone, also for a browser that hangs.
    """
    context = ""
    try:
        try:
            context = await _new_context(tools)
            blank = await tools.call(
                "Target.createTarget",
                url="about:blank",
                browserContextId=context,
                background=True,
                hidden=True,
            )
            attached = await tools.call(
                "Target.attachToTarget", targetId=blank["targetId"], flatten=True
            )
        except (TimeoutError, CommandRefused) as error:
            hangs(msg("the browser does not open a page"))
            raise BrowserGone from error
        yield Tab(tools, attached["sessionId"], subrequests, page)
    finally:
        if context:  # to its end, though who waits for it be cancelled
            await asyncio.shield(asyncio.ensure_future(_close(tools, context, hangs)))


async def _new_context(tools: DevTools) -> str:
    context = str((await tools.call("Target.createBrowserContext"))["browserContextId"])
    await tools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
    return context


async def _close(tools: DevTools, context: str, hangs: Callable[[str], object]) -> None:
    try:
        await tools.call("Target.disposeBrowserContext", "", _CLOSE_S, browserContextId=context)
    except TimeoutError:
        hangs(msg("the browser does not close a page"))
    except (BrowserGone, CommandRefused):
        pass
