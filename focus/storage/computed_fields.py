"""Fields of a result computed from the stored source: text, Markdown, dates, author."""

from __future__ import annotations

from datetime import UTC
from functools import cached_property

from focus.html.main_content import main_text
from focus.html.markdown import to_markdown, to_text
from focus.html.metadata import find_author
from focus.html.publication_date import (
    MetadataSources,
    find_modification,
    find_publication,
    read_publication_time,
)
from focus.storage import labels


def published_at(packed: bytes | None, url: str, fetched_at: float) -> float | None:
    """Return the publication date in Unix seconds; None if the page has none or is not stored."""
    if packed is None:
        return None
    return read_publication_time(
        labels.decompress_source(packed), url, fetched_at=fetched_at, zone=UTC
    )


class StoredSource:
    """Compressed source of a page (None if it was not stored), its URL and time of fetching."""

    def __init__(self, packed: bytes | None, url: str, fetched_at: float) -> None:
        self.packed, self.url, self.fetched_at = packed, url, fetched_at

    @cached_property
    def html(self) -> str:
        """The source as text, decompressed once for all fields."""
        return labels.decompress_source(self.packed) if self.packed is not None else ""

    @cached_property
    def sources(self) -> MetadataSources:
        """The parsed page, parsed once for its text and metadata."""
        return MetadataSources(self.html, self.url)


def compute_field(name: str, source: StoredSource) -> str | None:
    """Return a field of `results.COMPUTED_FIELDS`; None if the source has none or is not stored.

    The dates `published` and `modified` are ISO 8601 in the zone that the page states. `text` is
    the main text, one line per block.
    """
    if source.packed is None:
        return None
    if name == "text":
        return main_text(source.sources.blocks)
    if name == "trafilatura_text":
        return to_text(source.html, source.url)
    if name == "markdown":
        return to_markdown(source.html, source.url)
    if name == "author":
        return find_author(source.sources)
    find_date = find_publication if name == "published" else find_modification
    date = find_date(source.sources, fetched_at=source.fetched_at, zone=UTC)
    if date is None:
        return None
    return date.isoformat(timespec="seconds").replace("+00:00", "Z")
