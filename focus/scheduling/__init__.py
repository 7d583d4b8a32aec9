"""Holds the parts of the frontier: URL table, queues, throttling, priority quantiles."""
