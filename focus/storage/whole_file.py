"""Writes a file that appears whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from focus.errors import ExportError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, then rename it; ExportError if that fails."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise ExportError("{path}: cannot be written: {error}", path=path, error=error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
