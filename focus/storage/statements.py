"""Turns a batch of intents into SQL statements with their values; pure.

`store` runs them in one transaction, in the order given: new URLs come before
what changes them. See `schema` for what each column means.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from focus.i18n import encode_message
from focus.records import (
    Batch,
    HostRow,
    Outcome,
    PageChange,
    PageRow,
    PriorityChange,
    QueueRow,
    RevisitState,
    UrlRow,
    UrlState,
)
from focus.storage import url_log
from focus.storage.schema import row_id

Row = tuple[Any, ...]

BLOCK = 128
"""Rows per execution at most. One step of SQLite per block, not per row: Python lets
go of the GIL at every step, and a busy loop gives it back 5 ms later."""

EXACT = 32
"""Fewer rows than these are one execution: most of a batch is as many rows as it has answers."""

# "VALUES *" stands for as many rows as a block has, see `expanded`.
_HOST = """
INSERT INTO host VALUES * ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at,
failures = excluded.failures, given_up = excluded.given_up, robots = excluded.robots,
address = excluded.address"""
_QUEUE = """
INSERT INTO queue VALUES * ON CONFLICT (id) DO UPDATE SET
fetched = excluded.fetched, yielded = excluded.yielded, bonus = excluded.bonus,
recent_fetched = excluded.recent_fetched, recent_yielded = excluded.recent_yielded,
recent_at = excluded.recent_at"""
_HUB = """
INSERT INTO hub VALUES * ON CONFLICT (id) DO UPDATE SET
fetched = excluded.fetched, yielded = excluded.yielded"""
_URL = "INSERT INTO url_found VALUES *"
_FETCHING = "INSERT OR IGNORE INTO fetching VALUES *"
_FETCHED = "WITH new (id) AS (VALUES *) DELETE FROM fetching WHERE id IN (SELECT id FROM new)"
_STATE = """
INSERT INTO url_state VALUES * ON CONFLICT (id) DO UPDATE SET state = excluded.state,
reason = excluded.reason, detail = excluded.detail, tries = excluded.tries,
retry_at = excluded.retry_at, hops = excluded.hops, parent = ifnull(excluded.parent, parent)"""
_MOVED = """
WITH new (id, url) AS (VALUES *)
UPDATE url_found SET url = new.url FROM new WHERE url_found.id = new.id"""
# Fetched again, it keeps how it was taken first: rank, priority, place, bonus.
_PAGE = """
INSERT INTO page VALUES * ON CONFLICT (id) DO UPDATE SET nth = excluded.nth,
status = excluded.status, fetched_at = excluded.fetched_at, elapsed_s = excluded.elapsed_s,
raw_bytes = excluded.raw_bytes, pagerank = excluded.pagerank, relevance = excluded.relevance,
relevant = excluded.relevant, noindex = excluded.noindex, simhash = excluded.simhash,
links_cut = excluded.links_cut, digest = excluded.digest"""
_OUTDATED = [
    f"WITH old (id) AS (VALUES *) DELETE FROM {table} WHERE id IN (SELECT id FROM old)"
    for table in ("near_duplicate", "body")
]
_PAGE_TEXT = "INSERT OR REPLACE INTO page_text VALUES *"
_BODY = "INSERT OR REPLACE INTO body VALUES *"
_LINK = "INSERT INTO link VALUES *"
_LASTMOD = "INSERT OR REPLACE INTO lastmod VALUES *"
_VALIDATOR = "INSERT OR REPLACE INTO validator VALUES *"
_TAGS = """
WITH new (id, etag, last_modified) AS (VALUES *)
UPDATE page_text SET etag = new.etag, last_modified = new.last_modified
FROM new WHERE page_text.id = new.id"""
_CHECK = "INSERT OR REPLACE INTO page_check VALUES *"
_PAGE_CHANGE = "INSERT OR REPLACE INTO page_change VALUES *"
_NEWS = """
WITH new (id, n) AS (VALUES *)
UPDATE page_check SET news = news + new.n FROM new WHERE page_check.id = new.id"""
_DUPLICATE = "INSERT OR REPLACE INTO near_duplicate VALUES *"
_RANK = "INSERT OR REPLACE INTO graph_rank VALUES *"


@cache
def expanded(statement: str, width: int, count: int) -> str:
    """The statement for `count` rows of `width` values."""
    row = f"({', '.join('?' * width)})"
    return statement.replace("VALUES *", f"VALUES {', '.join([row] * count)}")


def blocks(statement: str, values: list[Row]) -> Iterator[tuple[str, list[Any]]]:
    """SQL and flat values, in blocks of powers of two and a rest (few texts to prepare)."""
    start = 0
    while left := len(values) - start:
        count = left if left < EXACT else min(BLOCK, 1 << (left.bit_length() - 1))
        flat = chain.from_iterable(values[start : start + count])
        yield expanded(statement, len(values[start]), count), list(flat)
        start += count


def statements(crawl: int, batch: Batch) -> Iterator[tuple[str, list[Row]]]:
    """What a batch means in SQL: each statement with all its rows."""
    base = row_id(crawl, 0)
    yield _HOST, [_host(base, each) for each in batch.hosts]
    yield _QUEUE, [_queue(base, each) for each in batch.queues]
    yield _URL, [_url(base, each) for each in batch.urls]
    yield url_log.APPEND_FOUND, url_log.packed_found(crawl, batch.urls)
    changes = _merged_changes(batch.priority_changes)
    yield url_log.APPEND_EVIDENCE, url_log.packed_evidence(crawl, changes)
    yield url_log.ANCHORS, url_log.anchors(crawl, changes)
    outcomes = _merged_outcomes(batch.outcomes)
    sent = set(batch.fetching_ids)
    yield _FETCHING, [(base | number,) for number in batch.fetching_ids if number not in outcomes]
    yield _FETCHED, [(base | number,) for number in outcomes if number not in sent]
    born = [_born(base, each) for each in batch.urls if each.state is not UrlState.WAITING]
    yield _STATE, born + [_state(base, each) for each in outcomes.values()]
    yield _MOVED, [(base | each.id, each.url) for each in outcomes.values() if each.url is not None]
    for outdated in _OUTDATED:
        yield outdated, [(base | number,) for number in batch.replaced_page_ids]
    yield _PAGE, [_page(base, crawl, each) for each in batch.pages]
    yield _PAGE_TEXT, [_texts(base, each) for each in batch.pages]
    yield (
        _DUPLICATE,
        [(base | p.id, p.page.original_id) for p in batch.pages if p.page.original_id is not None],
    )
    yield _BODY, [(base | p.id, p.page.body_zstd) for p in batch.pages if p.page.body_zstd]
    yield _VALIDATOR, [(base | number, *values) for number, *values in batch.source_validators]
    yield _LASTMOD, [(base | number, when) for number, when in batch.lastmods]
    yield _LINK, [(base | p.request_number, p.id, _uint32(p.target_ids)) for p in batch.pages]
    yield (
        _LINK,
        [(base | nth, source, _uint32(targets)) for nth, source, targets in batch.other_links],
    )
    yield _TAGS, [(base | number, *tags) for number, *tags in batch.page_validators]
    yield _CHECK, [_check(base, each) for each in batch.revisit_states]
    yield _PAGE_CHANGE, [_page_change(base, each) for each in batch.page_changes]
    yield _NEWS, [(base | number, n) for number, n in Counter(batch.discovery_page_ids).items()]
    yield _HUB, [(base | hub, fetched, yielded) for hub, fetched, yielded in batch.hub_tallies]


def ranks(crawl: int, values: Iterable[tuple[int, float, float, float]]) -> tuple[str, list[Row]]:
    """The statement that writes (URL id, PageRank, hub, authority)."""
    base = row_id(crawl, 0)
    return _RANK, [(base | number, *found) for number, *found in values]


def _merged_changes(changes: list[PriorityChange]) -> list[PriorityChange]:
    """One per URL, as if done one after the other."""
    merged: dict[int, PriorityChange] = {}
    for change in changes:
        old = merged.get(change.id)
        if old is not None and change.parent_id is None:
            change = replace(change, parent_id=old.parent_id, anchor=old.anchor)
        merged[change.id] = change
    return [*merged.values()]


def _merged_outcomes(outcomes: list[Outcome]) -> dict[int, Outcome]:
    """One per URL: the last, with a new URL that an earlier one gave."""
    merged: dict[int, Outcome] = {}
    for outcome in outcomes:
        old = merged.get(outcome.id)
        if old is not None and outcome.url is None:
            outcome = replace(outcome, url=old.url)
        merged[outcome.id] = outcome
    return merged


def _host(base: int, host: HostRow) -> Row:
    robots = msgspec.msgpack.encode(host.robots) if host.robots else None
    row = base | host.id, host.name, host.next_at, host.failures, host.is_abandoned, robots
    return *row, host.address


def _queue(base: int, queue: QueueRow) -> Row:
    tallies = queue.requests, queue.rewards, queue.bonus, *queue.recent
    return base | queue.id, queue.host_id, queue.pattern, *tallies


def _url(base: int, url: UrlRow) -> Row:
    where = url.queue_id, url.depth, url.priority, url.parent_id
    return base | url.id, url.key, url.url, *where, url.anchor or None


def _born(base: int, url: UrlRow) -> Row:
    """The state of a URL that did not come to wait."""
    detail = (url.detail and encode_message(url.detail)) or None
    return base | url.id, int(url.state), url.reason or None, detail, 0, None, url.hops, None


def _state(base: int, outcome: Outcome) -> Row:
    return (
        base | outcome.id,
        int(outcome.state),
        outcome.reason or None,
        encode_message(outcome.detail) or None,
        outcome.tries,
        outcome.retry_at or None,
        outcome.hops,
        outcome.parent_id,
    )


def _page(base: int, crawl: int, row: PageRow) -> Row:
    page = row.page
    return (
        base | row.id,
        crawl,
        row.request_number,
        row.waiting_count,
        row.status,
        row.fetched_at,
        row.elapsed_s,
        row.raw_bytes,
        row.priority,
        row.pagerank,
        page.relevance,
        page.is_relevant,
        page.noindex,
        page.simhash - ((page.simhash >> 63) << 64),  # SQLite's integers are signed
        page.omitted_link_count,
        row.host_request_number,
        row.bonus,
        page.text_digest - ((page.text_digest >> 63) << 64),
    )


def _check(base: int, row: RevisitState) -> Row:
    instants = row.first_fetched_at, row.checked_at, row.tried_at, row.changed_at, row.gone_at
    return base | row.id, *instants, row.observed_s, row.changes, row.failure or None


def _page_change(base: int, row: PageChange) -> Row:
    return base | row.id, row.at, row.kinds, row.new_links, row.detail


def _texts(base: int, row: PageRow) -> Row:
    page = row.page
    return (
        base | row.id,
        row.url,
        page.title,
        page.keywords,
        page.description,
        page.language,
        page.charset,
        page.canonical,
        msgspec.json.encode(page.part_scores).decode(),
        msgspec.json.encode(page.matched_terms).decode(),
        row.content_type,
        row.etag,
        row.last_modified,
        page.rendering.value,
    )


def encodable(batch: Batch) -> Batch:
    """The batch with "?" for every character that UTF-8 has no form for."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.encode("utf-8", "replace").decode()
        if isinstance(value, dict):
            return {clean(key): clean(each) for key, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list | tuple) else value

    plain = msgspec.to_builtins(batch, builtin_types=(bytes,), enc_hook=str)
    return msgspec.convert(clean(plain), Batch, builtin_types=(bytes,))


def _uint32(numbers: tuple[int, ...]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)
