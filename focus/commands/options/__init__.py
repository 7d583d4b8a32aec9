"""Declares and reads the options that commands share.

    option           an option with a section in the help and, if asked, a variable
    value_types      kinds of values: texts as numbers, times, sizes, patterns and names, checked
    declared         the settings of `focus.config` as options, and its records filled with them
    config_file      focus.toml: found, read, made the defaults of the command line
    alert, channel   `focus watch add` and `edit`; what follows from the channels

A setting of a crawl is declared once, at its field in `focus.config`: its option, its variable
(FOCUS_…), its key in focus.toml, its row in docs/cli.md and its place in the dry run follow from
that. Each value is read as if it had been typed, wherever it came from, and a wrong one is told of
with the option, variable or key that it came by.

docs/cli.md is made of these declarations by `python docs/make_cli.py`; a test holds that it is.
"""
