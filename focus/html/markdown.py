"""Converts the main content of a page to Markdown: headings, lists, tables, links.

It uses trafilatura (the extra `markdown`). On 431 pages of two recorded webs that mark their
article for machines it finds the article better than `main_content` (F1 of pairs of characters
0.957 to 0.923), at fifteen times the CPU time (measured 2026-11-22). A crawl judges pages by
`main_content`; an export reads each page once, so the better text is worth its time.
"""

from __future__ import annotations

from focus.errors import ExportError


def to_markdown(html: str, url: str) -> str:
    """Return the main content of a page as Markdown, or "" if there is none.

    Raises ExportError if the extra `markdown` is not installed.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise ExportError(
            "the field markdown needs trafilatura: pip install 'focus-crawler[markdown]'"
        ) from error
    try:
        text = trafilatura.extract(
            html,
            url=url,
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_comments=False,
        )
    except Exception:  # trafilatura may raise anything on malformed pages
        return ""
    return text or ""
