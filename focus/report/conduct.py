"""The sections of a crawl's report on its conduct: failures, and the treatment of hosts."""

from __future__ import annotations

from html import escape

from focus.i18n import mark, say, says, told
from focus.report.page import h2, h3, link, note, table
from focus.storage.figures import CrawlFigures, Polite
from focus.text.formatting import count, printable

_REST = mark(
    "Rest: from the end of an answer to the next request to the host, of requests that "
    "brought pages; others are not timed one by one."
)
_STARTS = mark(
    " With several at once per host, the delay runs from the start of one to that of the next."
)


def failures(figures: CrawlFigures) -> list[str]:
    parts = [h2(say("Failures"))]
    if figures.failures:
        rows = [
            [say(each.reason or "other"), f"{each.urls:,}", f"{each.hosts:,}",
             printable(told(each.detail), 60), link(each.example)]
            for each in figures.failures
        ]  # fmt: skip
        parts.append(table(says("kind", "URLs", "hosts", "first said", "first seen at"), rows))
    else:
        parts.append(f"<p>{escape(say('None.'))}</p>")
    if figures.drops:
        rows = [[say(each.reason or "other"), f"{each.urls:,}"] for each in figures.drops]
        parts += [h3(say("Left out")), table(says("reason", "URLs"), rows)]
    return parts


def politeness(figures: CrawlFigures) -> list[str]:
    if not figures.polite:
        return []
    if figures.smallest_s is None:
        smallest = say("No host was asked for two pages.")
    else:
        smallest = say(
            "The smallest rest of any host was {rest_s:.3f} s ({host}); {delay_s:g} s were "
            "asked for.",
            rest_s=figures.smallest_s,
            host=printable(figures.smallest_host),
            delay_s=figures.settings.delay_s,
        )
    heads = says(
        "host", "requests", "pages", "smallest rest, s", "mean rest, s", "Crawl-delay, s",
        "robots.txt", "forbidden URLs", "given up",
    )  # fmt: skip
    asked = say("{requests} for robots.txt.", requests=count(figures.robots_requests, "request"))
    return [
        h2(say("Politeness")),
        f"<p>{escape(smallest)} {escape(asked)}</p>",
        _busiest(figures),
        table(heads, [_polite(each) for each in figures.polite]),
        note(say(_REST) + (say(_STARTS) if figures.settings.per_host > 1 else "")),
    ]


def _busiest(figures: CrawlFigures) -> str:
    shown, known = len(figures.polite), figures.hosts_known
    if shown >= known:
        return ""
    return note(say("The {n:,} hosts with the most requests of {all:,}.", n=shown, all=known))


def _polite(each: Polite) -> list[str]:
    def seconds(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    asked = "–" if each.asked_s is None else f"{each.asked_s:g}"
    robots = (
        "–" if each.robots is None else say("unreachable") if not each.robots else str(each.robots)
    )
    return [
        printable(each.host, 60), f"{each.requests:,}", f"{each.pages:,}",
        seconds(each.smallest_s), seconds(each.mean_s), asked, robots,
        f"{each.forbidden:,}", say("yes") if each.given_up else "",
    ]  # fmt: skip
