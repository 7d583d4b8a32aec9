"""Reads sitemaps and feeds: the URLs that they contain, and when those changed.

Sitemaps (XML, or text with one URL per line), sitemap indexes (sitemaps.org), RSS 0.9x to 2.0 and
Atom, plain or in gzip, are read piece by piece as they arrive. This is a scanner for tags, not an
XML parser: it reads no DTD, expands only XML's own five entities and numbers, and continues after
errors, which are frequent (a bare & in a URL). Bytes, tags and links are limited; entries read up
to a limit count.
"""

from __future__ import annotations

import calendar
import codecs
import html
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_tz
from urllib.parse import urljoin

from focus.http.content_encoding import CodingError, Decoder
from focus.records import SourceEntry, UrlSource
from focus.text.charset import decode, prescan_encoding
from focus.text.codecs import decode_as
from focus.urls.normal_form import normalise

MAX_BYTES = 50 * 1024 * 1024
"""Maximum unpacked size of one file, with `MAX_LINKS` URLs, as allowed by sitemaps.org."""
MAX_LINKS = 50_000
MAX_TAGS = 1_000_000

_MAX_MARKUP = 64 * 1024  # bytes stored of a tag, comment or CDATA section without an end
_MAX_TEXT = 8 * 1024
_MAX_TITLE = 200
_GZIP_SLICE = 1024  # bytes of gzip, whose unpacked size may be a thousand times larger
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
        "guid": "guid",
        "title": "title",
        "updated": "date",
        "published": "date",
        "pubdate": "date",
        "dc:date": "date",
        "source": "source",
    },
}
_NAME = re.compile(rb"[A-Za-z_][\w.:-]{0,60}")
_ATTRIBUTE = re.compile(
    rb"""(?<![\w:-])(href|rel|type|ispermalink|xml:base)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I
)
_NAMESPACE = re.compile(
    rb"""\bxmlns:([\w.-]+)\s*=\s*["']https?://
    (?:www\.w3\.org/2005/atom|purl\.org/rss/1\.0/?|www\.sitemaps\.org/[^"']*)["']""",
    re.I | re.X,
)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));", re.I)
_ENTITY_CHARS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_IANA_RELATIONS = "http://www.iana.org/assignments/relation/"  # RFC 4287, 4.2.7.2
_TAGS = re.compile(r"<[^<>]*>")
_SLASH = ord("/")
_WHITESPACE = b"\xef\xbb\xbf \t\r\n"
_SPECIAL_BYTES = len(b"<![CDATA[")
_SUBSET = re.compile(rb"[>\[]")
_SCHEMES = (b"http://", b"https://")
_URL = re.compile(rb"https?://[^\s<>\"]+")
_MAX_PIECES = 64
_MAX_NAMES = 1_000


def is_url_source(head: bytes) -> bool:
    """Return whether a body that begins with `head` is a sitemap, a sitemap index or a feed."""
    reader = UrlSourceReader()
    reader.feed(head)
    return reader.finish() is not None


def read_url_source(body: bytes) -> UrlSource | None:
    """Return the entries of a whole sitemap, index or feed; None for anything else."""
    reader = UrlSourceReader()
    reader.feed(body)
    return reader.finish()


class UrlSourceReader:
    """Reads one sitemap or feed as it arrives.

    kind     "sitemap", "index" or "feed"; "" for anything else; None while unknown
    is_full  a limit was reached; the rest is ignored
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self.is_full = False
        self._entries: dict[str, SourceEntry] = {}
        self._decompressor: Decoder | None = None
        self._transcoder: codecs.IncrementalDecoder | None = None
        self._encoding = ""
        self._head = b""  # first bytes, later a sample for another encoding than the declared one
        self._prefixes: tuple[str, ...] = ("atom:",)
        self._base = ""  # xml:base of the feed or channel, then of the current entry
        self._byte_count = self._tag_count = 0
        self._buffer = b""
        self._skip_until = b""  # the end of markup that was too long to store
        self._entry: dict[str, str] | None = None
        self._field = ""
        self._text_pieces: list[bytes] = []
        self._roles: dict[bytes, str] = {}
        self._is_text = self._is_source = False

    def feed(self, data: bytes) -> None:
        """Read the next piece; never raises."""
        if self.is_full or self.kind == "":
            return
        if self._decompressor is None and not self._byte_count:
            data, self._head = self._head + data, b""
            if len(data) < 4:
                self._head = data
                return
            if data.startswith(_GZIP):
                self._decompressor = Decoder("gzip", MAX_BYTES)
        for piece in self._decompress(data):
            self._process(piece)

    def finish(self) -> UrlSource | None:
        """Return the entries, or None if it is not a sitemap or feed."""
        if self._decompressor is not None and self.kind and not self.is_full:
            self._process(self._decompressor.finish())
        if self._is_text:
            self._read_line(self._buffer)
            self._buffer = b""
        if not self.kind:
            return None
        cut = self.is_full or (
            self._decompressor is not None and bool(self._decompressor.cut_coding)
        )
        return UrlSource(kind=self.kind, entries=list(self._entries.values()), is_truncated=cut)

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        if self._decompressor is None:
            yield data
            return
        try:
            for start in range(0, len(data), _GZIP_SLICE):
                yield self._decompressor.feed(data[start : start + _GZIP_SLICE])
        except CodingError:
            self.is_full = True
        self.is_full |= self._decompressor.is_full

    def _process(self, data: bytes) -> None:
        if not data or self.is_full or self.kind == "":
            return
        if not self._byte_count:
            self._detect_encoding(data)
        self._byte_count += len(data)
        if self._transcoder is not None:
            data = self._transcoder.decode(data).encode("utf-8", "replace")
        self._buffer += data
        self._scan_tags()
        self.is_full |= self._byte_count > MAX_BYTES

    def _detect_encoding(self, head: bytes) -> None:
        if head.startswith(_UTF_16):
            is_little = head[:2] in (b"\xff\xfe", b"<\0")
            name = "utf-16-le" if is_little else "utf-16-be"
            self._transcoder = codecs.getincrementaldecoder(name)("replace")
            self._encoding = "utf-8"
        else:
            self._encoding = prescan_encoding(head[:1024]) or "utf-8"
            self._head = head
            if not head.isascii() and _is_utf8(head):
                self._encoding = "utf-8"
            elif self._encoding == "windows-1252":
                self._encoding = decode(head)[1]

    def _scan_tags(self) -> None:
        """Read the complete tags in the buffer; an incomplete one stays."""
        if self.kind is None and not self._is_text:
            self._is_text = _may_be_url_list(self._buffer)
        if self._is_text:
            self._read_lines()
            return
        data, at = self._buffer, 0
        if self._skip_until:
            at = self._skip_past(data, self._skip_until, 0)
        while not (self.is_full or self._skip_until or self.kind == ""):
            start = data.find(b"<", at)
            if start < 0 or len(data) - start < _SPECIAL_BYTES:
                break
            opening, ending = (
                _markup_delimiters(data, start) if data[start + 1] in b"!" else (b"<", b">")
            )
            inside = start + len(opening)
            end = data.find(ending, inside)
            if end < 0:
                if len(data) - start > _MAX_MARKUP:
                    at = self._skip_past(data, ending, len(data))
                break
            if self._field or self.kind is None:
                self._read_text(data[at:start])
            if opening == b"<":
                self._read_tag(data, inside, end)
            elif opening == b"<![CDATA[":  # CDATA contains no entities
                self._read_text(data[inside:end].replace(b"&", b"&amp;"))
            at = end + len(ending)
            self._tag_count += 1
            self.is_full = self._tag_count >= MAX_TAGS or len(self._entries) >= MAX_LINKS
        self._buffer = self._unread_rest(data, at)

    def _read_lines(self) -> None:
        """Read the complete lines in the buffer; an incomplete one stays."""
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._read_line(line)
        if len(self._buffer) > _MAX_TEXT:  # too long for a URL: only its beginning is stored
            self._buffer = self._buffer[:_MAX_TEXT]
            self.kind = self.kind or ""

    def _read_line(self, line: bytes) -> None:
        """Read one line: the first must be a URL, others are skipped if they are not."""
        line = line.strip(_WHITESPACE)
        if not line or self.is_full or self.kind == "":
            return
        is_address = len(line) < _MAX_TEXT and _URL.fullmatch(line) is not None
        if self.kind is None:
            self.kind = "sitemap" if is_address else ""
        if is_address:
            url = self._decode(line)
            self._entries.setdefault(url, SourceEntry(url))
        self.is_full |= len(self._entries) >= MAX_LINKS

    def _skip_past(self, data: bytes, ending: bytes, start: int) -> int:
        """Return the position after too long markup; without its end the rest is skipped."""
        end = data.find(ending, start)
        self._skip_until = ending if end < 0 else b""
        return max(0, len(data) - len(ending) + 1) if end < 0 else end + len(ending)

    def _unread_rest(self, data: bytes, at: int) -> bytes:
        """Return the bytes to read again with the next piece: the beginning of a tag."""
        if not self._skip_until and data.find(b"<", at) < 0:
            self._read_text(data[at:])
            return b""
        return data[at:]

    def _read_text(self, text: bytes) -> None:
        """Read text between tags."""
        if self.kind is None and text.strip(_WHITESPACE):
            self.kind = ""
        elif self._field and len(self._text_pieces) < _MAX_PIECES:
            self._text_pieces.append(text[:_MAX_TEXT])

    def _read_tag(self, data: bytes, start: int, end: int) -> None:
        is_end = data[start] == _SLASH
        match = _NAME.match(data, start + is_end, end)
        if match is None:
            return
        raw = match[0]
        if self.kind is None:
            self._read_root(raw, data[start:end])
            return
        role = self._roles.get(raw)
        if role is None and len(self._roles) < _MAX_NAMES:
            role = self._roles[raw] = self._element_role(raw)
        if role == "entry":
            if is_end:
                self._end_entry()
            self._entry, self._field, self._is_source = None if is_end else {}, "", False
            if not is_end and self.kind == "feed":
                self._entry = {"base": self._join_base(self._base, data[start:end])}
        elif role == "source":  # link and title within are those of the feed it came from
            self._is_source = not is_end and data[end - 1] != _SLASH
        elif role and self._entry is not None and not self._is_source:
            if is_end:
                self._end_field()
            else:
                self._field, self._text_pieces = role, []
                if self.kind == "feed" and role in ("url", "guid") and end - start > len(raw):
                    self._read_link(role, data[start:end])
        elif raw == b"channel" and not is_end:
            self._base = self._join_base(self._base, data[start:end])

    def _element_role(self, raw: bytes) -> str:
        """Return the role of an element: "entry", the name of a field, or ""."""
        kind, name = self.kind or "feed", raw.decode("ascii", "replace").lower()
        name = next((name[len(p) :] for p in self._prefixes if name.startswith(p)), name)
        return "entry" if name in _ENTRIES[kind] else _FIELDS[kind].get(name, "")

    def _read_root(self, raw: bytes, inner: bytes) -> None:
        prefix, colon, local = raw.decode("ascii", "replace").lower().rpartition(":")
        self.kind = _ROOTS.get(local, "")
        if colon and local != "rdf":
            self._prefixes += (prefix + colon,)
        names = _NAMESPACE.findall(inner[:_MAX_TEXT])
        self._prefixes += tuple(f"{name.decode('ascii', 'replace').lower()}:" for name in names)
        self._base = self._join_base("", inner)

    def _join_base(self, base: str, inner: bytes) -> str:
        """Return the xml:base that holds within a tag, which may be relative as a whole."""
        return _resolve_reference(base, self._attributes(inner).get("xml:base", ""))

    def _attributes(self, inner: bytes) -> dict[str, str]:
        matches = _ATTRIBUTE.findall(inner[:_MAX_TEXT])
        return {key.decode().lower(): self._to_text(a or b) for key, a, b in matches}

    def _read_link(self, role: str, inner: bytes) -> None:
        """Read the attributes of a link or guid.

        An Atom link has its URL in an attribute; of several alternates one in HTML is preferred.
        Links of other relations and a guid that is no permalink are ignored.
        """
        entry, attributes = self._entry or {}, self._attributes(inner)
        if role == "guid":
            self._field = "" if attributes.get("ispermalink", "").lower() == "false" else role
        elif "href" in attributes:
            self._field = ""
            relation = attributes.get("rel", "alternate").lower().removeprefix(_IANA_RELATIONS)
            if relation == "alternate":
                kind = attributes.get("type", "").lower()
                name = "url" if not kind or "html" in kind else "alternate"
                url = _resolve_reference(attributes.get("xml:base", ""), attributes["href"])
                entry.setdefault(name, url)

    def _end_field(self) -> None:
        if self._entry is not None and self._field:
            text = self._to_text(b"".join(self._text_pieces)[:_MAX_TEXT])
            if text:
                self._entry.setdefault(self._field, text)
        self._field = ""

    def _end_entry(self) -> None:
        entry = self._entry or {}
        guid = entry.get("guid", "")
        permalink = guid if guid.lower().startswith(("http://", "https://")) else ""
        url = entry.get("url", "") or permalink or entry.get("alternate", "")
        url = _resolve_reference(entry.get("base", ""), url) if url else ""
        if not url or (self.kind != "feed" and not url.lower().startswith(("http://", "https://"))):
            return
        title = " ".join(_TAGS.sub(" ", entry.get("title", "")).split())[:_MAX_TITLE]
        self._entries.setdefault(url, SourceEntry(url, title, parse_date(entry.get("date", ""))))

    def _to_text(self, raw: bytes) -> str:
        return _ENTITY.sub(_resolve_entity, self._decode(raw)).strip()

    def _decode(self, raw: bytes) -> str:
        """Return a text; if it is not in UTF-8 as declared, find the encoding of the file."""
        try:
            return raw.decode() if self._encoding == "utf-8" else decode_as(raw, self._encoding)
        except UnicodeDecodeError:
            self._encoding = decode(self._head + raw)[1]
            return decode_as(raw, self._encoding)


def _is_utf8(head: bytes) -> bool:
    """Return whether the beginning of a file, which may end within a character, is UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _resolve_reference(base: str, reference: str) -> str:
    """Return a reference within an xml:base, which may be relative to the feed itself."""
    if not base or not reference:
        return reference or base
    if base.lower().startswith(("http://", "https://")):
        return normalise(reference, base) or reference
    try:
        return urljoin(base, reference)
    except ValueError:  # an invalid address in brackets
        return reference


def _may_be_url_list(data: bytes) -> bool:
    """Return whether data with this beginning may be a list of URLs, one per line."""
    begins = data.lstrip(_WHITESPACE)[: len(_SCHEMES[1])]
    return bool(begins) and any(scheme.startswith(begins[: len(scheme)]) for scheme in _SCHEMES)


def _markup_delimiters(data: bytes, start: int) -> tuple[bytes, bytes]:
    """Return opening and closing delimiter of the markup that begins with <! here."""
    if data.startswith(b"<!--", start):
        return b"<!--", b"-->"
    if data.startswith(b"<![CDATA[", start):
        return b"<![CDATA[", b"]]>"
    first = _SUBSET.search(data, start)  # an internal DTD is in [ ] and is ignored
    return b"<!", b"]>" if first is not None and first[0] == b"[" else b">"


def _resolve_entity(match: re.Match[str]) -> str:
    named, decimal, hexadecimal = match.groups()
    if named:
        return _ENTITY_CHARS[named.lower()]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    valid = 0x20 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if valid else " "


def parse_date(text: str) -> float:
    """Return Unix seconds of a W3C date (2026-11-21, with or without a time) or an RFC 822 date.

    A date without a time zone is in UTC. Returns 0.0 for anything else and before 1970.
    """
    text = text.strip()[:64]
    if re.fullmatch(r"\d{4}(-\d\d)?", text):
        text = f"{text}-01-01"[:10]
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = _parse_rfc_822(text)
    return max(0.0, seconds)


def _parse_rfc_822(text: str) -> float:
    try:
        parts = parsedate_tz(text)
        return float(calendar.timegm(parts[:9]) - (parts[9] or 0)) if parts else 0.0
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def entries_to_html(links: Sequence[SourceEntry]) -> bytes:
    """Return a page of only these links, so that a scorer can read them like any page."""
    rows = [
        f'<p><a href="{html.escape(entry.url)}">{html.escape(entry.title)}</a></p>'
        for entry in links
    ]
    text = "<!doctype html><meta charset=utf-8>" + "\n".join(rows)
    return text.encode("utf-8", "replace")
