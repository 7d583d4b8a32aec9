"""`focus why`: shows the path to a URL, and its relevance or why it is no result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import CRAWL, DB, JSON, Command, print_json, print_lines
from focus.i18n import say
from focus.score.relevance.evidence import MIN_TERMS
from focus.text.formatting import format_count, format_local_time, format_table, printable
from focus.text.reason_labels import explain_codes

if TYPE_CHECKING:
    from focus.storage.views import PathStep, PrecedingUrls, Why, WhyPage


@click.command(cls=Command)
@DB
@CRAWL
@JSON
@click.argument("url")
def why(db: Path, crawl: str, as_json: bool, url: str) -> None:
    """Explain when and why a URL was fetched, or why it was not.

    For a fetched URL, it shows the path of links from a seed and the relevance of each part of the
    page with the words found there. For others, it shows why the URL failed, was dropped or still
    waits. `evidence` lists the terms of the sum that is the priority: properties of the links to
    the URL, and hit rates: of the linking page and of pages like it (hub), of the host and URL
    pattern (place).
    member: an index page about the topic lists it. subtopic: the link text has a word that is
    frequent in titles of relevant pages. fallback: the crawl found little and tried links of the
    most relevant pages. `ahead` lists URLs that were fetched before it, or that wait with a higher
    priority.

    \b
    Example:
        focus why https://sports.sina.com.cn/china/
    """
    from focus.storage.evidence import explain_priority
    from focus.storage.reader import DatabaseReader
    from focus.urls.normal_form import read_url, url_fingerprint

    url = read_url(url.strip().replace(" ", "%20") if "://" in url else url)
    with DatabaseReader(db.expanduser()) as reader:
        number = reader.crawl_id(crawl)
        explanation = reader.why(number, url, key=url_fingerprint(url))
        answer = explain_priority(reader, number, explanation)
    if as_json:
        print_json(answer)
        return
    print_lines(why_lines(answer), err=not answer.state)


def why_lines(why: Why) -> list[str]:
    """Return the path to a URL, and how it was judged."""
    url = printable(why.url)
    if not why.state:
        lines = [say("{url} is not known to this crawl.", url=url)]
        similar = [f"  {printable(near_url)}" for near_url in why.nearest]
        return lines + ([say("Most similar known URLs of the host:"), *similar] if similar else [])
    reason = f" ({say(why.reason)})" if why.reason else ""
    detail = f": {printable(explain_codes(why.detail))}" if why.detail else ""
    lines = [url, f"  {say(why.state)}{reason}{detail}"]
    if why.tries:
        lines.append(say("  {tries} failed so far", tries=format_count(why.tries, "try")))
    if why.duplicate_of:
        lines.append(
            say(
                "  duplicate  nearly the text of {duplicate_of}",
                duplicate_of=printable(why.duplicate_of),
            )
        )
    if why.page is not None:
        lines += _page_lines(why, why.page)
    else:
        lines.append(
            say(
                "  priority {priority}, depth {depth}",
                priority=_priority_text(why.priority + why.place),
                depth=why.depth,
            )
        )
    if why.named:
        lines.append(say("  named      {named}", named=", ".join(map(printable, why.named))))
    if why.evidence:
        parts = _add_up(why.evidence, why.priority + why.place)
        words = ", ".join(_word_with_source(word, why) for word in why.subtopics)
        matched = f" ({words})" if words else ""
        if why.page is not None and abs(why.page.priority - why.priority) >= 0.001:
            matched += say("; now, after further links and results")
        lines.append(say("  evidence   {parts}{named}", parts=", ".join(parts), named=matched))
    if why.ahead is not None:
        lines += _ahead_lines(why.ahead, was_fetched=why.page is not None)
    return [*lines, "", _path_heading(why), *map(_step_line, why.path)]


def _add_up(parts: Mapping[str, float], total: float) -> list[str]:
    """Return parts as text whose rounded numbers add up to the total.

    What rounding and parts too small to name leave is shown as `others`.
    """
    rounded = {name: round(part, 3) for name, part in parts.items()}
    others = round(round(total, 3) - sum(rounded.values()), 3)
    rounded |= {"others": others} if others else {}
    *texts, last = [f"{say(name)} {part:+.3f}" for name, part in rounded.items()]
    return [*texts, f"{last} = {total:.3f}"]


def _word_with_source(word: str, why: Why) -> str:
    source = why.subtopic_sources.get(word)
    return printable(word if source is None else f"{word}: {source}")


def _path_heading(why: Why) -> str:
    """Return the heading of the path, which follows the best links and need not be the shortest."""
    links = len(why.path) - 1
    if why.depth >= links:
        return say("Path from a seed:")
    return say(
        "Path from a seed by the best links (the shortest has {depth}):",
        depth=format_count(why.depth, "link"),
    )


def _ahead_lines(ahead: PrecedingUrls, *, was_fetched: bool) -> list[str]:
    what = say(
        "fetched between its parent and it" if was_fetched else "waiting with a higher priority"
    )
    if not ahead.number:
        return [say("  ahead      no URL {what}", what=what)]
    hosts = ", ".join(f"{printable(host)} {number:,}" for host, number in ahead.hosts)
    lines = [
        say(
            "  ahead      {number} {what}: {hosts}",
            number=format_count(ahead.number, "URL"),
            what=what,
            hosts=hosts,
        )
    ]
    return lines + [f"    {_priority_text(rank):>9}  {printable(url)}" for url, rank in ahead.urls]


def _page_lines(why: Why, page: WhyPage) -> list[str]:
    from focus.storage.evidence import is_judge_part

    verdict = say("relevant") if page.relevant else say("not relevant")
    if page.is_list:
        verdict = say("no result, since it lists other pages")
    elif why.is_out_of_period:
        verdict = say("no result by --since-published or --until-published")
    elif why.threshold is not None and page.relevant is not (page.relevance > why.threshold):
        verdict += say(", as labelled")
    elif why.threshold is not None:
        verdict += say(" (relevant is over {threshold:.3g})", threshold=why.threshold)
    lines = [
        say("  title      {title}", title=printable(page.title, 80)),
        say("  relevance  {relevance:.3f}, {verdict}", relevance=page.relevance, verdict=verdict)
        + (say("; noindex") if page.noindex else ""),
        say(
            "  chosen     as request {nth:,}, priority {priority}, from {waiting}",
            nth=page.nth,
            priority=_priority_text(page.priority + why.place),
            waiting=format_count(page.waiting, "waiting URL"),
        ),
        say(
            "  fetched    {when}, status {status}, PageRank {pagerank:.3g}",
            when=format_local_time(page.fetched_at),
            status=page.status,
            pagerank=page.pagerank,
        ),
    ]
    if page.rendering:
        lines.append(say("  scripts    {rendering}", rendering=say(page.rendering)))
    parts = [
        (
            part,
            _part_text(page.parts.get(part, 0.0), why.weights.get(part)),
            ", ".join(map(printable, page.matched.get(part, []))),
        )
        for part in dict.fromkeys((*page.parts, *page.matched))
    ]
    if why.weights and parts:
        total = sum(why.weights.get(part, 0.0) * value for part, value in page.parts.items())
        bias = why.weights["bias"]
        parts += [("bias", f"{bias:+.3f}", "")]
        is_judged = any(map(is_judge_part, page.parts))
        meaning = "relevance = 1/(1 + e^-sum)"
        meaning = say("the answer of the judge counts") if is_judged else meaning
        parts += [(say("sum"), f"{total + bias:+.3f}", meaning)]
    if why.few_terms:
        lines.append(
            say(
                "  terms      {terms} (a page without a keyword needs {n} different ones)",
                terms=", ".join(map(printable, why.few_terms)),
                n=MIN_TERMS,
            )
        )
    return lines + ([say("  by part"), *format_table(parts, indent="    ")] if parts else [])


def _part_text(value: float, weight: float | None) -> str:
    """Return a part of the relevance, with its weight and their product if it has one."""
    return f"{value:.3f}" if weight is None else f"{value:.3f} x {weight:g} = {value * weight:+.3f}"


def _priority_text(priority: float) -> str:
    from focus.records import SEED_PRIORITY

    return say("of a seed") if priority >= SEED_PRIORITY else f"{priority:.4g}"


def _step_line(step: PathStep) -> str:
    anchor = f"  “{printable(step.anchor, 40)}”" if step.anchor else ""
    relevance = (
        ""
        if step.relevance is None
        else say("  relevance {relevance:.2f}", relevance=step.relevance)
    )
    return f"  {step.depth:>3}  {printable(step.url)}{anchor}{relevance}"
