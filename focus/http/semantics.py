"""The meaning of an HTTP answer for a crawl: rules that the live and the replayed web share.

Pure: status line, headers and first bytes in; a verdict out. The live web
(fetch) and a recorded web (archive) ask the same questions here, so that a
replayed crawl meets exactly the results that the live one met.
"""

from __future__ import annotations

import calendar
import re
from email.utils import parsedate_tz
from urllib.parse import urljoin

import msgspec

from focus.documents.kinds import KIND_BY_MEDIA_TYPE, document_kind
from focus.records import FailureKind, FetchResult, Link, Page
from focus.urls.normal_form import normalise, url_fingerprint, url_host

HTML_TYPES = ("text/html", "application/xhtml+xml")
REDIRECTS = frozenset({301, 302, 303, 307, 308})
SNIFF_BYTES = 1445
"""How much of a body tells its type (MIME Sniffing Standard, section 5)."""

REFRESH_S = 5
"""A refresh that comes within so many seconds is a redirect (as in Nutch), a later one a link."""

# Types that servers send when they do not know: the bytes decide instead.
_VAGUE = frozenset({"", "text/plain", "application/octet-stream", "unknown/unknown", "*/*"})
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
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.I)
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?=[0-9.])(?P<seconds>[0-9]*+)[0-9.]*+
    (?:[\t\n\f\r ]*+|(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+
    (?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?(?P<url>.*))""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def classify_status(status: int, has_retry_after: bool) -> FailureKind | None:
    """What a status alone decides; None = go on (a body, or a redirect to resolve).

    429 and a 503 that names its Retry-After mean "not now" (RFC 6585 section 4,
    RFC 9110 section 10.2.3). A 3xx that is no redirect (300, 304…) gives no page:
    REDIRECT. Anything outside 2xx-5xx is no final HTTP answer: PROTOCOL.
    """
    if 200 <= status < 300 or status in REDIRECTS:
        return None
    if status == 429 or (status == 503 and has_retry_after):
        return FailureKind.RATE_LIMITED
    families = {3: FailureKind.REDIRECT, 4: FailureKind.HTTP_4XX, 5: FailureKind.HTTP_5XX}
    return families.get(status // 100, FailureKind.PROTOCOL)


def redirect_target(url: str, location: str | None) -> str | None:
    """The absolute URL that an answer to `url` points to; None if it names none.

    Nothing is checked but the form: scheme, scope and address are the crawl's.
    Tabs and line breaks fall out and a backslash counts as a slash, as in the
    URL Standard (a `Location` like ``/\\host`` must not look like a local path).
    """
    if location is None:
        return None
    cleaned = re.sub(r"[\t\r\n]", "", location).strip("\x00 \x0c\x1f")
    if not cleaned:
        return None
    path, mark, rest = cleaned.partition("?")
    if not _OTHER_SCHEME.match(path):
        path = path.replace("\\", "/")
    try:
        return urljoin(url, path + mark + rest)
    except ValueError:  # an address in brackets that is none
        return None


def is_html(content_type: str | None, head: bytes, accepted: tuple[str, ...] = HTML_TYPES) -> bool:
    """Whether a 2xx body is a page to parse, by its type *and* its first bytes.

    content_type  the header as sent, None when missing
    head          the first bytes of the decoded body, `SNIFF_BYTES` suffice;
                  b"" = not known, then the type alone decides
    accepted      media types that the crawl wants

    A type outside HTML that the user accepts is taken at its word; a document of an accepted kind
    (`documents.kinds`) is known by its first bytes, too. An HTML type
    is believed unless the bytes are plainly something else (a picture, a feed).
    A missing or vague type is sniffed for any HTML tag; a wrong one is overruled
    only by an unmistakable start (`<!doctype html` or `<html`).
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    wants_html = any(name in HTML_TYPES for name in accepted)
    vague = kind in _VAGUE or kind.startswith(_VAGUE_PREFIXES) or "/" not in kind
    if kind in accepted and kind not in HTML_TYPES:
        return True
    if head and any(name in KIND_BY_MEDIA_TYPE for name in accepted):
        found = document_kind(content_type, head)
        if found is not None and found in [KIND_BY_MEDIA_TYPE.get(name) for name in accepted]:
            return True
    if not head:
        return kind in accepted or (wants_html and vague)
    if kind in HTML_TYPES:
        return kind in accepted and not _is_foreign(head)
    if not wants_html or _is_foreign(head):
        return False
    return _looks_like_html(head) if vague else bool(_HTML_START.match(_without_preamble(head)))


def retry_after_s(value: str, now: float) -> float | None:
    """Seconds to wait from `now` (Unix seconds) by a Retry-After header.

    Both forms of RFC 9110 section 10.2.3: whole seconds, or one of the three
    HTTP dates; a date in the past is 0. None for anything else.
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


def refresh(content: str) -> tuple[int, str] | None:
    """Seconds and URL of a Refresh header or a meta refresh: `5; url=/next` is (5, "/next").

    The URL is raw, "" for the page itself; None where the syntax is wrong. (HTML Standard,
    4.2.5.3, shared declarative refresh steps.)
    """
    match = _REFRESH.fullmatch(content)
    if match is None:
        return None
    url = match["url"] or ""
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return int(match["seconds"][:9] or 0), url.strip(" \t\n\f\r")


def refreshed(fetch: FetchResult, page: Page | None) -> tuple[FetchResult, Page | None]:
    """An answer with its refresh carried out: a redirect if it comes soon, else a link more.

    A Refresh header goes before the page's own, as in browsers, and counts without a body,
    too. What leads to the same page again is none: such a page only wants to stay fresh.
    """
    if fetch.failure not in (None, FailureKind.EMPTY) or fetch.redirect_to or fetch.url_source:
        return fetch, page
    asked = refresh(fetch.header("refresh") or "") if (fetch.status or 0) // 100 == 2 else None
    soon = page.refresh_url if page is not None else None
    if asked is not None:
        target = normalise(asked[1], fetch.url) if asked[1] else None
        soon = target if asked[0] <= REFRESH_S else None
        if target is not None and soon is None and page is not None:
            page = _with_link(page, target)
    if soon is None or (
        soon[:5] == fetch.url[:5] and url_fingerprint(soon) == url_fingerprint(fetch.url)
    ):
        return fetch, page
    empty = msgspec.structs.replace(fetch, failure=None, body=b"", redirect_to=soon)
    return empty, None


def _with_link(page: Page, url: str) -> Page:
    key = url_fingerprint(url)
    if any(link.key == key for link in page.links):
        return page
    return msgspec.structs.replace(page, links=[*page.links, Link(url, key, url_host(url))])


def _narrow(head: bytes) -> bytes:
    """The first bytes with ASCII readable: UTF-16 folded, a UTF-8 mark dropped."""
    head = head[:SNIFF_BYTES]
    if head[:2] == b"\xff\xfe" or head[:2] == b"<\x00":
        return head.decode("utf-16-le", "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
    if head[:2] == b"\xfe\xff" or head[:2] == b"\x00<":
        return head.decode("utf-16-be", "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
    return head.removeprefix(b"\xef\xbb\xbf")


def _without_preamble(head: bytes) -> bytes:
    """The head from its first tag that says something (comments, XML line cut)."""
    text = _narrow(head)
    match = _PREAMBLE.match(text)
    return text[match.end() :] if match else text


def _is_foreign(head: bytes) -> bool:
    """Whether the bytes are plainly another format: by magic number or XML root."""
    if head.startswith(_MAGIC) or head[4:8] == b"ftyp":
        return True
    return bool(_FOREIGN_ROOT.match(_without_preamble(head)))


def _looks_like_html(head: bytes) -> bool:
    """Whether bytes of unknown type are text with HTML in it."""
    text = _narrow(head)
    if _BINARY.search(text):
        return False
    return bool(_HTML_TAG.match(_without_preamble(head)) or _HTML_WITHIN.search(text))
