"""Writes a page's own text as Markdown: headings, lists, tables, links.

By trafilatura (the extra `markdown`): on 431 pages of two recorded webs that mark their article for
machines it finds it better than `main_content` (F1 of pairs of characters .957 to .923), at fifteen
times the CPU (measured 2026-11-22). A crawl judges pages by `main_content`; for an export, which
reads each page once, the better text is worth its time.
"""

from __future__ import annotations

from focus.errors import ExportError


def to_markdown(html: str, url: str) -> str:
    """The main text of a page as Markdown, "" where there is none.

    ExportError without the extra `markdown`.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise ExportError(
            "the field markdown needs trafilatura: pip install 'focus-crawler[markdown]'"
        ) from error
    try:
        found = trafilatura.extract(
            html,
            url=url,
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_comments=False,
        )
    except Exception:  # the border to a library that strangers' pages can confuse
        return ""
    return found or ""
