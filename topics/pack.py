"""Packs the sources of the library of topics into the file that focus reads.

    python topics/pack.py

Fails if a source breaks a rule of topics/README.md that a program can check.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from focus.http import zstd
from focus.learn.library import LIBRARY_FILE
from focus.text.tokenisation import fold

FOLDER = Path(__file__).parent
MAX_BYTES = 600_000


def packed_text() -> str:
    """Return the text of the packed library; raise ValueError for a source against the rules."""
    seen: dict[str, str] = {}
    lines = []
    for where, names, *term_lines in _read_topics():
        folded = list(dict.fromkeys(fold(name.strip()) for name in names.split("|")))
        for name in folded:
            if not name or name in seen:
                raise ValueError(f"{where}: name {name!r} is empty or stands in {seen.get(name)}")
            seen[name] = where
        if any("|" in line for line in term_lines):
            raise ValueError(f"{where}: a term contains |")
        lines += [f"|{'|'.join(folded)}|", *term_lines]
    return "\n".join(lines) + "\n"


def _read_topics() -> Iterator[tuple[str, ...]]:
    """Yield place, names, Chinese terms and English terms of each topic."""
    for path in sorted(FOLDER.glob("*.txt")):
        for block in filter(str.strip, path.read_text("utf-8").split("\n\n")):
            lines = block.strip().splitlines()
            if len(lines) != 3:
                raise ValueError(f"{path.name}: {lines[0]}: {len(lines)} lines instead of 3")
            yield f"{path.name}: {lines[0]}", *lines


if __name__ == "__main__":
    try:
        packed = zstd.compress(packed_text().encode(), 22)
    except ValueError as error:
        sys.exit(str(error))
    if len(packed) > MAX_BYTES:
        sys.exit(f"{len(packed)} bytes; at most {MAX_BYTES}")
    LIBRARY_FILE.write_bytes(packed)
    print(f"{LIBRARY_FILE.name}: {len(packed)} bytes")
