"""Decides whether a failed URL is retried, marked as failed, or dropped.

Retries follow the table in `scheduling.retries`. A blamed host is paused, and is abandoned after
too many failures in a row: its waiting URLs fail, too. Nothing is changed here.
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


def failure_intents(
    task: Task, kind: FailureKind, detail: str, fetch: FetchResult, view: View, now: float
) -> list[Intent]:
    """Return the intents after a request for a URL (`task.id` is set) that returned no page."""
    assert task.id is not None
    if kind is FailureKind.NOT_HTML:
        return [DropUrl(task.id, DropReason.NOT_HTML, detail)]
    if kind in _NO_CONNECTION and task.id in view.seeds.fallbacks:
        return [RequeueUrl(task.id, view.seeds.fallbacks[task.id])]
    tries = view.request(task.id).tries + 1
    retry_s = retries.retry_wait_s(kind, tries, fetch.retry_after_s)
    intents: list[Intent]
    if retry_s is None:
        intents = [FailUrl(task.id, kind, detail, tries)]
    else:
        at = now + retry_s
        intents = [RetryUrl(task.id, task.url, kind, detail, tries, at, task.hops)]
    if retries.retry_policy(kind).blames_host:
        pause_s = retry_s if retry_s is not None else fetch.retry_after_s
        paused_until = now + (pause_s or 0.0)
        intents += _blame_host(view.frontier.host(task.host), kind, detail, paused_until, now)
    return intents


def _blame_host(
    host: Host, kind: FailureKind, detail: str, paused_until: float, now: float
) -> list[Intent]:
    if host.failures + 1 >= retries.MAX_HOST_FAILURES or kind in retries.ABANDONING_FAILURES:
        return [CountFailure(host), AbandonHost(host, kind, detail)]
    if paused_until > now:
        return [CountFailure(host), PauseHost(host, paused_until)]
    return [CountFailure(host)]


def closed_scheme_intents(url_id: int, host: Host, why: str, view: View) -> list[Intent]:
    """Return the intents for a URL whose scheme its host does not serve."""
    if url_id in view.seeds.fallbacks:
        return fallback_intents(host, view)
    return [FailUrl(url_id, FailureKind.HOST_ABANDONED, why)]


def fallback_intents(host: Host, view: View) -> list[Intent]:
    """Return intents that try the seeds of a host over http if they were typed without scheme."""
    return [RequeueUrl(url_id, url) for url_id, url in view.fallbacks(host)]
