"""What the priority of a URL was added up from, and the sub-topics that the link to it names."""

from __future__ import annotations

import msgspec

from focus.records import SEED_PRIORITY
from focus.score.graph.pagerank import PageRank
from focus.score.strategy import STRATEGIES, make_strategy
from focus.score.subtopics import RECALLED, Subtopics
from focus.storage.reader import DatabaseReader
from focus.storage.views import Why

_SMALL = 0.0005


class _Way(msgspec.Struct, frozen=True):
    """How a crawl orders its links, of its configuration."""

    strategy: str = ""
    params: dict[str, float] = {}
    as_published: bool = False


def explained(reader: DatabaseReader, crawl: int, why: Why) -> Why:
    """With `evidence` and `subtopics`; a seed's is as it was, and where evidence is not added."""
    way = msgspec.json.decode(reader.config(crawl), type=_Way)
    if not why.link_evidence or why.priority >= SEED_PRIORITY or way.strategy not in STRATEGIES:
        return why
    strategy = make_strategy(way.strategy, way.params, PageRank(), as_published=way.as_published)
    parts = strategy.parts(why.link_evidence) if len(why.link_evidence) == strategy.width else {}
    if parts:
        parts |= {"hub": why.priority - sum(parts.values()), "place": why.place}
    found = {name: round(part, 4) for name, part in parts.items() if abs(part) > _SMALL}
    words = _subtopics(reader, crawl, why.path[-1].anchor) if "subtopic" in found else []
    return msgspec.structs.replace(why, evidence=found, subtopics=words)


def _subtopics(reader: DatabaseReader, crawl: int, anchor: str) -> list[str]:
    """The words of a link's text that are sub-topics as the crawl stands."""
    known, titles = Subtopics(), reader.titles(crawl, RECALLED)
    for page in titles:
        known.saw(page)
    return known.named(anchor)
