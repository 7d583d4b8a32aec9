"""Teaching of topics: from example pages, labelled pages, labels of a person and knowledge bases.

    page_sources — the pages that a user names: files, folders, URLs
    memory_crawl — a small crawl that fetches them and keeps its pages in memory
    topic_building — features, aliases and keywords of a topic from pages (`focus topic`)
    suggestions — terms that all sources propose, and their effect on stored pages
    kb_terms — related terms of a topic, from a knowledge base
    llm — other names and terms of a topic, from the endpoint of a language model
    judges — judges of doubtful pages by name, and the language model as one
    everyday — words that are too frequent to be terms of a topic
    library — other names, narrower subjects and terms of a topic, from the library of focus
    corpus — labelled pages from folders, files and crawls
    training — a tested classifier from labelled pages (`focus research train`)
    labelling — questions about uncertain pages; the model updated from labels (`focus label`)
    label_session — a whole session of `focus label`: ask, learn, score again, rank again
    reranking — a stored crawl replayed with the new model
    model_file — the result of learning, one JSON file beside the topic file
    kb/ — knowledge bases: entities that pages name

Pages come from `page_sources` or `corpus`, become words and features (`training.FeatureExtractor`),
and end in a model file that the topic file names. The next crawl reads it and sends it to the
scorer processes. After `focus label` the stored crawl is replayed, so that stored pages and waiting
URLs have the scores and priorities that they would have had with the new model from the start.

No part of a crawl may import this package: a crawl receives a topic and a model file.

Ten labels contain less information than the thousands of pages that the defaults were tuned on. A
label therefore changes the parameters by maximum a posteriori, and all labels are counted from the
beginning each time, so that two sessions do not add up twice.
"""
