"""What a crawl is about: weighted keywords, features, and the file that contains them.

    topic — the record `Topic`; parsed from words of the command line or from TOML
    terms — the rule by which words become related terms of a topic
    topic_file — reads topic files and writes them with comments

`--topic 足球,英超:0.8` or a topic file becomes a `Topic` (`from_words`, `from_toml`), which is
sent as plain data to the scorer processes and stored in the database. Keywords name the topic;
related terms come from the library of topics, a file or a knowledge base; features are words that
`focus topic new --example` found on example pages, with weights; `model` names the model file that
training and labelling write (`focus.learn.model_file`).

It must not know the formulas of relevance models.
"""
