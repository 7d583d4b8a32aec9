"""Makes the tables and drawings of a crawl's report on its yield."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from focus.i18n import say
from focus.report.bars import Bar, bars
from focus.report.charts import number, ticks
from focus.report.link_drawing import drawing
from focus.report.page import Cell, PageLink
from focus.storage.distributions import LEVELS
from focus.storage.figures import CrawlFigures, Histogram, Level, YieldFigures
from focus.text.formatting import count, percent, printable


def tables(figures: CrawlFigures) -> dict[str, object]:
    """Rows of cells, by the names that the template has for them."""
    has_patterns = any(each.pattern for each in figures.patterns)
    best: list[list[Cell]] = [
        [f"{each.quality:.3f}", PageLink(each.url, each.title),
         f"{each.relevance:.3f}", f"{each.pagerank:.3g}", str(each.depth), f"{each.nth:,}"]
        for each in figures.best
    ]  # fmt: skip
    hubs: list[list[Cell]] = [
        [f"{each.relevant:,}", PageLink(each.url, each.title), f"{each.followed:,}",
         percent(each.relevant / each.followed),
         "–" if each.relevance is None else f"{each.relevance:.3f}"]
        for each in figures.hubs
    ]  # fmt: skip
    return {
        "learned": any(each.rate is not None for each in figures.hosts),
        "hosts": [[printable(each.host, 60), *_yield(each)] for each in figures.hosts],
        "hosts_known": count(figures.hosts_known, "host"),
        "patterns": [
            [printable(each.host, 40), printable(each.pattern, 60), *_yield(each)]
            for each in figures.patterns
            if has_patterns
        ],
        "patterns_known": count(figures.patterns_known, "URL pattern"),
        "tenths": [
            [str(at), f"{each.low:.4g}", f"{each.high:.4g}", f"{each.pages:,}",
             f"{each.relevant:,}", percent(each.relevant / each.pages)]
            for at, each in enumerate(figures.tenths, 1)
        ],
        "best_pages": best,
        "hubs": hubs,
    }  # fmt: skip


def _yield(each: YieldFigures) -> list[str]:
    mean = each.yielded / each.fetched if each.fetched else 0.0
    rate = [] if each.rate is None else [f"{each.rate:.3f}"]
    return [f"{each.yielded:,.1f}", f"{each.fetched:,}", f"{mean:.3f}", *rate]


def drawings(figures: CrawlFigures) -> dict[str, Markup]:
    """SVG elements, by the names that the template has for them."""
    found = {}
    if figures.crawl.pages:
        found["relevance"] = _histogram(figures.relevance, say("relevance"))
        found["priority"] = _histogram(figures.priority, say("the priority"))
    if figures.best:
        found["map"] = drawing(figures.links)
    if figures.depths:
        found["depths"] = _levels(figures.depths, say("links deep"))
        found["tunnels"] = _levels(figures.tunnels, say("crossed"))
    return found


def _histogram(found: Histogram, what: str) -> Markup:
    width = (found.high - found.low) / len(found.pages)
    drawn = [
        Bar(
            n,
            hits,
            say(
                "{what} from {low:.3g}: {n:,}, relevant {hits:,}",
                what=what,
                low=found.low + at * width,
                n=n,
                hits=hits,
            ),
        )
        for at, (n, hits) in enumerate(zip(found.pages, found.relevant, strict=True))
    ]
    whole = found.high - found.low
    labels = [
        ((each - found.low) / whole, number(each)) for each in ticks(found.low, found.high, 7)
    ]
    return bars(drawn, title=say("Pages by {what}", what=what), x_label="", labels=labels)


def _levels(levels: Sequence[Level], what: str) -> Markup:
    last = levels[-1].steps
    counts = {each.steps: each for each in levels}
    drawn, labels = [], []
    for steps in range(last + 1):
        level = counts.get(steps, Level(steps, 0, 0))
        share = f"{level.relevant / level.pages:.0%}" if level.relevant else ""
        told = say(
            "{what} {steps}: {pages}, relevant {relevant:,}",
            what=what,
            steps=steps,
            pages=count(level.pages, "page"),
            relevant=level.relevant,
        )
        drawn.append(Bar(level.pages, level.relevant, told, share))
        beyond = steps == last and last + 1 >= LEVELS
        labels.append(((steps + 0.5) / (last + 1), f"{steps}+" if beyond else str(steps)))
    return bars(drawn, title=say("Pages by {what}", what=what), x_label="", labels=labels)
