"""Decides whether a URL is wanted at all, by scope, --allow and --deny, and file type."""

from __future__ import annotations

import re

from focus.config import ScopeConfig
from focus.errors import ConfigError
from focus.records import DropReason
from focus.urls.normal_form import host_of, registrable_domain

_NOT_PAGES = re.compile(
    r"\.(?:7z|aac|apk|avi|bin|bmp|bz2|css|csv|deb|dmg|docx?|epub|exe|flac|flv|gif|gz|ico|iso|jar|"
    r"jpe?g|js|json|m4a|m4v|mkv|mov|mp[34]|mpe?g|msi|odp|ods|odt|og[gv]|pdf|png|pptx?|rar|rpm|"
    r"rss|svg|swf|tar|tgz|tiff?|ttf|txt|wav|webm|webp|wma|wmv|woff2?|xlsx?|xml|xz|zip)$",
    re.IGNORECASE,
)


class Scope:
    """Which URLs are wanted, from the settings and the seeds (`add_home`).

    host     only hosts of seeds
    domain   only their registrable domains (public suffix list)
    any      the whole web
    """

    def __init__(self, config: ScopeConfig) -> None:
        self._kind = config.scope
        self._allow = [_compiled("--allow", pattern) for pattern in config.allow]
        self._deny = [_compiled("--deny", pattern) for pattern in config.deny]
        self.max_depth = config.max_depth
        self._max_url = config.max_url
        self._homes: set[str] = set()

    def add_home(self, url: str) -> None:
        """Count a URL's host as home: a seed, or where a seed redirects to."""
        if self._kind != "any":
            self._homes.add(self._home(host_of(url)))

    def _home(self, host: str) -> str:
        return host if self._kind == "host" else registrable_domain(host.partition(":")[0])

    def reason_against(self, url: str, host: str, *, listing: bool = False) -> DropReason | None:
        """Why a URL is not wanted, None if it is.

        listing  a sitemap or feed: only --scope and --deny hold it back
        """
        if self._kind != "any" and self._home(host) not in self._homes:
            return DropReason.SCOPE
        if len(url) > self._max_url:
            return DropReason.URL_TOO_LONG
        is_file = _NOT_PAGES.search(url.partition("?")[0]) and url.count("/") > 2
        if not listing and is_file and _has_path(url):
            return DropReason.NOT_HTML
        if any(pattern.search(url) for pattern in self._deny):
            return DropReason.DENIED
        if self._allow and not listing and not any(pattern.search(url) for pattern in self._allow):
            return DropReason.DENIED
        return None


def _has_path(url: str) -> bool:
    return "/" in url.partition("://")[2].rstrip("/")


def _compiled(option: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{option} {pattern!r}: no regular expression: {error}") from None
