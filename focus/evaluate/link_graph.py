"""Builds the link graph of an archive, as a crawl would follow it.

It is made once per archive with the engine's own page analysis, scope and robots rules, and cached
on disk. It shows which labelled pages are reachable, and after how many requests (`oracle`).

    node   an archived URL, by its number in the order of first capture
    link   followed by the engine, allowed, and contained in the archive
    a redirect is a page with one link; URLs that are not in the archive are no nodes

A host is *wholly recorded* if at least the share `RECORDED_SHARE` of the addresses that its own
pages link to is in the archive: a link there without a response is dead on the live web, too. Of
other hosts the archive has a sample, and a missing page means nothing.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import cache
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
from focus.http.robots import Robots, robots_from_response
from focus.http.robots_tag import parse_headers
from focus.http.semantics import apply_refresh
from focus.records import ReportProgress
from focus.score.analysis import PageScorer
from focus.storage.whole_file import write_whole
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import normalise, url_fingerprint, url_host
from focus.workers.child import score_page
from focus.workers.messages import Job

RECORDED_SHARE = 0.8
"""Recorded share of the addresses that a host's own pages link to, from which on the host counts as
wholly recorded. On two recorded webs hosts had at least 0.87 or at most 0.56.
"""

_CHUNK = 250
_LINKS_ONLY = AnalysisConfig(
    topic=to_builtins(from_words("x0no0such0word")), relevance="boolean", keep="none"
)


@cache
def code_digest() -> str:
    """Return SHA-256 over the source files of the package."""
    root, digest = Path(focus.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class PageIndex:
    """Archived URLs by number."""

    def __init__(self, archive: Archive) -> None:
        self.urls = list(archive.urls())
        self._numbers = {next(keys(url)): number for number, url in enumerate(self.urls)}

    def find_page(self, url: str) -> int | None:
        """Return the number of the archived URL with which `Archive` answers `url`, if any."""
        numbers = self._numbers
        return next((numbers[key] for key in keys(url) if key in numbers), None)


class LinkGraph(msgspec.Struct):
    """Links between archived pages.

    links           links[n] are the pages that page n links to
    redirects       nodes that only redirect
    recorded_hosts  hosts that are wholly recorded, sorted
    """

    links: list[tuple[int, ...]]
    redirects: set[int]
    recorded_hosts: tuple[str, ...] = ()


def load_link_graph(
    path: Path,
    archive: Archive,
    *,
    jobs: int,
    progress: ReportProgress,
    cache_dir: Path | None = None,
) -> LinkGraph:
    """Return the link graph of an archive, from the cache if this code made it before."""
    folder = cache_dir or Path(platformdirs.user_cache_dir("focus")) / "archives"
    file = folder / f"{archive.digest[:20]}-{code_digest()[:12]}.links"
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=LinkGraph)
    except (OSError, msgspec.MsgspecError):
        pass  # not cached, or incomplete
    graph = _build_link_graph(path, archive, jobs=jobs, progress=progress, cache_dir=cache_dir)
    write_whole(file, msgspec.msgpack.encode(graph))
    for old_file in folder.glob(f"{archive.digest[:20]}-*.links"):
        if old_file != file:
            old_file.unlink(missing_ok=True)
    return graph


def _build_link_graph(
    path: Path, archive: Archive, *, jobs: int, progress: ReportProgress, cache_dir: Path | None
) -> LinkGraph:
    graph = LinkGraph([], set())
    numbers = range(len(archive))
    chunks = [numbers[at : at + _CHUNK] for at in range(0, len(numbers), _CHUNK)]
    chunk_links = _read_chunks(path, chunks, jobs, cache_dir)
    host_links: set[_HostLink] = set()
    for done, (links, redirects, new_host_links) in enumerate(chunk_links, 1):
        graph.links += links
        graph.redirects.update(redirects)
        host_links |= new_host_links
        progress(done, len(chunks))
    graph.recorded_hosts = find_recorded_hosts(host_links)
    return graph


_HostLink = tuple[str, bytes, bool]
"""An address that its own host links to: host, fingerprint, whether it is in the archive."""


def find_recorded_hosts(host_links: Collection[_HostLink]) -> tuple[str, ...]:
    """Return the hosts of which a share of at least `RECORDED_SHARE` is in the archive, sorted.

    Example: a host's pages link to 50 of its addresses, of which 41 are there: 0.82, so it counts.
    """
    link_counts = Counter(host for host, _, _ in host_links)
    recorded_counts = Counter(host for host, _, is_recorded in host_links if is_recorded)
    return tuple(
        sorted(
            host for host, n in link_counts.items() if recorded_counts[host] >= RECORDED_SHARE * n
        )
    )


_ChunkLinks = tuple[list[tuple[int, ...]], list[int], set[_HostLink]]


def _read_chunks(
    path: Path, chunks: Sequence[range], jobs: int, cache_dir: Path | None
) -> Iterator[_ChunkLinks]:
    if jobs == 1 or len(chunks) < 3:
        with closing(_LinkReader(path, cache_dir)) as reader:
            yield from map(reader.read, chunks)
        return
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_init_process, initargs=(path, cache_dir)
    ) as pool:
        yield from pool.map(_read_chunk, chunks)


_readers: list[_LinkReader] = []  # one per process of the pool


def _init_process(path: Path, cache_dir: Path | None) -> None:
    _readers.append(_LinkReader(path, cache_dir))


def _read_chunk(numbers: Sequence[int]) -> _ChunkLinks:
    return _readers[0].read(numbers)


class _LinkReader:
    """Reads the links of pages as the engine would follow them."""

    def __init__(self, path: Path, cache_dir: Path | None) -> None:
        self._archive = Archive.open(path, cache_dir=cache_dir)
        self._index = PageIndex(self._archive)
        self._analyst = PageScorer(_LINKS_ONLY)
        self._scope = Scope(ScopeConfig())
        self._agent = CrawlConfig().agent
        self._rules: dict[str, Robots] = {}
        self._host_links: set[_HostLink] = set()

    def close(self) -> None:
        self._archive.close()

    def read(self, numbers: Sequence[int]) -> _ChunkLinks:
        """Return the links of these pages, which of them are redirects, and links within hosts."""
        links, redirects, self._host_links = [], [], set()
        for number in numbers:
            url = normalise(self._index.urls[number])
            urls, is_redirect = self._outgoing_urls(url) if url else ([], False)
            if is_redirect:
                redirects.append(number)
            target_numbers = self._find_targets(url_host(url) if url else "", urls)
            links.append(tuple(array("I", dict.fromkeys(target_numbers))))
        return links, redirects, self._host_links

    def _find_targets(self, home: str, urls: Iterable[str]) -> Iterator[int]:
        for url in urls:
            host = url_host(url)
            number = self._index.find_page(url)
            if self._scope.reason_against(url, host) is not None:
                continue
            if host == home:
                self._host_links.add((host, url_fingerprint(url), number is not None))
            if number is not None and self._is_allowed(url):
                yield number

    def _outgoing_urls(self, url: str) -> tuple[list[str], bool]:
        """Return the URLs that an archived URL leads to, and whether it is a redirect."""
        fetch, page = self._archive.lookup(url), None
        if fetch.failure is None and fetch.redirect_to is None:
            page = score_page(self._analyst, Job(url, fetch.body, fetch.header("content-type")))
        fetch, page = apply_refresh(fetch, page)
        if fetch.redirect_to is not None:
            target = normalise(fetch.redirect_to, url)
            return ([target] if target else []), True
        if page is None or page.nofollow or parse_headers(fetch.headers, self._agent).nofollow:
            return [], False
        return [link.url for link in page.links], False

    def _is_allowed(self, url: str) -> bool:
        host = urlsplit(url).netloc
        rules = self._rules.get(host)
        if rules is None:
            fetch = self._archive.lookup(f"http://{host}/robots.txt", robots=True)
            has_robots = fetch.failure is None and fetch.redirect_to is None
            rules = robots_from_response(
                200 if has_robots else 404, fetch.body if has_robots else b""
            )
            self._rules[host] = rules
        return rules.allows(url, self._agent)
