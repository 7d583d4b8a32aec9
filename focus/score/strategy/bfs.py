"""Breadth-first: in order of discovery (P1 2.2.2)."""

from __future__ import annotations

from focus.score.strategy.base import Strategy


class BreadthFirst(Strategy):
    """priority = 0 for all: ties go by order of discovery."""

    name = "bfs"
    source = "P1 2.2.2"
    summary = "in order of discovery"
