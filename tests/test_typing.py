"""Who writes `import focus` has its types: a consumer under mypy --strict."""

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """\
import asyncio
from collections.abc import Iterator
from typing import Any, assert_type

import focus

crawling = focus.crawl("https://a.example/", topic="football", max_pages=10)
for page in crawling:
    assert_type(page, focus.CrawledPage)
    assert_type(page.relevance, float)
    assert_type(page.matched, dict[str, list[str]])
    print(page.title.upper(), page.text)
topic: focus.Topic = focus.read_topic("football,cup:0.5")


async def all_urls() -> list[str]:
    return [page.url async for page in focus.crawl("https://a.example/", topic=topic)]


print(asyncio.run(all_urls()))
try:
    with focus.open("football.db") as db:
        assert_type(db.links(), Iterator[tuple[str, str]])
        assert_type(db.table(fields=["url"]), dict[str, list[Any]])
except focus.FocusError as error:
    print(error.exit_code)
"""
WRONG = """\
import focus

for page in focus.crawl("https://a.example/", topic="football"):
    print(page.nothing)
focus.open(5)
focus.crawl("https://a.example/")
"""


@pytest.mark.slow
def test_a_strict_consumer_is_checked_by_the_types_of_focus(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for name, text in (("right.py", RIGHT), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    kept = getattr(pytestconfig, "cache", None)  # what was checked by the last run is not anew
    cache = kept.mkdir("mypy") if kept is not None else tmp_path / "cache"
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache)]
    checked = subprocess.run(
        [*command, "--no-error-summary", "right.py", "wrong.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in checked.stdout.splitlines() if ": note: " not in line]
    codes = [(line.split(":")[0], line.rpartition(" ")[2]) for line in lines]
    assert codes == [
        ("wrong.py", "[attr-defined]"), ("wrong.py", "[arg-type]"), ("wrong.py", "[call-arg]")
    ], checked.stdout  # fmt: skip
