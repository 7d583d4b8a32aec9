"""The options that commands share: their declarations, and how their values are read.

    option           an option with a section in the help and, if requested, a variable
    value_types      kinds of values: texts as numbers, times, sizes, patterns and names, checked
    declared         the settings of `focus.config` as options, and its records filled with them
    config_file      finds and reads focus.toml, and makes it the defaults of the command line
    alert, channel   options of `focus watch add` and `edit`; options that follow from channels

A setting of a crawl is declared once, at its field in `focus.config`. Its option, its variable
(FOCUS_…), its key in focus.toml, its row in docs/cli.md and its place in the dry run follow from
that. Each value is read as if it had been typed, wherever it came from; the message about a wrong
one names its option, variable or key.

docs/cli.md is made from these declarations by `python docs/make_cli.py`; a test checks that.
"""
