"""Records the generated web of `focus demo` as a WARC file with topics and labels.

The archive has every page of the generator and the targets of their links: redirects, dead links
and a bounded number of trap pages. Archive, topics and labels have the format that
`focus research compare` reads. Equal sizes and seeds yield equal files. No network is used.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec

from focus.archive.recorder import Recorder
from focus.demo.hosts import TOPICS
from focus.demo.site import DemoWeb, generate
from focus.records import FetchResult

TRAP_PAGES_PER_HOST = 400
"""Number of recorded pages of endless traps: calendars, session ids, soft 404 pages."""

_HREF = re.compile(rb'href="([^"#]+)')
_WHEN = 1_528_761_600.0  # the generator's day 0


class Portal(msgspec.Struct, frozen=True):
    """Size and seed of a generated web."""

    pages: int = 20_000
    hosts: int = 12
    portals: int = 1
    seed: int = 1

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"web-{self.pages}-{self.hosts}-{self.portals}-{self.seed}"


def recorded_web(portal: Portal, folder: Path) -> Path:
    """Return the folder of a generated web, and record it if it is missing."""
    place = folder / portal.name
    if not (place / "topics.json").exists():
        web = generate(portal.seed, pages=portal.pages, hosts=portal.hosts, portals=portal.portals)
        place.mkdir(parents=True, exist_ok=True)
        urls = record(web, place / "web.warc.gz")
        _write_labels(web, place, urls)
    return place


def _write_labels(web: DemoWeb, folder: Path, urls: list[str]) -> None:
    """Write topics, labels, hubs and aliases; aliases are redirects and URLs with a session id."""
    topics = [{"name": name, "keywords": [name], "seeds": web.seeds} for name in TOPICS]
    text = json.dumps(topics, ensure_ascii=False, indent=1)
    (folder / "topics.json").write_text(text + "\n", encoding="utf-8")
    labels = [
        (url, topic, str(int(label)))
        for topic in TOPICS
        for url, label in web.labels(topic).items()
    ]
    _write_rows(folder / "labels.tsv", ("url", "topic", "label"), labels)
    hubs = [(url, topic, "index page") for topic in TOPICS for url in web.hubs(topic)]
    _write_rows(folder / "hubs.tsv", ("url", "topic", "note"), hubs)
    aliases = [(url, page, "redirect-301") for url, page in web.aliases().items()]
    known = web.aliases().keys() | set(web.urls())
    others = [(url, web.canonical(url)) for url in urls if url not in known]
    aliases += [(url, page, "generator") for url, page in others if page is not None]
    _write_rows(folder / "aliases.tsv", ("url", "canonical_url", "kind"), aliases)


def _write_rows(path: Path, names: tuple[str, ...], rows: list[tuple[str, str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in (names, *rows))


def record(web: DemoWeb, path: Path) -> list[str]:
    """Write all responses of a web to a WARC file and return their URLs."""
    urls = []
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    ids = _ids()
    with Recorder(
        part, software="focus demo", new_id=lambda: next(ids), clock=lambda: _WHEN
    ) as out:
        for answer in _answers(web):
            out.record(answer)
            urls.append(answer.url)
    part.replace(path)
    return urls


def _ids() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield uuid.UUID(int=number).urn


def _answers(web: DemoWeb) -> Iterator[FetchResult]:
    """Yield robots.txt files and pages, then the targets of links that exist."""
    pages = web.urls()
    queue = [*(f"http://{host}/robots.txt" for host in web.hosts), *pages]
    seen, real, trap_pages = set(queue), set(queue), Counter[str]()
    for url in queue:  # the loop appends to the queue
        response = web.respond(url)
        if response is None:
            continue
        headers = tuple((name.lower(), value) for name, value in response.headers)
        location = next((value for name, value in headers if name == "location"), None)
        target = urljoin(url, location) if location else None
        yield FetchResult(url, _WHEN, response.status, headers, response.body, redirect_to=target)
        links = [target] if target else _links(url, response.body)
        for link in links:
            host = urlsplit(link).netloc
            if link in seen or host not in web.hosts:
                continue
            seen.add(link)
            if link not in real:
                trap_pages[host] += web.canonical(link) is None
            if trap_pages[host] <= TRAP_PAGES_PER_HOST:
                queue.append(link)


def _links(url: str, body: bytes) -> list[str]:
    links = (unescape(match.decode("ascii", "replace")) for match in _HREF.findall(body))
    return [urljoin(url, link) for link in links]
