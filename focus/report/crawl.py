"""Writes the HTML report of one crawl: its course, its yield, its conduct."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from focus.i18n import say
from focus.report import conduct, findings
from focus.report.charts import Frame, Series, chart, key, number, ticks
from focus.report.link_drawing import drawing
from focus.report.page import Tile, h2, note, page, pairs, table, tiles
from focus.report.pictures import curves, document
from focus.storage.figures import CrawlFigures
from focus.text.formatting import count, percent, printable, size, span

_TOPS = (0.05, 0.1, 0.25, 0.5, 1.0)


def crawl_html(figures: CrawlFigures) -> str:
    """The whole page."""
    topic = printable(figures.crawl.topic, 80)
    parts = [
        f"<h1>{escape(topic)}: {count(figures.crawl.relevant, 'relevant page')}</h1>",
        f"<p>{escape(_summary(figures))}</p>",
        tiles(_tiles(figures)),
        *_warnings(figures),
        _settings(figures),
        *_course(figures),
        *findings.places(figures),
        *findings.distributions(figures),
        *findings.pages(figures),
        *findings.links(figures),
        *findings.steps(figures),
        *conduct.failures(figures),
        *conduct.politeness(figures),
        *_paper(figures),
    ]
    return page(say("focus report: {topic}", topic=topic), parts)


# -- head ---------------------------------------------------------------------------


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
    last = figures.course[-figures.window :]
    pages, relevant = sum(each.pages for each in last), sum(each.relevant for each in last)
    minutes = figures.seconds / 60
    return [
        Tile(say("requests"), f"{figures.requests:,}"),
        Tile(say("pages"), f"{crawl.pages:,}"),
        Tile(say("relevant"), f"{crawl.relevant:,}"),
        Tile(say("harvest rate"), percent(crawl.harvest_rate)),
        Tile(say("of the last 5 %"), percent(relevant / pages) if pages else "–"),
        Tile(say("time"), span(figures.seconds)),
        Tile(say("per minute"), f"{crawl.relevant / minutes:.1f}" if minutes else "–"),
        Tile(say("received"), size(figures.bytes)),
    ]


def _warnings(figures: CrawlFigures) -> list[str]:
    judged, parts = figures.judged, []
    if judged.labelled:
        parts.append(
            note(
                say(
                    "Of {pages} that people labelled, {relevant:,} are relevant; the model calls "
                    "{said:,} so, {both:,} of them rightly.",
                    pages=count(judged.labelled, "page"),
                    relevant=judged.relevant,
                    said=judged.said,
                    both=judged.both,
                )
            )
        )
    else:
        parts.append(
            note(
                say(
                    "Self-judged: the relevance that steers the crawl also judges it here. `focus "
                    "label` adds labels of your own; `focus compare` judges by labels alone."
                ),
                "warn",
            )
        )
    if not figures.crawl.pages:
        parts.append(note(say("This crawl has no page yet."), "warn"))
    return parts


def _settings(figures: CrawlFigures) -> str:
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
    rows = [
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
    return h2(say("What was asked for")) + pairs(rows)


def _limit(name: str, value: float) -> str:
    if name.endswith("_s"):
        return f"{name.removesuffix('_s').replace('_', ' ')} {span(value)}"
    number = size(int(value)) if name == "max_bytes" else f"{value:,}"
    return f"{name.replace('_', ' ')} {number}"


# -- course -------------------------------------------------------------------------


def _course(figures: CrawlFigures) -> list[str]:
    if not figures.crawl.pages:
        return []
    series = _harvest(figures)
    return [
        "<section>" + h2(say("Harvest over the crawl")),
        key(series),
        chart(_harvest_frame(figures, series), series, title=say("Harvest rate over requests")),
        note(
            say(
                "Relevant share of the pages. Requests count robots.txt, redirects and failures "
                "as well."
            )
        )
        + "</section>",
    ]


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


def _paper(figures: CrawlFigures) -> list[str]:
    if not figures.rounds:
        return []
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
    efficiency = ["算法 algorithm", "总页面数 pages", "主题相关页面数 relevant",
                  "爬取时间 (min) time", "算法效率 per minute"]  # fmt: skip
    return [
        '<h2 lang="zh">算法对比 In the form of the paper (P1, tables 5-5 to 5-10)</h2>',
        note(
            say(
                "All crawls for this topic in the database, judged by their own models. They "
                "compare only as far as their numbers of pages do."
            )
        ),
        "<h3>平均查准率 Average precision (tables 5-7, 5-9)</h3>",
        table(["算法 algorithm", "平均查准率 average precision"], precisions),
        "<h3>算法效率 Efficiency (tables 5-5, 5-6, 5-8, 5-10)</h3>",
        table(efficiency, efficiencies),
        "<h3>查准率 Precision by rounds of this crawl (figures 5-2 to 5-9)</h3>",
        table(
            ["轮 round", "总页面数 pages", "主题相关页面数 relevant", "本轮 this round",
             "查准率 so far"],
            rounds,
        ),
        note(
            say(
                "Ten rounds. The average is that of the precision so far at the end of each, as "
                "the paper's figures imply: 102 of 1,000 pages there average 16.52 %."
            )
        ),
    ]  # fmt: skip


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
