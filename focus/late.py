"""Imports a module when something of it is used first, where that is later than the start.

    np = Late("numpy")

A crawl's first request goes out before numpy is needed, and a sixth of its start was importing it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """A module that stands for itself until then; what was used once is found without detour."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
