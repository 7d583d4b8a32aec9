"""Shows alerts, their matches and their messages as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zoneinfo import ZoneInfo

from focus.alerts.delivery import mask_channel
from focus.alerts.health import STATES, Health, SiteHealth
from focus.alerts.message import UNTITLED, date_label, format_time, split_snippet
from focus.alerts.preview import Preview
from focus.alerts.run import WatchRunSummary, due_sites
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


def said(alert: Alert) -> str:
    """What an alert says, in a line."""
    about = [alert.words, say("topic {topic}", topic=alert.topic) if alert.topic else ""]
    parts = [
        ", ".join(alert.sites),
        "; ".join(filter(None, about)),
        say("checked {schedule}", schedule=alert.schedule),
        ", ".join(map(mask_channel, alert.channels)),
    ]
    return printable(" | ".join(parts))


# -- list and show ------------------------------------------------------------------


def list_lines(found: Sequence[Health], zone: ZoneInfo) -> list[str]:
    """All alerts in a table, what is wrong with any below it."""
    if not found:
        return [say("No alert yet; `focus watch add` makes one")]
    head = say_all("alert", "sites", "checked", "last", "next", "new", "state")
    rows = [
        (
            printable(each.alert.name, 30),
            printable(", ".join(one.site.host for one in each.sites), 40),
            each.alert.schedule,
            _when(each.checked_at, zone, say("never")),
            _when(each.next_at, zone, "-"),
            f"{each.match_count.news:,}",
            translate(STATES[each.state]),
        )
        for each in found
    ]
    lines = format_table([head, *rows], indent="", right_aligned={5})
    notes = [
        f"{printable(each.alert.name)}: {printable(translate(remark))}"
        for each in found
        for remark in each.remarks
    ]
    return [*lines, "", *notes] if notes else lines


def show_lines(found: Health, matches: Iterable[Match], zone: ZoneInfo) -> Iterator[str]:
    """An alert in full, with what came last."""
    alert = found.alert
    yield printable(alert.name)
    news = say(
        "{news} told of, {folded:,} folded as repeats",
        news=format_count(found.match_count.news, "page"),
        folded=found.match_count.folded,
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
        (mark("channels"), ", ".join(map(mask_channel, alert.channels))),
        (
            mark("delivery"),
            say("digest of at most {max_items}", max_items=alert.max_items)
            if alert.digest
            else say("each at once"),
        ),
        (mark("quiet"), alert.quiet),
        (mark("expires"), _when(alert.expires_at, zone, "")),
        (mark("state"), translate(STATES[found.state])),
        (mark("last check"), _when(found.checked_at, zone, say("never"))),
        (mark("next check"), _when(found.next_at, zone, "-")),
        (mark("found"), news),
    ]
    yield from format_table([(say(name), printable(text, 300)) for name, text in rows if text])
    for each in found.sites:
        yield f"  {printable(each.site.host)}: {_site(each, zone)}"
    for remark in found.remarks:
        yield f"  ! {printable(translate(remark))}"
    for match in matches:
        yield from ("", *match_lines(match, zone))


def _site(each: SiteHealth, zone: ZoneInfo) -> str:
    if each.site.crawl is None:
        return say("never visited yet")
    errors = ", ".join(f"{n:,} {say(reason)}" for reason, n in each.figures.errors.items())
    said = [
        say("visited {when}", when=_when(each.site.visited_at, zone, say("never"))),
        say("{pages} seen", pages=format_count(each.figures.pages, "page")),
        say("{blocked:,} blocked by robots.txt", blocked=each.figures.blocked),
        say("errors: {errors}", errors=errors) if errors else say("no errors"),
        say("{unmatched:,} not matched yet", unmatched=each.unmatched) if each.unmatched else "",
    ]
    return ", ".join(filter(None, said))


def match_lines(match: Match, zone: ZoneInfo, similar: int = 0) -> Iterator[str]:
    """A page as it was found: what it is, and why it matches."""
    folded = f", {say('+{n} similar', n=similar)}" if similar else ""
    yield f"{match.relevance:.2f}  {printable(match.title, 90) or translate(UNTITLED)}"
    yield f"      {translate(date_label(match, zone))}{folded}  {printable(match.url, 200)}"
    if snippet := printable("".join(split_snippet(match.snippet)), 240):
        yield f"      {snippet}"
    yield say("      why: {why}", why=printable(_why(match), 200))


def inbox_lines(found: Sequence[InboxEntry], zone: ZoneInfo) -> Iterator[str]:
    """Pages with their alerts, newest first."""
    if not found:
        yield "No such page"
    for each in found:
        new = "new, " if each.match.read_at is None else ""
        yield f"[{new}{printable(each.alert, 60)}]"
        yield from match_lines(each.match, zone, each.similar)


def _why(match: Match) -> str:
    """`title 足球 1.00; text 足球, 门票 0.83`."""
    parts, words = match.why.get("parts", {}), match.why.get("words", {})
    strongest = sorted(parts.items(), key=lambda each: -each[1])
    return "; ".join(
        f"{name} {', '.join(words.get(name, [])[:5])} {value:.2f}".replace("  ", " ")
        for name, value in strongest
    )


# -- preview, log, run --------------------------------------------------------------


def preview_lines(found: Preview, days: float, zone: ZoneInfo) -> Iterator[str]:
    """What the last days would have sent."""
    pages, looked = (
        format_count(len(found.matches), "page"),
        format_count(found.pages, "stored page"),
    )
    if days == 1:
        yield say("The last day would have sent {pages} ({looked})", pages=pages, looked=looked)
    else:
        yield say(
            "The last {days:g} days would have sent {pages} ({looked})",
            days=days,
            pages=pages,
            looked=looked,
        )
    if found.undated:
        yield say(
            "  {undated} without a date came with the first visit",
            undated=format_count(found.undated, "more page"),
        )
    if found.unvisited:
        hosts = printable(", ".join(found.unvisited))
        yield say("  never visited yet: {hosts}; `focus watch run` does it", hosts=hosts)
    for match, similar in zip(found.matches, found.similar, strict=True):
        yield from ("", *match_lines(match, zone, similar))


def log_lines(found: Sequence[DeliveryRecord], zone: ZoneInfo) -> list[str]:
    """The delivery log, latest first."""
    if not found:
        return [say("Nothing was delivered yet")]
    rows = [
        (
            format_time(each.at, zone),
            printable(each.channel, 60),
            format_count(each.items, "page") if each.items else "",
            translate(STATES[each.state]),
            printable(translate(each.detail), 120),
        )
        for each in found
    ]
    return format_table(rows, indent="")


def due_lines(
    store: AlertStore, alerts: Sequence[StoredAlert], now: float, *, at_once: bool
) -> Iterator[str]:
    """What a run would do."""
    if not alerts:
        yield say("No alert is due")
    for each in alerts:
        yield say("check {name}", name=printable(each.alert.name))
    for site in due_sites(store, alerts, now=now, at_once=at_once):
        yield say("visit {host}", host=printable(site.host))
    waiting = store.outbox.count_by_state().get(WAITING, 0)
    yield say("{waiting} in the outbox", waiting=format_count(waiting, "page"))


def ran_lines(ran: WatchRunSummary) -> Iterator[str]:
    """What a run came to."""
    pages = sum(each.pages for each in ran.matched)
    yield (
        say(
            "{alerts} checked, {visited} visited, {pages} looked at, {news:,} to be told of",
            alerts=format_count(ran.alerts, "alert"),
            visited=format_count(ran.visited, "site"),
            pages=format_count(pages, "page"),
            news=ran.news,
        )
    )
    sent = ran.delivered
    yield (
        say(
            "{sent} sent with {items}, {waiting:,} to be tried again, {dead:,} given up",
            sent=format_count(sent.sent, "message"),
            items=format_count(sent.items, "page"),
            waiting=sent.waiting,
            dead=sent.dead,
        )
    )


def _when(moment: float | None, zone: ZoneInfo, without: str) -> str:
    return without if moment is None else format_time(moment, zone)
