"""The sections of a crawl's report on its conduct: failures, and the treatment of hosts."""

from __future__ import annotations

from html import escape

from focus.report.page import link, table
from focus.storage.figures import CrawlFigures, Polite
from focus.text.formatting import count, printable

_REST = (
    "Rest: from the end of an answer to the next request to the host, of requests that "
    "brought pages; others are not timed one by one."
)
_STARTS = (
    " With several at once per host, the delay runs from the start of one to that of the next."
)


def failures(figures: CrawlFigures) -> list[str]:
    parts = ["<h2>Failures</h2>"]
    if figures.failures:
        rows = [
            [each.reason or "other", f"{each.urls:,}", f"{each.hosts:,}",
             printable(each.detail, 60), link(each.example)]
            for each in figures.failures
        ]  # fmt: skip
        parts.append(table(["kind", "URLs", "hosts", "first said", "first seen at"], rows))
    else:
        parts.append("<p>None.</p>")
    if figures.drops:
        rows = [[each.reason or "other", f"{each.urls:,}"] for each in figures.drops]
        parts += ["<h3>Left out</h3>", table(["reason", "URLs"], rows)]
    return parts


def politeness(figures: CrawlFigures) -> list[str]:
    if not figures.polite:
        return []
    if figures.smallest_s is None:
        smallest = "No host was asked for two pages."
    else:
        smallest = (
            f"The smallest rest of any host was {figures.smallest_s:.3f} s "
            f"({printable(figures.smallest_host)}); {figures.settings.delay_s:g} s were asked for."
        )
    heads = ["host", "requests", "pages", "smallest rest, s", "mean rest, s", "Crawl-delay, s",
             "robots.txt", "forbidden URLs", "given up"]  # fmt: skip
    return [
        "<h2>Politeness</h2>",
        f"<p>{escape(smallest)} {count(figures.robots_requests, 'request')} for robots.txt.</p>",
        _busiest(figures),
        table(heads, [_polite(each) for each in figures.polite]),
        f'<p class="note">{_REST}{_STARTS if figures.settings.per_host > 1 else ""}</p>',
    ]


def _busiest(figures: CrawlFigures) -> str:
    shown, known = len(figures.polite), figures.hosts_known
    text = f"The {shown:,} hosts with the most requests of {known:,}." if shown < known else ""
    return f'<p class="note">{text}</p>' if text else ""


def _polite(each: Polite) -> list[str]:
    def seconds(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    asked = "–" if each.asked_s is None else f"{each.asked_s:g}"
    robots = "–" if each.robots is None else "unreachable" if not each.robots else str(each.robots)
    return [
        printable(each.host, 60), f"{each.requests:,}", f"{each.pages:,}",
        seconds(each.smallest_s), seconds(each.mean_s), asked, robots,
        f"{each.forbidden:,}", "yes" if each.given_up else "",
    ]  # fmt: skip
