"""HTML report of one crawl: its progress, results, failures and requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from focus.i18n import say
from focus.report import requests_section, results_section
from focus.report.charts import Frame, Series, format_number, legend, line_chart, round_ticks
from focus.report.page import Tile, render_report
from focus.storage.figures import CrawlFigures
from focus.text.formatting import (
    format_count,
    format_duration,
    format_local_time,
    format_percent,
    format_size,
    printable,
)
from focus.text.reason_labels import reason_label

_Y_AXIS_TOPS = (0.05, 0.1, 0.25, 0.5, 1.0)


def crawl_html(figures: CrawlFigures) -> str:
    """Return the report as an HTML page."""
    return render_report(
        "crawl.html",
        figures=figures,
        topic=printable(figures.crawl.topic, 80),
        verdict=_verdict(figures),
        summary=_summary_text(figures),
        figures_of_head=_head_tiles(figures),
        judged=_label_agreement(figures),
        settings=_settings_rows(figures),
        course=_harvest_section(figures),
        **results_section.make_tables(figures),
        **results_section.make_charts(figures),
        **requests_section.make_tables(figures),
    )


# -- head ---------------------------------------------------------------------------


def _verdict(figures: CrawlFigures) -> str:
    """Return a sentence with the relevant pages and, of a long crawl, the recent harvest."""
    crawl = figures.crawl
    if not crawl.pages:
        return say("This crawl has no pages yet.")
    statement = say(
        "{relevant:,} of {pages} are relevant ({rate:.0%})",
        relevant=crawl.relevant,
        pages=format_count(crawl.pages, "page"),
        rate=crawl.harvest_rate,
    )
    if figures.requests <= 500:
        return say("{found}.", found=statement)
    return say(
        "{found}; {late:.0%} of the last 500 requests found a relevant page, {all:.0%} of all.",
        found=statement,
        late=figures.harvest_last_500,
        all=figures.harvest_all,
    )


def _summary_text(figures: CrawlFigures) -> str:
    crawl = figures.crawl
    ended = say(reason_label(crawl.state))
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


def _head_tiles(figures: CrawlFigures) -> list[Tile]:
    crawl = figures.crawl
    minutes = figures.seconds / 60
    return [
        Tile(say("requests"), f"{figures.requests:,}"),
        Tile(say("pages"), f"{crawl.pages:,}"),
        Tile(say("relevant"), f"{crawl.relevant:,}"),
        Tile(say("harvest, all requests"), format_percent(figures.harvest_all)),
        Tile(say("harvest, last 500"), format_percent(figures.harvest_last_500)),
        Tile(say("harvest, last 100"), format_percent(figures.harvest_last_100)),
        Tile(say("time"), format_duration(figures.seconds)),
        Tile(
            say("relevant pages per minute"), f"{crawl.relevant / minutes:.1f}" if minutes else "–"
        ),
        Tile(say("received"), format_size(figures.bytes)),
    ]


def _label_agreement(figures: CrawlFigures) -> str:
    """Return how the model agrees with human labels; an empty string if there are no labels."""
    labels = figures.judged
    if not labels.labelled:
        return ""
    return say(
        "Of {pages} with labels, {relevant:,} are relevant; the model judges {said:,} as "
        "relevant, {both:,} of them correctly.",
        pages=format_count(labels.labelled, "page"),
        relevant=labels.relevant,
        said=labels.relevant_by_model,
        both=labels.both,
    )


def _settings_rows(figures: CrawlFigures) -> list[tuple[str, str]]:
    settings = figures.settings

    def numbers(params: dict[str, float]) -> str:
        return "".join(f", {name} = {value:g}" for name, value in params.items())

    published = say(" (as published)") if settings.as_published else ""
    threshold = (
        ""
        if settings.threshold is None
        else say(", relevant from {threshold:g}", threshold=settings.threshold)
    )
    seeds = [printable(seed) for seed in settings.seeds]
    limits = [_limit_text(name, value) for name, value in settings.limits.items()]
    robots = say(", robots.txt ignored") if settings.ignore_robots else ""
    return [
        (
            say("topic"),
            ", ".join(map(printable, settings.keywords)) or printable(figures.crawl.topic),
        ),
        (
            say("seeds"),
            " ".join(seeds[:20]) + (say(" … ({n:,} in all)", n=len(seeds)) if seeds[20:] else ""),
        ),
        (say("strategy"), settings.strategy + published + numbers(settings.params)),
        (say("relevance"), settings.relevance + threshold + numbers(settings.model_params)),
        (say("scope"), settings.scope),
        (say("limits"), ", ".join(limits) or say("none")),
        (
            say("politeness"),
            say(
                "{n} at the same time per host, {delay_s:g} s apart",
                n=settings.per_host,
                delay_s=settings.delay_s,
            )
            + robots,
        ),
        (say("at the same time"), format_count(settings.concurrency, "request")),
        (say("User-Agent"), printable(settings.agent)),
        (say("URLs"), ", ".join(f"{n:,} {say(state)}" for state, n in figures.states.items())),
    ]


def _limit_text(name: str, value: float) -> str:
    if name.endswith("_published"):
        return f"{name.replace('_', ' ')} {format_local_time(value)}"
    if name.endswith("_s"):
        return f"{name.removesuffix('_s').replace('_', ' ')} {format_duration(value)}"
    value_text = format_size(int(value)) if name == "max_bytes" else f"{value:,}"
    return f"{name.replace('_', ' ')} {value_text}"


# -- course -------------------------------------------------------------------------


def _harvest_section(figures: CrawlFigures) -> dict[str, Markup]:
    if not figures.crawl.pages:
        return {}
    series = _harvest_series(figures)
    title = say("Harvest rate over requests")
    return {
        "key": legend(series),
        "chart": line_chart(_harvest_frame(figures, series), series, title=title),
    }


def _harvest_frame(figures: CrawlFigures, series: Sequence[Series]) -> Frame:
    highest = max(value for line in series for value in line.values)
    marks = [
        (tick / figures.requests, format_number(tick))
        for tick in round_ticks(0.0, figures.requests, 6)
    ]
    return Frame(
        width=860, height=420, x_label=say("requests"), x_ticks=[m for m in marks if m[0] < 0.97],
        y_label=say("harvest rate"), margin_bottom=52, margin_left=56, margin_top=42, is_wide=True,
        y_top=next(top for top in _Y_AXIS_TOPS if top >= min(1.0, highest)),
    )  # fmt: skip


def _harvest_series(figures: CrawlFigures) -> list[Series]:
    """Return the harvest rate so far, and over windows of 5 % of the requests.

    A window without pages repeats the rate of the window before.
    """
    course, window = figures.course, figures.window
    so_far: list[float] = []
    recent_rates: list[float] = []
    pages = hits = 0
    for at, bucket in enumerate(course):
        pages, hits = pages + bucket.pages, hits + bucket.relevant
        so_far.append(hits / pages if pages else 0.0)
        recent = course[max(0, at + 1 - window) : at + 1]
        n = sum(bucket.pages for bucket in recent)
        before = recent_rates[-1] if recent_rates else 0.0
        recent_rates.append(sum(bucket.relevant for bucket in recent) / n if n else before)
    return [
        Series(say("so far"), 0, [so_far[0], *so_far]),
        Series(say("in the last 5 % of the requests"), 1, [recent_rates[0], *recent_rates]),
    ]
