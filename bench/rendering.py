"""Crawls a site of which half the lists need scripts: what each --render finds, and what it costs.

    python -m bench.rendering [--hosts 2] [--lists 8] [--articles 6] [--sandbox] [--json FILE]

Every host has a home page, lists, and articles that only lists lead to; every other list is built
by a script from data that it loads. Half of the lists, and so of the articles, are on the topic.
The crawl ends when nothing waits. CPU time is that of the crawl with its workers and the site's
server, and of all processes of the browser; as root the browser has no sandbox.
"""

import asyncio
import os
import resource
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from aiohttp import web

from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RenderConfig,
    RunPaths,
)
from focus.rendering.chromium import Chromium
from focus.session import Watcher, run
from focus.topic.topic import from_words, to_builtins

MODES = ("never", "auto", "always")
TOPIC, OTHER = "足球", "音乐"
APP = """fetch(location.pathname + "?data").then(r => r.json()).then(items => {
  document.querySelector("#app").innerHTML =
    items.map(([url, title]) => `<li><a href="${url}">${title}</a></li>`).join("");
});"""


class Outcome(msgspec.Struct, frozen=True):
    """What a crawl came to. `asked`: all requests that the site saw; CPU in seconds."""

    mode: str
    pages: int
    relevant: int
    rendered: int
    asked: int
    crawl_cpu_s: float
    browser_cpu_s: float
    seconds: float


class Site:
    """The pages of one host, by path; the same on each."""

    def __init__(self, lists: int, articles: int) -> None:
        self.answers: dict[str, tuple[str, str]] = {"/app.js": ("text/javascript", APP)}
        self.asked: Counter[str] = Counter()
        links = ""
        for number in range(lists):
            word = TOPIC if number // 2 % 2 == 0 else OTHER
            path = f"/list/{number}"
            links += f'<li><a href="{path}">{word}新闻</a></li>'
            items = [(f"/p/{number}/{n}", f"{word}快讯第{n}条") for n in range(articles)]
            self._list(path, word, items, scripted=number % 2 == 1)
            for url, title in items:
                text = f"<p>{f'这是一篇关于{word}的报道，讲的是昨天的事情。' * 30}{url}</p>"
                self._page(url, title, text)
        self._page("/", "门户", f"<ul>{links}</ul>")

    def _list(self, path: str, word: str, items: list[tuple[str, str]], *, scripted: bool) -> None:
        if scripted:
            self._page(path, word, "<ul id=app></ul><script src=/app.js></script>")
            self.answers[f"{path}?data"] = "application/json", msgspec.json.encode(items).decode()
        else:
            rows = "".join(f'<li><a href="{url}">{title}</a></li>' for url, title in items)
            self._page(path, word, f"<ul>{rows}</ul>")

    def _page(self, path: str, title: str, body: str) -> None:
        page = f"<!doctype html><meta charset=utf-8><title>{title}</title>{body}"
        self.answers[path] = "text/html", page

    async def answer(self, request: web.Request) -> web.Response:
        """What a host says."""
        self.asked[request.path] += 1
        found = self.answers.get(request.path_qs)
        if found is None:
            return web.Response(status=404)
        return web.Response(text=found[1], content_type=found[0])


def _cpu_s(session: int) -> float:
    """CPU seconds of the processes of a session, and of those of theirs that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class _Metered(Chromium):
    """A browser whose CPU time is added up when it ends."""

    spent_s = 0.0
    waited_s = 0.0  # of it, in our own account of processes that we have waited for

    async def close(self) -> None:
        _Metered.spent_s += _cpu_s(self.pid)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        await super().close()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        _Metered.waited_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _own_cpu_s() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


async def crawled(
    mode: str, hosts: int, lists: int, articles: int, folder: Path, *, sandbox: bool
) -> Outcome:
    """One crawl of a site of its own."""
    from focus.rendering import renderer

    renderer.Chromium = _Metered  # type: ignore[misc]
    _Metered.spent_s, _Metered.waited_s, before = 0.0, 0.0, _own_cpu_s()
    site = Site(lists, articles)
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", site.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = CrawlConfig(
        seeds=tuple(f"http://h{number}.example/" for number in range(hosts)),
        analysis=AnalysisConfig(topic=to_builtins(from_words(TOPIC)), near_duplicates=False),
        fetch=FetchConfig(
            connect_to=f"127.0.0.1:{runner.addresses[0][1]}", allow_net=("127.0.0.0/8",)
        ),
        politeness=PolitenessConfig(delay_s=0.0, per_ip=0),
        render=RenderConfig(mode=mode, sandbox=sandbox, timeout_s=60.0),
        workers=1,
    )
    try:
        report = await run(config, RunPaths(db=folder / f"{mode}.db"), Watcher(), signals=False)
    finally:
        await runner.cleanup()
    return Outcome(
        mode,
        pages=report.totals.pages,
        relevant=report.totals.relevant,
        rendered=report.totals.rendered,
        asked=site.asked.total(),
        crawl_cpu_s=round(_own_cpu_s() - before - _Metered.waited_s, 2),
        browser_cpu_s=round(_Metered.spent_s, 2),
        seconds=report.run_seconds,
    )


def lines(outcomes: list[Outcome]) -> Iterator[str]:
    """The table, and what a rendered page costs."""
    yield "render   pages  relevant  rendered  requests  CPU s: crawl  browser"
    for each in outcomes:
        yield (
            f"{each.mode:7} {each.pages:6} {each.relevant:9} {each.rendered:9} {each.asked:9}"
            f" {each.crawl_cpu_s:13.1f} {each.browser_cpu_s:8.1f}"
        )
    for each in outcomes:
        if each.rendered:
            cost = 1000 * each.browser_cpu_s / each.rendered
            yield f"{each.mode}: {cost:.0f} ms of the browser's CPU a rendered page, start included"


@click.command(help=__doc__)
@click.option("--hosts", default=2)
@click.option("--lists", default=8)
@click.option("--articles", default=6)
@click.option("--sandbox", is_flag=True)
@click.option("--json", "file", type=click.Path(path_type=Path))
def main(hosts: int, lists: int, articles: int, sandbox: bool, file: Path | None) -> None:
    """Crawl three times, tell."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [
            asyncio.run(crawled(mode, hosts, lists, articles, Path(folder), sandbox=sandbox))
            for mode in MODES
        ]
    print("\n".join(lines(outcomes)))
    if file is not None:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)) + b"\n")


if __name__ == "__main__":
    main()
