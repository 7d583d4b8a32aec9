"""Decides which URLs may be asked for at all: scope, --allow and --deny, file types."""

from __future__ import annotations

import re

from focus.config import ScopeConfig
from focus.documents.kinds import FILE_EXTENSION
from focus.errors import ConfigError
from focus.records import DropReason
from focus.urls.normal_form import path_and_query, readable_url, registrable_domain, url_host

_FILES = frozenset(
    "7z aac apk avi bin bmp bz2 css deb dmg exe flac flv gif gz ico iso jar jpeg jpg js m4a m4v "
    "mkv mov mp3 mp4 mpeg mpg msi ogg ogv png rar rpm svg swf tar tgz tif tiff ttf wav webm webp "
    "wma wmv woff woff2 xz zip".split()
)
"""Never pages. A query mostly says how large the picture is to be, or its version."""
_DOCUMENTS = frozenset("doc docx epub odp ods odt pdf ppt pptx rss xls xlsx xml".split())
"""No pages either; with a query, a page about the document as likely as not: its answer tells."""


class Scope:
    """The URLs that are wanted, by the settings and the seeds (`add_home`).

    host     only hosts of seeds
    domain   only their registrable domains (public suffix list)
    any      the whole web
    """

    def __init__(self, config: ScopeConfig) -> None:
        self._kind = config.scope
        self._allow = [UrlRegex("--allow", pattern) for pattern in config.allow]
        self._deny = [UrlRegex("--deny", pattern) for pattern in config.deny]
        self.max_depth = config.max_depth
        self._documents = config.documents
        self._max_url = config.max_url
        self._homes: set[str] = set()

    def add_home(self, url: str) -> None:
        """Count a URL's host as home: a seed, or where a seed redirects to."""
        if self._kind != "any":
            self._homes.add(self._home(url_host(url)))

    def _home(self, host: str) -> str:
        return host if self._kind == "host" else registrable_domain(host)

    def reason_against(
        self, url: str, host: str, *, listing: bool = False, is_seed: bool = False
    ) -> DropReason | None:
        """Why a URL is not wanted, None if it is.

        listing  a sitemap or feed: only --scope and --deny hold it back
        is_seed  a seed or where it redirects to: --allow does not hold it back
        """
        if self._kind != "any" and self._home(host) not in self._homes:
            return DropReason.SCOPE
        if len(url) > self._max_url:
            return DropReason.URL_TOO_LONG
        if not listing and is_file(url, self._documents):
            return DropReason.NOT_HTML
        if any(pattern.search(url) for pattern in self._deny):
            return DropReason.DENIED
        if not self._allow or listing or is_seed:
            return None
        return None if any(rule.search(url) for rule in self._allow) else DropReason.DENIED


def is_file(url: str, documents: bool) -> bool:
    """Whether the name at the end of a URL's path is that of a file, not of a page or a host.

    documents  those that can be read are as good as pages
    """
    path, mark, _ = path_and_query(url).partition("?")
    if (documents and FILE_EXTENSION.search(path)) or _VIEWER.search(path):
        return False
    _, dot, ending = path.rpartition(".")
    ending = ending.lower()
    return bool(dot) and (ending in _FILES or (not mark and ending in _DOCUMENTS))


_VIEWER = re.compile(
    r"/(?:tree|blob|blame|src|browse|browser|file)/.|/(?:File|Image):", re.IGNORECASE
)
"""Paths of pages that show a file: code browsers, wikis."""


class UrlRegex:
    """A regular expression for URLs as a user types it; raises ConfigError if it is none.

    With a space or a character that is not ASCII it is matched against the readable form of URLs,
    else against the requested form, in which lower-case escapes count as upper-case ones.
    """

    def __init__(self, option: str, pattern: str) -> None:
        self._is_readable = not pattern.isascii() or " " in pattern
        try:
            self._regex = re.compile(self._spell(pattern))
        except re.error as error:
            raise ConfigError(
                "{option} {pattern!r}: not a regular expression: {error}",
                option=option,
                pattern=pattern,
                error=error,
            ) from None

    def search(self, url: str) -> bool:
        """Return whether the expression matches anywhere in a normalised URL."""
        return self._regex.search(self._spell(url)) is not None

    def _spell(self, text: str) -> str:
        if self._is_readable:
            return readable_url(text)
        return _ESCAPE.sub(lambda match: match[0].upper(), text) if "%" in text else text


_ESCAPE = re.compile("%[0-9a-fA-F]{2}")
