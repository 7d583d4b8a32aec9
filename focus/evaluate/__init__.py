"""Comparisons of strategies and parameters on a recorded web.

    judgments       topics and labels from files: the only judges (qrels)
    link_graph      which recorded page leads to which, as a crawl would see it
    ground_truth    per topic the targets, the budget and the oracle
    variants        strategies × forms × relevance models × masks
    trial           one crawl of one variant, by the real engine under a virtual clock
    compare         `focus compare`: all trials over several processes, kept as they end
    ranking         measures per trial -> means, intervals, tests
    comparison      the result as a record and as files

A comparison prepares archive, link graph, topics and labels; plans a trial for each variant, topic
and order of the seeds; runs them in worker processes; and only then lets labels meet what was
fetched. A trial whose archive, code and configuration are the same as a kept one is not run again.

Labels never reach a trial, nor the process that runs it. No part of a crawl imports this package.
"""
