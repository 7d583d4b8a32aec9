"""Converts the main content of a page to Markdown: headings, lists, tables, links.

It uses trafilatura (the extra `markdown`), at about ten times the CPU time of `main_content`, by
which a crawl judges pages and which finds articles as well (docs/usage.md has the figures).
"""

from __future__ import annotations

from typing import Any

from focus.errors import ExportError


def to_markdown(html: str, url: str) -> str:
    """Return the main content of a page as Markdown, or "" if there is none.

    Raises ExportError if the extra `markdown` is not installed.
    """
    return _extract(html, url, output_format="markdown", include_links=True)


def to_text(html: str, url: str) -> str:
    """Return the main content of a page as plain text, or "" if there is none.

    Raises ExportError like `to_markdown`.
    """
    return _extract(html, url, output_format="txt")


def _extract(html: str, url: str, **options: Any) -> str:
    try:
        import trafilatura
    except ImportError as error:
        raise ExportError(
            "the field markdown needs trafilatura: pip install 'focus-crawler[markdown]'"
        ) from error
    try:
        text = trafilatura.extract(
            html, url=url, include_tables=True, include_comments=False, **options
        )
    except Exception:  # trafilatura may raise anything on malformed pages
        return ""
    return text or ""
