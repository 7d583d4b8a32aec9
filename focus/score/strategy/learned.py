"""Learned: `yield` and the company that a link keeps, weighed as recorded webs taught."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from focus.records import Link, Region
from focus.score.index_pages import Role
from focus.score.strategy.base import LinkEvidence, Parent
from focus.score.strategy.yielding import Yield

_WIDTH = Yield.width
_SILENT = 3  # links that say nothing, added to every list
CARD = json.loads(Path(__file__).with_name("learned.json").read_text("utf-8"))
"""The weights that differ from those of `yield`, and what is to be known of them: on what they
were trained, when, what they gained, their licence."""


class Learned(Yield):
    """yield's + company·C; its weight was trained by `bench.learned` and stands in `learned.json`.

    C   the company that a link keeps: what the other links of its list say of the topic, each by
        its anchor or by the sub-topic that this names; the mean of theirs and of three that say
        nothing. A list: the links in a page's body to pages of one host and URL pattern

    The weight is not negative, so that evidence never lowers a priority.

    Worked: five links to /a/*, the anchors of four are of relevance 1: for the fifth C = 4/7, for
    each of the others (4 - 1)/7 = 0.43. With company 2 the fifth gets 1.14.
    """

    name = "learned"
    source = "learning to rank, on recorded webs"
    summary = "yield and the company that a link keeps, weighed by training"
    defaults = {**Yield.defaults, **CARD["weights"]}
    width = _WIDTH + 1  # C
    follows_all = False

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence]:
        given = super().evidence(parent, links)
        kept = company(links, [each[0] + each[-1] for each in given])  # a sub-topic or the topic
        return [(*each, c) for each, c in zip(given, kept, strict=True)]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        of_yield = super().priority(url_id, link_evidence)
        return of_yield + self.params["company"] * link_evidence[_WIDTH]

    def parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        of_yield = super().parts(link_evidence[:_WIDTH])
        return {**of_yield, "company": self.params["company"] * link_evidence[_WIDTH]}


def company(links: Sequence[Link], own: Sequence[float]) -> list[float]:
    """C of each link; `own`: what it says itself, 0…1."""
    if not any(own):
        return [0.0] * len(links)
    lists: dict[tuple[str, str], list[float]] = {}  # links of each, and what they say together
    places = []
    for link, value in zip(links, own, strict=True):
        place = None
        if link.region == Region.BODY and link.role == Role.PAGE:
            place = lists.setdefault((link.host, link.pattern), [0.0, 0.0])
            place[0] += 1.0
            place[1] += value
        places.append(place)
    return [
        0.0 if place is None else (place[1] - value) / (place[0] - 1.0 + _SILENT)
        for place, value in zip(places, own, strict=True)
    ]
