"""Cuts off the shapes of markup that would cost the HTML parser quadratic time.

lexbor compares each attribute of a tag with all before it, and looks for an open `<p>`
through all open elements: 40,000 of either take seconds, 100,000 minutes. Both are counted in
the raw bytes, and only in long pages, because short ones cannot contain many. A page that is
made to deceive the counts still gets through.
"""

from __future__ import annotations

import re
from itertools import islice

MAX_BYTES = 2 * 1024 * 1024  # lexbor uses seven times as much memory; the rest is not read
MAX_UNGUARDED_BYTES = 64 * 1024  # the worst page of this size takes 0.5 s
MAX_ATTRIBUTES = 1000
MAX_DEPTH = 2000

_STRIDE = 4096
_LONG_TAG = re.compile(rb"<[a-zA-Z][^<>]{4096,}+")
_ATTRIBUTE = re.compile(rb"""\s[^\s"'=/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"']++))?+""")
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_UNCOUNTED_TAGS = frozenset(
    b"area base br col dd dt embed hr img input li link meta option p param source td th tr "
    b"track wbr".split()
)


def limit_markup(html: bytes) -> bytes:
    """Return a page without the markup that makes parsing slow; nearly always the page itself.

    The result has `MAX_BYTES` bytes at most, no attributes beyond `MAX_ATTRIBUTES` of one tag, and
    ends where more than `MAX_DEPTH` elements are open at once.
    """
    if len(html) <= MAX_UNGUARDED_BYTES:
        return html
    html = html[:MAX_BYTES]
    html = _cut_long_tags(html)
    tags = html.count(b"<")
    if tags > MAX_DEPTH and tags - 2 * html.count(b"</") > MAX_DEPTH:
        html = _cut_depth(html)
    return html


def _cut_long_tags(html: bytes) -> bytes:
    """Return a page with at most `MAX_ATTRIBUTES` in tags longer than two strides.

    Such a tag contains a whole stride without < and >, as do many scripts; searching these takes a
    tenth of the time of searching all tags.
    """
    pieces, done = [], 0
    for start in range(0, len(html), _STRIDE):
        end = start + _STRIDE
        if html.find(b">", start, end) < 0 and html.find(b"<", start, end) < 0:
            tag = html.rfind(b"<", done, start)
            is_open = tag >= 0 and html.rfind(b">", tag, start) < 0
            if is_open and (match := _LONG_TAG.match(html, tag)):
                pieces += [html[done:tag], _cut_attributes(match)]
                done = match.end()
    return b"".join((*pieces, html[done:])) if pieces else html


def _cut_attributes(tag: re.Match[bytes]) -> bytes:
    last = next(islice(_ATTRIBUTE.finditer(tag[0]), MAX_ATTRIBUTES, None), None)
    return tag[0] if last is None else tag[0][: last.start()]


def _cut_depth(html: bytes) -> bytes:
    depth = 0
    for tag in _TAG.finditer(html):
        if tag[2].lower() not in _UNCOUNTED_TAGS:
            depth += -1 if tag[1] else 1
            if depth > MAX_DEPTH:
                return html[: tag.start()]
    return html
