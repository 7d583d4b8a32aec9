"""The sections of a crawl's report on its yield: tables and drawings of the pages found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from focus.report.bars import Bar, bars
from focus.report.charts import number, ticks
from focus.report.link_drawing import drawing
from focus.report.page import link, table
from focus.storage.distributions import LEVELS
from focus.storage.figures import CrawlFigures, Histogram, Level, YieldFigures
from focus.text.formatting import count, percent, printable

_KEY = (
    '<p class="key note"><span><svg width="12" height="12"><rect class="bar hit" width="12" '
    'height="12"/></svg>relevant</span> <span><svg width="12" height="12"><rect class="bar" '
    'width="12" height="12"/></svg>other pages</span></p>'
)

# -- places -------------------------------------------------------------------------


def places(figures: CrawlFigures) -> list[str]:
    if not figures.hosts:
        return []
    learned = any(each.rate is not None for each in figures.hosts)
    heads = ["yield", "requests", "yield/request", *(["learned rate"] if learned else [])]
    hosts = [[printable(each.host, 60), *_yield(each)] for each in figures.hosts]
    patterns = [
        [printable(each.host, 40), printable(each.pattern, 60), *_yield(each)]
        for each in figures.patterns
    ]
    parts = [
        "<h2>Where it paid</h2>",
        f"<h3>Hosts</h3>{_first(len(hosts), figures.hosts_known, 'host')}",
        table(["host", *heads], hosts),
    ]
    if any(each.pattern for each in figures.patterns):
        parts += [
            f"<h3>URL patterns</h3>{_first(len(patterns), figures.patterns_known, 'URL pattern')}",
            table(["host", "pattern", *heads], patterns),
        ]
    rates = (
        " Learned rate: what the strategy yield expects of the next request there; with few "
        "requests it stays near what is expected of any place."
    )
    parts.append(
        '<p class="note">Yield: relevance of what the requests brought, added up, as in '
        f"<code>focus status</code>.{rates if learned else ''}</p>"
    )
    return parts


def _yield(each: YieldFigures) -> list[str]:
    mean = each.yielded / each.fetched if each.fetched else 0.0
    rate = [] if each.rate is None else [f"{each.rate:.3f}"]
    return [f"{each.yielded:,.1f}", f"{each.fetched:,}", f"{mean:.3f}", *rate]


def _first(shown: int, known: int, noun: str) -> str:
    if shown == known:
        return ""
    return f'<p class="note">The best {shown:,} of {count(known, noun)}.</p>'


# -- distributions ------------------------------------------------------------------


def distributions(figures: CrawlFigures) -> list[str]:
    if not figures.crawl.pages:
        return []
    tenths = [
        [str(at), f"{each.low:.4g}", f"{each.high:.4g}", f"{each.pages:,}", f"{each.relevant:,}",
         percent(each.relevant / each.pages)]
        for at, each in enumerate(figures.tenths, 1)
    ]  # fmt: skip
    parts = [
        "<h2>Relevance and priority</h2>",
        _KEY,
        '<div class="halves">',
        _figure("Relevance of the pages", _histogram(figures.relevance, "relevance")),
        _figure("Priority when taken", _histogram(figures.priority, "priority")),
        "</div>",
        '<p class="note">Seeds have no priority. Its picture leaves out the lowest and highest '
        "1 %, which are counted in the end bars.</p>",
    ]
    if tenths:
        heads = ["tenth", "from", "to", "pages", "relevant", "share"]
        parts += ["<h3>Does a high priority mean a relevant page?</h3>", table(heads, tenths)]
    return parts


def _figure(caption: str, content: str) -> str:
    return f"<figure><figcaption><b>{escape(caption)}</b></figcaption>{content}</figure>"


def _histogram(found: Histogram, what: str) -> str:
    width = (found.high - found.low) / len(found.pages)
    drawn = [
        Bar(n, hits, f"{what} from {found.low + at * width:.3g}: {n:,}, relevant {hits:,}")
        for at, (n, hits) in enumerate(zip(found.pages, found.relevant, strict=True))
    ]
    whole = found.high - found.low
    labels = [
        ((each - found.low) / whole, number(each)) for each in ticks(found.low, found.high, 7)
    ]
    return bars(drawn, title=f"Pages by {what}", x_label="", labels=labels)


# -- pages --------------------------------------------------------------------------


def pages(figures: CrawlFigures) -> list[str]:
    parts = []
    if figures.best:
        rows = [
            [f"{each.quality:.3f}", link(each.url, each.title),
             f"{each.relevance:.3f}", f"{each.pagerank:.3g}", str(each.depth), f"{each.nth:,}"]
            for each in figures.best
        ]  # fmt: skip
        heads = ["quality", "page", "relevance", "PageRank", "depth", "request"]
        parts += [
            "<h2>Most valuable pages</h2>",
            '<p class="note">Relevant pages by quality: half PageRank, half relevance.</p>',
            table(heads, rows),
        ]
    if figures.hubs:
        rows = [
            [f"{each.relevant:,}", link(each.url, each.title), f"{each.followed:,}",
             percent(each.relevant / each.followed),
             "–" if each.relevance is None else f"{each.relevance:.3f}"]
            for each in figures.hubs
        ]  # fmt: skip
        heads = ["relevant", "page", "links followed", "share", "its own relevance"]
        parts += [
            "<h2>Best hubs</h2>",
            '<p class="note">Pages whose links led to relevant pages. A page counts for the link '
            "that spoke for it most.</p>",
            table(heads, rows),
        ]
    return parts


def links(figures: CrawlFigures) -> list[str]:
    if not figures.best:
        return []
    return [
        "<h2>Around the best pages</h2>",
        '<p class="note">From seeds on the left, depth by depth. Filled: the best; ringed in '
        "colour: relevant; grey lines: how a page was found; blue: other links.</p>",
        f'<div class="scroll map">{drawing(figures.links)}</div>',
    ]


# -- depth --------------------------------------------------------------------------


def steps(figures: CrawlFigures) -> list[str]:
    if not figures.depths:
        return []
    return [
        "<h2>Depth and tunnels</h2>",
        _KEY,
        '<div class="halves">',
        _figure("Links from a seed", _levels(figures.depths, "depth")),
        _figure("Irrelevant pages crossed just before", _levels(figures.tunnels, "crossed")),
        "</div>",
        '<p class="note">Above the bars: their relevant share. What is found behind irrelevant '
        "pages would be lost to a crawl that follows relevant ones alone.</p>",
    ]


def _levels(levels: Sequence[Level], what: str) -> str:
    last = levels[-1].steps
    counts = {each.steps: each for each in levels}
    drawn, labels = [], []
    for steps in range(last + 1):
        level = counts.get(steps, Level(steps, 0, 0))
        share = f"{level.relevant / level.pages:.0%}" if level.relevant else ""
        told = f"{what} {steps}: {count(level.pages, 'page')}, relevant {level.relevant:,}"
        drawn.append(Bar(level.pages, level.relevant, told, share))
        beyond = steps == last and last + 1 >= LEVELS
        labels.append(((steps + 0.5) / (last + 1), f"{steps}+" if beyond else str(steps)))
    return bars(drawn, title=f"Pages by {what}", x_label="", labels=labels)
