"""Reads sitemaps and feeds: which pages they list, and when those changed.

Sitemaps (in XML, or as text with an address a line) and sitemap indexes (sitemaps.org), RSS
0.9x to 2.0 and Atom, plain or in gzip, read piece by piece as they come. This is a
scanner for tags, no XML parser: it knows no DTD, expands no entity but XML's own five and
numbers, and reads on where a file is broken, as many are (a bare & in an address). Bytes,
tags and links are bounded; what was read up to a bound counts.
"""

from __future__ import annotations

import calendar
import codecs
import html
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_tz

from focus.http.content_encoding import CodingError, Decoder
from focus.records import SourceEntry, UrlSource
from focus.text.charset import prescan_encoding
from focus.text.codecs import decode_as

MAX_BYTES = 50 * 1024 * 1024
"""Unpacked, and `MAX_LINKS` of them: what sitemaps.org allows in one file."""
MAX_LINKS = 50_000
MAX_TAGS = 1_000_000

_MAX_MARKUP = 64 * 1024  # bytes kept of a tag, comment or CDATA section that has no end yet
_MAX_TEXT = 8 * 1024
_MAX_TITLE = 200
_SLICE = 1024  # of gzip, which may be a thousand times that when unpacked
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")

_ROOTS = {
    "urlset": "sitemap",
    "sitemapindex": "index",
    "rss": "feed",
    "feed": "feed",
    "rdf": "feed",
}
_ENTRIES = {"sitemap": ("url",), "index": ("sitemap",), "feed": ("item", "entry")}
_FIELDS = {
    "sitemap": {"loc": "url", "lastmod": "date"},
    "index": {"loc": "url", "lastmod": "date"},
    "feed": {
        "link": "url",
        "title": "title",
        "updated": "date",
        "published": "date",
        "pubdate": "date",
        "dc:date": "date",
    },
}
_NAME = re.compile(rb"[A-Za-z_][\w.:-]{0,60}")
_ATTRIBUTE = re.compile(rb"""\b(href|rel)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));", re.I)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TAGS = re.compile(r"<[^<>]*>")
_SLASH = ord("/")
_BLANK = b"\xef\xbb\xbf \t\r\n"
_SPECIAL_BYTES = len(b"<![CDATA[")
_SUBSET = re.compile(rb"[>\[]")
_SCHEMES = (b"http://", b"https://")
_ADDRESS = re.compile(rb"https?://[^\s<>\"]+")
_MAX_PIECES = 64
_MAX_NAMES = 1_000


def is_listing(head: bytes) -> bool:
    """Whether a body that begins so is a sitemap, an index or a feed."""
    reader = ListingReader()
    reader.feed(head)
    return reader.finish() is not None


def read_listing(body: bytes) -> UrlSource | None:
    """A whole sitemap, index or feed; None if it is none."""
    reader = ListingReader()
    reader.feed(body)
    return reader.finish()


class ListingReader:
    """Reads one listing as it comes in.

    kind  "sitemap", "index" or "feed"; "" if it is none of them; None: not known yet
    full  a bound was reached, the rest is not looked at
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self.full = False
        self._links: dict[str, SourceEntry] = {}
        self._unzip: Decoder | None = None
        self._recode: codecs.IncrementalDecoder | None = None
        self._encoding = ""
        self._prefix = ""
        self._bytes = self._tags = 0
        self._buffer = b""
        self._until = b""  # the end of markup that was too long to keep
        self._entry: dict[str, str] | None = None
        self._field = ""
        self._text: list[bytes] = []
        self._head = b""
        self._roles: dict[bytes, str] = {}
        self._is_text = False

    def feed(self, data: bytes) -> None:
        """Take in the next piece; whatever it is, never an error."""
        if self.full or self.kind == "":
            return
        if self._unzip is None and not self._bytes:
            data, self._head = self._head + data, b""
            if len(data) < 4:
                self._head = data
                return
            if data.startswith(_GZIP):
                self._unzip = Decoder("gzip", MAX_BYTES)
        for piece in self._unpacked(data):
            self._take(piece)

    def finish(self) -> UrlSource | None:
        """What it lists; None if it is no listing."""
        if self._unzip is not None and self.kind and not self.full:
            self._take(self._unzip.finish())
        if self._is_text:
            self._line(self._buffer)
            self._buffer = b""
        if not self.kind:
            return None
        cut = self.full or (self._unzip is not None and bool(self._unzip.cut))
        return UrlSource(kind=self.kind, entries=list(self._links.values()), is_truncated=cut)

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._unzip is None:
            yield data
            return
        try:
            for start in range(0, len(data), _SLICE):
                yield self._unzip.feed(data[start : start + _SLICE])
        except CodingError:
            self.full = True
        self.full |= self._unzip.full

    def _take(self, data: bytes) -> None:
        if not data or self.full or self.kind == "":
            return
        if not self._bytes:
            self._begin(data)
        self._bytes += len(data)
        if self._recode is not None:
            data = self._recode.decode(data).encode("utf-8", "replace")
        self._buffer += data
        self._scan()
        self.full |= self._bytes > MAX_BYTES

    def _begin(self, head: bytes) -> None:
        if head.startswith(_UTF_16):
            is_little = head[:2] in (b"\xff\xfe", b"<\0")
            name = "utf-16-le" if is_little else "utf-16-be"
            self._recode = codecs.getincrementaldecoder(name)("replace")
            self._encoding = "utf-8"
        else:
            self._encoding = prescan_encoding(head[:1024]) or "utf-8"

    def _scan(self) -> None:
        """Go through the whole tags of what is there; the beginning of another stays."""
        if self.kind is None and not self._is_text:
            self._is_text = _may_be_text(self._buffer)
        if self._is_text:
            self._lines()
            return
        data, at = self._buffer, 0
        if self._until:
            at = self._past(data, self._until, 0)
        while not (self.full or self._until or self.kind == ""):
            start = data.find(b"<", at)
            if start < 0 or len(data) - start < _SPECIAL_BYTES:
                break
            opening, ending = _special(data, start) if data[start + 1] in b"!" else (b"<", b">")
            inside = start + len(opening)
            end = data.find(ending, inside)
            if end < 0:
                if len(data) - start > _MAX_MARKUP:
                    at = self._past(data, ending, len(data))
                break
            if self._field or self.kind is None:
                self._hear(data[at:start])
            if opening == b"<":
                self._tag(data, inside, end)
            elif opening == b"<![CDATA[":  # nothing in there is an entity
                self._hear(data[inside:end].replace(b"&", b"&amp;"))
            at = end + len(ending)
            self._tags += 1
            self.full = self._tags >= MAX_TAGS or len(self._links) >= MAX_LINKS
        self._buffer = self._rest(data, at)

    def _lines(self) -> None:
        """Go through the whole lines of what is there; the beginning of another stays."""
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._buffer) > _MAX_TEXT:  # no address: only that it is none is kept
            self._buffer = self._buffer[:_MAX_TEXT]
            self.kind = self.kind or ""

    def _line(self, line: bytes) -> None:
        """One line of text: the first must be an address, others are left out if they are none."""
        line = line.strip(_BLANK)
        if not line or self.full or self.kind == "":
            return
        is_address = len(line) < _MAX_TEXT and _ADDRESS.fullmatch(line) is not None
        if self.kind is None:
            self.kind = "sitemap" if is_address else ""
        if is_address:
            url = self._decoded(line)
            self._links.setdefault(url, SourceEntry(url))
        self.full |= len(self._links) >= MAX_LINKS

    def _past(self, data: bytes, ending: bytes, start: int) -> int:
        """Where markup too long to keep ends; if not in here, the rest is skipped, too."""
        end = data.find(ending, start)
        self._until = ending if end < 0 else b""
        return max(0, len(data) - len(ending) + 1) if end < 0 else end + len(ending)

    def _rest(self, data: bytes, at: int) -> bytes:
        """What is kept for the next time: a tag's beginning. Of mere text a little will do."""
        if not self._until and data.find(b"<", at) < 0:
            self._hear(data[at:])
            return b""
        return data[at:]

    def _hear(self, text: bytes) -> None:
        """Text between tags."""
        if self.kind is None and text.strip(_BLANK):
            self.kind = ""
        elif self._field and len(self._text) < _MAX_PIECES:
            self._text.append(text[:_MAX_TEXT])

    def _tag(self, data: bytes, start: int, end: int) -> None:
        is_end = data[start] == _SLASH
        match = _NAME.match(data, start + is_end, end)
        if match is None:
            return
        raw = match[0]
        if self.kind is None:
            self._root(raw)
            return
        role = self._roles.get(raw)
        if role is None and len(self._roles) < _MAX_NAMES:
            role = self._roles[raw] = self._role(raw)
        if role == "entry":
            if is_end:
                self._end_entry()
            self._entry, self._field = None if is_end else {}, ""
        elif role and self._entry is not None:
            if is_end:
                self._end_field()
            else:
                self._field, self._text = role, []
                if role == "url" and self.kind == "feed" and end - start > len(raw):
                    self._atom_link(data[start:end])

    def _role(self, raw: bytes) -> str:
        """What an element is to us: an entry, a field of one, or nothing."""
        kind, name = self.kind or "feed", raw.decode("ascii", "replace").lower()
        name = name.removeprefix(self._prefix)
        return "entry" if name in _ENTRIES[kind] else _FIELDS[kind].get(name, "")

    def _root(self, raw: bytes) -> None:
        prefix, colon, local = raw.decode("ascii", "replace").lower().rpartition(":")
        self.kind = _ROOTS.get(local, "")
        if colon and local != "rdf":
            self._prefix = prefix + colon

    def _atom_link(self, inner: bytes) -> None:
        """Atom names an address in an attribute, and others (rel) beside it."""
        found = {key.lower(): a or b for key, a, b in _ATTRIBUTE.findall(inner[:_MAX_TEXT])}
        if b"href" in found and self._entry is not None:
            self._field = ""
            if found.get(b"rel", b"alternate").strip().lower() == b"alternate":
                self._entry.setdefault("url", self._plain(found[b"href"]))

    def _end_field(self) -> None:
        if self._entry is not None and self._field:
            text = self._plain(b"".join(self._text)[:_MAX_TEXT])
            if text:
                self._entry.setdefault(self._field, text)
        self._field = ""

    def _end_entry(self) -> None:
        entry = self._entry or {}
        url = entry.get("url", "")
        if not url or (self.kind != "feed" and not url.lower().startswith(("http://", "https://"))):
            return
        title = " ".join(_TAGS.sub(" ", entry.get("title", "")).split())[:_MAX_TITLE]
        self._links.setdefault(url, SourceEntry(url, title, changed_at(entry.get("date", ""))))

    def _plain(self, raw: bytes) -> str:
        return _ENTITY.sub(_resolved, self._decoded(raw)).strip()

    def _decoded(self, raw: bytes) -> str:
        return decode_as(raw, self._encoding)


