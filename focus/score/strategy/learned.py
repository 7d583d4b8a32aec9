"""Learned: `yield`, and the company that a link keeps, weighed as recorded webs taught."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.resources import files

from focus.records import Link, Region, Tally
from focus.score.graph.pagerank import PageRank
from focus.score.index_pages import Role
from focus.score.strategy.base import LinkEvidence, Parent
from focus.score.strategy.yielding import Yield, logit, shrunk_rate
from focus.score.subtopics import WINDOW, Titled
from focus.urls.normal_form import host_of
from focus.urls.patterns import url_pattern

_WIDTH = Yield.width
_PAGES, _MOST = 10.0, 2.0
_SILENT = 3  # links that say nothing, added to every list
CARD = json.loads(files("focus.score.strategy").joinpath("learned.json").read_text("utf-8"))
"""Its weights, and what is to be known of them: webs, date, figures, licence."""


class Learned(Yield):
    """yield's + company·C + kin·K; the weights are those of `learned.json`.

    C   the company that a link keeps: what the other links of its list say of the topic, each by
        its anchor or the sub-topic that this names, the mean of theirs and three that say
        nothing. A list: the links in a page's body to pages of one host and URL pattern
    K   relevance of the parent times `Kinship.edge`, for a link to its own host and URL pattern

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

    def __init__(
        self, params: Mapping[str, float], graph: PageRank, *, as_published: bool = False
    ) -> None:
        super().__init__(params, graph, as_published=as_published)
        self.kinship = Kinship()

    def saw(self, page: Titled) -> None:
        super().saw(page)
        self.kinship.saw(page)

    def resume(self, pages: int) -> None:
        super().resume(pages)
        self.kinship = Kinship()

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        given = [each or () for each in super().evidence(parent, links)]
        kept = company(links, [each[0] + each[-1] for each in given])
        home, pattern, relevance = parent.host, parent.pattern, parent.relevance
        near = self.kinship.edge * relevance
        kin = [near if link.pattern == pattern and link.host == home else 0.0 for link in links]
        return [(*each, c, k) for each, c, k in zip(given, kept, kin, strict=True)]

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        p, (c, k) = self.params, link_evidence[_WIDTH:]
        return super().priority(url_id, link_evidence) + p["company"] * c + p["kin"] * k

    def parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        p, (c, k) = self.params, link_evidence[_WIDTH:]
        given = super().parts(link_evidence[:_WIDTH])
        return given | {"company": p["company"] * c, "kin": p["kin"] * k}


class Kinship:
    """Whether a relevant page leads to others by links to URLs of its own host and pattern.

    It does in a manual, where chapters cite chapters; a blog's articles go on to whatever was
    written next. So each crawl counts: of its last pages those that such a link brought, and the
    others. `edge` = logit r(kin) - logit r(others), 0 to 2; r(kin) shrunk to r(others) by 10 pages.

    Worked: 12 of 20 kin are relevant, 19 of 78 others: r(others) = 20/80 = 0.25, r(kin) =
    (12 + 2.5)/30 = 0.48; edge = -0.07 + 1.10 = 1.03.
    """

    def __init__(self) -> None:
        self.edge = 0.0
        self._places: dict[int, str] = {}  # of relevant pages, by id
        self._last: deque[tuple[bool, bool]] = deque()
        self._kin, self._others = Tally(), Tally()

    def saw(self, page: Titled) -> None:
        """Count a page that came."""
        place = f"{host_of(page.url)} {url_pattern(page.url)}"
        is_kin = self._places.get(page.hub) == place
        self._count(is_kin, page.relevant, 1)
        self._last.append((is_kin, page.relevant))
        if len(self._last) > WINDOW:
            self._count(*self._last.popleft(), -1)
        if page.relevant:
            self._places[page.id] = place
            if len(self._places) > WINDOW:
                del self._places[next(iter(self._places))]
        of_others = (self._others.yielded + 1.0) / (self._others.fetched + 2.0)
        of_kin = shrunk_rate(self._kin, of_others, _PAGES)
        self.edge = min(_MOST, max(0.0, logit(of_kin) - logit(of_others)))

    def _count(self, is_kin: bool, relevant: bool, times: int) -> None:
        tally = self._kin if is_kin else self._others
        tally.fetched += times
        tally.yielded += times * relevant


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
