"""Tables of test cases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest


def cases(names: str, *rows: object, ids: Sequence[str] | None = None) -> pytest.MarkDecorator:
    """Run a test once per row, with the row's values as the named parameters ("text, expected")."""
    return pytest.mark.parametrize(names, rows, ids=ids)
