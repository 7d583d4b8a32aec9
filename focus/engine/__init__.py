"""Draws the conclusions from what was answered: links, hit rates, failures, limits, records."""
