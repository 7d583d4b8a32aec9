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
    for where, names, *word_lines in _read_topics():
        folded = list(dict.fromkeys(fold(name.strip()) for name in names.split("|")))
        for name in folded:
            if not name or name in seen:
                raise ValueError(f"{where}: name {name!r} is empty or stands in {seen.get(name)}")
            seen[name] = where
        if any("|" in line for line in word_lines):
            raise ValueError(f"{where}: a term contains |")
        lines += [f"|{'|'.join(folded)}|", *word_lines]
    return "\n".join(lines) + "\n"


def _read_topics() -> Iterator[tuple[str, ...]]:
    """Yield place, names, narrower subjects, Chinese and English terms of each topic."""
    for path in sorted(FOLDER.glob("*.txt")):
        for block in filter(str.strip, path.read_text("utf-8").split("\n\n")):
            names, *lines = block.strip().splitlines()
            narrower = lines.pop(0).removeprefix(">") if lines[0].startswith(">") else ""
            if len(lines) != 2:
                raise ValueError(f"{path.name}: {names}: {len(lines)} lines of terms instead of 2")
            yield f"{path.name}: {names}", names, narrower.strip(), *lines


if __name__ == "__main__":
    try:
        packed = zstd.compress(packed_text().encode(), 22)
    except ValueError as error:
        sys.exit(str(error))
    if len(packed) > MAX_BYTES:
        sys.exit(f"{len(packed)} bytes; at most {MAX_BYTES}")
    LIBRARY_FILE.write_bytes(packed)
    print(f"{LIBRARY_FILE.name}: {len(packed)} bytes")
