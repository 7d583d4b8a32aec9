"""Declares and reads the options that commands share.

    option           an option with a section in the help and, if asked, a variable
    value_types      texts as numbers, times, sizes, patterns and names, checked
    config_file      focus.toml: found, read, made the defaults of the command line
    politeness       traps, near-duplicates, slow servers
    server_limits    what a server may do to a crawl, one option per limit
    example_pages    example pages for `focus topic`
    recorded_web     what `focus compare` and `focus tune` share
    alert, channel   `focus watch add` and `edit`; what follows from the channels

An option's default stands in `focus.config`; its variable (FOCUS_…) and its key in focus.toml
follow from its name. Each value is read as if it had been typed, wherever it came from, and a wrong
one is told of with the option, variable or key that it came by.

docs/cli.md is made of these declarations by `python docs/make_cli.py`; a test holds that it is.
"""
