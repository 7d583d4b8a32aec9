"""Summarises a crawl in a few lines, and chooses the exit code.

0  a limit, the target or an empty frontier; also SIGTERM, which a supervisor sends
3  no page was fetched, or all seeds redirected to other sites
4  too many failures (FOCUS_FAIL_ERROR_RATE)    8  offline (FOCUS_MAX_OFFLINE)
130  Ctrl-C    (1, 2 and 5 come from errors, see errors.py)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from focus.engine.unit_of_work import Totals
from focus.i18n import mark, say, translate
from focus.records import COMPLETE, FailureKind
from focus.session import RunReport
from focus.text.formatting import (
    format_count,
    format_duration,
    format_percent,
    format_size,
    format_table,
    printable,
    scripts_needed_message,
)
from focus.text.reason_labels import explain_codes, reason_label

NOTHING_FETCHED, TOO_MANY_FAILURES, OFFLINE, INTERRUPTED = 3, 4, 8, 130

_REACHED_LIMITS: dict[str, tuple[Callable[[Totals], str], str]] = {
    "max-pages reached": (
        lambda totals: format_count(totals.pages, "page"),
        mark(
            "Crawl {crawl} has its {count} already, so this run fetched nothing; raise "
            "--max-pages or use --fresh."
        ),
    ),
    "max-requests reached": (
        lambda totals: format_count(totals.requests, "request"),
        mark("Crawl {crawl} already made its {count}; raise --max-requests or use --fresh."),
    ),
    "max-bytes reached": (
        lambda totals: format_count(totals.bytes, "byte"),
        mark("Crawl {crawl} already received its {count}; raise --max-bytes or use --fresh."),
    ),
    "target reached": (
        lambda totals: format_count(totals.relevant, "relevant page"),
        mark("Crawl {crawl} already has its {count}; raise --target or use --fresh."),
    ),
    "stop-harvest reached": (
        lambda totals: format_count(totals.relevant, "relevant page"),
        mark(
            "Crawl {crawl} has {count}, and its last requests found too few; lower "
            "--stop-harvest or use --fresh."
        ),
    ),
}
"""Stop reason -> the total behind it, and the message."""

_MIN_PAGES_FOR_ADVICE = 20
_MAX_HOSTS = 3  # named in a message
_CONTINUABLE = {"interrupted", "terminated", "offline"}


def exit_code(report: RunReport, fail_error_rate: float | None = None) -> int:
    """Return the exit code of `focus crawl`."""
    if report.stop_reason == "interrupted":
        return INTERRUPTED
    if report.stop_reason == "terminated":
        return 0
    if report.stop_reason == "offline":
        return OFFLINE
    if not report.totals.pages or _has_only_redirects(report):
        return NOTHING_FETCHED
    if fail_error_rate is not None and error_rate(report) > fail_error_rate:
        return TOO_MANY_FAILURES
    return 0


def _has_only_redirects(report: RunReport) -> bool:
    """Return whether only pages of other sites were found, to which all seeds redirected.

    Mostly these are log-in pages.
    """
    is_complete = report.stop_reason in COMPLETE and not report.totals.relevant
    return is_complete and 0 < report.totals.pages <= len(report.redirected_seeds)


def error_rate(report: RunReport) -> float:
    """Return failed / (failed + pages fetched or revisited) of this run, 0 to 1.

    URLs that were never requested because their host was abandoned do not count.
    """
    failed = sum(n for kind, n in report.failures.items() if kind != FailureKind.HOST_ABANDONED)
    total = failed + report.run_pages + report.answered_revisits
    return failed / total if total else 0.0


def summary_lines(report: RunReport) -> list[str]:
    """Return the report as lines."""
    nothing_done = report.resumed and not report.run_requests
    if nothing_done and (line := _nothing_to_do(report)):
        return [line]
    totals = report.totals
    rows = [
        (say("pages"), _pages_text(report)),
        (say("this run"), _run_text(report)),
        *_revisit_rows(report),
        (
            say("received"),
            say(
                "{bytes} in {requests}",
                bytes=format_size(totals.bytes),
                requests=format_count(totals.requests, "request"),
            ),
        ),
        (
            say("waiting"),
            say(
                "{states} on {hosts}",
                states=format_count(report.states.get("waiting", 0), "URL"),
                hosts=format_count(report.hosts, "host"),
            ),
        ),
    ]
    if totals.rendered or totals.unrendered:
        rows.append((say("rendered"), _rendered_text(totals)))
    if report.failures:
        since = say(" (in this run)") if report.resumed else ""
        rows.append((say("failed"), _counts_text(report.failures) + since))
    if report.dropped:
        rows.append((say("dropped"), _counts_text(report.dropped)))
    if report.warc:
        rows.append((say("recorded"), report.warc))
    rows.append((say("database"), report.database))
    lines = [
        say(
            "Crawl {crawl} ended: {stop_reason}.",
            crawl=report.crawl,
            stop_reason=say(reason_label(report.stop_reason)),
        ),
        *format_table(rows),
    ]
    if totals.pages >= _MIN_PAGES_FOR_ADVICE and not totals.relevant:
        lines.append(
            say(
                "Note: no page is relevant; `focus topic test TOPIC URL` shows why, and "
                "--relevance and --threshold change it"
            )
        )
    if totals.shells:
        lines.append(translate(scripts_needed_message(totals.shells)))
    if totals.omitted_routes:
        lines.append(
            say(
                "{links} to parts of pages behind #/ were not followed: --render auto",
                links=format_count(totals.omitted_routes, "link"),
            )
        )
    if totals.endless_lists:
        lines.append(
            say(
                "{pages} with a list that goes on: only its beginning was read",
                pages=format_count(totals.endless_lists, "page"),
            )
        )
    if totals.pages:  # otherwise `failure_lines` lists them
        lines += failed_seed_lines(report)
    if report.redirected_seeds and not _has_only_redirects(
        report
    ):  # otherwise `failure_lines` says so
        lines.append(say("Note: {line}", line=_redirected_text(report.redirected_seeds)))
    if report.stop_reason in _CONTINUABLE:
        lines.append(say("The same command continues it."))
    return lines


def idle_lines(report: RunReport) -> list[str]:
    """Return why a run made no request because its crawl had reached a limit before, if it did."""
    is_idle = report.resumed and not report.run_requests
    return [_nothing_to_do(report)] if is_idle and report.stop_reason in _REACHED_LIMITS else []


def _nothing_to_do(report: RunReport) -> str:
    """Return why a continued crawl had nothing to do, or an empty text."""
    if report.stop_reason in _REACHED_LIMITS:
        count, line = _REACHED_LIMITS[report.stop_reason]
        return say(line, crawl=report.crawl, count=count(report.totals))
    if report.stop_reason in COMPLETE:
        failed = report.states.get("failed", 0)
        advice = (
            say("--retry-failed fetches the {failed:,} failed URLs again, ", failed=failed)
            if failed
            else ""
        )
        return say(
            "Crawl {crawl} is complete: no URLs are waiting after {pages}; {again}use --fresh to "
            "start a new crawl.",
            crawl=report.crawl,
            pages=format_count(report.totals.pages, "page"),
            again=advice,
        )
    return ""


def _pages_text(report: RunReport) -> str:
    totals = report.totals
    harvest = format_percent(report.harvest_rate)
    text = say(
        "{pages:,}, {relevant:,} relevant (harvest rate {harvest})",
        pages=totals.pages,
        relevant=totals.relevant,
        harvest=harvest,
    )
    first = say(
        ", the first after {first_relevant}",
        first_relevant=format_count(totals.first_relevant, "request"),
    )
    return text + (first if totals.first_relevant else "")


def _rendered_text(totals: Totals) -> str:
    return say(
        "{rendered}; {unrendered:,} more could not be rendered and are stored as received",
        rendered=format_count(totals.rendered, "page"),
        unrendered=totals.unrendered,
    )


def _revisit_rows(report: RunReport) -> list[tuple[str, str]]:
    """Return a row about the revisits of this run, if there were any."""
    counts = report.revisits
    if not any(counts.values()):
        return []
    line = say(
        "{looks}: {changed} changed, {unchanged} unchanged according to their servers, {gone} "
        "gone, {unanswered} without an answer",
        looks=format_count(counts["looked"], "look"),
        changed=f"{counts['changed']:,}",
        unchanged=f"{counts['unchanged']:,}",
        gone=f"{counts['gone']:,}",
        unanswered=f"{counts['unanswered']:,}",
    )
    return [(say("again"), line)]


def _run_text(report: RunReport) -> str:
    pages, seconds = format_count(report.run_pages, "page"), format_duration(report.run_seconds)
    return say(
        "{pages} in {seconds}, {pages_per_second:.1f} pages/s",
        pages=pages,
        seconds=seconds,
        pages_per_second=report.pages_per_second,
    )


def _counts_text(reasons: Mapping[str, int]) -> str:
    """Return counts, the largest first, as in `36: timeout 20, http-4xx 16`."""
    ranked = sorted(reasons.items(), key=lambda item: -item[1])
    return f"{sum(reasons.values()):,}: " + ", ".join(f"{say(kind)} {n:,}" for kind, n in ranked)


def offline_text(report: RunReport) -> str:
    """Return begin and reason of an outage: `offline since 14:03:22 (no route)`."""
    outage = report.outage
    if outage is None:
        return say("offline")
    return say(
        "offline since {clock} ({reason})",
        clock=time_of_day(outage.since),
        reason=printable(translate(outage.reason), 100),
    )


def time_of_day(timestamp: float) -> str:
    """Return a time as local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(timestamp))


