"""Which pages are rendered and what they are afterwards; what a page may ask for, and who asks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from focus.alerts.alert import validate_alert
from focus.commands.cluster import frontier
from focus.commands.crawl import SCRIPT_SECTION
from focus.commands.options.declared import DECLARED
from focus.config import RenderConfig
from focus.errors import ConfigError
from focus.records import FailureKind, FetchResult, Link, Page, Rendering, Result, Task
from focus.rendering import chromium
from focus.rendering.render_fallback import RenderFallback
from focus.rendering.renderer import Rendered
from focus.rendering.subrequests import MAX_REQUESTS, Allowance, Answer, SubRequests
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import open_store
from focus.workers.messages import Job
from tests.support.cases import cases

URL = "https://a.test/list"
SHELL = Page(title="shell", rendering=Rendering.EMPTY_ROOT, charset="utf-8")
WHOLE = Page(title="whole", charset="utf-8")


class Browser:
    """Gives the same answer to every page."""

    def __init__(self, answer: Rendered) -> None:
        self.answer, self.asked = answer, [""][:0]

    async def render(self, fetch: FetchResult, charset: str) -> Rendered:
        self.asked.append(fetch.url)
        return self.answer


class Judge:
    """Scores a body as the page that it is told to be."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def score(self, job: Job) -> Page:
        return self.page

    async def update(self, payload: bytes) -> None: ...

    async def close(self) -> None: ...


BECOMES = Page(title="rendered")
AUTO = RenderConfig(mode="auto")
DRAWN = Rendered(Rendering.RENDERED, b"<p>x", raw_bytes=70)


async def process(
    page: Page | None,
    *,
    answer: Rendered = DRAWN,
    becomes: Page = BECOMES,
    config: RenderConfig = AUTO,
    body: bytes = b"<div id=app>",
    **fetch: Any,
) -> tuple[Result, list[str]]:
    """A result after its second look, and what the browser was asked for."""
    browser = Browser(answer)
    look = RenderFallback(config, browser, Judge(becomes))
    response = FetchResult(URL, 0.0, status=200, body=body, raw_bytes=30, **fetch)
    return await look(Result(Task(0, URL, "a.test"), response, page)), browser.asked


async def test_auto_renders_shells_and_always_renders_all() -> None:
    for mode, page, expected in (
        ("auto", SHELL, [URL]),
        ("auto", WHOLE, []),
        ("always", WHOLE, [URL]),
    ):
        _, asked = await process(page, config=RenderConfig(mode=mode))
        assert asked == expected, (mode, page.title)


async def test_only_matching_urls_are_rendered() -> None:
    for pattern, expected in (("/list$", [URL]), ("/other", [])):
        _, asked = await process(SHELL, config=RenderConfig(mode="auto", match=(pattern,)))
        assert asked == expected


@cases(
    "page, how",
    (None, {"redirect_to": "https://a.test/"}),
    (None, {"failure": FailureKind.HTTP_4XX}),
    (Page(failure=FailureKind.PARSE_CRASH), {}),
    (WHOLE, {"body": b"%PDF-1.7", "headers": (("content-type", "application/pdf"),)}),
)
async def test_other_types_than_html_are_not_rendered(page: Page | None, how: Any) -> None:
    result, asked = await process(page, config=RenderConfig(mode="always"), **how)
    assert asked == [] and result.page is page


async def test_rendered_page_replaces_received_page() -> None:
    result, _ = await process(SHELL)
    assert (result.page.title, result.page.rendering) == ("rendered", Rendering.RENDERED)
    assert result.fetch.raw_bytes == 100


@pytest.mark.parametrize(
    "page, answer, rendered",
    [(SHELL, DRAWN, False), (SHELL, Rendered(Rendering.TIMEOUT), False), (WHOLE, DRAWN, True)],
)
async def test_validators_of_pages_to_be_rendered_are_dropped(
    page: Page, answer: Rendered, rendered: bool
) -> None:
    headers = ("etag", '"1"'), ("last-modified", "Mon, 23 Nov 2026 00:00:00 GMT"), ("x", "y")
    result, _ = await process(page, answer=answer, headers=headers)
    assert result.fetch.headers == (headers if rendered else headers[2:])


@pytest.mark.parametrize("kind", [Rendering.TIMEOUT, Rendering.CRASH, Rendering.TOO_LARGE])
async def test_page_that_cannot_be_rendered_stays_as_received(kind: Rendering) -> None:
    result, _ = await process(SHELL, answer=Rendered(kind, detail="why"))
    assert (result.page.title, result.page.rendering) == ("shell", kind)
    assert result.page.detail == "why" and result.fetch.failure is None


