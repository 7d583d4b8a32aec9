"""Teaches topics: by example pages, labelled pages, a person's labels, a crawl's own pages.

    sources        the pages that a user names: files, folders, URLs
    memory_crawl   a small crawl that fetches them and keeps its pages in memory
    topics         a topic made from pages, tried on pages, widened by a crawl (`focus topic`)
    narrower       narrower terms of a topic, from a knowledge base
    corpus         labelled pages out of folders, files and crawls
    training       labelled pages -> a tested classifier (`focus train`)
    labelling      doubtful pages asked about, and the model moved by the answers (`focus label`)
    teaching       a whole sitting: ask, learn, judge again, rank again
    reranking      a stored crawl played back under the new model
    model_file     what was learned, in one JSON file beside the topic file
    kb/            knowledge bases: entities that pages name

Pages come from `sources` or `corpus`, become words and features (`training.Extractor`), and end in
a model file that the topic file names. The next crawl reads it once and hands it to the scorer
workers as bytes. After `focus label` the stored crawl is played back, so that every stored page and
every waiting URL stands as if the crawl had known all along.

No part of a crawl imports this package: what was learned reaches it as a topic and a model file.

What surprised us: ten labels know less than the thousands of pages that the defaults were tuned on.
So a label moves the numbers only as far as it insists (maximum a posteriori), and all labels are
counted from the beginning each time, so that two sittings do not add up twice.
"""
