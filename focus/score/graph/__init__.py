"""Ranks URLs by the links between them: PageRank and HITS on what was crawled so far."""
