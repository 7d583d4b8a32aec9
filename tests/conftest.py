"""How test cases are named: not by bytes, which may differ from process to process."""

from __future__ import annotations


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Bytes (often packed, with a time in them) are named by their parameter."""
    return argname if isinstance(val, bytes) else None
