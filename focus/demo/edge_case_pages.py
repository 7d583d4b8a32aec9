"""Answers the addresses that are no pages: redirects, robots.txt, traps, dead links."""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import urlsplit

from focus.demo.hosts import DemoHost
from focus.demo.hubs import HubPages
from focus.demo.plan import WebPlan

_PIXEL = bytes.fromhex(
    "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b"
)  # the smallest GIF: one transparent dot
_TYPES = {"css": "text/css", "js": "text/javascript", "jpg": "image/gif", "png": "image/gif"}


def location(plan: WebPlan, site: DemoHost, path: str, places: Container[str]) -> str | None:
    """Where a path redirects to, None if it does not.

    `/go/N` leads to article N over 0 to 2 further hops `/r/N/K`; `/go/loop` and
    `/go/pool` lead to each other; a directory without its slash gets it; `/ad/…`
    leads home.
    """
    if path == "/go/loop":
        return "/go/pool"
    if path == "/go/pool":
        return "/go/loop"
    if path.startswith("/ad/"):
        return "/"
    hop = re.fullmatch(r"/go/(\d{1,9})|/r/(\d{1,9})/([12])", path)
    if hop:
        number = int(hop[1] or hop[2])
        if number >= len(plan.articles) or plan.articles[number].site != site.number:
            return None
        hops = number % 3 if hop[1] else int(hop[3]) - 1
        return f"/r/{number}/{hops}" if hops else plan.articles[number].path
    return f"{path}/" if f"{site.host}{path}/" in places else None


def robots_txt(site: DemoHost) -> str | None:
    """Return the host's robots.txt; most hosts have none."""
    if not site.has("robots"):
        return None
    rules = "User-agent: *\nDisallow: /inner/\nDisallow: /ad/\n"
    return rules + ("Crawl-delay: 0.2\n" if site.kind.delay_s else "")


def static_file(path: str) -> tuple[str, bytes] | None:
    """Media type and body of anything under /static/, and of a report under /files/."""
    if re.fullmatch(r"/files/report-\d{1,9}\.pdf", path):
        return "application/pdf", b"%PDF-1.4\n%%EOF\n"
    suffix = path.rpartition(".")[2]
    if not path.startswith("/static/") or suffix not in _TYPES:
        return None
    return _TYPES[suffix], _PIXEL if _TYPES[suffix] == "image/gif" else b"/* */\n"


def trap(hubs: HubPages, site: DemoHost, url: str) -> str | None:
    """Return a page of the endless calendar or of the session trap."""
    parts = urlsplit(url)
    month = re.fullmatch(r"/calendar/(\d{1,6})/(\d{1,2})/", parts.path)
    if site.has("calendar") and month and 1 <= int(month[2]) <= 12 and int(month[1]) > 0:
        return hubs.calendar(site, int(month[1]), int(month[2]))
    if site.has("session") and parts.path == "/online/":
        return hubs.online(site, parts.query)
    return None
