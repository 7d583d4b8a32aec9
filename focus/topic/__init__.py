"""Describes what a crawl is about: weighted keywords, features, and the file that holds them."""
