"""The mathematics that relevance models and teaching share: words to weights and probabilities.

    vector             term vectors: weights, likeness, how rare a word is in the language
    feature_selection  which words tell a topic's pages from others, four ways (P3 4.3.2)
    profile            features and a threshold from example pages (P4 2.3, P5 2.1)
    naive_bayes        training, cross-validation, calibration (P3 4.4)
    logistic           weights from few labels, by maximum a posteriori
    adaptation         threshold and topic vector that follow a crawl (P5 2.2.1)
    expansion          further keywords, proposed from pages held relevant
    phrases            words side by side that are one term (C-value), and how sure a count is
    entities           names in a text linked to entities of a knowledge base

Words come in as tokens (`focus.text.tokenisation`). `focus.learn` trains with these functions and
keeps the numbers in a model file; `focus.score.relevance` applies them in the scorer workers.

Every formula stands in a docstring with its source and a worked number, and nothing here opens a
file, reads a clock or draws at random.

What surprised us: words are no independent witnesses. Five hundred of them give naive Bayes
posteriors of 0 and 1 for thousands of pages, which decides well and orders badly; so its log-odds
are kept and calibrated on pages that it has not seen (Platt 1999).
"""
