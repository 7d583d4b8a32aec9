"""Shows the state of a crawl, the way to a URL, and the results of the demo as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from focus.i18n import say, says, told
from focus.records import SEED_PRIORITY
from focus.storage.views import (
    Ahead,
    CrawlSummary,
    Reason,
    SeenChange,
    Status,
    Step,
    Why,
    WhyPage,
)
from focus.text.formatting import count, percent, printable, size, span, table

if TYPE_CHECKING:
    from focus.demo.run import DemoResult


def when(seconds: float) -> str:
    """An instant in local time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


# -- focus status -------------------------------------------------------------------


def status_lines(database: str, crawls: Sequence[CrawlSummary], status: Status | None) -> list[str]:
    """All crawls of a database in a table, one of them in full."""
    lines = [say("Database {database}", database=database)]
    if status is None:
        return [*lines, say("  no crawl yet; `focus crawl` begins one")]
    head = says("crawl", "topic", "strategy", "begun", "pages", "relevant", "harvest", "state")
    lines += [
        "",
        *table([head, *map(_crawl_row, crawls)], right={0, 4, 5, 6}),
        "",
        say("Crawl {number}", number=status.crawl.id),
    ]
    counters = status.counters
    requests, received = int(counters.get("requests", 0)), int(counters.get("bytes", 0))
    rows = [
        (say("URLs"), ", ".join(f"{n:,} {say(state)}" for state, n in status.states.items())),
        (say("harvest"), _harvest(status, requests)),
        (
            say("received"),
            say(
                "{received} in {requests}",
                received=size(received),
                requests=count(requests, "request"),
            ),
        ),
        (say("limits"), limits_text(status.limits)),
        (say("failures"), _reasons(status.failures)),
        (say("dropped"), _reasons(status.drops)),
        (
            say("repeated"),
            say(
                "{duplicates} with nearly the text of another",
                duplicates=count(status.duplicates, "page"),
            ),
        ),
    ]
    if status.due is not None:
        rows.append((say("again"), _again(status)))
    lines += table(rows)
    if status.hosts:
        hosts = [
            (printable(h.name, 50), f"{h.yielded:,.1f}", f"{h.fetched:,}") for h in status.hosts
        ]
        lines += [
            "",
            say("  Best hosts"),
            *table(
                [(say("host"), say("yield"), say("requests")), *hosts], indent="    ", right={1, 2}
            ),
        ]
    return lines


def _crawl_row(crawl: CrawlSummary) -> tuple[str, ...]:
    ended = (
        say(crawl.reason)
        if crawl.reason
        else (say("running") if crawl.running else say("broken off"))
    )
    return (
        str(crawl.id),
        printable(crawl.topic, 24),
        crawl.strategy,
        when(crawl.started_at),
        f"{crawl.pages:,}",
        f"{crawl.relevant:,}",
        percent(crawl.harvest_rate),
        ended,
    )


def _harvest(status: Status, requests: int) -> str:
    return say(
        "{last_100} of the last 100 requests, {last_500} of the last 500, {rate} of all",
        last_100=percent(status.harvest_last_100),
        last_500=percent(status.harvest_last_500),
        rate=percent(status.crawl.relevant / requests if requests else 0.0),
    )


def limits_text(limits: Mapping[str, Any]) -> str:
    """Limits of a crawl by their names: `max-pages 1,000, max-time 30m00s`."""
    spelled = {"max_time_s": span, "max_bytes": size}
    known = [
        f"{name.removesuffix('_s').replace('_', '-')} {spelled.get(name, '{:,}'.format)(value)}"
        for name, value in limits.items()
        if value is not None
    ]
    return ", ".join(known) or say("none")


def _reasons(reasons: Sequence[Reason]) -> str:
    return ", ".join(f"{say(each.reason or 'other')} {each.urls:,}" for each in reasons) or say(
        "none"
    )


def _again(status: Status) -> str:
    return say(
        "{looks} so far, {gone} gone; {due} due now",
        looks=count(int(status.counters.get("looked", 0)), "look"),
        gone=count(status.gone, "page"),
        due=count(status.due or 0, "page"),
    )


# -- focus changes ------------------------------------------------------------------


def change_lines(changes: Sequence[SeenChange]) -> list[str]:
    """What has changed, a line for each look that found something."""
    if not changes:
        return [say("No change was found yet; `focus crawl --refresh 7d` looks for some.")]
    rows = [(when(each.at), _what(each), printable(each.url)) for each in changes]
    return table([says("found", "change", "page"), *rows], indent="")


def _what(change: SeenChange) -> str:
    """`text, links +3`, with the title before or where it went in brackets."""
    kinds = ", ".join(say(kind) + f" +{change.links}" * (kind == "links") for kind in change.kinds)
    return f"{kinds} ({printable(change.detail, 40)})" if change.detail else kinds


# -- focus why ----------------------------------------------------------------------