def failed_seed_lines(report: RunReport) -> list[str]:
    """Return each seed that failed, with the reason."""
    failures = [
        (printable(seed, 60), printable(explain_codes(reason)))
        for seed, reason in report.seed_failures.items()
    ]
    return [say("Seeds without a page:"), *format_table(failures)] if failures else []


def failure_lines(report: RunReport, code: int) -> list[str]:
    """Return the messages for a failed crawl, which are printed even with --quiet."""
    if code == NOTHING_FETCHED and _has_only_redirects(report):
        return [say("focus: error: {line}", line=_redirected_text(report.redirected_seeds))]
    if code == NOTHING_FETCHED:
        return [say("focus: error: not one page was fetched"), *failed_seed_lines(report)]
    if code == OFFLINE:
        return [
            say(
                "focus: error: {offline_since}; nothing is lost, the same command continues "
                "(FOCUS_MAX_OFFLINE)",
                offline_since=offline_text(report),
            )
        ]
    if code == TOO_MANY_FAILURES:
        return [
            say(
                "focus: error: {error_rate} of the URLs failed (FOCUS_FAIL_ERROR_RATE)",
                error_rate=format_percent(error_rate(report)),
            )
        ]
    return []


def _redirected_text(seeds: Mapping[str, str]) -> str:
    """Return where seeds redirected to, and what to do about it."""
    hosts = list(dict.fromkeys(seeds.values()))
    return say(
        "every seed redirects to another site ({hosts}); give --cookie-file or --credentials for "
        "a log-in, or start from a page of that site",
        hosts=", ".join(printable(host, 60) for host in hosts[:_MAX_HOSTS]),
    )
