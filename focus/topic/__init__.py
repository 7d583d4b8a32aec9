"""Describes what a crawl is about: weighted keywords, features, and the file that holds them.

    topic        the record `Topic`; read from words on the command line or from TOML text
    topic_file   a topic written down for people: TOML with comments, which reads back

`--topic 足球,英超:0.8` or a topic file becomes a `Topic` (`from_words`, `from_toml`), which travels
as plain data to the scorer workers and into the database. Keywords are a person's words; features
are words that `focus topic new --example` found on example pages, with their weights; `model` names
the model file that training and labelling write (`focus.learn.model_file`).

Text in, record out: nothing here opens a file or knows a relevance model's formulas.
"""
