"""Decides whether a URL may be asked for: scope, robots.txt, traps, budgets, near-duplicates."""
