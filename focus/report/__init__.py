"""HTML reports of crawls and comparisons, their charts, and exports of pages.

    page — renders a report from templates/, with its style and script inline
    crawl, results_section, requests_section — the report of one crawl; the tables and charts
        of its results; its failures and requests
    comparison — the report of `focus research compare`: outcome, curves, tables, inputs
    charts, bars — line charts and bar charts as SVG
    export — writes rows as JSON lines, CSV, Parquet or SQLite (`focus export`)

Figures are records from `focus.storage` or `focus.evaluate`. Python makes table rows and charts
from them; templates add the text. A file is written completely or not at all.

The package must not read a database or a clock, so that the same crawl gives the same bytes. A
report loads nothing from the network: style, script and charts are inline, and a content security
policy enforces this. Text in charts stays text, because outlines of Chinese letters could only be
made on machines with a Chinese font.
"""