def why_lines(why: Why) -> list[str]:
    """The way to a URL, and how it was judged."""
    url = printable(why.url)
    if not why.state:
        lines = [say("{url} was never seen in this crawl.", url=url)]
        near = [f"  {printable(each)}" for each in why.nearest]
        return lines + (
            [say("Known URLs of its host that are most like it:"), *near] if near else []
        )
    reason = f" ({say(why.reason)})" if why.reason else ""
    detail = f": {printable(told(why.detail))}" if why.detail else ""
    lines = [url, f"  {say(why.state)}{reason}{detail}"]
    if why.tries:
        lines.append(say("  {tries} failed so far", tries=count(why.tries, "try")))
    if why.duplicate_of:
        lines.append(
            say(
                "  duplicate  nearly the text of {duplicate_of}",
                duplicate_of=printable(why.duplicate_of),
            )
        )
    if why.page is not None:
        lines += _page_lines(why.page)
    else:
        lines.append(
            say(
                "  priority {priority}, depth {depth}",
                priority=_priority(why.priority),
                depth=why.depth,
            )
        )
    if why.named:
        lines.append(say("  named      {named}", named=", ".join(map(printable, why.named))))
    if why.evidence:
        parts = (f"{name} {part:+.2f}" for name, part in why.evidence.items())
        words = ", ".join(_with_source(word, why) for word in why.subtopics)
        named = f" ({words})" if words else ""
        lines.append(say("  evidence   {parts}{named}", parts=", ".join(parts), named=named))
    if why.ahead is not None:
        lines += _ahead_lines(why.ahead, taken=why.page is not None)
    return [*lines, "", _way_head(why), *map(_step_line, why.path)]


def _with_source(word: str, why: Why) -> str:
    source = why.subtopic_sources.get(word)
    return printable(word if source is None else f"{word}: {source}")


def _way_head(why: Why) -> str:
    """The way goes by the best link to each page, which need not be the shortest."""
    links = len(why.path) - 1
    if why.depth >= links:
        return say("The way from a seed:")
    return say(
        "The way from a seed by the best links; the shortest has {depth}:",
        depth=count(why.depth, "link"),
    )


def _ahead_lines(ahead: Ahead, *, taken: bool) -> list[str]:
    what = say("taken between its parent and it" if taken else "waiting with more priority")
    if not ahead.number:
        return [say("  ahead      no URL {what}", what=what)]
    hosts = ", ".join(f"{printable(host)} {number:,}" for host, number in ahead.hosts)
    lines = [
        say(
            "  ahead      {number} {what}: {hosts}",
            number=count(ahead.number, "URL"),
            what=what,
            hosts=hosts,
        )
    ]
    return lines + [f"    {_priority(rank):>9}  {printable(url)}" for url, rank in ahead.urls]


def _page_lines(page: WhyPage) -> list[str]:
    verdict = say("relevant") if page.relevant else say("not relevant")
    lines = [
        say("  title      {title}", title=printable(page.title, 80)),
        say("  relevance  {relevance:.3f}, {verdict}", relevance=page.relevance, verdict=verdict)
        + (say("; noindex") if page.noindex else ""),
        say(
            "  taken      as request {nth:,}, at priority {priority}, among {waiting}",
            nth=page.nth,
            priority=_priority(page.priority),
            waiting=count(page.waiting, "waiting URL"),
        ),
        say(
            "  fetched    {when}, status {status}, PageRank {pagerank:.3g}",
            when=when(page.fetched_at),
            status=page.status,
            pagerank=page.pagerank,
        ),
    ]
    if page.rendering:
        lines.append(say("  scripts    {rendering}", rendering=say(page.rendering)))
    parts = [
        (
            part,
            f"{page.parts.get(part, 0.0):.3f}",
            ", ".join(map(printable, page.matched.get(part, []))),
        )
        for part in dict.fromkeys((*page.parts, *page.matched))
    ]
    return lines + ([say("  by part"), *table(parts, indent="    ")] if parts else [])


def _priority(priority: float) -> str:
    return say("of a seed") if priority >= SEED_PRIORITY else f"{priority:.4g}"


def _step_line(step: Step) -> str:
    anchor = f"  “{printable(step.anchor, 40)}”" if step.anchor else ""
    relevance = (
        ""
        if step.relevance is None
        else say("  relevance {relevance:.2f}", relevance=step.relevance)
    )
    return f"  {step.depth:>3}  {printable(step.url)}{anchor}{relevance}"


# -- focus demo ---------------------------------------------------------------------


def demo_lines(
    outcomes: Sequence[DemoResult], database: Path, report: Path | None, focus: str
) -> list[str]:
    """What the strategies of a demo came to, and what to try next; `focus` starts the command."""
    head = says("strategy", "pages", "relevant", "harvest", "pages/s", "first relevant")
    rows = [
        (
            each.strategy,
            f"{each.report.run_pages:,}",
            say("{relevant:,} of {there:,}", relevant=each.relevant, there=each.there),
            percent(each.harvest_rate),
            f"{each.report.pages_per_second:.1f}",
            say(
                "after {first_relevant}, {first_s:.1f} s",
                first_relevant=count(each.first_relevant, "request"),
                first_s=each.first_s,
            )
            if each.first_relevant
            else say("none"),
        )
        for each in outcomes
    ]
    return [
        "",
        say("Relevant means: written about the topic by the generator, whatever a crawler thinks."),
        *table([head, *rows], right={1, 2, 3, 4}),
        "",
        *(
            [say("The report on the last is {report}: open it in a browser.", report=report)]
            if report
            else []
        ),
        say("Database {database}. Try next:", database=database),
        f"  {focus} status --db {database}",
        f"  {focus} export --db {database} --relevant --sort quality --limit 3",
        f"  {focus} crawl --seed sports.sina.com.cn --topic 足球 --max-pages 100 --dry-run",
    ]
