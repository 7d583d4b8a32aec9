"""Fuzzes, by coverage, every reader of bytes that strangers write.

    python -m bench.fuzz [READER …] [--seconds 300.0] [--jobs N] [--keep FOLDER]

tests/test_fuzz.py splices real files at random; here atheris (libFuzzer) looks for bytes that
reach branches not reached before, for so many seconds for each reader. Seeds are pages of the
generated web. `--keep` has the corpus grow from run to run; an input that a reader broke on
stays there as READER-crash-…, READER-timeout-… or READER-oom-….

atheris is no requirement of the project: `pip install atheris`, into an environment of its own
if you like, with PYTHONPATH leading to what `focus` needs. Only what is Python is followed: of
selectolax or ada nothing is known but that they come back. Exit code 1 if a reader broke.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.script import read_options

if TYPE_CHECKING:
    from tests.support.fuzzed import Reader

try:
    import atheris
except ImportError:
    atheris = None

INPUT_S = 10  # one input may take so long, at most; a hundred times what it should
MEMORY_MB = 1024
INPUT_BYTES = 8192
GRACE_S = 120.0
INSTRUMENTED = "focus"


def readers() -> dict[str, Reader]:
    """All by name. Imported here: atheris has to see the imports to follow them."""
    from tests.support.fuzzed import READERS

    return READERS


class Outcome(NamedTuple):
    """Of one reader: inputs tried, branches reached, what it broke on ("" for nothing)."""

    name: str
    runs: int
    covered: int
    broke: str


def fuzz_here(name: str, folder: Path, seconds: float) -> None:
    """Fuzz one reader in this process, which ends with that."""
    with atheris.instrument_imports(include=[INSTRUMENTED]):
        reader = readers()[name]
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(islice(reader.seeds(), 40)):
        form = bytes([number]) if reader.has_form else b""
        (corpus / f"seed-{number}").write_bytes((form + seed)[:INPUT_BYTES])
    options = [
        f"-max_total_time={seconds:.0f}",
        f"-timeout={INPUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={INPUT_BYTES}",
        f"-artifact_prefix={folder}/{name}-",
        "-print_final_stats=1",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], lambda data: reader.read(bytes(data)) and None)
    atheris.Fuzz()


def fuzz(name: str, folder: Path, seconds: float) -> Outcome:
    """Fuzz one reader in a process of its own."""
    command = [sys.executable, "-m", "bench.fuzz", "--here", name, "--seconds", str(seconds)]
    try:
        done = subprocess.run(
            [*command, "--keep", str(folder)],
            capture_output=True,
            timeout=seconds + GRACE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(name, 0, 0, "it did not come back")
    said = done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")
    runs = re.findall(r"number_of_executed_units: (\d+)", said) or ["0"]
    covered = re.findall(r"cov: (\d+)", said) or ["0"]
    return Outcome(name, int(runs[-1]), int(covered[-1]), _broke(said) if done.returncode else "")


def _broke(said: str) -> str:
    """What happened, in a line."""
    found = re.search(r"Uncaught Python exception: =+\n(.*)", said)
    found = found or re.search(r"ERROR: libFuzzer: (.*)", said)
    return found[1].strip() if found else (said.strip().splitlines() or ["?"])[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of readers."""
    given = read_options(__doc__, arguments, here=str)
    if atheris is None:
        print("atheris is not there: pip install atheris (see python -m pydoc bench.fuzz)")
        return 2
    if given.here:
        fuzz_here(given.here, given.keep, given.seconds)
        return 0
    names = given.reader or list(readers())
    jobs = given.jobs or max(1, (os.cpu_count() or 2) // 2)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        print("| reader | inputs | branches | broke on |\n|---|---|---|---|", flush=True)
        broken = 0
        for found in pool.map(lambda each: fuzz(each, folder, given.seconds), names):
            print(f"| {found.name} | {found.runs:,} | {found.covered:,} | {found.broke or '-'} |")
            broken += bool(found.broke)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
