"""Repairs the framing of a chunked body as browsers do, before aiohttp parses it.

aiohttp rejects a body for a line that ends with LF alone, for white space around an extension, and
for a malformed trailer. Chromium, curl and wget ignore all of them.
"""

from __future__ import annotations

import re

_SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]+)[ \t]*(?:;.*)?", re.S)
_MAX_LINE = 8 * 1024


class ChunkRepairer:
    """Rewrites one chunked body piece by piece, without extensions and trailers.

    From the first line that is no size on, everything is returned as received, so that the parser
    rejects it.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # a line that is not complete yet
        self._data_left = 0  # bytes of the current chunk
        self._is_after_data = self._is_trailer = self._is_over = False

    def repair(self, data: bytes) -> bytes:
        """Return a piece of the body with repaired lines; the rest of a line comes later."""
        out, position = list[bytes](), 0
        while position < len(data) and not self._is_over:
            if self._data_left:
                chunk = data[position : position + self._data_left]
                self._data_left -= len(chunk)
                out.append(chunk)
                position += len(chunk)
                continue
            end = data.find(b"\n", position) + 1 or len(data)
            self._line += data[position:end]
            position = end
            if self._line.endswith(b"\n") or len(self._line) > _MAX_LINE:
                out.append(self._repair_line(bytes(self._line)))
                self._line.clear()
        return b"".join([*out, data[position:]])

    def _repair_line(self, line: bytes) -> bytes:
        text = line.rstrip(b"\r\n")
        if self._is_trailer:
            self._is_over = not text
            return b"" if text else b"0\r\n\r\n"
        if self._is_after_data and not text:
            self._is_after_data = False
            return b"\r\n"
        size = _SIZE_LINE.fullmatch(text) if line.endswith(b"\n") else None
        if size is None or self._is_after_data:
            self._is_over = True
            return line
        self._data_left = int(size[1], 16)
        self._is_trailer = self._data_left == 0
        self._is_after_data = not self._is_trailer
        return b"" if self._is_trailer else size[1] + b"\r\n"
