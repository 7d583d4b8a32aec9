"""Judges by a server's log how a crawler behaved: too fast, too many at once, or forbidden."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple
from urllib.robotparser import RobotFileParser

from focus.demo.server import LogEntry
from focus.demo.site import DemoWeb

CLOCK_S = 0.002  # what timers and the two sides' clocks may differ


class Conduct(NamedTuple):
    """How a crawler behaved towards the hosts of a web.

    closest_s   shortest time from one request to the next of the same host
    max_open    requests to one host at once
    early       (host, path, seconds after the request before) under the host's delay
    forbidden   what robots.txt forbids and was asked for all the same
    unasked     hosts of which something was fetched before their robots.txt
    """

    requests: int
    closest_s: float
    max_open: int
    early: list[tuple[str, str, float]]
    forbidden: list[str]
    unasked: list[str]

    def faults(self, per_host: int) -> int:
        """How often it misbehaved."""
        crowds = self.max_open > per_host
        return len(self.early) + len(self.forbidden) + len(self.unasked) + crowds


def conduct(web: DemoWeb, log: Iterable[LogEntry], delay_s: float) -> Conduct:
    """Judge a log; `delay_s` is what was asked for, a host's Crawl-delay may be longer.

    A log has arrivals. With one request at a time they tell no less than the delay, however late
    they are: it runs from the answer. With several it runs from the sending, so that behind one
    that came late on a full machine the next seems early.
    """
    hosts = defaultdict(list)
    for entry in log:
        hosts[entry.host].append(entry)
    rules = {host: _rules(web, host) for host in hosts}
    delays = {host: max(delay_s, asked) for host, (_, asked) in rules.items()}
    gaps = [
        (later.time - earlier.time, later)
        for entries in hosts.values()
        for earlier, later in pairwise(entries)
    ]
    return Conduct(
        requests=sum(map(len, hosts.values())),
        closest_s=min((gap for gap, _ in gaps), default=0.0),
        max_open=max(map(_most_at_once, hosts.values()), default=0),
        early=[
            (entry.host, entry.path, gap)
            for gap, entry in gaps
            if gap < delays[entry.host] - CLOCK_S
        ],
        forbidden=[
            f"{entry.host}{entry.path}"
            for host, entries in hosts.items()
            for entry in entries
            if entry.path != "/robots.txt" and not rules[host][0].can_fetch("focus", entry.path)
        ],
        unasked=[host for host, entries in hosts.items() if entries[0].path != "/robots.txt"],
    )


def _rules(web: DemoWeb, host: str) -> tuple[RobotFileParser, float]:
    """What may be asked, by the standard library's parser (not the crawler's), and how often."""
    parser = RobotFileParser()
    answer = web.respond(f"http://{host}/robots.txt")
    lines = answer.body.decode().splitlines() if answer and answer.status == 200 else []
    parser.parse(lines)
    pairs = (line.partition(":") for line in lines)  # the parser takes whole seconds only
    asked = [float(value) for name, _, value in pairs if name.lower() == "crawl-delay"]
    return parser, max(asked, default=0.0)


def _most_at_once(entries: list[LogEntry]) -> int:
    """Answers take their time: how many requests lay open together."""
    moments = [(entry.time, 1) for entry in entries]
    moments += [(entry.time + entry.elapsed_s, -1) for entry in entries]
    now = max_open = 0
    for _, change in sorted(moments, key=lambda item: (item[0], -item[1])):  # some take no time
        now += change
        max_open = max(max_open, now)
    return max_open
