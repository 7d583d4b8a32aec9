"""`focus judge`: people judge a sample of what crawls fetched; what that says of the crawls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import DB, Command, option, tell, tell_json
from focus.errors import ConfigError
from focus.i18n import msg

if TYPE_CHECKING:
    from focus.evaluate.pools import SampledPage
    from focus.storage.labels import JudgedPage

_WORDS = {"y": "yes", "n": "no", "p": "partly", "s": "skip"}


@click.command(cls=Command)
@DB
@option("--crawl", default="latest", metavar="ID", help="This crawl.")
@option(
    "--pool",
    metavar="DB,DB,...",
    help="Judge what the latest crawls of these databases fetched together, for "
    "`focus compare --judgments`.",
)
@option(
    "--depth",
    kind="count",
    show_default="all",
    help="Only what the first N requests of each crawl brought.",
)
@option("--number", kind="count", default=150, help="Draw so many pages.")
@option("--seed", type=int, default=0, metavar="N", help="Draw others.")
@option(
    "--answers",
    kind="file",
    help="Take answers from this file, a URL and y, n or p on a line, and ask nothing.",
)
@option("-o", "--output", kind="file", default=Path("judgments.tsv"), help="Keep judgments here.")
@option("--json", "as_json", is_flag=True, help="What came of it, as JSON.")
def judge(db: Path, crawl: str, pool: str | None, output: Path, **options: Any) -> None:
    """Judge a sample of pages, and so measure crawl and judge.

    Pages are drawn from those that the judge took for relevant and from the others, and shown
    in random order without what the judge said. Answers are kept as they come; the same command
    goes on where it ended. Told are the share of pages on topic, with its 95 % interval, the
    same of what the judge took for relevant and of the rest, and the judge's calibration.

    \b
    Example:
        focus judge --number 100
        focus judge --pool yield.db,bfs.db --depth 500 -o judgments.tsv
    """
    from random import Random

    from focus.evaluate.pools import answered, pooled, sampled
    from focus.terminal.judging import judging_lines, summed_up

    with ExitStack() as stack:
        topic, crawls, requests, look = _crawls(stack, _databases(db, pool), crawl, options)
        pages = pooled([[row[1:] for row in rows] for rows in crawls])
        if not pages:
            raise ConfigError("these crawls fetched no page that could be judged")
        drawn = _resumed(output, topic)
        drawn = drawn or sampled(topic, pages, options["number"], Random(options["seed"]))
        if options["answers"] is not None:
            drawn = answered(drawn, _text(options["answers"]), str(options["answers"]))
            _keep(output, drawn)
        else:
            drawn = _asked(drawn, output, look)
    found = summed_up(drawn, len(pages), requests)
    if options["as_json"]:
        tell_json(found)
        return
    tell(judging_lines(found, output))


def _databases(db: Path, pool: str | None) -> list[Path]:
    if pool is None:
        return [db.expanduser()]
    paths = [Path(part.strip()).expanduser() for part in pool.split(",") if part.strip()]
    if missing := next((path for path in paths if not path.is_file()), None):
        raise ConfigError("--pool {missing}: there is no such database", missing=missing)
    return paths


Look = Callable[[str], "JudgedPage | None"]
Rows = list[tuple[int, str, float, bool]]


def _crawls(
    stack: ExitStack, paths: Sequence[Path], crawl: str, options: dict[str, Any]
) -> tuple[str, list[Rows], int | None, Look]:
    """The topic, what each crawl fetched, the requests of a single one, and how to see a page."""
    from focus.storage import labels
    from focus.storage.reader import DatabaseReader

    depth, topics, crawls, requests = options["depth"] or 1 << 62, {}, [], None
    where: dict[str, tuple[DatabaseReader, int]] = {}
    for path in paths:
        reader = stack.enter_context(DatabaseReader(path))
        number = reader.crawl_id(crawl if len(paths) == 1 else "latest")
        status = reader.status(number)
        topics[status.crawl.topic] = path
        requests = int(status.counters.get("requests", 0)) if len(paths) == 1 else None
        rows = reader.run(partial(labels.fetched, crawl=number, depth=depth))
        crawls.append(rows)
        for row, url, *_ in rows:
            where.setdefault(url, (reader, row))
    if len(topics) > 1:
        raise ConfigError("--pool: crawls for several topics: {topics}", topics=", ".join(topics))

    def look(url: str) -> JudgedPage | None:
        if url not in where:
            return None
        reader, row = where[url]
        return reader.run(partial(labels.page, row=row))

    bounded = None if options["depth"] else requests
    return next(iter(topics)), crawls, bounded, look


def _resumed(output: Path, topic: str) -> list[SampledPage]:
    """What an earlier sitting drew; ConfigError for a file of another topic."""
    from focus.evaluate.pools import from_tsv

    if not output.exists():
        return []
    drawn = from_tsv(_text(output), str(output))
    if any(page.topic != topic for page in drawn):
        raise ConfigError(
            "{output}: is of another topic than {topic!r}; give another -o FILE",
            output=output,
            topic=topic,
        )
    return drawn


def _text(path: Path) -> str:
    from focus.commands.settings import read_text

    return read_text(path, "judgments")


def _keep(output: Path, pages: Sequence[SampledPage]) -> None:
    from focus.evaluate.pools import to_tsv
    from focus.storage.whole_file import write_whole

    write_whole(output, to_tsv(pages).encode())


def _asked(pages: Sequence[SampledPage], output: Path, look: Look) -> list[SampledPage]:
    """Ask about what nobody has judged yet; every answer is kept at once."""
    import msgspec

    from focus.commands.prompts import PageAsker
    from focus.learn.labelling import question
    from focus.terminal.judging import question_lines

    found, asker = list(pages), PageAsker(_WORDS, kept=msg("the answers before it are kept"))
    _keep(output, found)
    for at, page in enumerate(found):
        stored = None if page.said else look(page.url)
        if stored is None:
            continue
        said = asker.ask(question_lines(question(stored), at + 1, len(found)))
        if said == "q":
            break
        if said == "s":
            continue
        found[at] = msgspec.structs.replace(page, said=said)
        _keep(output, found)
    return found
