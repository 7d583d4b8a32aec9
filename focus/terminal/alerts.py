"""Shows alerts, their matches and their messages as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zoneinfo import ZoneInfo

from focus.alerts.delivery import masked_channel
from focus.alerts.health import Health, SiteHealth
from focus.alerts.message import clock_time, pieces
from focus.alerts.preview import Preview
from focus.alerts.run import Ran, to_visit
from focus.alerts.texts import say
from focus.storage.alerts.records import (
    DEAD,
    SENT,
    WAITING,
    Alert,
    DeliveryRecord,
    InboxEntry,
    Match,
    StoredAlert,
)
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import count, printable, table

_STATES = {
    WAITING: "state_waiting", SENT: "state_sent", DEAD: "state_dead",
}  # fmt: skip


def told(alert: Alert) -> str:
    """What an alert says, in a line."""
    about = [alert.words, f"topic {alert.topic}" if alert.topic else ""]
    parts = [
        ", ".join(alert.sites),
        "; ".join(filter(None, about)),
        f"checked {alert.schedule}",
        ", ".join(map(masked_channel, alert.channels)),
    ]
    return printable(" | ".join(parts))


# -- list and show ------------------------------------------------------------------


def list_lines(found: Sequence[Health], zone: ZoneInfo) -> list[str]:
    """All alerts in a table, what is wrong with any below it."""
    if not found:
        return ["No alert yet; `focus watch add` makes one"]
    head = ("alert", "sites", "checked", "last", "next", "new", "state")
    rows = [
        (
            printable(each.alert.name, 30),
            printable(", ".join(one.site.host for one in each.sites), 40),
            each.alert.schedule,
            _when(each.checked_at, zone, "never"),
            _when(each.next_at, zone, "-"),
            f"{each.found.news:,}",
            each.state,
        )
        for each in found
    ]
    lines = table([head, *rows], indent="", right={5})
    notes = [
        f"{printable(each.alert.name)}: {printable(remark)}"
        for each in found
        for remark in each.remarks
    ]
    return [*lines, "", *notes] if notes else lines


def show_lines(found: Health, matches: Iterable[Match], zone: ZoneInfo) -> Iterator[str]:
    """An alert in full, with what came last."""
    alert = found.alert
    yield printable(alert.name)
    news = f"{count(found.found.news, 'page')} told of, {found.found.folded:,} folded as repeats"
    rows = [
        ("sites", ", ".join(alert.sites)),
        ("words", alert.words),
        ("topic", alert.topic),
        ("relevance", "" if alert.min_relevance is None else f"at least {alert.min_relevance}"),
        ("languages", ", ".join(alert.languages)),
        ("checked", alert.schedule),
        ("channels", ", ".join(map(masked_channel, alert.channels))),
        ("sent", f"digest of at most {alert.max_items}" if alert.digest else "each at once"),
        ("quiet", alert.quiet),
        ("expires", _when(alert.expires_at, zone, "")),
        ("state", found.state),
        ("last check", _when(found.checked_at, zone, "never")),
        ("next check", _when(found.next_at, zone, "-")),
        ("found", news),
    ]
    yield from table([(name, printable(text, 300)) for name, text in rows if text])
    for each in found.sites:
        yield f"  {printable(each.site.host)}: {_site(each, zone)}"
    for remark in found.remarks:
        yield f"  ! {printable(remark)}"
    for match in matches:
        yield from ("", *match_lines(match, zone))


def _site(each: SiteHealth, zone: ZoneInfo) -> str:
    if each.site.crawl is None:
        return "never visited yet"
    errors = ", ".join(f"{n:,} {reason}" for reason, n in each.figures.errors.items())
    said = [
        f"visited {_when(each.site.visited_at, zone, 'never')}",
        f"{count(each.figures.pages, 'page')} seen",
        f"{each.figures.blocked:,} blocked by robots.txt",
        f"errors: {errors}" if errors else "no errors",
        f"{each.unmatched:,} not matched yet" if each.unmatched else "",
    ]
    return ", ".join(filter(None, said))


def match_lines(match: Match, zone: ZoneInfo, similar: int = 0) -> Iterator[str]:
    """A page as it was found: what it is, and why it matches."""
    if match.published_at is not None:
        moment = f"published {clock_time(match.published_at, zone)}"
    else:
        moment = f"found {clock_time(match.found_at, zone)}"
    folded = f", +{similar} similar" if similar else ""
    yield f"{match.relevance:.2f}  {printable(match.title, 90) or '(no title)'}"
    yield f"      {moment}{folded}  {printable(match.url, 200)}"
    if snippet := printable("".join(pieces(match.snippet)), 240):
        yield f"      {snippet}"
    yield f"      why: {printable(_why(match), 200)}"


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
    span_of = "the last day" if days == 1 else f"the last {days:g} days"
    looked = count(found.pages, "stored page")
    yield f"{span_of.capitalize()} would have sent {count(len(found.matches), 'page')} ({looked})"
    if found.undated:
        yield f"  {count(found.undated, 'more page')} without a date came with the first visit"
    if found.unvisited:
        hosts = printable(", ".join(found.unvisited))
        yield f"  never visited yet: {hosts}; `focus watch run` does it"
    for match, similar in zip(found.matches, found.similar, strict=True):
        yield from ("", *match_lines(match, zone, similar))


def log_lines(found: Sequence[DeliveryRecord], language: str, zone: ZoneInfo) -> list[str]:
    """The delivery log, latest first."""
    if not found:
        return ["Nothing was delivered yet"]
    rows = [
        (
            clock_time(each.at, zone),
            printable(each.channel, 60),
            count(each.items, "page") if each.items else "",
            say(_STATES[each.state], language),
            printable(each.detail, 120),
        )
        for each in found
    ]
    return table(rows, indent="")


def due_lines(
    store: AlertStore, alerts: Sequence[StoredAlert], now: float, *, at_once: bool
) -> Iterator[str]:
    """What a run would do."""
    if not alerts:
        yield "No alert is due"
    for each in alerts:
        yield f"check {printable(each.alert.name)}"
    for site in to_visit(store, alerts, now=now, at_once=at_once):
        yield f"visit {printable(site.host)}"
    waiting = store.outbox.counts().get(WAITING, 0)
    yield f"{count(waiting, 'page')} in the outbox"


def ran_lines(ran: Ran) -> Iterator[str]:
    """What a run came to."""
    pages = sum(each.pages for each in ran.matched)
    yield (
        f"{count(ran.alerts, 'alert')} checked, {count(ran.visited, 'site')} visited, "
        f"{count(pages, 'page')} looked at, {ran.news:,} to be told of"
    )
    sent = ran.delivered
    yield (
        f"{count(sent.sent, 'message')} sent with {count(sent.items, 'page')}, "
        f"{sent.waiting:,} to be tried again, {sent.dead:,} given up"
    )


def _when(moment: float | None, zone: ZoneInfo, without: str) -> str:
    return without if moment is None else clock_time(moment, zone)
