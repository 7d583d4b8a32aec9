"""Pages and files of results: self-contained HTML reports, charts, exports.

    page — renders a report from templates/, with its style and script inside
    crawl, findings, conduct — the report of one crawl; its result tables; failures and hosts
    comparison — the report of `focus compare`: outcome, curves, tables, inputs
    charts, bars, link_drawing — curves, bars, and links among the best pages as SVG
    pictures — a drawing as PNG, with resvg
    export — rows as JSON lines, CSV, Parquet or SQLite (`focus export`)

Figures come as records from `focus.storage` or `focus.evaluate`; Python makes rows and drawings
from them, templates make the text around them. Files are written as a whole or not at all.

It must not read a database or a clock: the same crawl gives the same bytes. A report loads nothing
from the network; style, script and drawings are inline, and a content security policy enforces
that. Text in drawings stays text, or Chinese titles would be lost on machines without the font.
"""
