"""Shows the profile of `focus crawl --profile` as a table."""

from __future__ import annotations

from focus.i18n import say
from focus.profiling.stages import MEANING, CrawlProfile
from focus.text.formatting import count, percent, table

BUSY = 0.85
"""From this share of the time on, a part is what limits the crawl."""


def profile_lines(profile: CrawlProfile) -> list[str]:
    """A line per stage, the sums, and who had no time left; nothing without a page."""
    if not profile.pages:
        return []
    rows = [
        (
            stage.name,
            say("{ms:.3f} ms", ms=stage.ms),
            percent(stage.share),
            say(stage.where),
            say(MEANING[stage.name]),
        )
        for stage in profile.stages
    ]
    sums: dict[str, float] = {}
    for stage in profile.stages:
        sums[stage.where] = sums.get(stage.where, 0.0) + stage.ms
    told = ", ".join(f"{where} {ms:.2f}" for where, ms in sums.items())
    return [
        say("CPU time by stage, per page ({pages}):", pages=count(profile.pages, "page")),
        *table(rows),
        say(
            "In all {sum:.2f} ms a page: {told}. Start: {start_s:.2f} s.",
            sum=sum(sums.values()),
            told=told,
            start_s=profile.start_s,
        ),
        _busy(profile),
    ]


def _busy(profile: CrawlProfile) -> str:
    parts = {
        say("the event loop"): profile.loop_busy,
        say("the workers"): profile.workers_busy,
        say("the store's thread"): profile.store_busy,
    }
    told = ", ".join(f"{name} {percent(share)}" for name, share in parts.items())
    most = max(parts, key=lambda name: parts[name])
    limits = say("the limit is {most}", most=most)
    if parts[most] < BUSY:
        limits = say("none is the limit: the web, the delay or other programs are")
    return say("Busy: {told}; {limits}.", told=told, limits=limits)
