"""Shows the profile of `focus crawl --profile` as a table."""

from __future__ import annotations

from focus.profiling.stages import MEANING, CrawlProfile
from focus.text.formatting import count, percent, table

BUSY = 0.85
"""From this share of the time on, a part is what limits the crawl."""


def profile_lines(profile: CrawlProfile) -> list[str]:
    """A line per stage, the sums, and who had no time left; nothing without a page."""
    if not profile.pages:
        return []
    rows = [
        (stage.name, f"{stage.ms:.3f} ms", percent(stage.share), stage.where, MEANING[stage.name])
        for stage in profile.stages
    ]
    sums: dict[str, float] = {}
    for stage in profile.stages:
        sums[stage.where] = sums.get(stage.where, 0.0) + stage.ms
    told = ", ".join(f"{where} {ms:.2f}" for where, ms in sums.items())
    return [
        f"CPU time by stage, per page ({count(profile.pages, 'page')}):",
        *table(rows),
        f"In all {sum(sums.values()):.2f} ms a page: {told}. Start: {profile.start_s:.2f} s.",
        _busy(profile),
    ]


def _busy(profile: CrawlProfile) -> str:
    parts = {
        "the event loop": profile.loop_busy,
        "the workers": profile.workers_busy,
        "the store's thread": profile.store_busy,
    }
    told = ", ".join(f"{name} {percent(share)}" for name, share in parts.items())
    most = max(parts, key=lambda name: parts[name])
    limits = f"{most} {'limit' if most.endswith('workers') else 'limits'} the crawl"
    if parts[most] < BUSY:
        limits = "none is the limit: the web, the delay or other programs are"
    return f"Busy: {told}; {limits}."
