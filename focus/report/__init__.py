"""Makes pages and files of results: self-contained HTML reports, drawings, exports.

    page           the HTML page around every report: style, script, tables that sort
    comparison     the report of `focus compare`: curves, tables, inputs
    crawl          the report of one crawl (`focus report`), of the sections below
    findings       where it paid and what it found
    conduct        what failed, and how hosts were treated
    charts, bars   curves and bars as SVG
    link_drawing   the best pages and the links between them as SVG
    pictures       a drawing as PNG, by resvg
    export         rows as JSON lines, CSV or Parquet (`focus export`)

Figures come as records from `focus.storage` or `focus.evaluate`; each section makes HTML of its
own, `page` puts them together and a file appears whole or not at all.

Nothing of a report is fetched from anywhere: style, script and drawings are inline, and a content
policy says so once more. No section reads a database or a clock, so the same crawl gives the same
bytes.

What surprised us: text in drawings has to stay text, with the reader's fonts, or Chinese titles are
lost on every other machine.
"""
