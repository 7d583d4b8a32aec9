"""Scripts of pages run in a real Chromium: what lists need, and what hostile pages try.

Pages are handed over as they came, so that nothing but their scripts asks for anything.
"""

import asyncio
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace
from pytest import MonkeyPatch

from focus.alerts.alert import validate_alert
from focus.alerts.health import alert_health
from focus.alerts.visit import visit
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
    RenderConfig,
    RunPaths,
)
from focus.errors import ConfigError
from focus.fetch import WebFetcher
from focus.learn.memory_crawl import PageSource
from focus.records import FetchResult, Rendering
from focus.rendering import renderer as renderer_module
from focus.rendering import tab
from focus.rendering.chromium import NAMES, Chromium
from focus.rendering.renderer import Rendered, Renderer
from focus.rendering.subrequests import MAX_REQUESTS, SubRequests
from focus.session import Watcher, run
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import open_store as store_of
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases

PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
if PROGRAM is None:
    if os.environ.get("CI") == "true":
        raise RuntimeError("CI renders pages in a browser: .ci/chromium installs one")
    pytest.skip(
        "NO SCRIPTS ARE RUN: there is no chromium (Debian: apt install chromium)",
        allow_module_level=True,
    )

pytestmark = pytest.mark.slow
PAGE = "https://shop.example/list"
OPEN = FetchConfig(any_type=True, allow_net=("127.0.0.0/8",))
CONFIG = RenderConfig(mode="auto", sandbox=False, timeout_s=60.0)
SHELL = "<div id=app></div>"


@asynccontextmanager
async def rendering(fetch: FetchConfig = OPEN, config: Any = CONFIG) -> AsyncIterator[Renderer]:
    """A renderer at work; its browser is gone at the end."""
    fetchers = WebFetcher(fetch), WebFetcher(fetch)
    fields = {"program": str(PROGRAM), "user_agent": "focus/test", "max_bytes": 1_000_000}
    result = Renderer(config, SubRequests(*fetchers, agent="focus"), **fields)
    await result.start()
    pid = process_id(result)
    try:
        yield result
    finally:
        await result.close()
        async with asyncio.timeout(60.0):  # a killed process may need a moment on a busy machine
            while alive(pid):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def process_id(result: Renderer) -> int:
    return result._browser.process.pid


def alive(session: int) -> bool:
    """Whether any process of a session is left that is no zombie."""
    for item in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, sid = item.read_text().rpartition(") ")[2].split()[:4]
        except OSError:
            continue
        if int(sid) == session and state != "Z":
            return True
    return False


def connecting(port: int) -> FetchConfig:
    """Settings by which all requests go to a port of this machine."""
    return replace(OPEN, connect_to=f"127.0.0.1:{port}")


def fetched(body: str, url: str = PAGE) -> FetchResult:
    return FetchResult(url, 0.0, status=200, body=f"<!doctype html>{body}".encode())


async def render_body(body: str, **how: Any) -> Rendered:
    async with rendering(**how) as result:
        return await result.render(fetched(body), "utf-8")


