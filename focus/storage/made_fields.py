"""Makes fields of a result from the page's stored source: text, Markdown, dates, author, site."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from focus.html.main_content import main_text_from_html
from focus.html.markdown import to_markdown
from focus.html.metadata import PageMetadata, read_metadata
from focus.storage import labels


class Source:
    """A page as it was fetched: its packed source (None: not kept), address and instant."""

    def __init__(self, packed: bytes | None, url: str, fetched_at: float) -> None:
        self.packed, self.url, self.fetched_at = packed, url, fetched_at

    @cached_property
    def html(self) -> str:
        """The source as text; unpacked once, however many fields are made of it."""
        return labels.unpacked(self.packed) if self.packed is not None else ""

    @cached_property
    def metadata(self) -> PageMetadata:
        """What the page says of itself."""
        return read_metadata(self.html, self.url, fetched_at=self.fetched_at)


def make_field(name: str, source: Source) -> str | None:
    """One of `results.MADE`; None where the source was not kept or does not say.

    Dates are ISO 8601 in UTC: published, modified. `text` is `main_content`'s, a block a line.
    """
    if source.packed is None:
        return None
    if name == "text":
        return main_text_from_html(source.html)
    if name == "markdown":
        return to_markdown(source.html, source.url)
    said = getattr(source.metadata, name)
    return _iso(said) if isinstance(said, float) else said


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
