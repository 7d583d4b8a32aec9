"""Writes docs/results.md, in both languages: our figures beside the papers'.

    python -m bench.papers.write

Every number and every verdict on the page comes from bench/results/*.json and from the
papers' own figures in the experiments' files; what is prose there comes from these files.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.papers.experiment import FORMS, Claim, Experiment, experiments
from bench.wording import named, say, write_both
from focus.metrics.significance import bootstrap, mean

ENOUGH = 4
"""Topics from which on an interval over topics is given; with fewer, only who was ahead."""

WEBS = {
    "generated": "generated web, judged by the generator's labels",
    "recorded": "recorded web, judged by the tags of its authors",
}
_OWN = {"relevant", "precision", "average_precision"}  # measures that exist by own judge, too
_HEAD = """# Results

Do the papers' crawlers do what the papers say, when somebody else judges them? This page is
written by `bench.papers.write` from outputs in `bench/results/`; no number or verdict here is
typed by hand, except the papers' own, and the reasons given for ours.

Each experiment runs on a **generated web** (the one of `focus demo`, labels known by
construction) and on a **recorded web** of some 23,000 pages of 33 real sites, whose labels are
the tags that authors gave their pages. `as published` is the paper's strategy, relevance model,
numbers and description of the topic ([papers](papers.md)); `tuned` is what `focus` does by
default, guided by `evidence`, with a topic made of the same words or pages. *By its own judge*
is the count that the papers give: pages that the model which steered the crawl takes for
relevant. *By labels* is the independent one, and the one that counts; on the recorded web it is
a lower bound, since authors do not tag everything.

A claim **holds** if the mean difference over topics is above 0 with its whole 95 % bootstrap
interval, **does not hold** if the interval lies below 0, and is **open** if it holds 0; with
four topics that is little more than all of them agreeing. With fewer than four there is no
interval, and only who was *ahead* is said. Where our set-up is not the paper's there is no
verdict.

**What was tuned where.** The numbers of `evidence`, and the tuned numbers of all strategies,
were chosen with the recorded web's ten topics in view: rows marked † are not evidence on that
web. None was chosen on these generated webs. Published rows have the papers' numbers
everywhere.
"""

OWN_WEB = "recorded"
"""The web that tuned numbers were chosen on."""


class TopicFound(msgspec.Struct, frozen=True):
    """A topic: labelled relevant pages, those that links lead to, and seeds."""

    name: str
    relevant: int
    targets: int
    seeds: int


class OfTopic(msgspec.Struct, frozen=True):
    """One way for one topic: numbers, relevant pages per round, recall at thirds."""

    topic: str
    numbers: dict[str, float]
    rounds: list[float]
    own_rounds: list[float]
    thirds: list[float]
    stop: str


class OfWay(msgspec.Struct, frozen=True):
    """One way of crawling over all topics."""

    name: str
    strategy: str
    form: str
    relevance: str
    params: dict[str, float]
    topics: list[OfTopic]

    def mean(self, measure: str) -> float:
        """A number's mean over topics."""
        return mean([each.numbers[measure] for each in self.topics])


class Found(msgspec.Struct, frozen=True):
    """What an experiment found on one web."""

    focus: str
    web: str
    pages: int
    archive: str
    topics: list[TopicFound]
    ways: list[OfWay]

    def way(self, name: str) -> OfWay | None:
        """The way of that name."""
        return next((each for each in self.ways if each.name == name), None)


def text(all_of_them: Mapping[str, Experiment], results: Path) -> str:
    """The page, from whatever results are there."""
    found = {
        name: {
            web: msgspec.json.decode(path.read_bytes(), type=Found)
            for web in WEBS
            if (path := results / f"{name}.{web}.json").exists()
        }
        for name in all_of_them
    }
    lines = [say(_HEAD), *_summary(all_of_them, found)]
    for name, experiment in all_of_them.items():
        lines += _experiment(experiment, found[name])
    lines += chapters(results / "p3-chapters.json")
    return "\n".join(lines).rstrip() + "\n"


# -- claims -------------------------------------------------------------------------