def _may_be_text(data: bytes) -> bool:
    """Whether what begins so may be addresses, a line each."""
    begins = data.lstrip(_BLANK)[: len(_SCHEMES[1])]
    return bool(begins) and any(scheme.startswith(begins[: len(scheme)]) for scheme in _SCHEMES)


def _special(data: bytes, start: int) -> tuple[bytes, bytes]:
    """How the markup that begins with <! here opens and ends."""
    if data.startswith(b"<!--", start):
        return b"<!--", b"-->"
    if data.startswith(b"<![CDATA[", start):
        return b"<![CDATA[", b"]]>"
    first = _SUBSET.search(data, start)  # a DTD of its own, read by nobody, stands in [ ]
    return b"<!", b"]>" if first is not None and first[0] == b"[" else b">"


def _resolved(match: re.Match[str]) -> str:
    named, decimal, hexadecimal = match.groups()
    if named:
        return _NAMED[named.lower()]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    valid = 0x20 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if valid else " "


def changed_at(text: str) -> float:
    """Unix seconds of a W3C date (2026-11-21, with or without a time) or an RFC 822 one.

    A date without a zone is in UTC; 0.0 for anything else and before 1970.
    """
    text = text.strip()[:64]
    if re.fullmatch(r"\d{4}(-\d\d)?", text):
        text = f"{text}-01-01"[:10]
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = _rfc_822(text)
    return max(0.0, seconds)


def _rfc_822(text: str) -> float:
    try:
        parts = parsedate_tz(text)
        return float(calendar.timegm(parts[:9]) - (parts[9] or 0)) if parts else 0.0
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def as_html(links: Sequence[SourceEntry]) -> bytes:
    """The links as a page of nothing else, so that a scorer reads them like any page's."""
    rows = [
        f'<p><a href="{html.escape(each.url)}">{html.escape(each.title)}</a></p>' for each in links
    ]
    text = "<!doctype html><meta charset=utf-8>" + "\n".join(rows)
    return text.encode("utf-8", "replace")
