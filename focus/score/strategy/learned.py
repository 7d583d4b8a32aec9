"""Learned: `yield`, and the company that a link keeps, weighed as recorded webs taught."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

from focus.records import Link, Region
from focus.score.index_pages import Role
from focus.score.strategy.base import LinkEvidence, Parent
from focus.score.strategy.yielding import Yield

_WIDTH = Yield.width
_SILENT = 3  # links that say nothing, added to every list
CARD = json.loads(files("focus.score.strategy").joinpath("learned.json").read_text("utf-8"))
"""Its weights, and what is to be known of them: webs, date, figures, licence."""


class Learned(Yield):
    """yield's + company·C + kin·K + both·B; the weights are those of `learned.json`.

    C   the company that a link keeps: what the other links of its list say of the topic, each by
        its anchor or the sub-topic that this names, the mean of theirs and three that say
        nothing. A list: the links in a page's body to pages of one host and URL pattern
    K   relevance of the parent, if the link leads to a URL of the parent's own pattern
    B   the lesser of the relevances of anchor and URL

    No weight is negative, so that evidence never lowers a priority. `bench.learned` trains them:
    listwise on what waits at moments of crawls by `yield` and by itself, then in whole crawls.

    Worked: five links to /a/*, the anchors of four are of relevance 1: for the fifth C = 4/7, and
    (3 + 0)/7 = 0.43 for each of the others. With company 4 the fifth gets 2.29.
    """

    name = "learned"
    source = "learning to rank, on recorded webs"
    summary = "yield and the company that a link keeps, weighed by training"
    defaults = {**Yield.defaults, **CARD["weights"]}
    width = _WIDTH + len(CARD["weights"])
    follows_all = False

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        given = [each or () for each in super().evidence(parent, links)]
        kept = company(links, [each[0] + each[_WIDTH - 1] for each in given])
        home, pattern, relevance = parent.host, parent.pattern, parent.relevance
        return [
            (
                *each,
                among,
                relevance if link.pattern == pattern and link.host == home else 0.0,
                min(link.anchor_score, link.url_score),
            )
            for each, among, link in zip(given, kept, links, strict=True)
        ]

    def signs(self, link_evidence: LinkEvidence) -> dict[str, float]:
        """What is learned of, by name."""
        return dict(zip(CARD["weights"], link_evidence[_WIDTH:], strict=True))

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        p, given = self.params, super().priority(url_id, link_evidence[:_WIDTH])
        return given + sum(p[name] * x for name, x in self.signs(link_evidence).items())

    def parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        p, given = self.params, super().parts(link_evidence[:_WIDTH])
        return given | {name: p[name] * x for name, x in self.signs(link_evidence).items()}


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
