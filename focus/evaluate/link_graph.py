"""Builds the link graph of an archive, as a crawl sees it.

Made once per archive by the engine's own analyst, scope and robots rules, and kept on
disk; it tells which labelled pages can be reached at all, and how soon (`oracle`).

    node   an archived URL, by its number in the order of first capture
    link   followed by the engine, allowed, and answered by the archive
    a redirect is a page with one link; what the archive does not hold is no node

A host is *wholly recorded* if its own recorded pages link to few addresses of it that are
missing (`WHOLE`): a link there that has no answer is a dead link, on the live web, too. Of
other hosts the recording has a sample, and a missing page says nothing.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import platformdirs

import focus
from focus.admission.scope import Scope
from focus.archive.pack import keys
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, CrawlConfig, ScopeConfig
from focus.http.robots import Robots, from_answer
from focus.http.robots_tag import of_headers
from focus.http.semantics import refreshed
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import fingerprint, host_of, normalise
from focus.workers.child import analyse
from focus.workers.messages import Job

Progress = Callable[[str, int, int], None]
"""What is going on, how much of it is done, of how much."""

WHOLE = 0.8
"""Recorded share of a host's addresses that its own pages link to, from which on the host is
wholly recorded. On two recorded webs hosts had .87 and more, or .56 and less."""

_CHUNK = 250
_NOTHING = AnalysisConfig(
    topic=to_builtins(from_words("x0no0such0word")), relevance="boolean", keep="none"
)
_PARTS = (
    "html", "urls", "text", "score/analysis.py", "score/outlinks.py", "admission/scope.py",
    "http/robots.py", "http/semantics.py", "http/robots_tag.py",
    "archive/replay.py", "archive/pack.py", "evaluate/link_graph.py",
)  # fmt: skip
"""What the graph depends on besides the archive."""

BESIDE_A_CRAWL = (
    "__main__.py", "cli.py", "commands", "report", "demo", "learn", "storage",
    "metrics/measures.py", "metrics/oracle.py", "metrics/significance.py",
    "session", "store.py", "fetch.py",
    "http/connection.py", "http/dns.py", "http/network_errors.py", "http/requests.py",
    "http/tls.py",
    "http/ssrf_guard.py", "topic/topic_file.py", "evaluate/comparison.py",
    "evaluate/ground_truth.py", "evaluate/compare.py", "evaluate/ranking.py",
    "evaluate/judgments.py", "evaluate/variants.py", "alerts", "serve", "cluster",
)  # fmt: skip
"""What the order of fetches of a configured crawl over an archive does not hang on: what
comes before it ends up in its configuration, and what comes after it does not reach it."""


def code_digest(parts: Sequence[str] = ("",), *, without: Collection[str] = ()) -> str:
    """SHA-256 over these files and folders of the package, all of it by default."""
    root, digest = Path(focus.__file__).parent, hashlib.sha256()
    left_out = {root / part for part in without}
    for part in parts:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if not left_out.isdisjoint((file, *file.parents)):
                continue
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class PageIndex:
    """Archived URLs by number. `of` finds the one that answers a URL, as `Archive` does."""

    def __init__(self, archive: Archive) -> None:
        self.urls = list(archive.urls())
        self._numbers = {next(keys(url)): number for number, url in enumerate(self.urls)}

    def of(self, url: str) -> int | None:
        """The number of the archived URL that a request for `url` is answered with."""
        numbers = self._numbers
        return next((numbers[key] for key in keys(url) if key in numbers), None)


class LinkGraph(msgspec.Struct):
    """links[n]: the pages that page n leads to; redirects: the nodes that only redirect.

    whole   hosts that are wholly recorded, sorted
    """

    links: list[tuple[int, ...]]
    redirects: set[int]
    whole: tuple[str, ...] = ()


def link_graph(
    path: Path, archive: Archive, *, jobs: int, progress: Progress, cache_dir: Path | None = None
) -> LinkGraph:
    """The link graph of an archive: from disk if it was made before, by this code."""
    folder = cache_dir or Path(platformdirs.user_cache_dir("focus")) / "archives"
    file = folder / f"{archive.digest[:20]}-{code_digest(_PARTS)[:12]}.links"
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=LinkGraph)
    except (OSError, msgspec.MsgspecError):
        pass  # not there, or torn
    graph = _made(path, archive, jobs=jobs, progress=progress, cache_dir=cache_dir)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.msgpack.encode(graph))
    part.replace(file)
    for old in folder.glob(f"{archive.digest[:20]}-*.links"):
        if old != file:
            old.unlink(missing_ok=True)
    return graph


def _made(
    path: Path, archive: Archive, *, jobs: int, progress: Progress, cache_dir: Path | None
) -> LinkGraph:
    graph = LinkGraph([], set())
    numbers = range(len(archive))
    chunks = [numbers[at : at + _CHUNK] for at in range(0, len(numbers), _CHUNK)]
    read = _read_all(path, chunks, jobs, cache_dir)
    asked: set[_Asked] = set()
    for done, (links, redirects, more) in enumerate(read, 1):
        graph.links += links
        graph.redirects.update(redirects)
        asked |= more
        progress("reading the links of the archive", done, len(chunks))
    graph.whole = whole_hosts(asked)
    return graph


_Asked = tuple[str, bytes, bool]
"""An address that its own host links to: host, fingerprint, whether it is recorded."""


def whole_hosts(asked: Collection[_Asked]) -> tuple[str, ...]:
    """The hosts of which `WHOLE` of these addresses are recorded, sorted.

    Worked: of 50 addresses that a host's pages link to 41 are there, .82: wholly recorded.
    """
    all_of = Counter(host for host, _, _ in asked)
    there = Counter(host for host, _, is_recorded in asked if is_recorded)
    return tuple(sorted(host for host, n in all_of.items() if there[host] >= WHOLE * n))


_Chunk = tuple[list[tuple[int, ...]], list[int], set[_Asked]]


def _read_all(
    path: Path, chunks: Sequence[range], jobs: int, cache_dir: Path | None
) -> Iterator[_Chunk]:
    if jobs == 1 or len(chunks) < 3:
        with closing(_Reader(path, cache_dir)) as reader:
            yield from map(reader.read, chunks)
        return
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_begin, initargs=(path, cache_dir)
    ) as pool:
        yield from pool.map(_read, chunks)


_readers: list[_Reader] = []  # one per process of the pool


def _begin(path: Path, cache_dir: Path | None) -> None:
    _readers.append(_Reader(path, cache_dir))


def _read(numbers: Sequence[int]) -> _Chunk:
    return _readers[0].read(numbers)


class _Reader:
    """Reads the links of pages in the way of the engine."""

    def __init__(self, path: Path, cache_dir: Path | None) -> None:
        self._archive = Archive.open(path, cache_dir=cache_dir)
        self._index = PageIndex(self._archive)
        self._analyst = PageScorer(_NOTHING)
        self._scope = Scope(ScopeConfig())
        self._agent = CrawlConfig().agent
        self._rules: dict[str, Robots] = {}
        self._asked: set[_Asked] = set()

    def close(self) -> None:
        self._archive.close()

    def read(self, numbers: Sequence[int]) -> _Chunk:
        """The links of these pages, which are redirects, and what they ask of their hosts."""
        links, redirects, self._asked = [], [], set()
        for number in numbers:
            url = normalise(self._index.urls[number])
            urls, is_redirect = self._urls(url) if url else ([], False)
            if is_redirect:
                redirects.append(number)
            found = self._targets(host_of(url) if url else "", urls)
            links.append(tuple(array("I", dict.fromkeys(found))))
        return links, redirects, self._asked

    def _targets(self, home: str, urls: Iterable[str]) -> Iterator[int]:
        for url in urls:
            host = host_of(url)
            number = self._index.of(url)
            if self._scope.reason_against(url, host) is not None:
                continue
            if host == home:
                self._asked.add((host, fingerprint(url), number is not None))
            if number is not None and self._allows(url):
                yield number

    def _urls(self, url: str) -> tuple[list[str], bool]:
        """Where an archived URL leads, and whether it is a redirect."""
        fetch, page = self._archive.lookup(url), None
        if fetch.failure is None and fetch.redirect_to is None:
            page = analyse(self._analyst, Job(url, fetch.body, fetch.header("content-type")))
        fetch, page = refreshed(fetch, page)
        if fetch.redirect_to is not None:
            target = normalise(fetch.redirect_to, url)
            return ([target] if target else []), True
        if page is None or page.nofollow or of_headers(fetch.headers, self._agent).nofollow:
            return [], False
        return [link.url for link in page.links], False

    def _allows(self, url: str) -> bool:
        host = urlsplit(url).netloc
        rules = self._rules.get(host)
        if rules is None:
            fetch = self._archive.lookup(f"http://{host}/robots.txt", robots=True)
            found = fetch.failure is None and fetch.redirect_to is None
            rules = from_answer(200 if found else 404, fetch.body if found else b"")
            self._rules[host] = rules
        return rules.allows(url, self._agent)
