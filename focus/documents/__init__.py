"""Turns documents (PDF, Word, Excel, PowerPoint, EPUB, plain text) into HTML pages.

    kinds      which documents there are: media types, endings, first bytes
    convert    `to_html`: the entry, which asks one of the readers below
    pdf        PDF, by pdfium
    office     DOCX, XLSX and PPTX, by python-docx, openpyxl and python-pptx
    epub       EPUB: the chapters of a zip of web pages, one after the other
    plain      text without markup: paragraphs, headings by their look, bare addresses
    writing    an HTML page put together from titles, paragraphs, links and dates

A document becomes a small HTML page: its title, author and dates in the head, its headings,
paragraphs, tables and links in the body. So whatever is known about pages (relevance, contexts of
links, main text, publication date, search) holds for documents without knowing of them.

Nothing here knows an address or a topic. The libraries come with the extra `documents` and are
imported when the first document of their kind is met. A document is read to a bound (pages,
characters, bytes of what is packed in it); one that is encrypted or damaged raises
`DocumentError`. Strangers' documents belong into a worker that can be killed (`focus.workers`).
"""
