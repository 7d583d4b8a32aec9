"""Formats alerts, their matches and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zoneinfo import ZoneInfo

from focus.alerts.delivery import mask_channel
from focus.alerts.health import STATES, Health, SiteHealth
from focus.alerts.message import UNTITLED, date_label, format_time, split_snippet
from focus.alerts.preview import Preview
from focus.alerts.run import WatchRunSummary, due_sites
from focus.alerts.schedule import MIN_INTERVAL_S
from focus.i18n import mark, say, say_all, translate
from focus.storage.alerts.records import (
    WAITING,
    Alert,
    DeliveryRecord,
    InboxEntry,
    Match,
    StoredAlert,
)
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import format_count, format_table, printable
from focus.text.reason_labels import explain_codes


def alert_summary(alert: Alert) -> str:
    """Return the definition of an alert as one line."""
    about = [alert.words, say("topic {topic}", topic=alert.topic) if alert.topic else ""]
    parts = [
        ", ".join(alert.sites),
        "; ".join(filter(None, about)),
        say("checked {schedule}", schedule=alert.schedule),
        ", ".join(map(mask_channel, alert.channels)),
    ]
    return printable(" | ".join(parts))


# -- list and show ------------------------------------------------------------------


def list_lines(healths: Sequence[Health], zone: ZoneInfo) -> list[str]:
    """Return a table of all alerts, with their problems below it."""
    if not healths:
        return [say("No alerts yet; `focus watch add` adds one")]
    head = say_all("alert", "sites", "checked", "last", "next", "new", "state")
    rows = [
        (
            printable(health.alert.name, 30),
            printable(", ".join(site.site.host for site in health.sites), 40),
            health.alert.schedule,
            _time_text(health.checked_at, zone, say("never")),
            _time_text(health.next_at, zone, "-"),
            f"{health.match_count.news:,}",
            translate(STATES[health.state]),
        )
        for health in healths
    ]
    lines = format_table([head, *rows], indent="", right_aligned={5})
    notes = [
        f"{printable(health.alert.name)}: {printable(explain_codes(remark))}"
        for health in healths
        for remark in health.remarks
    ]
    return [*lines, "", *notes] if notes else lines


def show_lines(health: Health, matches: Iterable[Match], zone: ZoneInfo) -> Iterator[str]:
    """Yield an alert with all details, and its latest matches."""
    alert = health.alert
    yield printable(alert.name)
    news = say(
        "{news} reported, {folded:,} grouped as near-duplicates",
        news=format_count(health.match_count.news, "page"),
        folded=health.match_count.folded,
    )
    rows = [
        (mark("sites"), ", ".join(alert.sites)),
        (mark("words"), alert.words),
        (mark("topic"), alert.topic),
        (
            mark("relevance"),
            ""
            if alert.min_relevance is None
            else say("at least {min_relevance}", min_relevance=alert.min_relevance),
        ),
        (mark("languages"), ", ".join(alert.languages)),
        (mark("checked"), alert.schedule),
        (mark("networks"), ", ".join(alert.networks)),
        (mark("channels"), ", ".join(map(mask_channel, alert.channels))),
        (
            mark("delivery"),
            say("digest of at most {max_items}", max_items=alert.max_items)
            if alert.digest
            else say("one message each"),
        ),
        (mark("quiet"), alert.quiet),
        (mark("expires"), _time_text(alert.expires_at, zone, "")),
        (mark("state"), translate(STATES[health.state])),
        (mark("last check"), _time_text(health.checked_at, zone, say("never"))),
        (mark("next check"), _time_text(health.next_at, zone, "-")),
        (mark("found"), news),
    ]
    yield from format_table([(say(name), printable(text, 300)) for name, text in rows if text])
    for site in health.sites:
        yield f"  {printable(site.site.host)}: {_site_text(site, zone)}"
    for remark in health.remarks:
        yield f"  ! {printable(explain_codes(remark))}"
    for match in matches:
        yield from ("", *match_lines(match, zone))


def _site_text(site: SiteHealth, zone: ZoneInfo) -> str:
    if site.site.crawl is None:
        return say("not visited yet")
    errors = ", ".join(f"{n:,} {say(reason)}" for reason, n in site.figures.errors.items())
    texts = [
        say("visited {when}", when=_time_text(site.site.visited_at, zone, say("never"))),
        say("{pages} seen", pages=format_count(site.figures.pages, "page")),
        say("{blocked:,} blocked by robots.txt", blocked=site.figures.blocked),
        say("errors: {errors}", errors=errors) if errors else say("no errors"),
        say("{unmatched:,} not processed yet", unmatched=site.unmatched) if site.unmatched else "",
    ]
    return ", ".join(filter(None, texts))


def match_lines(match: Match, zone: ZoneInfo, similar: int = 0) -> Iterator[str]:
    """Yield a matching page, and why it matches."""
    folded = f", {say('+{n} similar', n=similar)}" if similar else ""
    yield f"{match.relevance:.2f}  {printable(match.title, 90) or translate(UNTITLED)}"
    yield f"      {translate(date_label(match, zone))}{folded}  {printable(match.url, 200)}"
    if snippet := printable("".join(split_snippet(match.snippet)), 240):
        yield f"      {snippet}"
    yield say("      why: {why}", why=printable(_why_text(match), 200))


def inbox_lines(entries: Sequence[InboxEntry], zone: ZoneInfo) -> Iterator[str]:
    """Yield matches with their alerts, newest first."""
    if not entries:
        yield "No such page"
    for entry in entries:
        new = "new, " if entry.match.read_at is None else ""
        if entry.match.is_example:
            new = f"{say('existed before the alert')}, "
        yield f"[{new}{printable(entry.alert, 60)}]"
        yield from match_lines(entry.match, zone, entry.similar)


def _why_text(match: Match) -> str:
    """Return the strongest parts of a match: `title 足球 1.00; text 足球, 门票 0.83`."""
    parts, words = match.why.get("parts", {}), match.why.get("words", {})
    strongest = sorted(parts.items(), key=lambda item: -item[1])
    return "; ".join(
        f"{name} {', '.join(words.get(name, [])[:5])} {value:.2f}".replace("  ", " ")
        for name, value in strongest
    )


# -- preview, log, run --------------------------------------------------------------


def preview_lines(preview: Preview, days: float, zone: ZoneInfo) -> Iterator[str]:
    """Yield what the last days would have sent."""
    pages, stored_pages = (
        format_count(len(preview.matches), "page"),
        format_count(preview.pages, "stored page"),
    )
    if days == 1:
        yield say(
            "The last day would have sent {pages} ({looked})", pages=pages, looked=stored_pages
        )
    else:
        yield say(
            "The last {days:g} days would have sent {pages} ({looked})",
            days=days,
            pages=pages,
            looked=stored_pages,
        )
    if preview.undated:
        yield say(
            "  {undated} without a date came with the first visit",
            undated=format_count(preview.undated, "more page"),
        )
    if preview.unvisited:
        hosts = printable(", ".join(preview.unvisited))
        yield say("  not visited yet: {hosts}; `focus watch run` visits them", hosts=hosts)
    for match, similar in zip(preview.matches, preview.similar, strict=True):
        yield from ("", *match_lines(match, zone, similar))


def log_lines(deliveries: Sequence[DeliveryRecord], zone: ZoneInfo) -> list[str]:
    """Return the delivery log, latest first."""
    if not deliveries:
        return [say("Nothing has been sent yet")]
    rows = [
        (
            format_time(delivery.at, zone),
            printable(delivery.channel, 60),
            format_count(delivery.items, "page") if delivery.items else "",
            translate(STATES[delivery.state]),
            printable(translate(delivery.detail), 120),
        )
        for delivery in deliveries
    ]
    return format_table(rows, indent="")


def due_lines(
    store: AlertStore, alerts: Sequence[StoredAlert], now: float, *, at_once: bool
) -> Iterator[str]:
    """Yield what a run would do."""
    if not alerts:
        yield say("No alert is due")
    for alert in alerts:
        yield say("check {name}", name=printable(alert.alert.name))
    for site in due_sites(store, alerts, now=now, at_once=at_once):
        yield say("visit {host}", host=printable(site.host))
    waiting = store.outbox.count_by_state().get(WAITING, 0)
    yield say("{waiting} in the outbox", waiting=format_count(waiting, "page"))


def resting_lines(store: AlertStore, alerts: Sequence[StoredAlert], now: float) -> Iterator[str]:
    """Yield a line for each site that is not visited at once, because it was a moment ago."""
    sites = due_sites(store, alerts, now=now, at_once=True)
    for site in store.sites.list_for_alerts([alert.id for alert in alerts]):
        if site not in sites and site.visited_at is not None:
            yield say(
                "{host} was visited {ago} s ago; try again in {rest} s (one visit a minute)",
                host=printable(site.host),
                ago=int(now - site.visited_at),
                rest=int(site.visited_at + MIN_INTERVAL_S - now) + 1,
            )


def run_lines(summary: WatchRunSummary) -> Iterator[str]:
    """Yield the result of a run."""
    pages = sum(match_count.pages for match_count in summary.matched)
    yield (
        say(
            "{alerts} checked, {visited} visited, {pages} read, {news:,} to report",
            alerts=format_count(summary.alerts, "alert"),
            visited=format_count(summary.visited, "site"),
            pages=format_count(pages, "page"),
            news=summary.news,
        )
    )
    sent = summary.delivered
    yield (
        say(
            "{sent} sent with {items}, {waiting:,} to be retried, {dead:,} given up",
            sent=format_count(sent.sent, "message"),
            items=format_count(sent.items, "page"),
            waiting=sent.waiting,
            dead=sent.dead,
        )
    )


def _time_text(timestamp: float | None, zone: ZoneInfo, default: str) -> str:
    return default if timestamp is None else format_time(timestamp, zone)
