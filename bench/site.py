"""Generates the site that the speed measurements crawl; equal seeds yield equal sites.

    python -m bench.site FOLDER [--pages 20000] [--hosts 200] [--seed 1] [--kind portal|articles]

FOLDER/www/HOST/index.html, p/N.html and robots.txt, read by `bench.serving`. A page has
about 32 KB of Chinese text, markup and scripts and about 97 links: half to its own host, half to
popular pages of other hosts. Anchors are the titles of their targets. A fifth of the hosts sends
GBK, half of them gzip. A page of the kind `articles` has three times as much text in deeper markup
and fewer links; the other half of the hosts sends br. No two pages have the same text. Words are
drawn from jieba's dictionary by their frequency; one page in ten is about football.
"""

import gzip
import json
import random
import shutil
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import brotli
import jieba

from bench.script import read_options
from focus.archive.replay import Archive

TITLES = 50_000
SENTENCES = 20_000
SEEDS = 10
TOPIC = "足球"
_TOPICAL = ("足球", "英超", "球迷", "进球", "联赛", "世界杯", "足球俱乐部", "点球")
_SECTIONS = "首页 新闻 体育 财经 科技 娱乐 汽车 房产 教育 健康 旅游 图片".split()
_ROBOTS = "User-agent: *\n" + "".join(
    f"Disallow: /{name}/\n" for name in ("private", "admin", "cgi-bin", "search", "login", "tmp")
)
_VERSION = 9


class Site(NamedTuple):
    """A site on disk; `bytes_mean` is the mean size of a page before compression.

    kind  portal, articles, or recorded: then `folder` is the file of a recorded web
    """

    folder: Path
    pages: int
    hosts: int
    seed: int
    bytes_mean: int = 0
    links_mean: float = 0.0
    kind: str = "portal"
    recorded_hosts: tuple[str, ...] = ()

    @property
    def seeds(self) -> list[str]:
        """Front pages of the first hosts, of a recorded web of all hosts."""
        hosts = self.recorded_hosts or [host_name(n) for n in range(min(SEEDS, self.hosts))]
        return [f"http://{host}/" for host in hosts]


def host_name(number: int) -> str:
    """Return the name of a host; each host has its own domain."""
    return f"www.site{number:04d}.example"


def is_gbk(host: int) -> bool:
    """Return whether a host sends GBK: a fifth of the hosts."""
    return host % 5 == 3


def is_gzip(host: int) -> bool:
    """Return whether a host sends gzip: half of the hosts."""
    return host % 2 == 1


class _Words:
    """Random titles and sentences that all pages share."""

    def __init__(self, rng: random.Random) -> None:
        words, weights = _dictionary()
        cumulative = list(accumulate(weights))

        def draw(low: int, high: int) -> str:
            return "".join(rng.choices(words, cum_weights=cumulative, k=rng.randint(low, high)))

        self.titles = [draw(3, 7) for _ in range(TITLES)]
        self.sentences = [f"{draw(6, 14)}，{draw(5, 12)}。" for _ in range(SENTENCES)]


def _dictionary() -> tuple[list[str], list[int]]:
    """Return jieba's Chinese words and square roots of their frequencies."""
    words, weights = [], []
    for line in (Path(jieba.__file__).parent / "dict.txt").read_text("utf-8").splitlines():
        word, number, *_ = line.split()
        if int(number) > 20 and all("一" <= sign <= "龥" for sign in word):
            words.append(word)
            weights.append(int(int(number) ** 0.5))
    return words, weights


