"""When a page is done: in turns of its own, whatever the machine is busy with."""

import asyncio
import math
from typing import Any

from focus.records import FetchResult
from focus.rendering.subrequests import Allowance
from focus.rendering.tab import QUIET_S, QUIET_TURNS, ReceivedPage, Tab
from tests.support.timetravel import OWN_TIME

pytestmark = OWN_TIME
PAGE = "https://shop.example/list"


class Tools:
    """A browser whose page gets no processor for a while, and then asks for something."""

    def __init__(self, starved_s: float) -> None:
        self.log: list[str] = []
        self.starved_s = starved_s
        self.event: Any = None

    def subscribe(self, session: str, event: Any) -> None:
        self.event = event

    def unsubscribe(self, session: str) -> None:
        pass

    def send(self, method: str, session: str = "", **params: Any) -> int:
        self.log.append(method)
        if method == "Page.navigate":
            self.asks("Document", params["url"])
        elif method == "Fetch.fulfillRequest":
            self.event("Page.loadEventFired", {})
        return 0

    def asks(self, kind: str, url: str) -> None:
        asked = {"url": url, "method": "GET"}
        number = {"frameId": "frame", "requestId": kind, "resourceType": kind, "request": asked}
        self.event("Fetch.requestPaused", number)

    async def call(self, method: str, session: str = "", limit_s: float = 0.0, **how: Any) -> Any:
        self.log.append(method)
        if method != "Runtime.evaluate" or how["expression"] != "0":
            read = {"result": {"value": {"html": "<p>"}}}
            frame = {"frameTree": {"frame": {"id": "frame"}}}
            return frame if method == "Page.getFrameTree" else read | {"executionContextId": 1}
        if self.starved_s:
            await asyncio.sleep(self.starved_s)
            self.starved_s = 0.0
            self.asks("Fetch", f"{PAGE}/api")
        return {}


READ = ["Page.createIsolatedWorld", "Runtime.evaluate"]
TRY_TO_GROW = ["Runtime.evaluate"] * 2 + READ  # address, listeners, and one step


class NoSubRequests:
    async def answer(self, *_: object) -> None:
        """Nothing is answered."""


async def render(tools: Tools, limit_s: float) -> tuple[list[str], float]:
    """What was told to the browser once the page was there; and how long it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    page = ReceivedPage(FetchResult(PAGE, 0.0, status=200, body=b"x"), "utf-8", Allowance())
    tab = Tab(tools, "session", NoSubRequests(), page)  # type: ignore[arg-type]
    assert (await tab.render(limit_s, 1000)).html == b"<p>"
    return tools.log[tools.log.index("Fetch.fulfillRequest") + 1 :], loop.time() - begun


async def test_page_is_done_after_quiet_turns() -> None:
    rendered, took_s = await render(Tools(0.0), 60.0)
    assert rendered == ["Runtime.evaluate"] * QUIET_TURNS + READ + TRY_TO_GROW
    assert QUIET_S <= took_s < 2 * QUIET_S


async def test_page_without_cpu_time_is_not_done() -> None:
    rendered, _ = await render(Tools(10 * QUIET_S), 60.0)
    assert rendered.index("Fetch.failRequest") < rendered.index("Page.createIsolatedWorld")
    assert rendered.count("Runtime.evaluate") == 1 + QUIET_TURNS + 1 + 3, "then it is quiet"


async def test_unresponsive_page_is_read_at_the_limit() -> None:
    rendered, took_s = await render(Tools(math.inf), 8.0)
    assert rendered[-3:] == [*READ, "Runtime.evaluate"], "no time is left to scroll"
    assert 6.0 <= took_s < 7.0
