"""Mathematics for relevance models and training: words to weights and probabilities.

    vector             term vectors: weights, similarity, rarity of words in the language
    feature_selection  words that separate a topic's pages from others, four methods (P3 4.3.2)
    profile            features and a threshold from example pages (P4 2.3, P5 2.1)
    naive_bayes        training, cross-validation, calibration (P3 4.4)
    logistic           weights from few labels, by maximum a posteriori
    adaptation         threshold and topic vector that follow a crawl (P5 2.2.1)
    expansion          further keywords, proposed from relevant pages
    phrases            adjacent words that form one term (C-value), likelihood of word counts
    entities           names in a text linked to entities of a knowledge base

Input are tokens (`focus.text.tokenisation`). `focus.learn` trains with these functions and stores
the numbers in a model file; `focus.score.relevance` applies them in the scorer processes.

Every formula is in a docstring with its source and an example. No module here opens a file, reads a
clock or uses random numbers of its own.

Words are not independent. With five hundred of them naive Bayes gives posteriors of 0 and 1 for
thousands of pages, which decides well and orders badly; so its log-odds are calibrated on pages
that it has not seen (Platt 1999).
"""
