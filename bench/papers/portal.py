"""Records the generated web of `focus demo` as a WARC file with topics and labels.

`record` asks the generator for every page, follows what the pages link to (redirects, dead
links, and a bounded number of what its traps make up) and writes archive, topics and labels
into a folder, in the form that `focus compare` reads. The same size and seed give the same
files; nothing of the network is needed.
"""

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec

from focus.archive.recorder import Recorder
from focus.demo.site import DemoWeb, generate
from focus.demo.truth import write_truth
from focus.records import FetchResult

MADE_UP_PER_HOST = 400
"""Of the endless pages of a trap (calendar, session ids, soft 404s) so many are recorded."""

_HREF = re.compile(rb'href="([^"#]+)')
_WHEN = 1_528_761_600.0  # the generator's day 0


class Portal(msgspec.Struct, frozen=True):
    """Which web: about so many pages on so many hosts, of them so many portals."""

    pages: int = 20_000
    hosts: int = 12
    portals: int = 1
    seed: int = 1

    @property
    def name(self) -> str:
        """A folder name of its own."""
        return f"web-{self.pages}-{self.hosts}-{self.portals}-{self.seed}"


def made(portal: Portal, folder: Path) -> Path:
    """The folder of a generated web, recorded into it unless it is there."""
    place = folder / portal.name
    if not (place / "topics.json").exists():
        web = generate(portal.seed, pages=portal.pages, hosts=portal.hosts, portals=portal.portals)
        place.mkdir(parents=True, exist_ok=True)
        urls = record(web, place / "web.warc.gz")
        write_truth(web, place)
        _add_aliases(web, place / "aliases.tsv", urls)
    return place


def _add_aliases(web: DemoWeb, path: Path, urls: list[str]) -> None:
    """Append the other URLs of pages in the file, such as those with a session id."""
    known = web.aliases().keys() | set(web.urls())
    with path.open("a", encoding="utf-8", newline="\n") as file:
        for url in urls:
            page = web.canonical(url)
            if page is not None and url not in known:
                file.write(f"{url}\t{page}\tgenerator\n")


def record(web: DemoWeb, path: Path) -> list[str]:
    """Write all answers of a web as a WARC; the URLs that are in it."""
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
    """Robots files and pages, then whatever the pages lead to and answers."""
    pages = web.urls()
    queue = [*(f"http://{host}/robots.txt" for host in web.hosts), *pages]
    seen, real, made_up = set(queue), set(queue), Counter[str]()
    for url in queue:  # grows as it goes
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
                made_up[host] += web.canonical(link) is None
            if made_up[host] <= MADE_UP_PER_HOST:
                queue.append(link)


def _links(url: str, body: bytes) -> list[str]:
    found = (unescape(match.decode("ascii", "replace")) for match in _HREF.findall(body))
    return [urljoin(url, link) for link in found]
