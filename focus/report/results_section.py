"""Tables and charts of a crawl report on the crawl's results."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from focus.i18n import say
from focus.report.bars import Bar, bar_chart
from focus.report.charts import format_number, round_ticks
from focus.report.page import Cell, PageLink
from focus.storage.distributions import MAX_LEVELS
from focus.storage.figures import CrawlFigures, Histogram, LevelFigures, YieldFigures
from focus.text.formatting import format_count, format_percent, printable


def make_tables(figures: CrawlFigures) -> dict[str, object]:
    """Return table rows under the names that the template uses."""
    has_patterns = any(pattern.pattern for pattern in figures.patterns)
    best: list[list[Cell]] = [
        [f"{page.quality:.3f}", PageLink(page.url, page.title),
         f"{page.relevance:.3f}", f"{page.pagerank:.3g}", str(page.depth), f"{page.nth:,}"]
        for page in figures.best
    ]  # fmt: skip
    hubs: list[list[Cell]] = [
        [f"{hub.relevant:,}", PageLink(hub.url, hub.title), f"{hub.followed:,}",
         format_percent(hub.relevant / hub.followed),
         "–" if hub.relevance is None else f"{hub.relevance:.3f}"]
        for hub in figures.hubs
    ]  # fmt: skip
    return {
        "hosts": [[printable(host.host, 60), *_yield_cells(host)] for host in figures.hosts],
        "hosts_known": format_count(figures.hosts_known, "host"),
        "patterns": [
            [printable(pattern.host, 40), printable(pattern.pattern, 60), *_yield_cells(pattern)]
            for pattern in figures.patterns
            if has_patterns
        ],
        "patterns_known": format_count(figures.patterns_known, "URL pattern"),
        "best_pages": best,
        "hubs": hubs,
        "terms": [[printable(term, 60), f"{pages:,}"] for term, pages in figures.term_uses.terms],
        "pages_by_terms": f"{figures.term_uses.pages:,}",
    }  # fmt: skip


def _yield_cells(place: YieldFigures) -> list[str]:
    mean = place.yielded / place.fetched if place.fetched else 0.0
    return [f"{place.yielded:,.1f}", f"{place.fetched:,}", f"{mean:.3f}"]


def make_charts(figures: CrawlFigures) -> dict[str, Markup]:
    """Return SVG elements under the names that the template uses."""
    if not figures.crawl.pages:
        return {}
    return {
        "relevance": _relevance_chart(figures.relevance),
        "depths": _depth_chart(figures.depths),
    }


def _relevance_chart(histogram: Histogram) -> Markup:
    what = say("relevance")
    width = (histogram.high - histogram.low) / len(histogram.pages)
    bars = [
        Bar(
            pages,
            relevant,
            say(
                "{what} from {low:.3g}: {n:,}, relevant {hits:,}",
                what=what,
                low=histogram.low + index * width,
                n=pages,
                hits=relevant,
            ),
        )
        for index, (pages, relevant) in enumerate(
            zip(histogram.pages, histogram.relevant, strict=True)
        )
    ]
    value_range = histogram.high - histogram.low
    labels = [
        ((tick - histogram.low) / value_range, format_number(tick))
        for tick in round_ticks(histogram.low, histogram.high, 7)
    ]
    return bar_chart(bars, title=say("Pages by {what}", what=what), labels=labels)


def _depth_chart(levels: Sequence[LevelFigures]) -> Markup:
    what, last = say("links deep"), levels[-1].steps
    levels_by_steps = {level.steps: level for level in levels}
    bars, labels = [], []
    for steps in range(last + 1):
        level = levels_by_steps.get(steps, LevelFigures(steps, 0, 0))
        share = f"{level.relevant / level.pages:.0%}" if level.relevant else ""
        tooltip = say(
            "{what} {steps}: {pages}, relevant {relevant:,}",
            what=what,
            steps=steps,
            pages=format_count(level.pages, "page"),
            relevant=level.relevant,
        )
        bars.append(Bar(level.pages, level.relevant, tooltip, share))
        is_open_ended = steps == last and last + 1 >= MAX_LEVELS
        labels.append(((steps + 0.5) / (last + 1), f"{steps}+" if is_open_ended else str(steps)))
    return bar_chart(bars, title=say("Pages by {what}", what=what), labels=labels)
