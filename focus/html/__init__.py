"""Reads an HTML page: its head, its links and where they stand, its text.

    parser        `parse`: the entry; lexbor underneath, known to this package alone
    size_guard    cuts off the two shapes of markup that cost lexbor quadratic time
    reader        one walk over all elements: head, links, headings, text
    regions       body, navigation, header, footer or aside, by a node's ancestors
    breadcrumbs   the way down to a page from its site's home
    blocks        the text cut into blocks, each with the share of it that is links
    contexts      the words around a link, within its block
    publication_date  when a page was published, and changed last
    metadata      author, site and dates, as a page says them for machines
    markdown      the main text as Markdown, by trafilatura
    main_content  the run of blocks that is the page's own text
    shell         pages on which scripts make what people see
    dom           names and texts of single nodes

`parser` hands the bytes through `size_guard` to lexbor, and the tree to `reader`, which collects
links as it meets them; `regions` tells where each stands. Blocks, contexts and main content cost
extra and are made when somebody asks for them. The links are raw: `focus.urls` makes addresses of
them.

Nothing here knows an address, a topic or a score. Every string is a page; nothing raises. But a
page made to deceive `size_guard` can still hold the parser up, so whoever parses strangers' pages
also needs a limit on wall time (`focus.workers`).

What surprised us: P3's rule for the main content keeps blocks with a full stop in them, and so
loses tables of scores and poems; the run of blocks with the largest sum of text minus links keeps
both and needs no list of tags.
"""
