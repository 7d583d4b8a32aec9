"""The format of an experiment file (`*.toml`).

pages, budget   length of a crawl in pages, or in requests ("3x": three times the reachable
                relevant pages, plus 20)
round           pages per round of the tables (P1)
topic           description of a topic: "keywords", or the words of its seed pages with the
                weights of "p4" or "p5"; the tuned form weights the same pages as `focus` does
generated       size of the generated web, and seeds on it
recorded        seeds on a recorded web
other           web -> reason why the experiment is not run on it
way             strategy, form, and relevance model if it is not that of the form
alphas          values of α for which the first way of each form is repeated with β = 1 - α (P3)
claim           a statement of the paper about two ways, its measure and its figures
"""

import tomllib
from pathlib import Path

import msgspec

from bench.papers.portal import Portal
from focus.evaluate.variants import default_model

FORMS = {"published": "as published", "tuned": "tuned"}


class Generated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size and seeds of a generated web.

    seeds   "sports" (sports channels of the portals), "fronts" (their front pages), or a number of
            random pages on topic, like results of a search engine, at most a fifth of all
    """

    pages: int = 20_000
    hosts: int = 12
    portals: int = 1
    seeds: str | int = "fronts"

    def portal(self, seed: int) -> Portal:
        """Return the description of the web with this seed."""
        return Portal(self.pages, self.hosts, self.portals, seed)


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seeds on a recorded web: the topic's "own", or a number of random pages on topic."""

    seeds: str | int = "own"


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way of crawling; `rule` is the form of the strategy if it differs from `form`."""

    strategy: str
    form: str
    relevance: str = ""
    rule: str = ""
    params: dict[str, float] = {}

    @property
    def model(self) -> str:
        """The relevance model that guides the crawl."""
        return self.relevance or default_model(self.strategy, published=self.form == "published")

    @property
    def name(self) -> str:
        """The name of the way in tables and claims."""
        more = "".join(f", {name} {value:g}" for name, value in self.params.items())
        return f"{self.strategy}{more}, {FORMS[self.form]}"


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim that `better` exceeds `worse` by `measure`, or that α = `peak` is best."""

    text: str
    measure: str
    better: str = ""
    worse: str = ""
    peak: float | None = None
    paper: str = ""


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of an experiment file."""

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

    def scaled(self, scale: float) -> "Experiment":
        """Return the experiment with smaller generated webs and proportionally shorter crawls."""
        web = msgspec.structs.replace(self.generated, pages=round(scale * self.generated.pages))
        pages, per_round = (
            None if size is None else round(scale * size) for size in (self.pages, self.round)
        )
        return msgspec.structs.replace(self, generated=web, pages=pages, round=per_round)

    def list_ways(self) -> list[Way]:
        """Return all ways, including those with the values of `alphas`."""
        variants = list(self.way)
        for form in FORMS if self.alphas else ():
            first = next(way for way in self.way if way.form == form)
            variants += [
                msgspec.structs.replace(first, params={"alpha": a, "beta": round(1 - a, 3)})
                for a in self.alphas
            ]
        return variants


def experiments(folder: Path, only: list[str]) -> dict[str, Experiment]:
    """Return the experiments of a folder by name; `only` selects some of them."""
    files = sorted(folder.glob("*.toml"))
    return {
        file.stem: msgspec.convert(tomllib.loads(file.read_text("utf-8")), Experiment)
        for file in files
        if not only or file.stem in only
    }