def verdict(found: Found, claim: Claim, form: str, measure: str) -> str:
    """Whether a claim holds, with the figures it hangs on; "" if it was not tried."""
    if claim.peak is not None:
        return _peak(found, claim, form, measure)
    ours = found.way(f"{claim.better}, {FORMS[form]}")
    theirs = found.way(f"{claim.worse}, {FORMS[form]}")
    if ours is None or theirs is None:
        return ""
    gaps = [
        a.numbers[measure] - b.numbers[measure]
        for a, b in zip(ours.topics, theirs.topics, strict=True)
    ]
    return say(
        "{judged}: {better} to {worse}",
        judged=say(_judged(gaps)),
        better=_figure(measure, ours.mean(measure)),
        worse=_figure(measure, theirs.mean(measure)),
    )


def _judged(gaps: Sequence[float]) -> str:
    if len(gaps) < ENOUGH:
        middle = mean(gaps)
        return "ahead" if middle > 0 else "behind" if middle < 0 else "equal"
    low, high = bootstrap(gaps, Random("claim"), statistic=mean) or (0.0, 0.0)
    return "**holds**" if low > 0 else "**does not hold**" if high < 0 else "open"


def _peak(found: Found, claim: Claim, form: str, measure: str) -> str:
    sweep = {
        way.params["alpha"]: way.mean(measure)
        for way in found.ways
        if way.form == form and "alpha" in way.name and not any(map(_died, way.topics))
    }  # a share of the few pages of a crawl that died is no match for one that went on
    if not sweep:
        return ""
    best = max(sweep.values())
    at = [f"{alpha:g}" for alpha, value in sweep.items() if value >= best - 1e-9]
    there = _figure(measure, sweep[claim.peak]) if claim.peak in sweep else say("ended early")
    said = "**does not hold**: best {best} at α = {at}; {there} at {peak:g}"
    if f"{claim.peak:g}" in at:
        said = "**holds**: {best} at α = {at}"
        if len(at) > 1:
            said = "open: {best} at α = {at} alike"
    best_text, places = _figure(measure, best), ", ".join(at)
    return say(said, best=best_text, at=places, there=there, peak=claim.peak)


def _figure(measure: str, value: float) -> str:
    if measure.endswith("relevant"):
        return f"{value:,.0f}"
    return f"{value:.1%}".replace("%", " %")


def _summary(
    all_of_them: Mapping[str, Experiment], found: Mapping[str, Mapping[str, Found]]
) -> Iterator[str]:
    """Every claim with the paper's figures and ours as published, first of all."""
    yield say("## The claims, as published, by labels\n")
    rows = []
    for name, experiment in all_of_them.items():
        for claim in experiment.claim:
            said = [
                _said(experiment, found[name][web], claim, "published", claim.measure)
                if web in found[name]
                else say("not run")
                for web in WEBS
            ]
            why = say(claim.why) if claim.why else ""
            rows.append([name.upper(), say(claim.text), _of_paper(claim.paper), *said, why])
    yield from table(["experiment", "claim", "the paper", *WEBS, "why"], rows)


def _of_paper(figures: str) -> str:
    """What the paper says, `608 to 399` or words."""
    better, to, worse = figures.partition(" to ")
    is_pair = to and better[0].isdigit() and " of " not in figures
    return say("{better} to {worse}", better=better, worse=worse) if is_pair else say(figures)


def _said(experiment: Experiment, one: Found, claim: Claim, form: str, measure: str) -> str:
    """The verdict, or only the figures where the set-up is not the paper's."""
    said = verdict(one, claim, form, measure)
    if one.web in experiment.other and said:
        figures = re.split("[:：] ?", said, maxsplit=1)[1]
        return say("no verdict: {figures}", figures=figures)
    return said


# -- an experiment ------------------------------------------------------------------


def _experiment(experiment: Experiment, found: Mapping[str, Found]) -> Iterator[str]:
    yield f"## {say(experiment.title)}\n"
    yield say("What the paper did: {did}\n", did=say(experiment.did))
    yield say("The paper's figures ({source}):\n", source=say(experiment.paper.source))
    yield from table(experiment.paper.head, [list(map(named, r)) for r in experiment.paper.rows])
    for web, one in found.items():
        yield say("### On the {web}\n", web=say(WEBS[web]))
        yield _size(experiment, one) + "\n"
        if web in experiment.other:
            yield say("No verdict here: {reason}\n", reason=say(experiment.other[web]))
        yield from _ways(experiment, one)
        if experiment.round:
            yield from _rounds(experiment, one)
        if experiment.alphas:
            yield from _alphas(experiment, one)
    for web in WEBS:
        if web not in found:
            yield say("*Not run yet on the {web} web.*\n", web=say(web))
    if found:
        yield say("### What comes of the claims\n")
        yield from _claims(experiment, found)
    yield say("### What differs, and why\n")
    yield say(experiment.differs.strip()) + "\n"