@pytest.mark.parametrize("becomes", [SHELL, Page(failure=FailureKind.PARSE_TIMEOUT)])
async def test_scripts_that_leave_nothing_do_not_cost_the_page(becomes: Page) -> None:
    whole = Page(title="whole", links=[Link("https://a.test/x", b"x" * 16, "a.test")])
    result, _ = await process(whole, becomes=becomes, config=RenderConfig(mode="always"))
    assert (result.page.title, result.page.rendering) == ("whole", Rendering.EMPTY)


async def test_noindex_of_received_page_holds_after_rendering() -> None:
    shell = Page(rendering=Rendering.NOSCRIPT, noindex=True, nofollow=True)
    result, _ = await process(shell)
    assert result.page is not None and result.page.noindex and result.page.nofollow


async def test_navigation_by_scripts_is_a_redirect() -> None:
    result, _ = await process(
        SHELL, answer=Rendered(Rendering.RENDERED, navigated_to="https://b.test/")
    )
    assert result.page is None and result.fetch.redirect_to == "https://b.test/"


# -- what a page asks for -------------------------------------------------------------


class Asked:
    """Answers by URL, 404 for others; what is asked for is noted with its fields."""

    def __init__(self, **answers: FetchResult) -> None:
        self.answers = {answer.url: answer for answer in answers.values()}
        self.log: list[tuple[str, dict[str, str]]] = []

    async def fetch(self, url: str, *, conditions: Any = (), **_: Any) -> FetchResult:
        self.log.append((url, dict(conditions)))
        missing = FetchResult(url, 0.0, status=404, failure=FailureKind.HTTP_4XX)
        return self.answers.get(url, missing)

    async def close(self) -> None: ...


def response(url: str, body: bytes = b"x", **fields: str) -> FetchResult:
    headers = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return FetchResult(url, 0.0, status=200, body=body, raw_bytes=len(body), headers=headers)


async def asking(
    web: SubRequests, url: str, kind: str = "XHR", method: str = "GET", **fields: str
) -> Answer | None:
    request = {"url": url, "method": method, "headers": fields}
    return await web.answer(URL, kind, request, Allowance())


async def test_page_may_request_scripts_and_data_only() -> None:
    asked = Asked()
    web = SubRequests(asked, asked, agent=None)
    for kind in ("Image", "Font", "Media", "Ping", "Manifest", "Other", "EventSource"):
        assert await asking(web, "https://a.test/x", kind) is None
    assert await asking(web, "https://a.test/x", method="POST") is None
    prefetch = {"Sec-Purpose": "prefetch"}  # which Chromium may tell as a script's fetch
    assert await asking(web, "https://a.test/later", "Fetch", **prefetch) is None
    assert await asking(web, "file:///etc/passwd") is None
    styles = await asking(web, "https://a.test/x.css", "Stylesheet")
    assert styles is not None and styles.status == 200
    assert asked.log == []
    answer = await asking(web, "https://a.test/x", "Fetch")
    assert answer is not None and answer.status == 404


async def test_another_host_never_hears_what_the_own_one_is_sent() -> None:
    own, others = Asked(), Asked()
    web = SubRequests(own, others, agent=None)
    sent = {"Cookie": "a=b", "X-Key": "k", "User-Agent": "evil", "Host": "b.test", "Sec-X": "1"}
    await asking(web, "https://a.test/x", **sent)
    await asking(web, "https://b.test/x", **sent)
    assert own.log == [("https://a.test/x", {"x-key": "k"})]
    assert others.log == [("https://b.test/x", {"x-key": "k"})]


async def test_data_obey_robots_txt_and_scripts_are_part_of_the_page() -> None:
    rules = response("https://a.test/robots.txt", b"User-agent: *\nDisallow: /")
    asked = Asked(rules=rules, script=response("https://a.test/x.js"))
    web = SubRequests(asked, asked, agent="focus")
    assert await asking(web, "https://a.test/x") is None
    assert await asking(web, "https://a.test/x.js", "Script") is not None
    assert [url for url, _ in asked.log] == ["https://a.test/robots.txt", "https://a.test/x.js"]


