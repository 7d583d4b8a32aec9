"""Comparisons of strategies and parameters on a recorded web (`focus research compare`).

    own_crawl — the files of a comparison, made from a crawl in a database
    judgments — topics, labels and relevance judgments (TREC qrels) from files
    link_graph — which recorded page links to which, as a crawl would see it
    ground_truth — per topic: relevant pages, budget and oracle
    variants — strategies × forms × relevance models × masks
    trial — one crawl of one variant, with the real engine under a virtual clock
    compare — runs all trials in several processes and stores each when it ends
    ranking — means, intervals and tests from the measures of the trials
    comparison — the result as a record and as files

A comparison prepares the archive, the link graph, the topics and the labels, plans a trial for each
variant, topic and order of the seeds, runs the trials in worker processes, and then compares the
fetched pages with the labels. A trial with the same archive, code and settings as a stored one is
not repeated.

No part of a crawl may import this package: labels never reach a trial or its process.
"""
