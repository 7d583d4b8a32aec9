"""Measures how good a crawl was: one function per measure, with its formula and source.

    measures       harvest rate, recall, precision, areas under curves, by request
    sampling       estimates from a stratified sample of pages, and a judge's calibration
    oracle         the best recall curve that any crawl could have had, fenced in from both sides
    significance   tests and confidence intervals over topics

A crawl comes in as the order of its requests, the truth as a set of targets; a number or a curve
comes out. `focus.evaluate` takes means over seed orders and topics and asks `significance` whether
a difference is more than luck.

Nothing here reads a file, a label or a clock; randomness comes in as `rng`.

What surprised us: the best possible order is itself NP-hard to find (a rooted Steiner problem), so
no crawl can be graded by it. A relaxation bounds it from above, a greedy crawl from below, and on
the development web the two are 1.3 % apart.
"""
