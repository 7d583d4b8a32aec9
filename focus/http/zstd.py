"""Zstandard from the standard library (Python 3.14 or later) or its backport.

It compresses stored pages, WARC files, packs, dumps and messages between roles. Measured on pages
of 8 KB against python-zstandard: the same frames, 26 µs instead of 28 to compress one at level 1,
20 instead of 16 to decompress it.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import (
        CompressionParameter,
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        ZstdFile,
        compress,
        decompress,
    )
else:
    from backports.zstd import (
        CompressionParameter,
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        ZstdFile,
        compress,
        decompress,
    )

__all__ = [
    "CompressionParameter",
    "DecompressionParameter",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "ZstdFile",
    "compress",
    "compress_frame",
    "decompress",
    "decompress_bounded",
]


def compress_frame(compressor: ZstdCompressor, data: bytes) -> bytes:
    """Return one whole frame from a reused compressor; a new one each time costs 5 µs more."""
    return compressor.compress(data, compressor.FLUSH_FRAME)


def decompress_bounded(packed: bytes | memoryview, max_bytes: int) -> bytes:
    """Return the content of one frame; raise ZstdError if it is cut or over `max_bytes` long."""
    decompressor = ZstdDecompressor()
    plain = decompressor.decompress(packed, max_length=max_bytes + 1)
    if not decompressor.eof or len(plain) > max_bytes:
        raise ZstdError(f"no whole frame of at most {max_bytes} bytes")
    return plain
