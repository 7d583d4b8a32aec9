"""The URL table's columns: what many URLs share takes no place for each, and all is restored."""

import random

import numpy as np

from focus.records import UrlState
from focus.scheduling.url_table import UrlColumns, UrlTable


def columns(first: int, rows: list[tuple[int, int, int]]) -> UrlColumns:
    """URLs with this depth, these hops and this queue, as the store has them."""
    depths, hops, queues = (np.array(column) for column in zip(*rows, strict=True))
    return UrlColumns(
        first=first,
        heads=np.arange(first, first + len(rows), dtype=np.uint64),
        states=np.full(len(rows), UrlState.WAITING, np.uint8),
        depths=depths.astype(np.uint16),
        queues=queues.astype(np.uint32),
        hops=hops.astype(np.uint8),
        parents=np.zeros(len(rows), np.int32),
        priorities=np.zeros(len(rows)),
        link_evidence=np.zeros((len(rows), 1), np.float32),
        retries=[],
    )


def test_depths_hops_and_queues_are_stored_and_restored() -> None:
    rng = random.Random(7)
    rows = [(rng.choice((1, 1, 1, 2)), rng.choice((0, 0, 3)), rng.randrange(9)) for _ in range(500)]
    table = UrlTable(1)
    for first, end in ((0, 1), (1, 200), (200, 300)):
        table.restore(columns(first, rows[first:end]))
    for number, (depth, hops, queue) in enumerate(rows[300:], 300):
        assert table.add(number.to_bytes(16, "little"), queue, depth) == number
        if hops:
            table.hops[number] = hops
    ids = range(len(table))
    table_rows = [(table.depth[item], table.hops[item], table.queue[item]) for item in ids]
    assert table_rows == rows
    table.build_index()
    assert all(table.find(item.to_bytes(16, "little")) == item for item in ids)


def test_queue_numbers_over_65_536_are_distinct() -> None:
    added, restored = UrlTable(1), UrlTable(1)
    added.add(bytes(16), 65_535, 0)
    added.add(b"1" * 16, 65_536, 0)
    added.add(b"2" * 16, 3, 0)
    restored.restore(columns(0, [(0, 0, 65_535)]))
    restored.restore(columns(1, [(0, 0, 65_536), (0, 0, 3)]))
    assert list(added.queue) == list(restored.queue) == [65_535, 65_536, 3]


def test_link_evidence_is_shared_by_urls_and_changed_for_one() -> None:
    rng = random.Random(7)
    table, expected = UrlTable(2), []
    for number in range(300):
        table.add(number.to_bytes(16, "little"), 0, 0)
        expected.append((rng.choice((0.0, 0.5)), rng.choice((0.0, 0.25, 1.0))))
        table.set_link_evidence(number, expected[number])
    for number in rng.sample(range(300), 100):
        expected[number] = (2.0, expected[number][1])
        table.set_link_evidence(number, (2.0,))
    assert [table.link_evidence(number) for number in range(300)] == expected
    assert table.improves(0, (3.0, 0.0)) and not table.improves(0, expected[0])
    assert len(table._evidence._rows) <= 2 * 10


def test_restored_link_evidence_is_replaced_by_what_was_added_later() -> None:
    table = UrlTable(2)
    evidence = np.array([[1, 0], [1, 0], [2, 5], [1, 0]], np.float32)
    table.restore(columns(0, [(0, 0, 0)] * 4)._replace(link_evidence=evidence))
    added = np.array([[3.0, 0.0], [4.0, 0.0]], np.float32)
    table.apply_link_evidence(np.array([1, 1]), np.array([-1, 2]), np.zeros(2), added)
    values = [table.link_evidence(number) for number in range(4)]
    assert values == [(1.0, 0.0), (4.0, 0.0), (2.0, 5.0), (1.0, 0.0)]
    table.apply_link_evidence(np.array([2]), np.array([-1]), np.zeros(1), added[:1, :1])
    assert table.link_evidence(2) == (3.0, 5.0)
