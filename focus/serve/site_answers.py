"""Asks what the sites of an alert answer now, in a separate process; nothing is stored.

    python -m focus.serve.site_answers  < question.json  > answers.json

One page of each site is requested as in a crawl: politely, by robots.txt, with the SSRF guard.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

import msgspec

from focus.config import FetchConfig
from focus.html.parser import parse
from focus.html.shell import detect_shell
from focus.i18n import decode_message, encode_message, msg
from focus.learn.memory_crawl import FetchedPage, FetchedPages, PageSource, fetch_pages
from focus.topic.topic import from_words

MAX_SITES = 5  # maximum number of sites
LIMIT_S = 25.0  # seconds for all sites

_ANY_TOPIC = from_words("page")  # the topic has no effect here


class SiteQuestion(msgspec.Struct, frozen=True):
    """The sites to request, and how."""

    sites: list[str]
    fetch: FetchConfig = FetchConfig()


class SiteAnswer(msgspec.Struct, frozen=True):
    """The answer of a site: a page with its title and number of links, or a failure.

    `is_shell` says whether the page seems to need scripts.
    """

    site: str
    title: str = ""
    links: int = 0
    failure: str = ""
    is_shell: bool = False


def ask_sites(question: SiteQuestion, *, limit_s: float = LIMIT_S) -> list[SiteAnswer]:
    """Return the answers of the first `MAX_SITES` sites, in their order."""
    question = msgspec.structs.replace(question, sites=question.sites[:MAX_SITES])
    timeout_message = msg("no response within {n:g} seconds", n=limit_s)
    try:
        process = subprocess.run(
            [sys.executable, "-m", __name__],
            input=msgspec.json.encode(question),
            stdout=subprocess.PIPE,
            timeout=limit_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return [SiteAnswer(site, failure=timeout_message) for site in question.sites]
    except subprocess.CalledProcessError:
        error_message = msg("Something went wrong; see the server's log.")
        return [SiteAnswer(site, failure=error_message) for site in question.sites]
    answers = msgspec.json.decode(process.stdout, type=list[SiteAnswer])
    return [
        msgspec.structs.replace(answer, failure=decode_message(answer.failure))
        for answer in answers
    ]


async def fetch_answers(question: SiteQuestion) -> list[SiteAnswer]:
    """Return the answers, fetched by this process."""
    web = PageSource(fetch=question.fetch)
    gathered = await fetch_pages(question.sites, web, _ANY_TOPIC)
    return [_make_answer(site, gathered) for site in question.sites]


def _make_answer(site: str, gathered: FetchedPages) -> SiteAnswer:
    pages: dict[str, FetchedPage] = {page.seed: page for page in gathered.pages}
    if site in pages:
        html = pages[site].html
        page = parse(html)
        is_shell = detect_shell(page, html.encode()).is_shell
        return SiteAnswer(site, page.title, len(page.links), is_shell=is_shell)
    failure = gathered.failures.get(site) or msg("it redirects to another site")
    return SiteAnswer(site, failure=encode_message(failure))


if __name__ == "__main__":
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=SiteQuestion)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(fetch_answers(question))))
