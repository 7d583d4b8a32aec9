"""Shows a sitting of `focus judge`, and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from focus.evaluate.pools import SampledPage, by_stratum
from focus.learn.labelling import LabelQuestion
from focus.metrics.sampling import Bin, Estimate, reliability, share
from focus.text.formatting import count, percent, printable, table


class JudgedSample(msgspec.Struct, frozen=True):
    """The figures of a judged sample, of a crawl or pool.

    precision   share on topic of all pages; relevant, others: of what the judge took for
                relevant, and of the rest; recall: of the pages on topic, those it took
    harvest     pages on topic per request; None for a pool
    bins, error calibration of the judge's numbers; none for a pool
    """

    pages: int
    drawn: int
    on: int
    partly: int
    off: int
    precision: Estimate
    relevant: Estimate
    others: Estimate
    recall: float
    harvest: Estimate | None
    bins: list[Bin]
    error: float


def summed_up(pages: Sequence[SampledPage], all_pages: int, requests: int | None) -> JudgedSample:
    """The estimates of a sample; `requests` of the crawl, None for a pool."""
    said = [page.said for page in pages if page.said]
    strata = by_stratum(pages)
    taken = {name: each for name, each in strata.items() if name.startswith("relevant")}
    rest = {name: each for name, each in strata.items() if not name.startswith("relevant")}
    precision, relevant, others = share(strata), share(taken), share(rest)
    on = relevant.value * sum(size for size, _ in taken.values())
    missed = others.value * sum(size for size, _ in rest.values())
    rate = all_pages / requests if requests else 0.0
    numbers = [
        (min(1.0, max(0.0, page.relevance)), page.value, page.weight)
        for page in pages
        if page.said and page.relevance is not None
    ]
    bins, error = reliability(numbers) if numbers else ([], 0.0)
    return JudgedSample(
        pages=all_pages,
        drawn=len(pages),
        on=said.count("y"),
        partly=said.count("p"),
        off=said.count("n"),
        precision=precision,
        relevant=relevant,
        others=others,
        recall=on / (on + missed) if on + missed else 0.0,
        harvest=Estimate(*(rate * each for each in precision)) if requests else None,
        bins=bins,
        error=error,
    )


def question_lines(question: LabelQuestion, number: int, of: int) -> list[str]:
    """A page as a person is asked about it; what the judge said would lead them."""
    return [
        "",
        f"{number} of {of}  {printable(question.title or '(no title)', 88)}",
        f"  {printable(question.url, 94)}",
        f"  {question.snippet}",
    ]


def judging_lines(found: JudgedSample, output: Path) -> list[str]:
    """What came of it, for people."""
    judged = found.on + found.partly + found.off
    lines = [
        f"{count(judged, 'page')} of {found.drawn:,} drawn judged: {found.on:,} on topic, "
        f"{found.partly:,} partly, {found.off:,} off; kept in {output}"
    ]
    if not judged:
        return lines
    rows = [
        ("on topic", _estimate(found.precision), f"of {count(found.pages, 'page')}"),
        ("of those taken for relevant", _estimate(found.relevant), "precision of the judge"),
        ("of the others", _estimate(found.others), f"its recall is {percent(found.recall)}"),
    ]
    if found.harvest is not None:
        rows.append(("per request", _estimate(found.harvest), "harvest"))
    lines += table(rows, indent="  ")
    if found.bins:
        bins = [
            (f"{each.said:.2f}", f"{each.found:.2f}", count(each.pages, "page"))
            for each in found.bins
        ]
        lines += ["Calibration: the judge said, people found", *table(bins, indent="  ")]
        lines.append(f"  calibration error {found.error:.3f}")
    return lines


def _estimate(found: Estimate) -> str:
    return f"{percent(found.value)} ({percent(found.low)} to {percent(found.high)})"
