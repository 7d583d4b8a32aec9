"""How does a topic learn from examples, from labels and from what a crawl found?"""
