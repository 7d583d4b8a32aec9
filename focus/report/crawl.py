"""Writes the HTML report of one crawl: its course, its yield, its conduct."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from focus.i18n import say
from focus.report import conduct, findings
from focus.report.charts import Frame, Series, chart, key, number, ticks
from focus.report.link_drawing import drawing
from focus.report.page import Tile, rendered
from focus.report.pictures import curves, document
from focus.storage.figures import CrawlFigures
from focus.text.formatting import count, percent, printable, size, span

_TOPS = (0.05, 0.1, 0.25, 0.5, 1.0)


def crawl_html(figures: CrawlFigures) -> str:
    """The whole page."""
    return rendered(
        "crawl.html",
        figures=figures,
        topic=printable(figures.crawl.topic, 80),
        verdict=_verdict(figures),
        summary=_summary(figures),
        figures_of_head=_tiles(figures),
        judged=_judged(figures),
        settings=_settings(figures),
        course=_course(figures),
        **findings.tables(figures),
        **findings.drawings(figures),
        **conduct.tables(figures),
        **_paper(figures),
    )


# -- head ---------------------------------------------------------------------------


def _verdict(figures: CrawlFigures) -> str:
    """Return a sentence with the relevant pages and, of a long crawl, the recent harvest."""
    crawl = figures.crawl
    if not crawl.pages:
        return say("This crawl has no page yet.")
    found = say(
        "{relevant:,} of {pages} are relevant ({rate:.0%})",
        relevant=crawl.relevant,
        pages=count(crawl.pages, "page"),
        rate=crawl.harvest_rate,
    )
    if figures.requests <= 500:
        return say("{found}.", found=found)
    return say(
        "{found}; {late:.0%} of the last 500 requests found a relevant page, {all:.0%} of all.",
        found=found,
        late=figures.harvest_last_500,
        all=crawl.relevant / figures.requests,
    )


def _summary(figures: CrawlFigures) -> str:
    crawl = figures.crawl
    ended = say(crawl.reason or ("running" if crawl.running else "broken off"))
    begun = datetime.fromtimestamp(crawl.started_at).astimezone()
    return say(
        "Crawl {crawl} by {strategy}, begun {begun}, {ended}. A page is relevant when the model "
        "{model} says so.",
        crawl=crawl.id,
        strategy=crawl.strategy,
        begun=f"{begun:%Y-%m-%d %H:%M %Z}",
        ended=ended,
        model=figures.settings.relevance,
    )


def _tiles(figures: CrawlFigures) -> list[Tile]:
    crawl = figures.crawl
    minutes = figures.seconds / 60
    harvest = crawl.relevant / figures.requests if figures.requests else 0.0
    return [
        Tile(say("requests"), f"{figures.requests:,}"),
        Tile(say("pages"), f"{crawl.pages:,}"),
        Tile(say("relevant"), f"{crawl.relevant:,}"),
        Tile(say("harvest, all requests"), percent(harvest)),
        Tile(say("harvest, last 500"), percent(figures.harvest_last_500)),
        Tile(say("harvest, last 100"), percent(figures.harvest_last_100)),
        Tile(say("time"), span(figures.seconds)),
        Tile(say("per minute"), f"{crawl.relevant / minutes:.1f}" if minutes else "–"),
        Tile(say("received"), size(figures.bytes)),
    ]


def _judged(figures: CrawlFigures) -> str:
    """How the model fares by people's labels; "" without any."""
    judged = figures.judged
    if not judged.labelled:
        return ""
    return say(
        "Of {pages} that people labelled, {relevant:,} are relevant; the model calls "
        "{said:,} so, {both:,} of them rightly.",
        pages=count(judged.labelled, "page"),
        relevant=judged.relevant,
        said=judged.said,
        both=judged.both,
    )


