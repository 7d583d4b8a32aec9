"""Measures of the quality of a crawl: one function per measure, with formula and source.

    measures — harvest rate, recall, precision and areas under curves, by request
    oracle — upper bound of the best recall curve that any crawl could reach
    significance — tests and confidence intervals over topics

Input is a crawl as its sequence of requests and a set of relevant pages; output is a number or a
curve. `focus.evaluate` computes means over seed orders and topics, and tests differences with
`significance`.

It must not read files, labels or clocks; randomness is the argument `rng`.

The best possible order is NP-hard to find (a rooted Steiner problem). A relaxation bounds it.
"""
