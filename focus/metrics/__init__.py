"""Measures of the quality of a crawl: one function per measure, with formula and source.

    measures — harvest rate, recall, precision and areas under curves, by request
    oracle — upper bound of the recall curve of any crawl
    significance — tests and confidence intervals over topics

Input is a crawl as its sequence of requests and a set of relevant pages; output is a number or a
curve. `focus.evaluate` computes means over seed orders and topics, and tests differences with
`significance`.

It must not read files, labels or clocks; randomness is the argument `rng`.

Finding the best possible order is NP-hard (a rooted Steiner problem), so `oracle` computes a bound
instead.
"""
