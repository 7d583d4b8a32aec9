"""Measures how good a crawl was: one function per measure, with its formula and source."""
