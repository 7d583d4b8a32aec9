"""Defines an experiment of a paper as its `*.toml` file says it.

pages, budget   how long a crawl is: pages fetched, or requests ("3x": 3 times the
                relevant pages that can be reached, plus 20)
round           pages per round of the tables (P1)
topics          on the generated web; on a recorded one all, unless --topics says fewer
topic           how the paper describes a topic: "keywords", or by the words of its seed pages,
                weighed as "p4" or "p5" do; the tuned form has the same pages, weighed as ours
generated       which generated web, and where crawls begin in it
recorded        where they begin in a recorded one
other           webs on which the set-up is not the paper's, and why: no verdict there
way             strategy, form, and relevance model if not that of the form; NAME, FORM is its name
alphas          the first way of each form is repeated with these α, and β = 1 - α (P3)
claim           what the paper says of two ways, by which measure, and its figures
"""

import tomllib
from pathlib import Path

import msgspec

from bench.papers.portal import Portal
from focus.evaluate.variants import guide

FORMS = {"published": "as published", "tuned": "tuned"}


class Generated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The web to generate. seeds: "sports" (the portals' sports channels), "fronts" (their
    front pages), or a number of pages on topic, drawn at random (as a search engine gives; at
    most a fifth of what there is)."""

    pages: int = 20_000
    hosts: int = 12
    portals: int = 1
    seeds: str | int = "fronts"

    def portal(self, pages: int | None, seed: int) -> Portal:
        """The web itself, of another size if asked for."""
        return Portal(pages or self.pages, self.hosts, self.portals, seed)


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seeds on a recorded web: the topic's "own", or so many pages on topic, drawn at random."""

    seeds: str | int = "own"


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of crawling. rule: the strategy's form, if not that of its numbers' row."""

    strategy: str
    form: str
    relevance: str = ""
    rule: str = ""
    params: dict[str, float] = {}

    @property
    def model(self) -> str:
        """The relevance model that guides it."""
        return self.relevance or guide(self.strategy, published=self.form == "published")

    @property
    def name(self) -> str:
        """As tables and claims call it."""
        more = "".join(f", {name} {value:g}" for name, value in self.params.items())
        return f"{self.strategy}{more}, {FORMS[self.form]}"


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`better` does better than `worse` by `measure`; or, with `peak`, α is best there.

    paper   the paper's own figures
    """

    text: str
    measure: str
    better: str = ""
    worse: str = ""
    peak: float | None = None
    paper: str = ""


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    topics: list[str]
    generated: Generated
    way: list[Way]
    claim: list[Claim]
    topic: str = "keywords"
    recorded: Recorded = Recorded()
    other: dict[str, str] = {}
    pages: int | None = None
    budget: str = "3x"
    round: int | None = None
    seed_orders: int = 1
    alphas: list[float] = []

    def ways(self) -> list[Way]:
        """All ways, α by α where that is asked for."""
        found = list(self.way)
        for form in FORMS if self.alphas else ():
            first = next(each for each in self.way if each.form == form)
            found += [
                msgspec.structs.replace(first, params={"alpha": a, "beta": round(1 - a, 3)})
                for a in self.alphas
            ]
        return found


def experiments(folder: Path, only: list[str]) -> dict[str, Experiment]:
    """Name -> experiment, all of a folder or those named."""
    files = sorted(folder.glob("*.toml"))
    return {
        file.stem: msgspec.convert(tomllib.loads(file.read_text("utf-8")), Experiment)
        for file in files
        if not only or file.stem in only
    }
