"""A consumer of `import focus`, which mypy checks strictly: types are right, errors are noticed."""

import asyncio
from collections.abc import Iterator
from typing import Any, assert_type

import focus


async def all_urls(topic: focus.Topic) -> list[str]:
    return [page.url async for page in focus.crawl("https://a.example/", topic=topic)]


def use_correctly() -> None:
    for page in focus.crawl("https://a.example/", topic="football", max_pages=10):
        assert_type(page, focus.CrawledPage)
        assert_type(page.relevance, float)
        assert_type(page.matched, dict[str, list[str]])
        print(page.title.upper(), page.text)
    print(asyncio.run(all_urls(focus.read_topic("football,cup:0.5"))))
    try:
        with focus.open("football.db") as db:
            assert_type(db.links(), Iterator[tuple[str, str]])
            assert_type(db.table(fields=["url"]), dict[str, list[Any]])
    except focus.FocusError as error:
        print(error.exit_code)


def use_wrongly() -> None:
    """Hold an error of each kind: `warn_unused_ignores` reports one that mypy misses."""
    for page in focus.crawl("https://a.example/", topic="football"):
        print(page.nothing)  # type: ignore[attr-defined]
    focus.open(5)  # type: ignore[arg-type]
    focus.crawl("https://a.example/")  # type: ignore[call-arg]
