"""Everything that gives a number: is this page on topic, and which link is worth it?

    match       topic words in folded text, in both Chinese scripts
    relevance/  page -> number; one small file per model, listed in its __init__
    strategy/   page and link -> priority; one small file per strategy, listed likewise
    pagerank    importance on the graph crawled so far
    analyse     the whole way of one page in a scorer worker: bytes -> scored Page

All of it is pure: no I/O, no clock, no randomness of its own. Relevance models run
in the scorer workers, strategies and the graph in the loop; neither knows the
frontier, the loop hands finished priorities over.
"""
