"""Decides whether a failed URL is tried again, recorded as a failure, or dropped.

Retries follow the table in scheduling/retries.py. A host to blame rests, and is given up after
too many failures in a row: all that waits on it fails with it. Nothing is changed here.
"""

from __future__ import annotations

from focus.engine.intents import (
    AbandonHost,
    CountFailure,
    DropUrl,
    FailUrl,
    Intent,
    PauseHost,
    RequeueUrl,
    RetryUrl,
)
from focus.engine.view import View
from focus.records import DropReason, FailureKind, FetchResult, Task
from focus.scheduling import retries
from focus.scheduling.queues import Host

_NO_CONNECTION = {
    *(FailureKind.UNREACHABLE, FailureKind.CONNECT, FailureKind.TLS),
    *(FailureKind.TIMEOUT, FailureKind.RESET),
}


def failed(
    task: Task, kind: FailureKind, detail: str, fetch: FetchResult, view: View, now: float
) -> list[Intent]:
    """A request for a URL (`task.id` is set) brought no page."""
    assert task.id is not None
    if kind is FailureKind.NOT_HTML:
        return [DropUrl(task.id, DropReason.NOT_HTML, detail)]
    if kind in _NO_CONNECTION and task.id in view.seeds.fallbacks:
        return [RequeueUrl(task.id, view.seeds.fallbacks[task.id])]
    tries = view.request(task.id).tries + 1
    again_s = retries.retry_wait_s(kind, tries, fetch.retry_after_s)
    intents: list[Intent]
    if again_s is None:
        intents = [FailUrl(task.id, kind, detail, tries)]
    else:
        at = now + again_s
        intents = [RetryUrl(task.id, task.url, kind, detail, tries, at, task.hops)]
    if retries.retry_policy(kind).blames_host:
        told_s = again_s if again_s is not None else fetch.retry_after_s
        rest_until = now + (told_s or 0.0)
        intents += _blame(view.frontier.host(task.host), kind, detail, rest_until, now)
    return intents


def _blame(
    host: Host, kind: FailureKind, detail: str, rest_until: float, now: float
) -> list[Intent]:
    if host.failures + 1 >= retries.MAX_HOST_FAILURES or kind in retries.ABANDONING_FAILURES:
        return [CountFailure(host), AbandonHost(host, kind, detail)]
    if rest_until > now:
        return [CountFailure(host), PauseHost(host, rest_until)]
    return [CountFailure(host)]


def shut(url_id: int, host: Host, why: str, view: View) -> list[Intent]:
    """A URL's scheme is closed at its host; a seed may have another."""
    if url_id in view.seeds.fallbacks:
        return fall_back(host, view)
    return [FailUrl(url_id, FailureKind.HOST_GIVEN_UP, why)]


def fall_back(host: Host, view: View) -> list[Intent]:
    """Seeds without a scheme were tried as https; try those of this host as http."""
    return [RequeueUrl(url_id, url) for url_id, url in view.fallbacks(host)]
