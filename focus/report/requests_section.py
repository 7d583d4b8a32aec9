"""Tables of a crawl report on failures and on the use of the requests."""

from __future__ import annotations

from focus.i18n import say, translate
from focus.report.page import Cell, PageLink
from focus.storage.figures import CrawlFigures
from focus.text.formatting import printable


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
    }