def _size(experiment: Experiment, one: Found) -> str:
    spent = say("{pages:,} pages", pages=experiment.pages or 0)
    if experiment.pages is None:
        spent = say(
            "{times} requests per relevant page that links lead to, plus 20",
            times=experiment.budget[:-1],
        )
    topics = ", ".join(map(_size_of, one.topics))
    said = "{pages:,} pages; each crawl {spent}. Topics: {topics}."
    return say(said, pages=one.pages, spent=spent, topics=topics)


def _size_of(topic: TopicFound) -> str:
    said = "{name} ({targets:,} of {relevant:,} relevant pages can be reached, {seeds} seed)"
    if topic.seeds > 1:
        said = said.replace("seed)", "seeds)")
    return say(said, **msgspec.structs.asdict(topic))


def _shown(way: str) -> str:
    """A way by its name, its form in the page's language."""
    what, _, form = way.rpartition(", ")
    return say("{what}, {form}", what=what, form=say(form))


def _ways(experiment: Experiment, one: Found) -> Iterator[str]:
    thirds = [] if experiment.pages else ["recall at 1/3", "at 2/3", "at the end"]
    head = ["crawler", "guided by", "pages", "relevant by labels", "precision", "by its own judge"]
    head += [*(["average precision"] if experiment.round else []), *thirds, "relevant per minute"]
    rows = []
    for way in one.ways:
        if experiment.alphas and "alpha" in way.name:
            continue
        mark = " †" if one.web == OWN_WEB and way.form == "tuned" else ""
        row = [_shown(way.name) + mark, f"`{way.relevance}`", f"{way.mean('pages'):,.0f}"]
        row += [_figure("relevant", way.mean("relevant")), _figure("", way.mean("precision"))]
        row.append(_figure("relevant", way.mean("own_relevant")))
        row += [_figure("", way.mean("average_precision"))] if experiment.round else []
        if thirds:
            row += [_figure("", mean([t.thirds[at] for t in way.topics])) for at in range(3)]
        rows.append([*row, f"{way.mean('efficiency'):.1f}"])
    yield from table(head, rows)
    died = sorted({way.name for way in one.ways for t in way.topics if _died(t)})
    if died:
        said = "Ran out of links before the end for at least one topic: {ways}.\n"
        yield say(said, ways="; ".join(map(_shown, died)))


def _died(topic: OfTopic) -> bool:
    return topic.stop == "frontier empty"


def _rounds(experiment: Experiment, one: Found) -> Iterator[str]:
    """Relevant pages per round, by labels (and by its own judge)."""
    said = "Relevant pages per {round:,} fetched, by labels (by its own judge):\n"
    yield say(said, round=experiment.round)
    number = len(one.ways[0].topics[0].rounds)
    rows = []
    for way in one.ways:
        pairs = (
            (mean([t.rounds[at] for t in way.topics]), mean([t.own_rounds[at] for t in way.topics]))
            for at in range(number)
        )
        rows.append([_shown(way.name), *(f"{a:.0f} ({b:.0f})" for a, b in pairs)])
    yield from table(["crawler", *(str(at + 1) for at in range(number))], rows)


def _alphas(experiment: Experiment, one: Found) -> Iterator[str]:
    yield say(
        "Harvest rate by labels (by its own judge; pages fetched) for each α; the best is sought "
        "among those that got to the end:\n"
    )
    head, rows = ["α", *(FORMS[form] for form in FORMS)], []
    for alpha in experiment.alphas:
        row = [f"{alpha:g}"]
        for form in FORMS:
            way = next(
                w for w in one.ways
                if w.form == form and "alpha" in w.name and w.params["alpha"] == alpha
            )  # fmt: skip
            own, pages = way.mean("own_precision"), way.mean("pages")
            row.append(f"{_figure('', way.mean('precision'))} ({_figure('', own)}; {pages:,.0f})")
        rows.append(row)
    yield from table(head, rows)


