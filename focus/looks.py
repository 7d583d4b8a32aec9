"""Defines the records of looks at pages of earlier runs (`focus crawl --refresh`)."""

from __future__ import annotations

from enum import IntFlag

import msgspec

AGAIN_PRIORITY = -1e6
"""Priorities from here down are of pages that are looked at again: behind all links, and whatever
links to them they stay where they are. As far below as `records.SEED_PRIORITY` is above."""


class ChangeKind(IntFlag):
    """The differences that a look at a page may find, as flags. The names are what people read."""

    TEXT = 1  # its main text
    TITLE = 2
    LINKS = 4  # to URLs that the crawl did not know
    GONE = 8  # 404, 410, or a page that says so
    MOVED = 16  # it redirects
    BACK = 32  # it was gone


class KeptPage(msgspec.Struct):
    """A page (or listing) of an earlier run, kept while it is looked at again.

    id, url     as it is known
    digest      as `Page.digest`, of what is stored; 0: not known
    priority    what it was taken at first
    first_at    when it was had first
    checked_at  when it answered last; `tried_at`: when it was asked last
    changed_at  when it was last found changed, None: never
    gone_at     since when it is gone, None: it is there
    told_at     when it last changed by a sitemap or feed, 0.0: not told
    watched_s, news  what is known of its news (`revisits.Watched`)
    """

    id: int
    url: str
    digest: int
    title: str
    priority: float
    first_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None = None
    gone_at: float | None = None
    told_at: float = 0.0
    watched_s: float = 0.0
    news: float = 0.0
    etag: str = ""
    last_modified: str = ""
    is_listing: bool = False
    is_hub: bool = False


class PageCheck(msgspec.Struct, frozen=True):
    """The standing of a page after a look, as `KeptPage`. `trouble`: why it did not answer."""

    id: int
    first_at: float
    checked_at: float
    tried_at: float
    changed_at: float | None
    gone_at: float | None
    watched_s: float
    news: float
    trouble: str = ""


class PageChange(msgspec.Struct, frozen=True):
    """The line that a look at a page adds to its history.

    links   that the crawl did not know
    detail  the title before, where it moved to, or how it is gone
    """

    id: int
    at: float
    kinds: int
    links: int = 0
    detail: str = ""
