"""Reads an HTML page: its head, its links and where they stand, its text."""
