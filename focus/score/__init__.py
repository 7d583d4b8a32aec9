"""Scores: the relevance of a page, the priority of a link.

    analysis — one page in a scorer process, from bytes to a scored `Page`
    relevance/ — relevance models: one file per model, listed in its `__init__`
    strategy/ — strategies: one file per strategy, listed in its `__init__`
    graph/ — PageRank and HITS on the links found so far
    statistics/ — vectors, features, naive Bayes, logistic regression, entities
    matching — topic words in text
    outlinks — the outlinks of a page, resolved and scored, each target once
    index_pages — pages that list others, and which of their links continue the list
    subtopics — words that relevant pages have in their titles more often than others
    memo — scores of texts that repeat, such as anchors
    parameters — parameters of a model or strategy: tuned, as published, set by the user

In a scorer process `analysis` decodes, parses and segments a page; the relevance model scores it,
and `outlinks` scores each link by anchor, URL, heading and surrounding text. In the main process
the strategy turns the scores of a link and the relevance of its page into link evidence, and the
link evidence of a URL into its priority. Strategies that need the graph get ranks from `graph/`.

All modules are pure. A relevance model must not know links, a strategy must not know page text, and
neither may import the frontier.

All published strategies fit one interface: a few floats of link evidence per URL, of which the
maxima are kept.
"""
