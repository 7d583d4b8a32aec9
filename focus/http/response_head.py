"""Repairs the head of a response as browsers do, before aiohttp parses it.

aiohttp rejects a whole response for one malformed header. Chromium, curl and wget ignore the header
and read the page. The functions are pure; `connection` calls them with the bytes as received.
"""

from __future__ import annotations

import re

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_START = b"HTTP/"
_MAX_DIGITS = 18  # of a length that a signed number of 64 bits can hold
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def find_head_end(data: bytes | bytearray, start: int = 0) -> int:
    """Return the length of the head at the beginning of `data`; 0 if it is not complete yet.

    Data that is not HTTP has no head: all of it is returned at once, for the parser to reject.
    `start` is where the search begins: the bytes before it were searched earlier.
    """
    first = bytes(data[:64]).lstrip(b"\r\n")
    if not _START.startswith(first[: len(_START)].upper()):
        return len(data)
    blank = min(len(data), 64) - len(first)
    match = _HEAD_END.search(data, max(blank, start - len(b"\r\n\r")))
    return match.end() if match else 0


def repair_head(head: bytes) -> bytes:
    """Return a head without malformed headers and with one statement of the body's length.

    - The status line has single spaces, and its version is 1.0 or 1.1.
    - A carriage return within a line becomes a space (RFC 9112, 2.2).
    - White space before a colon is removed. A line whose name is not a token (RFC 9110, 5.6.2) or
      that has no colon is dropped with its continuation lines.
    - Content-Length is dropped beside `Transfer-Encoding: chunked` (RFC 9112, 6.3) and if it is not
      a number of 63 bits. Equal lengths become one; different ones stay, so that the parser rejects
      them.
    - Of several media types in Content-Type lines the last stays (Fetch Standard, 3.5).
    - `Transfer-Encoding: identity` and repetitions of a transfer coding are dropped. `chunked` is
      undone first, wherever it is named; other transfer codings count as content codings.
    """
    lines = [line.rstrip(b"\r") for line in head.strip(b"\r\n").split(b"\n")]
    status_line, *lines = [line.replace(b"\r", b" ") for line in lines]
    fields: list[tuple[bytes, bytes]] = []
    is_dropped = True
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        if line[:1] in (b" ", b"\t"):
            if not is_dropped:
                fields[-1] = (fields[-1][0], fields[-1][1] + b"\r\n" + line)
            continue
        is_dropped = not colon or not _TOKEN.fullmatch(name)
        if not is_dropped:
            fields.append((name, value))
    version, *rest = status_line.split(None, 2)
    is_old = version.upper() in (b"HTTP/0.9", b"HTTP/1", b"HTTP/1.0")
    status_line = b" ".join([b"HTTP/1.0" if is_old else b"HTTP/1.1", *rest])
    repaired = [status_line, *[b"%s:%s" % field for field in _repair_framing(fields)]]
    return b"\r\n".join(repaired) + b"\r\n\r\n"


def _repair_framing(fields: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    types = [f for f in fields if f[0].lower() == b"content-type" and b"/" in f[1]]
    fields = [f for f in fields if f not in types[:-1]]
    codings = _list_values(fields, b"transfer-encoding")
    lengths = _list_values(fields, b"content-length")
    others = [f for f in fields if f[0].lower() not in (b"transfer-encoding", b"content-length")]
    codings = [coding for coding in codings if coding != b"identity"]
    if codings:
        others += [(b"Content-Encoding", coding) for coding in codings if coding != b"chunked"]
        return others + [(b"Transfer-Encoding", b"chunked")] * (b"chunked" in codings)
    if not all(length.isdigit() and len(length.lstrip(b"0")) <= _MAX_DIGITS for length in lengths):
        lengths = []
    return [*others, *[(b"Content-Length", length) for length in lengths]]


def _list_values(fields: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Return the distinct elements of a comma-separated header in lower case."""
    texts = [value.lower() for key, value in fields if key.lower() == name]
    return list(dict.fromkeys(part.strip() for text in texts for part in text.split(b",")))
