"""Reads the records' heads of ARC files, the Internet Archive's format before WARC.

    http://a.example/ 192.0.2.1 20010424210551 text/html 202

One line for each record: address, IP, date, type and, last, the bytes that follow (version 1);
version 2 has status, checksum, location, offset and file name before those. The file begins
with a record `filedesc://…` about itself. (archive.org, "Arc File Format", 1996.)
"""

from __future__ import annotations

import re

BEGINNING = b"filedesc://"

_HEAD = re.compile(rb"(\S.*?) (\S+) (\d{14}) (\S*)(?: .*)? (\d{1,18})\s*", re.DOTALL)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)")


def record_headers(line: bytes) -> dict[str, str] | None:
    """A record's head in the named fields of a WARC; None if the line is none."""
    match = _HEAD.fullmatch(line)
    if match is None:
        return None
    url, address, date, kind, size = (each.decode("utf-8", "replace") for each in match.groups())
    return {
        "warc-type": "warcinfo" if line.startswith(BEGINNING) else "response",
        "warc-target-uri": url,
        "warc-ip-address": address,
        "warc-date": _DATE.sub(r"\1-\2-\3T\4:\5:\6Z", date),
        "content-type": kind,
        "content-length": size,
    }
