"""Asks how far better scores could bring a strategy on a recorded web: by its labels, in turn.

    python -m bench.bounds ARCHIVE TOPICS LABELS [ALIASES] [--strategy yield]
        [--relevance evidence] [--names A,B] [--masks none] [--orders 1]

The same crawls three times: as they are; with links to relevant pages before all others
("links": what a link score could reach at best, the rest in the strategy's own order); and with
links next to those pages that lead to most relevant ones ("links and hubs"). Shares of the
oracle's area by topic, and what the strategy has of the first bound. The labels that these
crawls see are the ones they are judged by: no crawl of `focus` does.
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from bench.held_out import prepared, trials
from bench.script import read_options, table
from focus.archive.replay import Archive
from focus.config import AnalysisConfig
from focus.evaluate.ground_truth import Prepared
from focus.evaluate.link_graph import LinkGraph, PageIndex, link_graph
from focus.evaluate.ranking import TopicTruth, measures
from focus.evaluate.trial import Replay, run_trial
from focus.records import Link, Page

TARGET, HUB = 1000.0, 100.0
"""Added to the score of a URL's words, which weighs the same in every link: far over any sum."""

HEAD = ["topic", "as it is", "links", "links and hubs", "of links"]


class ToldReplay(Replay):
    """A recorded web whose links tell which lead to relevant pages, and which to hubs.

    worth   by number of the page that a link leads to; it may change from crawl to crawl
    """

    def __init__(self, archive: Archive, index: PageIndex, analysis: AnalysisConfig) -> None:
        super().__init__(archive, index, analysis)
        self._index_of = index
        self.worth: Sequence[float] = ()

    async def score(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """As the scorer says, but for the links."""
        page = await super().score(url, body, content_type, wording=wording)
        return msgspec.structs.replace(page, links=[self._told(link) for link in page.links])

    def _told(self, link: Link) -> Link:
        number = self._index_of.of(link.url)
        worth = 0.0 if number is None else self.worth[number]
        return msgspec.structs.replace(link, url_score=link.url_score + worth) if worth else link


def worth_of_links(truth: TopicTruth, pages: int) -> list[float]:
    """What a link to a page is worth, for each: `TARGET` for a relevant one."""
    return [TARGET * (truth.page_of[number] in truth.targets) for number in range(pages)]


def worth_of_hubs(truth: TopicTruth, graph: LinkGraph) -> list[float]:
    """The same; one that is not relevant has `HUB` · log2(1 + relevant pages it leads to)."""
    worth = worth_of_links(truth, len(graph.links))
    found = [len({truth.page_of[n] for n in links} & truth.targets) for links in graph.links]
    return [of_link or HUB * math.log2(1 + n) for of_link, n in zip(worth, found, strict=True)]


def shares(one: Prepared, archive: Archive, graph: LinkGraph, arguments: Any) -> list[float]:
    """A topic's three shares of the oracle, means of the seed orders."""
    index = PageIndex(archive)
    worths = [
        [0.0] * len(index.urls),
        worth_of_links(one.ground, len(index.urls)),
        worth_of_hubs(one.ground, graph),
    ]
    crawls = [*trials(one, arguments.masks, "", arguments)]
    replay = ToldReplay(archive, index, crawls[0].config.analysis)  # scores each page once
    found = []
    for replay.worth in worths:
        ran = [run_trial(trial, replay) for trial in crawls]
        found.append(
            sum(measures(each, one.ground)["oracle_share"] or 0 for each in ran) / len(ran)
        )
    return found


def main() -> None:
    """Run, print a row for each topic and their mean."""
    arguments = read_options(__doc__)
    rows: dict[str, list[float]] = {}
    with Archive.open(arguments.archive) as archive:
        graph = link_graph(arguments.archive, archive, jobs=1, progress=lambda *_: None)
        for one in prepared(arguments):
            rows[one.task.name] = shares(one, archive, graph, arguments)
    rows["mean"] = [sum(column) / len(rows) for column in zip(*rows.values(), strict=True)]
    print(table(HEAD, [[name, *row, row[0] / row[1]] for name, row in rows.items()]))


if __name__ == "__main__":
    main()
