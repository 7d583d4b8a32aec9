"""Conversion of PDF, Office, OpenDocument, RTF, EPUB and plain text to HTML pages.

    kinds — the kinds of documents: media types, file name extensions, first bytes
    convert — `to_html`, which calls the reader of the kind
    pdf — PDF, with pdfium
    ocr — scanned PDF, with the installed programs pdftoppm and tesseract
    office — DOCX, XLSX and PPTX, with python-docx, openpyxl and python-pptx
    opendocument — ODT: texts of LibreOffice and others
    rtf — Rich Text Format
    epub — EPUB: the chapters of the zip file, one after the other
    zipped_xml — XML files in a zip file
    plain — text without markup: paragraphs, headings, URLs
    html_writer — the HTML page: title, paragraphs, links and dates

A document becomes a small HTML page with title, author and dates in its head, and headings,
paragraphs, tables and links in its body. Everything that works on pages (relevance, link contexts,
main content, publication date, search) therefore works on documents without knowing of them.

It must not know URLs or topics. The libraries come with the extra `documents` and are imported with
the first document of their kind. Reading is bounded in pages, characters and unpacked bytes; an
encrypted or damaged document raises `DocumentError`. Documents from the web must be read in a
process that can be killed (`focus.workers`).
"""
