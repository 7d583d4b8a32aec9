"""Renders one page in a tab of its own.

The tab's request for the document is answered with the fetched body. When a script navigates to
another address, that address is the result, like a redirect. All other requests of the page go to
`SubRequests`. The page is done when it has loaded and sent no request in `QUIET_S` and in
`QUIET_TURNS` turns of its own event loop, or when its time is nearly over.

A page that listens for scrolling, or has a button such as "load more", is scrolled down and the
button is pressed, up to `MAX_STEPS` times, as long as the page grows. The document is read before
that as well: it counts if a button leads to another page of the application.
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
MAX_STEPS = 10
"""How often a list is made longer."""
_CLOSE_S = 5.0
_PASSED = ("content-security-policy", "content-language", "referrer-policy")
_BEFORE = """
for (const name of ["WebSocket", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection",
    "EventSource", "SharedWorker"]) delete globalThis[name];
try { delete Navigator.prototype.serviceWorker; } catch {}
globalThis.requestAnimationFrame = then => setTimeout(() => then(performance.now()), 16);
globalThis.cancelAnimationFrame = clearTimeout;
globalThis.open = () => null; globalThis.print = () => {};
const listen = EventTarget.prototype.addEventListener, watchers = new Set();
const grows = (() => { globalThis.focusGrows = true; });
EventTarget.prototype.addEventListener = function (kind, ...rest) {
  if (kind === "scroll") grows();
  return listen.call(this, kind, ...rest);
};
let isDue = false;
const check = () => {
  if (isDue) return;
  isDue = true;
  setTimeout(() => { isDue = false; for (const each of watchers) each.check(); }, 20);
};
globalThis.IntersectionObserver = class {
  constructor(then, options) {
    const margins = String(options?.rootMargin || "0px").split(/\\s+/);
    this.then = then; this.targets = new Map(); this.margin = parseFloat(margins[2] ?? margins[0]);
  }
  observe(target) { grows(); this.targets.set(target, null); watchers.add(this); check(); }
  unobserve(target) { this.targets.delete(target); }
  disconnect() { this.targets.clear(); watchers.delete(this); }
  takeRecords() { return []; }
  check() {
    const entries = [];
    for (const [target, before] of this.targets) {
      const box = target.getBoundingClientRect();
      const isIntersecting = target.getClientRects().length > 0 &&
        box.top <= innerHeight + this.margin && box.bottom >= -this.margin;
      if (isIntersecting === before) continue;
      this.targets.set(target, isIntersecting);
      entries.push({target, isIntersecting, intersectionRatio: +isIntersecting,
        boundingClientRect: box, intersectionRect: box, rootBounds: null,
        time: performance.now()});
    }
    if (entries.length) this.then(entries, this);
  }
};
listen.call(globalThis, "scroll", check, true);
new MutationObserver(check).observe(document, {childList: true, subtree: true});
"""
# A hidden tab has no window to be made for it (.4 instead of 1.4 CPU seconds a page), hence neither
# a size nor frames: both are told to the page.
_SIZE = {"width": 1280, "height": 1600, "deviceScaleFactor": 1, "mobile": False}
# Run where the page's own scripts cannot have changed what anything means.
# The number of elements, as it was before the page was scrolled and a button pressed; 0 for a page
# with nothing to press that does not listen for scrolling.
_GROW = r"""(() => {
  const size = document.getElementsByTagName("*").length;
  const english = /^(?:(?:load|show|view|see|get) (?:\d+ )?(?:more|older)\b.*|older posts|more)$/i;
  const chinese = /^(?:(?:点击|點擊)?(?:加载|载入|載入|查看|显示|顯示|展开)更多.*|更多|下一批)$/;
  const leadsOn = each => each.localName === "a"
    && !/^(?:#|javascript:|$)/i.test(each.getAttribute("href") || "");
  const isMore = each => {
    const text = (each.value || each.textContent || "").trim().slice(0, 40);
    return (english.test(text) || chinese.test(text)) && !each.disabled && !each.form
      && !leadsOn(each) && each.getClientRects().length > 0;
  };
  const button = [...document.querySelectorAll("button, a, [role=button], input[type=button]")]
    .find(isMore);
  if (!button && !%s) return 0;
  const boxes = [...document.querySelectorAll("main, div, section, ul")].slice(0, 2000)
    .filter(each => each.clientHeight > 300 && each.scrollHeight > each.clientHeight + 50
      && /auto|scroll/.test(getComputedStyle(each).overflowY)).slice(0, 5);
  for (const each of boxes) {
    each.scrollTop = each.scrollHeight;
    each.dispatchEvent(new Event("scroll"));
  }
  scrollTo(0, document.documentElement.scrollHeight);
  document.dispatchEvent(new Event("scroll", {bubbles: true}));
  button?.click();
  return size;
})()"""
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
    """The process of the page has died, and the browser runs on."""


class TooLarge(Exception):
    """The rendered page is larger than allowed."""


class Snapshot(NamedTuple):
    """A page after its scripts have run, in UTF-8, or the address that they navigated to.

    has_more   whether a list on it was growing when the limit was reached
    """

    html: bytes
    navigated_to: str | None = None
    has_more: bool = False


class ReceivedPage(NamedTuple):
    """A page as fetched: its response, the charset of the body, and the tally of its requests."""

    fetch: FetchResult
    charset: str
    allowance: Allowance


class Tab:
    """One page in the browser; `render` can be called once."""

    def __init__(
        self, tools: DevTools, session: str, subrequests: SubRequests, page: ReceivedPage
    ) -> None:
        self._tools = tools
        self._session = session
        self._subrequests = subrequests
        self._fetch, self._charset, self._allowance = page
        self._frame = ""
        self._has_document = self._is_loaded = self._is_over = self._is_extending = False
        self._navigated_to: str | None = None
        self._failed: Exception | None = None
        self._open_answers: set[asyncio.Task[None]] = set()
        self._activity = asyncio.Event()

    async def render(self, limit_s: float, max_bytes: int) -> Snapshot:
        """Run the scripts of the page, and return the result.

        Raises TimeoutError, TabCrashed, TooLarge or BrowserGone.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + limit_s
        self._tools.subscribe(self._session, self._on_event)
        try:
            async with asyncio.timeout_at(ends_at):
                await self._start_navigation()
                until = ends_at - READ_SHARE * limit_s
                await self._wait_until_quiet(until)
                if self._navigated_to is not None:
                    return Snapshot(b"", self._navigated_to)
                first = Snapshot(await self._read_html(ends_at - loop.time(), max_bytes))
                return await self._extend_lists(first, until, ends_at, max_bytes)
        except CommandRefused as error:
            raise TabCrashed(str(error)) from error
        finally:
            self._is_over = True
            self._tools.unsubscribe(self._session)
            for task in tuple(self._open_answers):
                task.cancel()
            await asyncio.gather(*self._open_answers, return_exceptions=True)

    async def _start_navigation(self) -> None:
        call, session = self._tools.call, self._session
        await call("Page.enable", session)
        self._frame = (await call("Page.getFrameTree", session))["frameTree"]["frame"]["id"]
        await call("Page.addScriptToEvaluateOnNewDocument", session, source=_BEFORE)
        await call("Emulation.setDeviceMetricsOverride", session, **_SIZE)
        await call("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        self._tools.send("Page.navigate", session, url=self._fetch.url)

    async def _wait_until_quiet(self, until: float) -> None:
        """Wait until the page is inactive, or until a time of the loop's clock."""
        quiet = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while self._failed is None and self._navigated_to is None and quiet < QUIET_TURNS:
                    quiet = quiet + 1 if await self._is_quiet() else 0
        if self._failed is not None:
            raise self._failed

    async def _is_quiet(self) -> bool:
        """Return whether the page is inactive for a share of `QUIET_S` and in its next turn."""
        self._activity.clear()
        if not self._is_loaded or self._open_answers:
            await self._activity.wait()
            return False
        await self._wait_unless_active(asyncio.sleep(QUIET_S / QUIET_TURNS))
        if not self._activity.is_set():
            call, session = self._tools.call, self._session
            await self._wait_unless_active(
                call("Runtime.evaluate", session, math.inf, expression="0")
            )
        return not self._activity.is_set()

    async def _wait_unless_active(self, work: Coroutine[Any, Any, object]) -> None:
        """Wait until the work has ended or the page is active."""
        both = {asyncio.ensure_future(work), asyncio.ensure_future(self._activity.wait())}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(
                *both, return_exceptions=True
            )  # a browser that is gone counts as active

    async def _extend_lists(
        self, first: Snapshot, until: float, ends_at: float, max_bytes: int
    ) -> Snapshot:
        """Return the page after its lists were extended; `first` if none was."""
        time, self._is_extending = asyncio.get_running_loop().time, True
        place = await self._evaluate("location.href", ends_at - time())
        size, steps = 0, 0
        while time() < until:
            before = await self._extend_once(ends_at - time())
            if before <= size or before > MAX_ELEMENTS / 2:
                break
            size, steps = before, steps + 1
            if steps > MAX_STEPS or self._allowance.is_used_up:
                break
            await self._wait_until_quiet(until)
        if steps < 2 or await self._evaluate("location.href", ends_at - time()) != place:
            return first
        has_more = steps > MAX_STEPS or self._allowance.is_used_up or time() >= until
        with contextlib.suppress(TooLarge):
            return Snapshot(await self._read_html(ends_at - time(), max_bytes), None, has_more)
        return first._replace(has_more=True)

    async def _extend_once(self, limit_s: float) -> int:
        """Scroll down and press a button; return the number of elements before that."""
        can_scroll = "globalThis.focusGrows === true || !!onscroll || !!document.onscroll"
        listens = await self._evaluate(can_scroll, limit_s)
        world = await self._isolated_context(limit_s)
        size = await self._evaluate(_GROW % json.dumps(listens is True), limit_s, contextId=world)
        return size if isinstance(size, int) else 0

    async def _evaluate(self, expression: str, limit_s: float, **context: int) -> Any:
        """Return the value of an expression in the page."""
        answer = await self._tools.call(
            "Runtime.evaluate",
            self._session,
            limit_s,
            expression=expression,
            returnByValue=True,
            **context,
        )
        return answer.get("result", {}).get("value")

    async def _isolated_context(self, limit_s: float) -> int:
        """Return the id of a script context that the scripts of the page cannot change."""
        world = await self._tools.call(
            "Page.createIsolatedWorld",
            self._session,
            limit_s,
            frameId=self._frame,
            worldName="focus",
        )
        return int(world["executionContextId"])

    async def _read_html(self, limit_s: float, max_bytes: int) -> bytes:
        """Return the document as HTML."""
        read = _READ % (MAX_ELEMENTS, max_bytes, max_bytes, json.dumps(self._fetch.url))
        value = await self._evaluate(read, limit_s, contextId=await self._isolated_context(limit_s))
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
                self._on_request_paused(params)
            case "Page.loadEventFired":
                self._is_loaded = True
            case "Page.javascriptDialogOpening":
                self._send_command("Page.handleJavaScriptDialog", accept=False)
                return  # a dialog is no activity
            case "Inspector.targetCrashed":
                self._failed = TabCrashed("its process has died")
            case "gone":
                self._failed = BrowserGone()
            case _:
                return
        self._activity.set()

    def _on_request_paused(self, event: dict[str, Any]) -> None:
        kind, request, number = event["resourceType"], event["request"], event["requestId"]
        if kind != "Document":
            work = self._answer_request(number, kind, request)
            answering = asyncio.get_running_loop().create_task(work)
            self._open_answers.add(answering)
            answering.add_done_callback(self._on_answered)
        elif event.get("frameId") != self._frame:
            self._refuse_request(number)
        elif not self._has_document:
            self._has_document = True
            headers = tuple(field for field in self._fetch.headers if field[0] in _PASSED)
            html = ("content-type", f"text/html; charset={self._charset}")
            self._send_answer(number, Answer(200, (html, *headers), self._fetch.body))
        else:
            self._refuse_request(number, "Aborted")
            if self._is_extending:
                return
            self._is_loaded = True  # navigation ends what it was loading
            target = normalise(str(request.get("url", "")))
            known = None, self._fetch.url.partition("#")[0]
            if request.get("method") == "GET" and target not in known:
                self._navigated_to = self._navigated_to or target

    def _on_answered(self, answering: asyncio.Task[None]) -> None:
        self._open_answers.discard(answering)
        if not answering.cancelled() and (error := answering.exception()) is not None:
            self._failed = error if isinstance(error, Exception) else TabCrashed(str(error))
        self._activity.set()

    async def _answer_request(self, number: str, kind: str, request: dict[str, Any]) -> None:
        answer = await self._subrequests.answer(self._fetch.url, kind, request, self._allowance)
        if self._is_over:
            return
        if answer is None:
            self._refuse_request(number)
        else:
            self._send_answer(number, answer)

    def _send_answer(self, number: str, answer: Answer) -> None:
        headers = [{"name": name, "value": value} for name, value in answer.headers]
        self._send_command(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=answer.status,
            responseHeaders=headers,
            body=base64.b64encode(answer.body).decode(),
        )

    def _refuse_request(self, number: str, reason: str = "BlockedByClient") -> None:
        self._send_command("Fetch.failRequest", requestId=number, errorReason=reason)

    def _send_command(self, method: str, **params: object) -> None:
        try:
            self._tools.send(method, self._session, **params)
        except BrowserGone as error:
            self._failed = error


@contextlib.asynccontextmanager
async def open_tab(
    tools: DevTools, subrequests: SubRequests, page: ReceivedPage, on_hang: Callable[[str], object]
) -> AsyncIterator[Tab]:
    """Open a tab in its own browser context; `on_hang` is called if it does not open or close.

    Raises BrowserGone, also if the browser hangs.
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
            on_hang(msg("the browser does not open a page"))
            raise BrowserGone from error
        yield Tab(tools, attached["sessionId"], subrequests, page)
    finally:
        if context:  # completed even if the caller is cancelled
            await asyncio.shield(asyncio.ensure_future(_close(tools, context, on_hang)))


async def _new_context(tools: DevTools) -> str:
    context = str((await tools.call("Target.createBrowserContext"))["browserContextId"])
    await tools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
    return context


async def _close(tools: DevTools, context: str, on_hang: Callable[[str], object]) -> None:
    try:
        await tools.call("Target.disposeBrowserContext", "", _CLOSE_S, browserContextId=context)
    except TimeoutError:
        on_hang(msg("the browser does not close a page"))
    except (BrowserGone, CommandRefused):
        pass
