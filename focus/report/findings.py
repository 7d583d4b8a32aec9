"""The sections of a crawl's report on its yield: tables and drawings of the pages found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from focus.i18n import say, says
from focus.report.bars import Bar, bars
from focus.report.charts import number, ticks
from focus.report.link_drawing import drawing
from focus.report.page import h2, h3, link, note, table
from focus.storage.distributions import LEVELS
from focus.storage.figures import CrawlFigures, Histogram, Level, YieldFigures
from focus.text.formatting import count, percent, printable


def _key() -> str:
    """What the colours of the bars mean."""
    square = '<svg width="12" height="12"><rect class="bar{}" width="12" height="12"/></svg>'
    return (
        f'<p class="key note"><span>{square.format(" hit")}{escape(say("relevant"))}</span> '
        f"<span>{square.format('')}{escape(say('other pages'))}</span></p>"
    )


# -- places -------------------------------------------------------------------------


def places(figures: CrawlFigures) -> list[str]:
    if not figures.hosts:
        return []
    learned = any(each.rate is not None for each in figures.hosts)
    heads = [
        *says("yield", "requests", "yield/request"),
        *(says("learned rate") if learned else ()),
    ]
    hosts = [[printable(each.host, 60), *_yield(each)] for each in figures.hosts]
    patterns = [
        [printable(each.host, 40), printable(each.pattern, 60), *_yield(each)]
        for each in figures.patterns
    ]
    parts = [
        h2(say("Where it paid")),
        h3(say("Hosts")) + _first(len(hosts), figures.hosts_known, "host"),
        table([say("host"), *heads], hosts),
    ]
    if any(each.pattern for each in figures.patterns):
        parts += [
            h3(say("URL patterns")) + _first(len(patterns), figures.patterns_known, "URL pattern"),
            table([*says("host", "pattern"), *heads], patterns),
        ]
    parts.append(
        note(say("Yield: relevance of what the requests brought, added up, as in `focus status`."))
    )
    if learned:
        parts.append(
            note(
                say(
                    "Learned rate: what the strategy yield expects of the next request there; with "
                    "few requests it stays near what is expected of any place."
                )
            )
        )
    return parts


def _yield(each: YieldFigures) -> list[str]:
    mean = each.yielded / each.fetched if each.fetched else 0.0
    rate = [] if each.rate is None else [f"{each.rate:.3f}"]
    return [f"{each.yielded:,.1f}", f"{each.fetched:,}", f"{mean:.3f}", *rate]


def _first(shown: int, known: int, noun: str) -> str:
    if shown == known:
        return ""
    return note(say("The best {n:,} of {all}.", n=shown, all=count(known, noun)))


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
        h2(say("Relevance and priority")),
        _key(),
        '<div class="halves">',
        _figure(say("Relevance of the pages"), _histogram(figures.relevance, say("relevance"))),
        _figure(say("Priority when taken"), _histogram(figures.priority, say("the priority"))),
        "</div>",
        note(
            say(
                "Seeds have no priority. Its picture leaves out the lowest and highest 1 %, which "
                "are counted in the end bars."
            )
        ),
    ]
    if tenths:
        heads = says("tenth", "from", "to", "pages", "relevant", "share")
        parts += [h3(say("Does a high priority mean a relevant page?")), table(heads, tenths)]
    return parts


def _figure(caption: str, content: str) -> str:
    return f"<figure><figcaption><b>{escape(caption)}</b></figcaption>{content}</figure>"


def _histogram(found: Histogram, what: str) -> str:
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


# -- pages --------------------------------------------------------------------------


def pages(figures: CrawlFigures) -> list[str]:
    parts = []
    if figures.best:
        rows = [
            [f"{each.quality:.3f}", link(each.url, each.title),
             f"{each.relevance:.3f}", f"{each.pagerank:.3g}", str(each.depth), f"{each.nth:,}"]
            for each in figures.best
        ]  # fmt: skip
        heads = says("quality", "page", "relevance", "PageRank", "links deep", "request")
        parts += [
            h2(say("Most valuable pages")),
            note(say("Relevant pages by quality: half PageRank, half relevance.")),
            table(heads, rows),
        ]
    if figures.hubs:
        rows = [
            [f"{each.relevant:,}", link(each.url, each.title), f"{each.followed:,}",
             percent(each.relevant / each.followed),
             "–" if each.relevance is None else f"{each.relevance:.3f}"]
            for each in figures.hubs
        ]  # fmt: skip
        heads = says("relevant", "page", "links followed", "share", "its own relevance")
        parts += [
            h2(say("Best hubs")),
            note(
                say(
                    "Pages whose links led to relevant pages. A page counts for the link "
                    "that spoke "
                    "for it most."
                )
            ),
            table(heads, rows),
        ]
    return parts


def links(figures: CrawlFigures) -> list[str]:
    if not figures.best:
        return []
    return [
        h2(say("Around the best pages")),
        note(
            say(
                "From seeds on the left, depth by depth. Filled: the best; ringed in colour: "
                "relevant; grey lines: how a page was found; blue: other links."
            )
        ),
        f'<div class="scroll map">{drawing(figures.links)}</div>',
    ]


# -- depth --------------------------------------------------------------------------


def steps(figures: CrawlFigures) -> list[str]:
    if not figures.depths:
        return []
    return [
        h2(say("Depth and tunnels")),
        _key(),
        '<div class="halves">',
        _figure(say("Links from a seed"), _levels(figures.depths, say("links deep"))),
        _figure(
            say("Irrelevant pages crossed just before"), _levels(figures.tunnels, say("crossed"))
        ),
        "</div>",
        note(
            say(
                "Above the bars: their relevant share. What is found behind irrelevant pages would "
                "be lost to a crawl that follows relevant ones alone."
            )
        ),
    ]


def _levels(levels: Sequence[Level], what: str) -> str:
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