class Builder:
    """Writes the pages of one site."""

    def __init__(self, pages: int, hosts: int, seed: int, kind: str) -> None:
        self.is_portal = kind == "portal"
        self.rng = random.Random(seed)
        self.words = _Words(self.rng)
        self.pages, self.hosts = pages, hosts
        self.links = self.bytes = 0
        self._script = "".join(
            f"window.track_{n}=function(a,b){{return a[{n}]===b?{n}:track(b,{n})}};"
            for n in range(40)
        )

    def title(self, page: int) -> str:
        """Return the title of a page, which is also the anchor text of links to it."""
        text = self.words.titles[page * 7919 % TITLES]
        return f"{_TOPICAL[page % 8]}{text}" if self.is_topical(page) else text

    def is_topical(self, page: int) -> bool:
        """Return whether a page is about football: one page in ten."""
        return page % 10 == 4

    def page(self, number: int) -> bytes:
        """Return the body of a page in the encoding of its host."""
        host = number % self.hosts
        charset = "gbk" if is_gbk(host) else "utf-8"
        html = self._html(number, host, charset)
        data = html.encode("gb18030" if charset == "gbk" else "utf-8")
        self.bytes += len(data)
        return data

    def _html(self, number: int, host: int, charset: str) -> str:
        title = self.title(number)
        nav = "".join(
            f'<li class="nav-item"><a class="nav-link" href="{self._own(host, n)}">{name}</a></li>'
            for n, name in enumerate(_SECTIONS)
        )
        self.links += len(_SECTIONS)
        parts = [
            f'<!DOCTYPE html><html lang="zh-CN"><head><meta charset="{charset}">'
            f"<title>{title}_{host_name(host)}</title>"
            f'<meta name="keywords" content="{title[:4]},{title[4:8]}">'
            f'<meta name="description" content="{self.rng.choice(self.words.sentences)}">'
            '<link rel="stylesheet" href="/static/site.css"><style>',
            "".join(f".c{n}{{margin:{n}px;color:#{n:03d};float:left}}" for n in range(90)),
            f"</style><script>{self._script}</script></head>",
            f'<body><header id="top"><nav><ul class="nav">{nav}</ul></nav></header>'
            f'<main class="main"><article><h1>{title}</h1>',
            *self._article(number, host),
            "</article></main><aside class=side><h2>热门推荐</h2>",
            *self._list(self._cross, 34 if self.is_portal else 4),
            "</aside><footer><h3>友情链接</h3>",
            *self._list(self._cross, 8),
            f'<a href="/private/{number}.html">登录</a><a href="mailto:a@b.cn">联系我们</a>'
            '<a href="javascript:void(0)">返回顶部</a></footer></body></html>',
        ]
        self.links += 1
        return "".join(parts)

    def _article(self, number: int, host: int) -> Iterator[str]:
        rng, sentences = self.rng, self.words.sentences
        few, many, links, depth = (6, 12, (26, 40), 0) if self.is_portal else (30, 45, (4, 12), 9)
        for _ in range(rng.randint(few, many)):
            text = "".join(rng.choices(sentences, k=rng.randint(4, 8)))
            if self.is_topical(number):
                text = f"{rng.choice(_TOPICAL)}{text}{rng.choice(_TOPICAL)}。"
            target = self._local(host)
            yield '<div class="block">' * depth
            yield f'<p class="text">{text}<a href="{target[0]}">{target[1]}</a></p>'
            yield "</div>" * depth
            self.links += 1
        yield "<h2>相关阅读</h2>"
        yield from self._list(lambda: self._local(host), rng.randint(*links))

    def _list(self, draw: object, number: int) -> Iterator[str]:
        assert callable(draw)
        yield '<ul class="list clearfix">'
        for _ in range(number):
            url, title = draw()
            self.links += 1
            yield (
                f'<li class="list-item"><span class="dot"></span><a class="title" target="_blank" '
                f'href="{url}" title="{title}">{title}</a><span class="date">08-14</span></li>\n'
            )
        yield "</ul>"

    def _own(self, host: int, nth: int) -> str:
        """Return the path of a host's nth page; the first one is the front page."""
        return self._path(host + self.hosts * (nth % self._per_host))

    def _path(self, page: int) -> str:
        return "/" if page < self.hosts else f"/p/{page}.html"

    @property
    def _per_host(self) -> int:
        return max(1, self.pages // self.hosts)

    def _local(self, host: int) -> tuple[str, str]:
        page = host + self.hosts * self.rng.randrange(self._per_host)
        return self._path(page), self.title(page)

    def _cross(self) -> tuple[str, str]:
        page = int(self.pages * self.rng.random() ** 2)  # low numbers are popular
        return f"http://{host_name(page % self.hosts)}{self._path(page)}", self.title(page)


def build(
    folder: Path, *, pages: int, hosts: int = 200, seed: int = 1, kind: str = "portal"
) -> Site:
    """Write a site unless the folder has an equal one."""
    settings = [_VERSION, pages, hosts, seed, kind]
    description = folder / "site.json"
    if description.exists() and (stored := json.loads(description.read_text()))[:5] == settings:
        return Site(folder, pages, hosts, seed, stored[5], stored[6], kind)
    shutil.rmtree(folder, ignore_errors=True)
    builder = Builder(pages, hosts, seed, kind)
    for host in range(hosts):
        where = folder / "www" / host_name(host)
        (where / "p").mkdir(parents=True)
        (where / "robots.txt").write_text(_ROBOTS, encoding="ascii")
        for number in range(host, pages, hosts):
            data = builder.page(number)
            name = "index.html" if number == host else f"p/{number}.html"
            if not (builder.is_portal or is_gzip(host)):
                (where / f"{name}.br").write_bytes(brotli.compress(data, quality=4))
            _write(where / name, data, packed=is_gzip(host) or not builder.is_portal)
    site = Site(folder, pages, hosts, seed, builder.bytes // pages, builder.links / pages, kind)
    description.write_text(json.dumps([*settings, site.bytes_mean, round(site.links_mean, 1)]))
    return site


def recorded(file: Path, pages: int) -> Site:
    """Return the site of a recorded web, of which `pages` pages are crawled."""
    with Archive.open(file) as archive:
        hosts = tuple(dict.fromkeys(urlsplit(url).netloc for url in archive.urls()))
    return Site(file, pages, len(hosts), 0, kind="recorded", recorded_hosts=hosts)


def _write(file: Path, data: bytes, *, packed: bool) -> None:
    if packed:
        file = file.with_name(f"{file.name}.gz")
        data = gzip.compress(data, 5, mtime=0)
    file.write_bytes(data)


def main() -> None:
    """Write a site and print its size."""
    options = read_options(__doc__)
    size = {"pages": options.pages, "hosts": options.hosts, "seed": options.seed}
    print(build(options.folder, **size, kind=options.kind or "portal"))


if __name__ == "__main__":
    main()