def _settings(figures: CrawlFigures) -> list[tuple[str, str]]:
    told = figures.settings

    def numbers(params: dict[str, float]) -> str:
        return "".join(f", {name} = {value:g}" for name, value in params.items())

    published = say(" (as published)") if told.as_published else ""
    threshold = (
        ""
        if told.threshold is None
        else say(", relevant from {threshold:g}", threshold=told.threshold)
    )
    seeds = [printable(each) for each in told.seeds]
    limits = [_limit(name, value) for name, value in told.limits.items()]
    robots = say(", robots.txt ignored") if told.ignore_robots else ""
    return [
        (say("topic"), ", ".join(map(printable, told.keywords)) or printable(figures.crawl.topic)),
        (
            say("seeds"),
            " ".join(seeds[:20]) + (say(" … ({n:,} in all)", n=len(seeds)) if seeds[20:] else ""),
        ),
        (say("strategy"), told.strategy + published + numbers(told.params)),
        (say("relevance"), told.relevance + threshold + numbers(told.model_params)),
        (say("how far"), told.scope),
        (say("limits"), ", ".join(limits) or say("none")),
        (
            say("politeness"),
            say(
                "{n} at once per host, {delay_s:g} s between", n=told.per_host, delay_s=told.delay_s
            )
            + robots,
        ),
        (say("at once"), count(told.concurrency, "request")),
        (say("known as"), printable(told.agent)),
        (say("URLs"), ", ".join(f"{n:,} {say(state)}" for state, n in figures.states.items())),
    ]


def _limit(name: str, value: float) -> str:
    if name.endswith("_s"):
        return f"{name.removesuffix('_s').replace('_', ' ')} {span(value)}"
    number = size(int(value)) if name == "max_bytes" else f"{value:,}"
    return f"{name.replace('_', ' ')} {number}"


# -- course -------------------------------------------------------------------------


def _course(figures: CrawlFigures) -> dict[str, Markup]:
    if not figures.crawl.pages:
        return {}
    series = _harvest(figures)
    title = say("Harvest rate over requests")
    return {
        "key": key(series),
        "chart": chart(_harvest_frame(figures, series), series, title=title),
    }


def _harvest_frame(figures: CrawlFigures, series: Sequence[Series]) -> Frame:
    most = max(value for each in series for value in each.values)
    marks = [(each / figures.requests, number(each)) for each in ticks(0.0, figures.requests, 6)]
    return Frame(
        width=860, height=420, x_label=say("requests"), x_ticks=[m for m in marks if m[0] < 0.97],
        y_label=say("harvest rate"), bottom=52, left=56, top=42, wide=True,
        y_top=next(top for top in _TOPS if top >= min(1.0, most)),
    )  # fmt: skip


def _harvest(figures: CrawlFigures) -> list[Series]:
    """Harvest rate so far, and over windows of 5 % of the requests (as before without pages)."""
    course, window = figures.course, figures.window
    so_far: list[float] = []
    lately: list[float] = []
    pages = hits = 0
    for at, bucket in enumerate(course):
        pages, hits = pages + bucket.pages, hits + bucket.relevant
        so_far.append(hits / pages if pages else 0.0)
        recent = course[max(0, at + 1 - window) : at + 1]
        n = sum(each.pages for each in recent)
        before = lately[-1] if lately else 0.0
        lately.append(sum(each.relevant for each in recent) / n if n else before)
    return [
        Series(say("so far"), 0, [so_far[0], *so_far]),
        Series(say("in the last 5 % of the requests"), 1, [lately[0], *lately]),
    ]


# -- P1 -----------------------------------------------------------------------------


def _paper(figures: CrawlFigures) -> dict[str, list[list[str]]]:
    rounds = [
        [str(at), f"{each.pages:,}", f"{each.relevant:,}", percent(each.precision),
         percent(each.so_far)]
        for at, each in enumerate(figures.rounds, 1)
    ]  # fmt: skip
    names = [
        f"{each.strategy}, {each.relevance}"
        + (
            say(" (this crawl)")
            if each.crawl == figures.crawl.id
            else say(" (crawl {crawl})", crawl=each.crawl)
        )
        for each in figures.algorithms
    ]
    precisions = [
        [name, percent(each.average_precision)]
        for name, each in zip(names, figures.algorithms, strict=True)
    ]
    efficiencies = [
        [name, f"{each.pages:,}", f"{each.relevant:,}", f"{each.minutes:.2f}",
         f"{each.efficiency:.2f}"]
        for name, each in zip(names, figures.algorithms, strict=True)
    ]  # fmt: skip
    return {"rounds": rounds, "precisions": precisions, "efficiencies": efficiencies}


# -- pictures -----------------------------------------------------------------------


def crawl_pictures(figures: CrawlFigures) -> dict[str, str]:
    """The drawings that are worth a file of their own, as SVG documents by name."""
    if not figures.crawl.pages:
        return {}
    topic = printable(figures.crawl.topic, 60)
    series = _harvest(figures)
    title = say("{topic}: harvest rate over requests", topic=topic)
    found = {"harvest": curves(_harvest_frame(figures, series), series, title=title)}
    if figures.best:
        found["links"] = document(
            drawing(figures.links), title=say("{topic}: around the best pages", topic=topic)
        )
    return found
