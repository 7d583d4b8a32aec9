"""P1's importance: the worked number, and Table 4-1 as it stands."""

from hypothesis import given
from hypothesis import strategies as st

from focus.score.graph.shares import ImportanceShares

Rows = dict[int, list[int]]
ROWS = st.dictionaries(
    st.integers(0, 9), st.lists(st.integers(0, 14), max_size=8, unique=True), max_size=10
).map(lambda rows: {page: [t for t in row if t != page] for page, row in rows.items()})


def table_4_1(rows: Rows) -> dict[int, float]:
    """What waiting URLs stand by, with P1's walk over all fetched pages for each page."""
    given_by: Rows = {}
    importance: dict[int, float] = {}
    standing: dict[int, float] = {}
    for page, row in rows.items():
        parents = [parent for parent in given_by if page in given_by[parent]]
        importance[page] = sum(importance[parent] for parent in parents) if parents else 1.0
        if row:
            importance[page] /= len(row)
            given_by[page] = row
        for child in row:
            standing[child] = max(standing.get(child, 0.0), importance[page])
    return standing


def test_importance_shares_example_matches_docstring() -> None:
    shares = ImportanceShares()
    assert shares.add(0, [1, 2]) == {1, 2}
    assert shares.add(1, [2]) == set()
    assert shares.largest_share(2) == 0.5
    assert shares.importance(2) == 1.0
    assert shares.largest_share(9) == 0.0
    assert shares.importance(9) == 1.0


@given(ROWS)
def test_importance_shares_equal_table_4_1(rows: Rows) -> None:
    shares = ImportanceShares()
    for page, row in rows.items():
        shares.add(page, row)
    for url, value in table_4_1(rows).items():
        assert abs(shares.largest_share(url) - value) < 1e-12
