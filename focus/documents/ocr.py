"""Reads scanned pages with two installed programs: pdftoppm draws them, tesseract reads them."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator

from focus.documents.kinds import DocumentError
from focus.errors import ConfigError

MAX_PAGES = 10
"""Pages read of one scan."""

MAX_SECONDS = 15.0
"""Seconds for one scan, below the 20 s after which a worker without a reply is killed."""

_PROGRAMS = ("pdftoppm", "tesseract")
_LONG_SIDE = "2400"  # pixels of the drawn page: A4 at 205 dpi; bounds its image to 6 MB
_GAP = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")


def check_ocr(languages: str, *, documents: bool) -> None:
    """Raise ConfigError if a program or one of the languages (`eng+chi_sim`) is not installed."""
    if not documents:
        raise ConfigError("--ocr is a part of --documents; give both")
    if missing := _missing_programs():
        raise ConfigError(
            "--ocr needs {missing}: apt install tesseract-ocr poppler-utils", missing=missing
        )
    known = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True).stdout
    if unknown := set(languages.split("+")) - set(known.split("\n")[1:]):
        raise ConfigError(
            "--ocr {languages}: tesseract has no language {unknown}; list: tesseract --list-langs",
            languages=languages,
            unknown=", ".join(sorted(unknown)),
        )


def read_pages(body: bytes, page_count: int, languages: str) -> Iterator[str]:
    """Yield the text of the first pages of a PDF, as many as can be read in `MAX_SECONDS`."""
    if missing := _missing_programs():
        raise DocumentError(f"PDF: it has no text, and --ocr needs {missing}")
    ends_at = time.monotonic() + MAX_SECONDS
    for number in map(str, range(1, min(page_count, MAX_PAGES) + 1)):
        draw = ("-f", number, "-l", number, "-gray", "-scale-to", _LONG_SIDE, "-")
        try:
            image = _run("pdftoppm", draw, body, ends_at)
            text = _run("tesseract", ("-", "-", "-l", languages), image, ends_at) if image else b""
        except subprocess.TimeoutExpired:
            return
        yield _GAP.sub("", text.decode("utf-8", "replace"))


def _missing_programs() -> str:
    return ", ".join(name for name in _PROGRAMS if shutil.which(name) is None)


def _run(program: str, arguments: tuple[str, ...], data: bytes, ends_at: float) -> bytes:
    return subprocess.run(
        [program, *arguments],
        input=data,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=max(0.0, ends_at - time.monotonic()),
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},  # one core, as for every other page
        preexec_fn=_limit_cpu,
    ).stdout


def _limit_cpu() -> None:
    """Let the program end by itself if its worker is killed."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(MAX_SECONDS), int(MAX_SECONDS)))
