"""SQL statements for a batch of changes, as pure functions.

`writer` executes them in one transaction in this order: new URLs come before changes of URLs.
`schema` explains the columns.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from focus.i18n import encode_message
from focus.records import (
    Batch,
    HostRow,
    NewRelevance,
    Outcome,
    Page,
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

MAX_BLOCK = 128
"""Maximum rows per statement. SQLite takes one step per statement and not per row: Python releases
the GIL at each step, and a busy event loop returns it up to 5 ms later."""

MAX_EXACT = 32
"""Up to this number, rows are one statement of exactly that size; most lists of a batch are."""

# `expand_statement` replaces "VALUES *" by the rows of a block.
_HOST = """
INSERT INTO host VALUES * ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at,
failures = excluded.failures, given_up = excluded.given_up, robots = excluded.robots,
address = excluded.address, software = excluded.software"""
_QUEUE = """
INSERT INTO queue VALUES * ON CONFLICT (id) DO UPDATE SET
fetched = excluded.fetched, yielded = excluded.yielded, bonus = excluded.bonus,
recent_fetched = excluded.recent_fetched, recent_yielded = excluded.recent_yielded,
recent_at = excluded.recent_at"""
_HUB = """
INSERT INTO hub VALUES * ON CONFLICT (id) DO UPDATE SET
fetched = excluded.fetched, yielded = excluded.yielded"""
_URL = "INSERT INTO url_found VALUES *"
_DEPTH = """
WITH new (id, depth) AS (VALUES *)
UPDATE url_found SET depth = new.depth FROM new WHERE url_found.id = new.id"""
_FETCHING = "INSERT OR IGNORE INTO fetching VALUES *"
_END_FETCHING = "WITH new (id) AS (VALUES *) DELETE FROM fetching WHERE id IN (SELECT id FROM new)"
_STATE = """
INSERT INTO url_state VALUES * ON CONFLICT (id) DO UPDATE SET state = excluded.state,
reason = excluded.reason, detail = excluded.detail, tries = excluded.tries,
retry_at = excluded.retry_at, hops = excluded.hops, parent = ifnull(excluded.parent, parent)"""
_NEW_URL = """
WITH new (id, url) AS (VALUES *)
UPDATE url_found SET url = new.url FROM new WHERE url_found.id = new.id"""
# A revisited page keeps the values of its first request: waiting count, priority, bonus.
_PAGE = """
INSERT INTO page VALUES * ON CONFLICT (id) DO UPDATE SET nth = excluded.nth,
status = excluded.status, fetched_at = excluded.fetched_at, elapsed_s = excluded.elapsed_s,
raw_bytes = excluded.raw_bytes, pagerank = excluded.pagerank, relevance = excluded.relevance,
relevant = excluded.relevant, noindex = excluded.noindex, simhash = excluded.simhash,
links_cut = excluded.links_cut, digest = excluded.digest, index_page = excluded.index_page"""
_OUTDATED = [
    f"WITH old (id) AS (VALUES *) DELETE FROM {table} WHERE id IN (SELECT id FROM old)"
    for table in ("near_duplicate", "body")
]
_PAGE_TEXT = "INSERT OR REPLACE INTO page_text VALUES *"
_NEW_RELEVANCE = """
WITH new (id, relevance, relevant) AS (VALUES *)
UPDATE page SET relevance = new.relevance, relevant = new.relevant AND NOT index_page,
index_page = CASE WHEN index_page THEN 1 + new.relevant ELSE 0 END
FROM new WHERE page.id = new.id"""
_NEW_MATCHES = """
WITH new (id, parts, matched) AS (VALUES *)
UPDATE page_text SET parts = new.parts, matched = new.matched
FROM new WHERE page_text.id = new.id"""
_NEW_TITLE = """
WITH new (id, title, site) AS (VALUES *)
UPDATE page_text SET title = new.title, site = new.site FROM new WHERE page_text.id = new.id"""
_TEMPLATE = "INSERT OR REPLACE INTO host_template VALUES *"
_BODY = "INSERT OR REPLACE INTO body VALUES *"
_LINK = "INSERT INTO link VALUES *"
_LASTMOD = "INSERT OR REPLACE INTO lastmod VALUES *"
_VALIDATOR = "INSERT OR REPLACE INTO validator VALUES *"
_PAGE_VALIDATORS = """
WITH new (id, etag, last_modified) AS (VALUES *)
UPDATE page_text SET etag = new.etag, last_modified = new.last_modified
FROM new WHERE page_text.id = new.id"""
_REVISIT = "INSERT OR REPLACE INTO page_check VALUES *"
_PAGE_CHANGE = "INSERT OR REPLACE INTO page_change VALUES *"
_DISCOVERY = """
WITH new (id, n) AS (VALUES *)
UPDATE page_check SET news = news + new.n FROM new WHERE page_check.id = new.id"""
_DUPLICATE = "INSERT OR REPLACE INTO near_duplicate VALUES *"
_URL_RULE = "INSERT OR REPLACE INTO url_rule VALUES *"
_RANK = "INSERT OR REPLACE INTO graph_rank VALUES *"


@cache
def expand_statement(statement: str, width: int, count: int) -> str:
    """Return the statement for `count` rows of `width` values."""
    row = f"({', '.join('?' * width)})"
    return statement.replace("VALUES *", f"VALUES {', '.join([row] * count)}")


def iter_blocks(statement: str, values: list[Row]) -> Iterator[tuple[str, list[Any]]]:
    """Yield SQL and flat values in blocks whose sizes are powers of two, with a smaller rest.

    The few sizes keep the number of prepared statements small.
    """
    start = 0
    while remaining := len(values) - start:
        count = (
            remaining
            if remaining < MAX_EXACT
            else min(MAX_BLOCK, 1 << (remaining.bit_length() - 1))
        )
        flat = chain.from_iterable(values[start : start + count])
        yield expand_statement(statement, len(values[start]), count), list(flat)
        start += count


def batch_statements(crawl: int, batch: Batch) -> Iterator[tuple[str, list[Row]]]:
    """Yield the statements of a batch with all their rows."""
    base = row_id(crawl, 0)
    yield _HOST, [_host(base, row) for row in batch.hosts]
    yield _QUEUE, [_queue(base, row) for row in batch.queues]
    yield _URL, [_url(base, row) for row in batch.urls]
    yield url_log.INSERT_URLS, url_log.pack_urls(crawl, batch.urls)
    yield _DEPTH, [(base | number, depth) for number, depth in batch.depths.items()]
    changes = _merge_changes(batch.priority_changes)
    yield url_log.INSERT_EVIDENCE, url_log.pack_evidence(crawl, changes)
    yield url_log.UPSERT_ANCHORS, url_log.link_anchor_rows(crawl, changes)
    outcomes = _merge_outcomes(batch.outcomes)
    sent = set(batch.fetching_ids)
    yield _FETCHING, [(base | number,) for number in batch.fetching_ids if number not in outcomes]
    yield _END_FETCHING, [(base | number,) for number in outcomes if number not in sent]
    initial_states = [
        _initial_state(base, row) for row in batch.urls if row.state is not UrlState.WAITING
    ]
    yield _STATE, initial_states + [_state(base, row) for row in outcomes.values()]
    yield _NEW_URL, [(base | row.id, row.url) for row in outcomes.values() if row.url is not None]
    for outdated in _OUTDATED:
        yield outdated, [(base | number,) for number in batch.replaced_page_ids]
    yield _PAGE, [_page(base, crawl, row) for row in batch.pages]
    yield _PAGE_TEXT, [_page_text(base, row) for row in batch.pages]
    yield (
        _DUPLICATE,
        [(base | p.id, p.page.original_id) for p in batch.pages if p.page.original_id is not None],
    )
    yield _BODY, [(base | p.id, p.page.body_zstd) for p in batch.pages if p.page.body_zstd]
    for sql, row in ((_NEW_RELEVANCE, _relevance), (_NEW_MATCHES, _matches)):
        yield sql, [(base | new.id, *row(new)) for new in batch.new_relevances]
    yield _NEW_TITLE, [(base | new.id, new.title, new.site) for new in batch.new_titles]
    templates = [
        (base | host, _uint32(blocks), packed) for host, (blocks, packed) in batch.templates.items()
    ]
    yield _TEMPLATE, templates
    yield _VALIDATOR, [(base | number, *values) for number, *values in batch.source_validators]
    yield _LASTMOD, [(base | number, when) for number, when in batch.lastmods]
    yield _LINK, [(base | p.request_number, p.id, _uint32(p.target_ids)) for p in batch.pages]
    yield (
        _LINK,
        [(base | nth, source, _uint32(targets)) for nth, source, targets in batch.other_links],
    )
    yield _PAGE_VALIDATORS, [(base | number, *tags) for number, *tags in batch.page_validators]
    yield _REVISIT, [_revisit_state(base, row) for row in batch.revisit_states]
    yield (
        _PAGE_CHANGE,
        [
            (base | row.id, row.at, row.kinds, row.new_links, row.detail)
            for row in batch.page_changes
        ],
    )
    yield (
        _DISCOVERY,
        [(base | number, n) for number, n in Counter(batch.discovery_page_ids).items()],
    )
    yield _URL_RULE, [(base | row.host_id, row.kind, row.record) for row in batch.url_rules]
    yield _HUB, [(base | hub, fetched, yielded) for hub, fetched, yielded in batch.hub_tallies]


def rank_statement(
    crawl: int, values: Iterable[tuple[int, float, float, float]]
) -> tuple[str, list[Row]]:
    """Return the statement that writes (URL id, PageRank, hub score, authority), with its rows."""
    base = row_id(crawl, 0)
    return _RANK, [(base | number, *scores) for number, *scores in values]


def _merge_changes(changes: list[PriorityChange]) -> list[PriorityChange]:
    """Return one change per URL with the effect of all its changes."""
    merged: dict[int, PriorityChange] = {}
    for change in changes:
        old = merged.get(change.id)
        if old is not None and change.parent_id is None:
            change = replace(change, parent_id=old.parent_id, anchor=old.anchor)
        merged[change.id] = change
    return [*merged.values()]


def _merge_outcomes(outcomes: list[Outcome]) -> dict[int, Outcome]:
    """Return the last outcome of each URL, with the new address of an earlier one."""
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
    return *row, host.address, host.software


def _queue(base: int, queue: QueueRow) -> Row:
    tallies = queue.requests, queue.rewards, queue.bonus, *queue.recent
    return base | queue.id, queue.host_id, queue.pattern, *tallies


def _url(base: int, url: UrlRow) -> Row:
    where = url.queue_id, url.depth, url.priority, url.parent_id
    return base | url.id, url.key, url.url, *where, url.anchor or None


def _initial_state(base: int, url: UrlRow) -> Row:
    """Return the state row of a new URL that does not wait."""
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
        page.is_result,
        page.noindex,
        page.simhash - ((page.simhash >> 63) << 64),  # SQLite's integers are signed
        page.omitted_link_count,
        row.host_request_number,
        row.bonus,
        page.text_digest - ((page.text_digest >> 63) << 64),
        page.is_index_page + (page.is_index_page and page.is_relevant),
    )


def _relevance(new: NewRelevance) -> Row:
    return new.relevance, new.is_relevant


def _matches(new: NewRelevance | Page) -> Row:
    encode = msgspec.json.encode
    return encode(new.part_scores).decode(), encode(new.matched_terms).decode()


def _revisit_state(base: int, row: RevisitState) -> Row:
    instants = row.first_fetched_at, row.checked_at, row.tried_at, row.changed_at, row.gone_at
    return base | row.id, *instants, row.observed_s, row.changes, row.failure or None


def _page_text(base: int, row: PageRow) -> Row:
    page = row.page
    return (
        base | row.id,
        row.url,
        page.title,
        page.site,
        page.keywords,
        page.description,
        page.language,
        page.charset,
        page.canonical,
        *_matches(page),
        row.content_type,
        row.etag,
        row.last_modified,
        page.rendering.value,
    )


def replace_surrogates(batch: Batch) -> Batch:
    """Return the batch with "?" for each character that UTF-8 cannot encode."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return value.encode("utf-8", "replace").decode()
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    plain = msgspec.to_builtins(batch, builtin_types=(bytes,), enc_hook=str)
    return msgspec.convert(clean(plain), Batch, builtin_types=(bytes,))


def _uint32(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)
