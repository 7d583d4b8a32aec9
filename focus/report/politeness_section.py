"""Tables of a crawl report on failures and on politeness towards hosts."""

from __future__ import annotations

from focus.i18n import say, translate
from focus.report.page import Cell, PageLink
from focus.storage.figures import CrawlFigures, HostPoliteness
from focus.text.formatting import format_count, printable


def make_tables(figures: CrawlFigures) -> dict[str, object]:
    """Return table rows and texts under the names that the template uses."""
    failures: list[list[Cell]] = [
        [say(failure.reason or "other"), f"{failure.urls:,}", f"{failure.hosts:,}",
         printable(translate(failure.detail), 60), PageLink(failure.example)]
        for failure in figures.failures
    ]  # fmt: skip
    return {
        "failures": failures,
        "drops": [[say(drop.reason or "other"), f"{drop.urls:,}"] for drop in figures.drops],
        "uses": [[say(kind), f"{n:,}"] for kind, n in figures.request_uses.kinds.items()],
        "poor_patterns": [
            [
                printable(use.host + use.pattern, 80),
                f"{use.useless:,}",
                f"{use.requests:,}",
                say(use.kind),
            ]
            for use in figures.request_uses.patterns
        ],
        "denials": [
            [f"--deny '{denial.regex}'", f"{denial.requests:,}"]
            for denial in figures.request_uses.denials
        ],
        "smallest": _smallest_delay_text(figures),
        "robots_requests": format_count(figures.robots_requests, "request"),
        "polite": [_host_row(host) for host in figures.polite],
    }


def _smallest_delay_text(figures: CrawlFigures) -> str:
    if figures.smallest_s is None:
        return say("No host had two requests.")
    return say(
        "The shortest pause of any host was {rest_s:.3f} s ({host}); the delay is {delay_s:g} s.",
        rest_s=figures.smallest_s,
        host=printable(figures.smallest_host),
        delay_s=figures.settings.delay_s,
    )


def _host_row(host: HostPoliteness) -> list[str]:
    return [
        printable(host.host, 60),
        f"{host.requests:,}",
        f"{host.pages:,}",
        "–" if host.smallest_s is None else f"{host.smallest_s:.3f}",
        "–" if host.asked_s is None else f"{host.asked_s:g}",
        say("yes") if host.given_up else "",
    ]