async def test_unavailable_robots_txt_forbids_data() -> None:
    url = "https://a.test/robots.txt"
    gone = FetchResult(url, 0.0, status=503, failure=FailureKind.HTTP_5XX)
    web = SubRequests(Asked(gone=gone), Asked(gone=gone), agent="focus")
    assert await asking(web, "https://a.test/x") is None


async def test_script_is_requested_once_per_crawl() -> None:
    once = response("https://a.test/x.js")
    always = response("https://a.test/y.js", cache_control="no-store")
    asked = Asked(once=once, always=always)
    web = SubRequests(asked, asked, agent=None)
    for _ in range(2):
        await asking(web, once.url, "Script")
        await asking(web, always.url, "Script")
    assert [url for url, _ in asked.log] == [once.url, always.url, always.url]


async def test_requests_of_a_page_are_limited() -> None:
    asked = Asked()
    web, allowance = SubRequests(asked, asked, agent=None), Allowance()
    for number in range(MAX_REQUESTS + 5):
        request = {"url": f"https://a.test/{number}", "method": "GET", "headers": {}}
        await web.answer(URL, "XHR", request, allowance)
    assert len(asked.log) == MAX_REQUESTS


async def test_preflight_is_answered_without_request() -> None:
    asked = Asked()
    fields = {"Origin": "https://a.test", "Access-Control-Request-Headers": "x-key"}
    web = SubRequests(asked, asked, agent=None)
    answer = await asking(web, "https://b.test/", method="OPTIONS", **fields)
    assert answer is not None and dict(answer.headers)["access-control-allow-methods"] == "GET"
    assert asked.log == []


# -- how it is ordered ----------------------------------------------------------------


def test_missing_browser_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="apt install chromium"):
        chromium.executable(None)
    with pytest.raises(ConfigError, match="is not an executable program"):
        chromium.executable(Path("/nowhere"))


@cases("user, sandbox, ends", (0, True, True), (0, False, False), (1, True, False))
def test_root_must_do_without_the_sandbox_knowingly(
    monkeypatch: pytest.MonkeyPatch, user: int, sandbox: bool, ends: bool
) -> None:
    monkeypatch.setattr(chromium.os, "geteuid", lambda: user)
    check: Callable[[], None] = lambda: chromium.check_sandbox(sandbox=sandbox)  # noqa: E731
    if ends:
        with pytest.raises(ConfigError, match="--no-browser-sandbox"):
            check()
    else:
        check()


def test_recorded_web_is_not_rendered(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from focus.cli import cli

    (tmp_path / "web.warc").touch()
    options = ["--seed", "a.test", "--topic", "t", "--archive", str(tmp_path / "web.warc")]
    result = CliRunner().invoke(cli, ["crawl", *options, "--render", "auto"])
    assert isinstance(result.exception, ConfigError)
    assert "--archive crawls a recorded one" in str(result.exception)


@pytest.mark.parametrize("command", [["serve"], ["watch", "run"]])
@cases("options, refusal", (["--browser", "/nowhere"], "is not an executable program"))
def test_visits_that_cannot_be_rendered_are_refused_before_they_begin(
    tmp_path: Path, command: list[str], options: list[str], refusal: str
) -> None:
    from click.testing import CliRunner

    from focus.cli import cli

    db = tmp_path / "x.db"
    with open_store(db, now=0.0, language="en", zone="UTC") as store:
        store.alerts.add(LOCAL_USER, validate_alert(Alert("x", ("a.test",), words="x")), now=0.0)
    result = CliRunner().invoke(cli, [*command, "--db", str(db), "--render", "auto", *options])
    assert isinstance(result.exception, ConfigError)
    assert refusal in str(result.exception)


def test_cluster_frontier_has_no_render_options() -> None:
    names = {item.key for item in DECLARED if item.setting.section == SCRIPT_SECTION}
    assert "render" in names
    assert names.isdisjoint(param.name for param in frontier.params)


async def test_links_to_routes_need_a_rendered_page() -> None:
    urls = [URL, f"{URL}#/1", f"{URL}#/2"]
    page = replace(WHOLE, links=[Link(url=url, key=b"", host="a.test") for url in urls])
    result, _ = await process(page)
    assert [link.url for link in result.page.links] == [URL]
    assert result.page.omitted_route_count == 2
    result, _ = await process(SHELL, becomes=page)
    assert result.page is not None and len(result.page.links) == 3


async def test_list_that_goes_on_is_noted() -> None:
    result, _ = await process(SHELL, answer=DRAWN._replace(has_more=True))
    assert result.page.has_endless_list and "goes on" in result.page.detail
