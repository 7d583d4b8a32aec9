"""Everything that gives a number: the relevance of a page, the priority of a link.

    matching     topic words found in folded text, in both Chinese scripts
    source_search  whether any of them stands in the bytes of a page, before its text is made
    analysis     the whole way of one page in a scorer worker: bytes -> scored `Page`
    outlinks     a page's links, resolved and scored, each target once
    index_pages  whether a page lists others, and which of its links lead on in its series
    subtopics    words that relevant pages have in their titles more than others do
    relevance/   page -> number; one small file per model, listed in its `__init__`
    strategy/    link and page -> priority; one small file per strategy, listed likewise
    statistics/  vectors, features, naive Bayes, logistic regression, entities
    graph/       PageRank and HITS on the links found so far
    memo         scores of short texts that come again, such as anchors
    parameters   numbers of a model or strategy: tuned defaults, the paper's, the user's

A page's bytes come to `PageAnalyst` (analysis) in a worker: decoded, parsed, segmented, judged by
the relevance model; each link gets the scores of its anchor, its address, its heading and the text
around it. Back in the main process the strategy turns a link's scores and its page's relevance into
evidence, and the evidence that a URL has gathered into its priority. Strategies that ask for the
graph get ranks from there.

All of it is pure: no I/O, no clock, no randomness of its own. A relevance model knows no link, a
strategy no page text; neither knows the frontier, to which the loop hands finished priorities.

What surprised us: every published strategy fits one interface, a few floats of evidence per URL of
which the largest are kept, though the papers speak of messages, schools of fish and trees.
"""