def _claims(experiment: Experiment, found: Mapping[str, Found]) -> Iterator[str]:
    head, rows = ["claim", "web", "form", "by labels", "by its own judge"], []
    for claim in experiment.claim:
        for web, one in found.items():
            for form, name in FORMS.items():
                said = _said(experiment, one, claim, form, claim.measure)
                own = (
                    _said(experiment, one, claim, form, f"own_{claim.measure}")
                    if claim.measure in _OWN
                    else ""
                )
                if said:
                    mark = " †" if web == OWN_WEB and form == "tuned" else ""
                    rows.append([say(claim.text), say(web), say(name) + mark, said, own])
    yield from table(head, rows)


# -- what is no crawl ---------------------------------------------------------------


def chapters(path: Path) -> Iterator[str]:
    """P3's chapters 3 and 4, and why there is nothing of P4."""
    yield say("## P3, chapter 3: the content of a page\n")
    yield say(
        'What the paper did: one article of a portal, shown before and after; "a good result", no '
        "figure.\n"
    )
    found = msgspec.json.decode(path.read_bytes()) if path.exists() else None
    if found is None:
        yield say("*Not run yet.*\n")
    else:
        content = found["content"]
        yield say(
            "Ours on {pages:,} pages of the recorded web, by the words that trafilatura finds, "
            "too: precision {precision}, recall {recall}, F {f1}. There is no claim to hold it "
            "against.\n",
            pages=content["pages"],
            **{name: _figure("", content[name]) for name in ("precision", "recall", "f1")},
        )
    yield say("## P3, chapter 4: naive Bayes with entities of a knowledge base\n")
    yield say(
        "What the paper did: 587 military and 856 other articles of a news corpus, CN-DBpedia; "
        "F 86 % with words alone, 90.9 % with entities (P 84.2 and 88 %, printed 80; R 87.9 and "
        "94 %).\n"
    )
    if found is not None:
        yield from _classifier(found["classifier"])
    yield "## P4\n"
    yield say(
        "P4 describes a crawler and measures nothing. Its W describes the topics of the P2 "
        "experiment, its centroid and cosine judge it, its quality orders exports.\n"
    )


def _classifier(found: Mapping[str, Any]) -> Iterator[str]:
    on, off = found["pages"]
    yield say(
        "Ours: {n_on:,} pages of the recorded web tagged {on} against {n_off:,} tagged {off}, "
        "500 features by information gain, the 127 entities that come with `focus`:\n",
        n_on=on,
        n_off=off,
        on=found["on"],
        off=found["off"],
    )
    rows = []
    for row in found["rows"]:
        numbers = [_figure("", row[name]) if name in row else "" for name in ("p", "r", "f")]
        features = say("words and entities" if row["entities"] else "words")
        rows.append([say(row["train"]), features, *numbers])
    yield from table(["trained on", "features", "precision", "recall", "F"], rows)
    first, second, *few = (row["f"] for row in found["rows"])
    gains = ", ".join(
        f"{_figure('', with_them - bare)}"
        for bare, with_them in zip(few[::2], few[1::2], strict=True)
    )
    said = "With all pages to train on the difference is {gain}, {way}; with few it is {gains}. "
    yield say(
        said + "No verdict: one pair of topics, and a small knowledge base of the first.\n",
        gain=_figure("", second - first),
        way=say("in favour of the claim" if second > first else "not in favour of the claim"),
        gains=gains,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in markdown, its head in the page's language; numbers to the right."""
    rows, head = list(rows), [say(each) for each in head]
    marks = ["---:" if _numeric(row[at] for row in rows) else "---" for at in range(len(head))]
    yield "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *rows]) + "\n"


def _numeric(cells: Iterable[str]) -> bool:
    return all(not cell or cell[0].isdigit() for cell in cells)


def main() -> None:
    """Write docs/results.md, and the Chinese one."""
    here = Path(__file__).parent
    write_both("results.md", lambda: text(experiments(here, []), here.parent / "results"))


if __name__ == "__main__":
    main()