@asynccontextmanager
async def serving(
    routes: dict[str, web.Response], log: list[str], on_request: Callable[[str], None] | None = None
) -> AsyncIterator[int]:
    """A server of these answers, by path; its port. What is asked for goes into the log."""

    async def answer(request: web.Request) -> web.Response:
        log.append(f"{request.method} {request.headers['Host']}{request.path_qs}")
        if on_request is not None:
            on_request(log[-1])
        reply = routes.get(request.path)
        if reply is None:
            return web.Response(status=404)
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def script(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/javascript")


LIST = """fetch("/api/list").then(r => r.json()).then(items => {
  document.querySelector("#app").innerHTML = items.map(x => `<a href=/p/${x}>${x}</a>`).join("");
});"""


# -- what lists need ----------------------------------------------------------------


async def test_list_built_by_scripts_is_in_the_page() -> None:
    log: list[str] = []
    routes = {"/app.js": script(LIST), "/api/list": web.json_response(["a", "b"])}
    async with serving(routes, log) as port, rendering(connecting(port)) as result:
        page = fetched(f"{SHELL}<script src=/app.js></script>")
        first = await result.render(page, "utf-8")
        second = await result.render(page, "utf-8")
    assert first.rendering is second.rendering is Rendering.RENDERED
    assert b'<a href="/p/a">a</a><a href="/p/b">b</a>' in first.html
    asked = [item.split(" ")[1].removeprefix("shop.example") for item in log]
    assert asked == ["/app.js", "/robots.txt", "/api/list"]  # for both pages


async def test_data_of_scripts_obeys_robots_txt() -> None:
    log: list[str] = []
    rules = web.Response(text="User-agent: *\nDisallow: /api\n")
    routes = {"/app.js": script(LIST), "/api/list": web.json_response(["a"]), "/robots.txt": rules}
    async with serving(routes, log) as port:
        page = await render_body(f"{SHELL}<script src=/app.js></script>", fetch=connecting(port))
    assert page.rendering is Rendering.RENDERED
    assert not any("/api" in item for item in log)


async def test_other_origin_is_read_only_with_cors_permission() -> None:
    log: list[str] = []
    body = """<p id=app></p><script>
      for (const path of ["/open", "/closed"])
        fetch("https://api.example" + path, {headers: {"x-key": "k"}}).then(r => r.text())
          .then(text => document.querySelector("#app").append(text)).catch(() => 0);
    </script>"""
    free = {"access-control-allow-origin": "*"}
    routes = {"/open": web.Response(text="for all", headers=free)}
    routes["/closed"] = web.Response(text="for itself")
    async with serving(routes, log) as port:
        page = await render_body(body, fetch=connecting(port))
    assert b"for all" in page.html and b"for itself" not in page.html
    assert "OPTIONS api.example/open" not in log  # a preflight is answered here


async def test_unnecessary_resources_are_not_requested() -> None:
    log: list[str] = []
    body = """<link rel=stylesheet href=/s.css><img src=/i.png><video src=/v.mp4></video>
      <link rel=prefetch href=/later><iframe src=/frame></iframe><link rel=icon href=/icon>
      <script>
        const image = new Image(); image.src = "/pixel"; navigator.sendBeacon("/beacon", "x");
        fetch("/post", {method: "POST", body: "x"}).catch(() => 0);
        document.querySelector("link").onload = () => document.body.append("styled");
      </script><form action=/sent id=f><input name=q></form><script>f.submit()</script>"""
    async with serving({}, log) as port:
        page = await render_body(body, fetch=connecting(port))
    assert log == []
    # as a redirect, for the crawl to judge
    assert page.navigated_to == "https://shop.example/sent?q="


async def test_navigation_by_a_script_is_a_redirect() -> None:
    page = await render_body("<script>location.href = '/other'</script>")
    assert page.navigated_to == "https://shop.example/other"


async def test_url_changed_by_script_is_the_base_of_links() -> None:
    script = "<script>history.pushState(0, '', '/deep/')</script>"
    page = await render_body(f"<head></head><a href=x>x</a>{script}")
    assert b'<base href="https://shop.example/deep/">' in page.html


GROWING = """<ul id=list></ul>%s<script>
  let page = 0;
  const more = () => fetch("/api/" + page++).then(r => r.json()).then(names => {
    for (const name of names) list.innerHTML += `<li style="height:200px"><a href=/p/${name}>x</a>`;
  });
  const atEnd = () => scrollY + innerHeight > document.body.offsetHeight - 50;
  more();
  %s
</script>"""


@cases(
    "button, code, count",
    ("", "", 10),
    ("", "addEventListener('scroll', () => atEnd() && more())", 60),
    ("", "onscroll = () => atEnd() && more()", 60),
    ("<p id=end>…", "new IntersectionObserver(all => all[0].isIntersecting && more())"
                    ".observe(end)", 60),
    ("<button onclick='more()'>Load more</button>", "", 60),
    ("<a href='#' onclick='more(); return false'>加载更多</a>", "", 60),
    ("<button onclick='location.href=\"/p\"'>Load more</button>", "", 10),
    ("<button onclick='history.pushState(0, 0, \"/p\");"
     " list.innerHTML = \"<p>\".repeat(99)'>More</button>", "", 10),
)  # fmt: skip
async def test_list_is_scrolled_and_its_button_pressed(button: str, code: str, count: int) -> None:
    routes = {f"/api/{n}": web.json_response([f"{n}-{m}" for m in range(10)]) for n in range(6)}
    async with serving(routes, []) as port:
        page = await render_body(GROWING % (button, code), fetch=connecting(port))
    assert page.rendering is Rendering.RENDERED and page.navigated_to is None
    assert (page.html.count(b"/p/"), page.has_more) == (count + 1, False)  # and the script's own


async def test_endless_list_is_bounded(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "MAX_STEPS", 2)
    routes = {f"/api/{n}": web.json_response([n]) for n in range(9)}
    async with serving(routes, []) as port:
        page = await render_body(
            GROWING % ("<button onclick='more()'>More</button>", ""), fetch=connecting(port)
        )
    assert page.has_more and 3 <= page.html.count(b"/p/") <= 5


# -- what hostile pages try -----------------------------------------------------------


async def test_page_that_never_settles_is_read_at_the_limit(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "READ_SHARE", 0.95)
    body = "<p id=n>0</p><script>setInterval(() => { n.textContent++; fetch('/x'); }, 20)</script>"
    log: list[str] = []
    async with serving({"/x": web.Response(text="x")}, log) as port:
        page = await render_body(body, fetch=connecting(port))
    assert page.rendering is Rendering.RENDERED and b'<p id="n">' in page.html
    assert len(log) <= MAX_REQUESTS + 1


@cases("busy", "for (;;);", "for (;;) alert(1)", "onload = () => { for (;;) document.title += 1 }")
async def test_hanging_page_ends_at_its_time_limit(busy: str) -> None:
    async with rendering() as result:
        result._config = replace(CONFIG, timeout_s=1.5)
        page = await result.render(fetched(f"<p>x<script>{busy}</script>"), "utf-8")
        assert page.rendering in (Rendering.TIMEOUT, Rendering.CRASH)
        result._config = CONFIG
        after = await result.render(fetched("<p>good"), "utf-8")
    assert b"good" in after.html


async def test_dialogs_downloads_and_new_windows_are_refused() -> None:
    body = """<p id=p></p><a id=d download=evil.exe href="data:application/x,evil">x</a><script>
      alert("a"); const said = confirm("b"); prompt("c"); print();
      d.click(); const other = window.open("/pop"); window.onbeforeunload = () => "stay";
      p.textContent = `${said} ${other}`;
    </script>"""
    async with rendering() as result:
        page = await result.render(fetched(body), "utf-8")
        targets = (await result._browser.tools.call("Target.getTargets"))["targetInfos"]
    assert b"false null" in page.html
    pages = [target["url"] for target in targets if target["type"] == "page"]
    assert set(pages) <= {"about:blank"}


@cases(
    "grow",
    "for (let n = 0; n < 3000; n++) document.body.append(document.createElement('b'))",
    "document.body.append('x'.repeat(2e6))",
)
async def test_document_over_the_limit_is_dropped(grow: str, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "MAX_ELEMENTS", 2000)
    page = await render_body(f"<body><script>{grow}</script>")
    assert page.rendering is Rendering.TOO_LARGE


async def test_page_that_takes_all_memory_is_killed() -> None:
    body = """<body><script>const kept = [];
      for (let n = 0; n < 70; n++) kept.push(new Uint8Array(8e6).fill(1));
      for (;;);</script>"""
    config = replace(CONFIG, max_memory_bytes=500 * 2**20)
    async with rendering(config=config) as result:
        page = await result.render(fetched(body), "utf-8")
        assert page.rendering is Rendering.CRASH and "of memory" in page.detail
        after = await result.render(fetched("<p>good"), "utf-8")
    assert b"good" in after.html


class Contacts(asyncio.DatagramProtocol):
    """Everything that reaches a port of this machine, by TCP or UDP."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.both = asyncio.Event()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._noted(data)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._noted(await reader.read(1000))
        writer.close()

    def _noted(self, data: bytes) -> None:
        self.seen.append(data)
        if len(self.seen) > 1:
            self.both.set()


@asynccontextmanager
async def private_server(address: str = "127.0.0.1") -> AsyncIterator[tuple[int, Contacts]]:
    """A server that nobody outside may reach, on one port of TCP and UDP."""
    contacts = Contacts()
    server = await asyncio.start_server(contacts.connected, address, 0)
    port = server.sockets[0].getsockname()[1]
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: contacts, local_addr=(address, port)
    )
    try:
        yield port, contacts
    finally:
        transport.close()
        server.close()


WAYS = (
    "fetch('http://AT/fetch')",
    "fetch('http://AT/keep', {mode: 'no-cors', keepalive: true})",
    "const x = new XMLHttpRequest(); x.open('GET', 'http://AT/xhr'); x.send()",
    "add('script', {src: 'http://AT/script'})",
    "import('http://AT/module')",
    "fetch('http://2130706433:PORT/number')",
    "fetch('http://0x7f.1:PORT/hexadecimal')",
    "fetch('http://[::ffff:127.0.0.1]:PORT/wrapped')",
    "fetch('http://localhost:PORT/name')",
    "new inside.WebSocket('ws://AT/socket')",
    "new Image().src = 'http://AT/picture'",
    "add('iframe', {src: 'http://AT/frame'})",
    "new Worker(code(`fetch('http://AT/worker'); new WebSocket('ws://AT/worker')`))",
    "new inside.SharedWorker(code(`fetch('http://AT/shared')`))",
    "inside.navigator.serviceWorker.register('/sw.js')",
    "new inside.EventSource('http://AT/events')",
    "navigator.sendBeacon('http://AT/beacon', 'x')",
    "for (const rel of ['prefetch', 'preload', 'preconnect', 'dns-prefetch', 'modulepreload',"
    " 'prerender', 'stylesheet']) add('link', {rel, href: 'http://AT/' + rel, as: 'script'})",
    "add('script', {type: 'speculationrules', textContent: JSON.stringify({prerender:"
    " [{source: 'list', urls: ['http://AT/speculation'], eagerness: 'immediate'}]})})",
    "const peer = new inside.RTCPeerConnection({iceServers: [{urls: ['stun:AT',"
    " 'turn:AT?transport=tcp', 'turn:AT'], username: 'a', credential: 'b'}]});"
    " peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o))",
    "new inside.WebTransport('https://AT/transport')",
    "add('style', {textContent: '@import url(http://AT/style)'})",
)
"""What a page may do to reach an address, from its own window or from one that it has made."""

LEAVING = (
    "location.href = 'http://AT/'",
    "add('form', {method: 'post', action: 'http://AT/'}).submit()",
    "add('meta', {httpEquiv: 'refresh', content: '0;url=http://AT/'})",
)
HELP = """<head></head><body><p id=p>tried</p><script>
  const add = (name, set) => document.body.appendChild(
    Object.assign(document.createElement(name), set));
  const code = text => URL.createObjectURL(new Blob([text]));
  const inside = add("iframe", {}).contentWindow;
</script>"""


def escape_page(attempts: tuple[str, ...], port: int) -> FetchResult:
    """A page that tries these ways to a port of this machine."""
    at = (way.replace("AT", f"127.0.0.1:{port}").replace("PORT", str(port)) for way in attempts)
    scripts = [f"<script>try {{ {way} }} catch {{}}</script>" for way in at]
    return fetched(HELP + "".join(scripts))


async def test_page_cannot_reach_the_private_network() -> None:
    async with private_server() as (port, contacts):
        async with rendering(replace(OPEN, allow_net=())) as actual:
            for attempts in (WAYS, *((item,) for item in LEAVING)):
                result = await actual.render(escape_page(attempts, port), "utf-8")
                assert result.rendering is Rendering.RENDERED
                assert b"tried" in result.html or result.navigated_to
        # The browser has ended: what it sent lies before what is sent now.
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(type=kind) as own:
                own.connect(("127.0.0.1", port))
                own.send(b"own")
        async with asyncio.timeout(60.0):
            await contacts.both.wait()
        assert contacts.seen == [b"own", b"own"]


async def test_allowed_private_network_can_be_reached() -> None:
    async with private_server() as (port, contacts):
        await render_body(f"<body><script>fetch('http://127.0.0.1:{port}/x')</script>")
    assert any(item.startswith(b"GET /robots.txt") for item in contacts.seen)


@pytest.mark.parametrize("closed", [True, False])
async def test_redirect_of_subrequest_passes_the_guard(closed: bool) -> None:
    networks = ("127.0.0.1/32",) if closed else ("127.0.0.0/8",)
    async with private_server("127.0.0.2") as (port, contacts):
        away = web.Response(status=302, headers={"Location": f"http://127.0.0.2:{port}/"})
        log: list[str] = []
        async with serving({"/away": away, "/away.js": away}, log) as own:
            body = f"""<body><script>fetch("http://127.0.0.1:{own}/away", {{mode: "no-cors"}})
              .catch(() => 0)</script><script src="http://127.0.0.1:{own}/away.js"></script>"""
            await render_body(body, fetch=replace(OPEN, allow_net=networks))
    assert any("/away" in item for item in log)
    assert (contacts.seen == []) == closed


async def test_browser_killed_during_a_page_is_restarted() -> None:
    browsers: list[Chromium] = []

    def killing(_: str) -> None:
        if len(browsers) == 1:
            browsers.pop().kill()

    async with serving({}, [], killing) as port, rendering(connecting(port)) as result:
        browsers.append(result._browser.process)
        first = process_id(result)
        page = await result.render(fetched("<p>x<script src=/x.js></script>"), "utf-8")
        assert page.rendering is Rendering.RENDERED and not browsers
        assert process_id(result) != first and not alive(first)


async def test_page_that_kills_the_browser_stays_as_received() -> None:
    async with rendering() as actual:

        async def killing() -> None:
            while True:
                if actual._browser is not None and actual._browser.tabs:
                    actual._browser.process.kill()
                await asyncio.sleep(0.05)

        killer = asyncio.create_task(killing())
        result = await actual.render(fetched("<p>x"), "utf-8")
        killer.cancel()
        assert result.rendering is Rendering.CRASH
        assert (await actual.render(fetched("<p>good"), "utf-8")).rendering is Rendering.RENDERED


async def test_browser_that_dies_often_is_abandoned(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(renderer_module, "MAX_DEATHS", 1)
    async with rendering() as actual:
        actual._deaths = 1
        result = await actual.render(fetched("<p>x"), "utf-8")
    assert result.rendering is Rendering.CRASH and "repeatedly" in result.detail


# -- a crawl --------------------------------------------------------------------------

LISTING = """<!doctype html><title>足球 {number}</title><div id=app></div>
<script>fetch("/api/{number}").then(r => r.text()).then(html => app.innerHTML = html)</script>"""
ARTICLE = "<!doctype html><title>足球</title><p>" + "足球比赛的新闻。" * 100
HOME = "<!doctype html><title>足球</title>" + "".join(
    f"<a href=/list/{number}>足球 {number}</a>" for number in range(3)
)


def site() -> dict[str, web.Response]:
    """A page with three lists that scripts build, each of two articles."""
    pages = {"/": HOME, **{f"/list/{n}": LISTING.replace("{number}", str(n)) for n in range(3)}}
    for n in range(3):
        pages[f"/api/{n}"] = "".join(f"<a href=/p/{n}{x}>足球 {n}{x}</a>" for x in "ab")
        pages.update({f"/p/{n}{x}": f"{ARTICLE} {n}{x}" for x in "ab"})
    return {path: web.Response(text=text, content_type="text/html") for path, text in pages.items()}


async def crawled(folder: Path, port: int, mode: str, **how: Any) -> dict[str, str]:
    """What a crawl of the site has: path -> what became of its scripts."""
    topic = to_builtins(from_words("足球"))
    config = CrawlConfig(
        ("http://site.example/",),
        analysis=AnalysisConfig(topic=topic, hash_routes=mode != "never"),
        fetch=FetchConfig(connect_to=f"127.0.0.1:{port}", allow_net=("127.0.0.0/8",)),
        politeness=PolitenessConfig(delay_s=0.0),
        limits=LimitConfig(max_requests=50),
        render=replace(CONFIG, mode=mode, **how),
        workers=1,
    )
    db = folder / f"{mode}.db"
    report = await run(config, RunPaths(db=db), Watcher(), handle_signals=False)
    with DatabaseReader(db) as reader:
        rows = list(reader.iter_rows(Selection(), ("url", "rendering")))
    renderings = {url.removeprefix("http://site.example"): rendering for url, rendering in rows}
    totals = report.totals
    assert totals.shells == list(renderings.values()).count("empty-root")
    assert totals.rendered == list(renderings.values()).count("rendered")
    return renderings


async def test_links_of_rendered_lists_are_followed(tmp_path: Path) -> None:
    async with serving(site(), []) as port:
        never = await crawled(tmp_path, port, "never")
        auto = await crawled(tmp_path, port, "auto")
        some = await crawled(tmp_path, port, "always", match=("/list/1",))
    lists = {f"/list/{n}" for n in range(3)}
    assert never == {"/": "", **dict.fromkeys(lists, "empty-root")}
    expected = {f"/p/{n}{x}" for n in range(3) for x in "ab"}
    assert {path for path in auto if path.startswith("/p/")} == expected
    assert {path for path, what in auto.items() if what == "rendered"} == lists
    assert {path for path, what in some.items() if what == "rendered"} == {"/list/1"}
    assert some["/list/0"] == "empty-root" and "/p/1a" in some


ROUTER = """const show = () => {
  const number = location.hash.split("/")[2];
  fetch("/missing.md");
  fetch("/sidebar.md").then(r => r.text()).then(text => document.title = text);
  if (number) fetch("/data/" + number).then(r => r.text()).then(text => app.textContent = text);
  else app.innerHTML = [0, 1, 2, 3].map(n => `<p><a href="#/post/${n}">足球 ${n}</a>`).join("");
};
onhashchange = show; show();"""


async def test_hash_routes_are_separate_pages(tmp_path: Path) -> None:
    shell = f"<div id=app></div><script>{ROUTER}</script>"
    routes = {"/": web.Response(text=shell, content_type="text/html")}
    routes["/sidebar.md"] = web.Response(text="站")
    routes |= {f"/data/{n}": web.Response(text=f"{ARTICLE} {n}") for n in range(4)}
    log: list[str] = []
    async with serving(routes, log) as port:
        never = await crawled(tmp_path, port, "never")
        auto = await crawled(tmp_path, port, "auto")
    assert list(never) == ["/"]
    assert auto == dict.fromkeys(["/", *(f"/#/post/{n}" for n in range(4))], "rendered")
    asked = [entry.partition("/")[2] for entry in log]
    assert [asked.count(f"data/{n}") for n in range(4)] == [1] * 4
    assert asked.count("sidebar.md") == asked.count("missing.md") == 1  # for all pages
    assert asked.count("") == 3  # for the page of each crawl, and for all routes


async def test_crawl_survives_killed_browser(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    started: list[Chromium] = []
    start = Chromium.start

    async def noted(*args: Any, **how: Any) -> Chromium:
        started.append(await start(*args, **how))
        return started[-1]

    monkeypatch.setattr(renderer_module.Chromium, "start", noted)
    log: list[str] = []

    def killing(entry: str) -> None:
        if "/api/" in entry and len(started) == 1:
            started[0].kill()

    async with serving(site(), log, killing) as port:
        renderings = await crawled(tmp_path, port, "auto")
    assert len(started) > 1
    assert sum(what == "rendered" for what in renderings.values()) == 3
    assert sum(path.startswith("/p/") for path in renderings) == 6


SECTION = "http://site.example/list/0"


async def watched(folder: Path, mode: str, *listings: str) -> tuple[dict[str, str], str]:
    """The pages of an alert on a list that scripts build, and their ETags, after a visit for each
    letters of its articles; and what its owner is told.
    """
    routes, now = site(), time.time()
    routes["/list/0"].headers["etag"] = '"as it was"'
    with store_of(folder / "x.db", now=now, language="en", zone="UTC") as store:
        alert = validate_alert(Alert("足球", (SECTION,), words="足球"))
        store.alerts.add(LOCAL_USER, alert, now=now)
        async with serving(routes, []) as port:
            fetch = FetchConfig(connect_to=f"127.0.0.1:{port}", allow_net=("127.0.0.0/8",))
            render = replace(CONFIG, mode=mode)
            source = PageSource(None, fetch, PolitenessConfig(delay_s=0.0), render=render)
            for letters in listings:
                routes["/api/0"].text = "".join(f"<a href=/p/0{x}>足球</a>" for x in letters)
                seen = store.sites.find_by_host("site.example")
                assert seen is not None
                await visit(store, seen, source, clock=time.time)
        rows = store.database.fetch_rows("SELECT url, etag FROM page_text")
        [owned] = store.alerts.list_alerts()
        remarks = "\n".join(alert_health(store, owned, now=now).remarks)
    return {url.removeprefix("http://site.example"): etag for url, etag in rows}, remarks


async def test_alert_matches_rendered_text(tmp_path: Path) -> None:
    etags, remarks = await watched(tmp_path, "auto", "a", "ab")
    assert etags == {"/list/0": "", "/p/0a": "", "/p/0b": ""}
    assert "--render" not in remarks


async def test_alert_reports_that_its_site_needs_scripts(tmp_path: Path) -> None:
    etags, remarks = await watched(tmp_path, "never", "a")
    assert etags == {"/list/0": '"as it was"'}
    assert "site.example: 1 page seems to need scripts; use --render auto" in remarks


async def test_program_that_is_no_browser_is_refused_before_the_crawl(tmp_path: Path) -> None:
    topic = to_builtins(from_words("足球"))
    analysis = AnalysisConfig(topic=topic)
    config = CrawlConfig(("http://site.example/",), analysis=analysis, render=CONFIG)
    paths = RunPaths(db=tmp_path / "x.db", browser=Path("/bin/true"))
    with pytest.raises(ConfigError, match="/bin/true does not start"):
        await run(config, paths, Watcher(), handle_signals=False)
