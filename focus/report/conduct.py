"""Makes the tables of a crawl's report on its conduct: failures, and the treatment of hosts."""

from __future__ import annotations

from focus.i18n import say, told
from focus.report.page import Cell, PageLink
from focus.storage.figures import CrawlFigures, Polite
from focus.text.formatting import count, printable


def tables(figures: CrawlFigures) -> dict[str, object]:
    """Rows of cells and lines, by the names that the template has for them."""
    failures: list[list[Cell]] = [
        [say(each.reason or "other"), f"{each.urls:,}", f"{each.hosts:,}",
         printable(told(each.detail), 60), PageLink(each.example)]
        for each in figures.failures
    ]  # fmt: skip
    return {
        "failures": failures,
        "drops": [[say(each.reason or "other"), f"{each.urls:,}"] for each in figures.drops],
        "smallest": _smallest(figures),
        "robots_requests": count(figures.robots_requests, "request"),
        "polite": [_polite(each) for each in figures.polite],
    }


def _smallest(figures: CrawlFigures) -> str:
    if figures.smallest_s is None:
        return say("No host was asked for two pages.")
    return say(
        "The smallest rest of any host was {rest_s:.3f} s ({host}); {delay_s:g} s were asked for.",
        rest_s=figures.smallest_s,
        host=printable(figures.smallest_host),
        delay_s=figures.settings.delay_s,
    )


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
