"""Learns from pages and words: vectors, features, naive Bayes, logistic regression, entities."""
