"""Makes pages and files of results: self-contained HTML reports, drawings, exports.

    page           renders a report from templates/, with style and script inside
    comparison     the report of `focus compare`: its outcome, curves, tables, inputs
    crawl          the report of one crawl (`focus report`), with what the next two make
    findings       where it paid and what it found
    conduct        what failed, and how hosts were treated
    charts, bars   curves and bars as SVG
    link_drawing   the best pages and the links between them as SVG
    pictures       a drawing as PNG, by resvg
    export         rows as JSON lines, CSV or Parquet (`focus export`)

Figures come as records from `focus.storage` or `focus.evaluate`; Python makes rows and drawings of
them, templates the words and the order, and a file appears whole or not at all.

Nothing of a report is fetched from anywhere: style, script and drawings are inline, and a content
policy says so once more. No section reads a database or a clock, so the same crawl gives the same
bytes.

What surprised us: text in drawings has to stay text, with the reader's fonts, or Chinese titles are
lost on every other machine.
"""
