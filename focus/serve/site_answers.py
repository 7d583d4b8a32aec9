"""Asks what the sites of an alert answer now, in a process of its own; nothing is kept.

    python -m focus.serve.site_answers  < order.json  > answers.json

Each is one page, asked for as a crawl does: by its robots.txt, politely, past the guard.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

import msgspec

from focus.config import FetchConfig
from focus.html.parser import parse
from focus.html.shell import lack
from focus.i18n import decode_message, encode_message, msg
from focus.learn.memory_crawl import Found, Gathered, PageSource, fetch_pages
from focus.topic.topic import from_words

MOST = 5  # sites that are asked
LIMIT_S = 25.0  # for all of them

_ANY = from_words("page")  # what about is not asked here


class SiteQuestion(msgspec.Struct, frozen=True):
    """The sites that the process is to ask, and how."""

    sites: list[str]
    fetch: FetchConfig = FetchConfig()


class SiteAnswer(msgspec.Struct, frozen=True):
    """The answer of a site: a page with its title and links, or a failure in a line.

    is_shell   it seems to need scripts
    """

    site: str
    title: str = ""
    links: int = 0
    failure: str = ""
    is_shell: bool = False


def ask(question: SiteQuestion, *, limit_s: float = LIMIT_S) -> list[SiteAnswer]:
    """The answers of the first `MOST` sites, in their order."""
    question = msgspec.structs.replace(question, sites=question.sites[:MOST])
    late = msg("no answer within {n:g} seconds", n=limit_s)
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=msgspec.json.encode(question),
            stdout=subprocess.PIPE,
            timeout=limit_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return [SiteAnswer(site, failure=late) for site in question.sites]
    except subprocess.CalledProcessError:
        unknown = msg("Something went wrong; the log says what.")
        return [SiteAnswer(site, failure=unknown) for site in question.sites]
    found = msgspec.json.decode(done.stdout, type=list[SiteAnswer])
    return [msgspec.structs.replace(each, failure=decode_message(each.failure)) for each in found]


async def answers(question: SiteQuestion) -> list[SiteAnswer]:
    """The same, in this process."""
    web = PageSource(fetch=question.fetch)
    gathered = await fetch_pages(question.sites, web, _ANY)
    return [_answer(site, gathered) for site in question.sites]


def _answer(site: str, gathered: Gathered) -> SiteAnswer:
    pages: dict[str, Found] = {each.seed: each for each in gathered.pages}
    if site in pages:
        html = pages[site].html
        page = parse(html)
        is_shell = lack(page, html.encode()).is_shell
        return SiteAnswer(site, page.title, len(page.links), is_shell=is_shell)
    why = gathered.failures.get(site) or msg("it is the page of another site here")
    return SiteAnswer(site, failure=encode_message(why))


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=SiteQuestion)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(answers(asked))))
