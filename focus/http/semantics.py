"""The meaning of an HTTP response for a crawl, shared by the live and the recorded web.

All functions are pure. `focus.fetch` and `focus.archive` use the same rules, so that a replayed
crawl gets exactly the results of the live one.
"""

from __future__ import annotations

import calendar
import re
from email.utils import parsedate_tz

import msgspec

from focus.documents.kinds import KIND_BY_MEDIA_TYPE, document_kind
from focus.records import FailureKind, FetchResult, Link, Page
from focus.urls.normal_form import normalise, url_fingerprint, url_host

HTML_TYPES = ("text/html", "application/xhtml+xml")
REDIRECTS = frozenset({301, 302, 303, 307, 308})
SNIFF_BYTES = 1445
"""Bytes of a body that determine its type (MIME Sniffing Standard, section 5)."""

MAX_REDIRECT_DELAY_S = 5
"""A refresh within this many seconds is a redirect (as in Nutch), a later one a link."""

# Types that servers send for unknown content: the bytes decide instead.
_VAGUE_TYPES = frozenset({"", "text/plain", "application/octet-stream", "unknown/unknown", "*/*"})
_VAGUE_PREFIXES = ("application/x-unknown", "application/unknown", "content/unknown")
_MAGIC = (
    *(b"%PDF-", b"%!PS-", b"{\\rtf", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM\x00"),
    *(
        b"II*\x00",
        b"MM\x00*",
        b"\x00\x00\x01\x00",
        b"\x00\x00\x02\x00",
        b"PK\x03\x04",
        b"PK\x05\x06",
    ),
    *(b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!\x1a", b"\x28\xb5\x2f\xfd"),
    *(b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\x00asm", b"SQLite format 3\x00"),
    *(
        b"ID3",
        b"OggS",
        b"fLaC",
        b"\x1aE\xdf\xa3",
        b"wOFF",
        b"wOF2",
        b"\xd0\xcf\x11\xe0",
        b"OTTO\x00",
    ),
)
_FOREIGN_ROOT = re.compile(
    rb"<(?:rss|feed|rdf:rdf|urlset|sitemapindex|svg|kml|gpx|opml)[\s>/:]", re.I
)
_HTML_START = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.I)
_HTML_TAG = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|link|iframe|h1|div|table|font|p|a|br|b)[\s>/]",
    re.I,
)
_HTML_WITHIN = re.compile(rb"<(?:!doctype\s+html|html|head|body|title)[\s>]", re.I)
_PREAMBLE = re.compile(rb"(?:\s+|<\?xml[^>]*>|<\?xml-stylesheet[^>]*>|<!--.*?-->)*", re.S)
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?=[0-9.])(?P<seconds>[0-9]*+)[0-9.]*+
    (?:[\t\n\f\r ]*+|(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+
    (?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?(?P<url>.*))""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def classify_status(status: int, has_retry_after: bool) -> FailureKind | None:
    """Return the failure that a status alone implies; None for a 2xx status or a redirect.

    429 and a 503 with Retry-After mean "not now" (RFC 6585 section 4, RFC 9110 section 10.2.3). A
    3xx that is not a redirect (300, 304…) has no page: REDIRECT. Anything outside 2xx-5xx is not a
    final HTTP response: PROTOCOL.
    """
    if 200 <= status < 300 or status in REDIRECTS:
        return None
    if status == 429 or (status == 503 and has_retry_after):
        return FailureKind.RATE_LIMITED
    families = {3: FailureKind.REDIRECT, 4: FailureKind.HTTP_4XX, 5: FailureKind.HTTP_5XX}
    return families.get(status // 100, FailureKind.PROTOCOL)


def redirect_target(url: str, location: str | None) -> str | None:
    """Return the normalised URL that a response to `url` redirects to.

    Locations are resolved as links are (URL Standard). Returns None without a Location and for one
    that is not an http(s) URL; scope and address are checked by the crawl.
    """
    return normalise(location, url) if location and location.strip() else None


def is_html(content_type: str | None, head: bytes, accepted: tuple[str, ...] = HTML_TYPES) -> bool:
    """Return whether a 2xx body is a page to parse, by its type *and* its first bytes.

    content_type  the header as sent, None when missing
    head          the first bytes of the decoded body, `SNIFF_BYTES` suffice;
                  b"" if unknown, then the type alone decides
    accepted      media types that the crawl accepts

    An accepted type other than HTML is trusted; a document of an accepted kind (`documents.kinds`)
    is also recognised by its first bytes. An HTML type is trusted unless the bytes are clearly
    something else (an image, a feed). With a missing or vague type any HTML tag makes it HTML; a
    wrong type is overruled only by an unmistakable start (`<!doctype html` or `<html`).
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    wants_html = any(name in HTML_TYPES for name in accepted)
    is_vague = kind in _VAGUE_TYPES or kind.startswith(_VAGUE_PREFIXES) or "/" not in kind
    if kind in accepted and kind not in HTML_TYPES:
        return True
    if head and any(name in KIND_BY_MEDIA_TYPE for name in accepted):
        sniffed_kind = document_kind(content_type, head)
        if sniffed_kind is not None and sniffed_kind in [
            KIND_BY_MEDIA_TYPE.get(name) for name in accepted
        ]:
            return True
    if not head:
        return kind in accepted or (wants_html and is_vague)
    if kind in HTML_TYPES:
        return kind in accepted and not _is_foreign(head)
    if not wants_html or _is_foreign(head):
        return False
    return _contains_html(head) if is_vague else bool(_HTML_START.match(_skip_preamble(head)))


def parse_retry_after(value: str, now: float) -> float | None:
    """Return the seconds to wait from `now` (Unix seconds) by a Retry-After header.

    Both forms of RFC 9110 section 10.2.3 are accepted: whole seconds, or one of the three HTTP
    dates; a date in the past gives 0. Returns None for anything else.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:18])  # 18 digits are longer than any crawl
    try:
        parts = parsedate_tz(value)
        if parts is None:
            return None
        return max(0.0, calendar.timegm(parts[:9]) - (parts[9] or 0) - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_refresh(content: str) -> tuple[int, str] | None:
    """Return seconds and URL of a Refresh header or meta refresh.

    Example: `5; url=/next` gives (5, "/next"). The URL is raw, "" for the page itself. Returns None
    for wrong syntax. (HTML Standard, 4.2.5.3, shared declarative refresh steps.)
    """
    match = _REFRESH.fullmatch(content)
    if match is None:
        return None
    url = match["url"] or ""
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return int(match["seconds"][:9] or 0), url.strip(" \t\n\f\r")


def apply_refresh(fetch: FetchResult, page: Page | None) -> tuple[FetchResult, Page | None]:
    """Apply the refresh of a response: an early one is a redirect, a later one a further link.

    A Refresh header precedes the page's own refresh, as in browsers, and also counts without a
    body. A refresh to the page itself is ignored.
    """
    if fetch.failure not in (None, FailureKind.EMPTY) or fetch.redirect_to or fetch.url_source:
        return fetch, page
    header = (
        parse_refresh(fetch.header("refresh") or "") if (fetch.status or 0) // 100 == 2 else None
    )
    redirect_url = page.refresh_url if page is not None else None
    if header is not None:
        target = normalise(header[1], fetch.url) if header[1] else None
        redirect_url = target if header[0] <= MAX_REDIRECT_DELAY_S else None
        if target is not None and redirect_url is None and page is not None:
            page = _add_link(page, target)
    if redirect_url is None or (
        redirect_url[:5] == fetch.url[:5]
        and url_fingerprint(redirect_url) == url_fingerprint(fetch.url)
    ):
        return fetch, page
    empty = msgspec.structs.replace(fetch, failure=None, body=b"", redirect_to=redirect_url)
    return empty, None


def _add_link(page: Page, url: str) -> Page:
    key = url_fingerprint(url)
    if any(link.key == key for link in page.links):
        return page
    return msgspec.structs.replace(page, links=[*page.links, Link(url, key, url_host(url))])


def _to_ascii_compatible(head: bytes) -> bytes:
    """Return the first bytes with UTF-16 converted to UTF-8 and without a byte order mark."""
    head = head[:SNIFF_BYTES]
    if head[:2] == b"\xff\xfe" or head[:2] == b"<\x00":
        return head.decode("utf-16-le", "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
    if head[:2] == b"\xfe\xff" or head[:2] == b"\x00<":
        return head.decode("utf-16-be", "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
    return head.removeprefix(b"\xef\xbb\xbf")


def _skip_preamble(head: bytes) -> bytes:
    """Return the head from its first tag on, without comments and XML declarations."""
    text = _to_ascii_compatible(head)
    match = _PREAMBLE.match(text)
    return text[match.end() :] if match else text


def _is_foreign(head: bytes) -> bool:
    """Return whether the bytes are clearly another format, by magic number or XML root."""
    if head.startswith(_MAGIC) or head[4:8] == b"ftyp":
        return True
    return bool(_FOREIGN_ROOT.match(_skip_preamble(head)))


def _contains_html(head: bytes) -> bool:
    """Return whether bytes of unknown type are text that contains HTML."""
    text = _to_ascii_compatible(head)
    if _BINARY.search(text):
        return False
    return bool(_HTML_TAG.match(_skip_preamble(head)) or _HTML_WITHIN.search(text))
