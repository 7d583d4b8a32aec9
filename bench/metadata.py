"""Compares publication dates and main texts with those of htmldate and trafilatura.

    python -m bench.metadata WARC [WARC …] --pages 500

Truth is what pages mark for machines: one datePublished, one itemprop=articleBody. The marks
(JSON-LD, meta elements about time, datetime, itemprop) are taken out before anybody reads the
page. A date counts when the day is right; a text by the F1 of its pairs of characters. Both are
drawn evenly from the sites. CPU milliseconds a page; one process, one page after the other.
"""

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from focus.archive.warc import http_answer, plain_chunks, read_records
from focus.html.main_content import main_text
from focus.html.parser import blocks_of
from focus.html.publication_date import published_at
from focus.text.charset import decode

ZONE = timezone(timedelta(hours=8))  # of pages that name none: the recorded sites are Chinese
MIN_CHARS = 200  # of a text that is compared
A_SITE = 25  # pages drawn from one
_DAY = r"(\d{4}-\d\d-\d\d)"
_MARKS = re.compile(
    rf'datePublished"?[^>]{{0,60}}?{_DAY}|article:published_time"?[^>]{{0,20}}?{_DAY}'
)
_MARKED = re.compile(rb'"articleBody"|datePublished|article:published_time')
_ABOUT_TIME = re.compile("date|time|publish", re.I)


class MarkedPage(NamedTuple):
    """A page without its marks, and what they said: day and text, None where there was none."""

    url: str
    html: str
    day: str | None
    text: str | None


def drawn(archives: list[Path], pages: int, rng: random.Random) -> list[tuple[str, str]]:
    """Address and source of pages with marks, `A_SITE` at most from each site, by chance."""
    sites: dict[str, list[tuple[str, str]]] = defaultdict(list)
    met: Counter[str] = Counter()
    for url, html in _pages(archives):
        host = urlsplit(url).netloc
        met[host] += 1
        if len(sites[host]) < A_SITE:
            sites[host].append((url, html))
        elif (at := rng.randrange(met[host])) < A_SITE:
            sites[host][at] = (url, html)
    found = [page for site in sites.values() for page in site]
    rng.shuffle(found)
    return found[:pages]


def _pages(archives: list[Path]) -> Iterator[tuple[str, str]]:
    for path in archives:
        with path.open("rb") as file:
            ignore = partial(str)
            for record in read_records(plain_chunks(file, ignore), ignore):
                is_answer = record.headers.get("warc-type") == "response"
                answer = http_answer(record.block) if is_answer else None
                if answer is not None and answer.status == 200 and _MARKED.search(answer.body):
                    url = record.headers["warc-target-uri"].strip("<>")
                    yield url, decode(answer.body, answer.header("content-type"))[0]


def unmarked(url: str, html: str) -> MarkedPage:
    """The page without its marks; a page with several marks (a list) says nothing."""
    days = {day for pair in _MARKS.findall(html) for day in pair if day}
    tree = LexborHTMLParser(html)
    bodies = tree.css("[itemprop=articleBody]")
    text = None
    if len(bodies) == 1:
        for node in bodies[0].css("script,style,noscript"):
            node.decompose()
        text = bodies[0].text(separator=" ")
    for node in tree.css('script[type="application/ld+json"]'):
        node.decompose()
    for node in tree.css("meta"):
        if any(
            _ABOUT_TIME.search(node.attributes.get(key) or "")
            for key in ("property", "name", "itemprop")
        ):
            node.decompose()
    for node in tree.css("time,[itemprop]"):
        for name in ("datetime", "itemprop"):
            if name in node.attributes:
                del node.attrs[name]
    day = days.pop() if len(days) == 1 and len(bodies) <= 1 else None
    return MarkedPage(url, tree.html or "", day, text if text and len(text) > MIN_CHARS else None)


def _own_day(page: MarkedPage) -> str | None:
    now = datetime.now(UTC).timestamp()
    moment = published_at(page.html, page.url, fetched_at=now, zone=ZONE)
    return None if moment is None else datetime.fromtimestamp(moment, ZONE).strftime("%Y-%m-%d")


def _own_text(page: MarkedPage) -> str:
    return main_text(blocks_of(page.html))


def _their_day(page: MarkedPage) -> str | None:
    import htmldate

    try:
        return htmldate.find_date(page.html, url=page.url, original_date=True)
    except Exception:  # what it does on a page is what is measured
        return None


def _their_text(page: MarkedPage) -> str:
    import trafilatura

    return trafilatura.extract(page.html, include_comments=False) or ""


def overlap(one: str, other: str) -> float:
    """F1 of the pairs of neighbouring characters, white space left out: abc, abd: 0.5."""
    a, b = (Counter(map("".join, pairwise(s))) for s in ("".join(t.split()) for t in (one, other)))
    both = sum((a & b).values())
    return 2 * both / (a.total() + b.total()) if both else 0.0


def timed(
    read: Callable[[MarkedPage], object], pages: list[MarkedPage]
) -> tuple[list[object], float]:
    """What a reader finds, and its CPU milliseconds a page."""
    began = time.process_time()
    found = [read(page) for page in pages]
    return found, 1000 * (time.process_time() - began) / max(1, len(pages))


def main() -> None:
    """Print one line for each reader."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("archives", nargs="+", type=Path, metavar="WARC")
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = drawn(options.archives, options.pages, random.Random(options.seed))
    pages = [unmarked(*page) for page in chosen]
    dated = [page for page in pages if page.day]
    for name, read_day in (("focus", _own_day), ("htmldate", _their_day)):
        days, cpu_ms = timed(read_day, dated)
        right = sum(day == page.day for day, page in zip(days, dated, strict=True))
        told = sum(day is not None for day in days)
        print(
            f"{name:12} {len(dated)} dates: right {right / len(dated):.3f}, "
            f"of those told {right / max(1, told):.3f}, {cpu_ms:.2f} ms"
        )
    worded = [page for page in pages if page.text]
    for name, read_text in (("focus", _own_text), ("trafilatura", _their_text)):
        texts, cpu_ms = timed(read_text, worded)
        scores = [
            overlap(str(text), page.text or "") for text, page in zip(texts, worded, strict=True)
        ]
        print(f"{name:12} {len(worded)} texts: F1 {sum(scores) / len(scores):.3f}, {cpu_ms:.2f} ms")


if __name__ == "__main__":
    main()
