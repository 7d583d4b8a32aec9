"""Parsing of HTML pages: head, links with their region and context, text.

    parser — `parse`, the entry point; uses the parser library lexbor, which no other package uses
    size_guard — removes two shapes of markup for which lexbor takes quadratic time
    reader — one walk over all elements: head, links, headings, text
    regions — body, navigation, header, footer or aside, by the ancestors of a node
    breadcrumbs — the breadcrumb of a page: the path to it from the home page of its site
    blocks — the text in blocks, each with its share of link text and the parts it is in
    page_parts — parts of a page that are not its content, by tag, ARIA role, class and id
    contexts — the words around a link, within its block
    main_content — the main content of a page without the site around it
    date_text — dates as pages write them
    json_ld — objects in JSON-LD, and those that describe the page itself
    publication_date — when a page was published and last changed
    metadata — authors and dates
    markdown — the main content as Markdown, with trafilatura
    shell — pages that need scripts to show their content
    dom — names and texts of single nodes

`parser` passes the bytes through `size_guard` to lexbor, and the tree to `reader`, which collects
the links; `regions` gives the region of each. Blocks, contexts and main content take more time and
are computed on demand. Links are returned as written; `focus.urls` makes URLs from them.

It must not know URLs, topics or scores. Any string is accepted as a page; nothing raises. A page
that evades `size_guard` can still block the parser, so pages from the web are parsed in processes
with a time limit (`focus.workers`).

Main content is the element that encloses most of the text without navigation, comments and other
parts, else the run of blocks with the largest sum of text minus link text. The rule of P3, which
keeps blocks with a full stop, loses tables of scores and poems.
"""
