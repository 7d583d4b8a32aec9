"""Reads scanned pages with two installed programs: pdftoppm draws them, tesseract reads them."""

from __future__ import annotations

import ctypes
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial

from focus.config import OCR_CPU_S, SILENCE_FACTOR
from focus.documents.kinds import DocumentError
from focus.errors import ConfigError

MAX_PAGES = 10
"""Pages read of one scan."""

_PROGRAMS = ("pdftoppm", "tesseract")
_LONG_SIDE = "2400"  # pixels of the drawn page: A4 at 205 dpi; bounds its image to 6 MB
_PR_SET_PDEATHSIG = 1
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
    """Yield the text of the first pages of a PDF, as many as `OCR_CPU_S` of computing allow.

    Raises DocumentError if a program is missing or the first page takes longer.
    """
    if missing := _missing_programs():
        raise DocumentError(f"PDF: it has no text, and --ocr needs {missing}")
    cpu_end, ends_at = _cpu_s() + OCR_CPU_S, time.monotonic() + SILENCE_FACTOR * OCR_CPU_S
    for number in map(str, range(1, min(page_count, MAX_PAGES) + 1)):
        draw = ("-f", number, "-l", number, "-gray", "-scale-to", _LONG_SIDE, "-")
        try:
            image = _run("pdftoppm", draw, body, cpu_end, ends_at)
            read = ("-", "-", "-l", languages)
            text = _run("tesseract", read, image, cpu_end, ends_at) if image else b""
        except subprocess.TimeoutExpired as error:
            if number == "1":
                message = f"PDF: it has no text, and --ocr takes over {OCR_CPU_S:g} s for a page"
                raise DocumentError(message) from error
            return
        yield _GAP.sub("", text.decode("utf-8", "replace"))


def _missing_programs() -> str:
    return ", ".join(name for name in _PROGRAMS if shutil.which(name) is None)


def _run(program: str, args: Sequence[str], data: bytes, cpu_end: float, ends_at: float) -> bytes:
    """Return the output of a program; TimeoutExpired at either limit."""
    limit_s = max(1, math.ceil(cpu_end - _cpu_s()))
    done = subprocess.run(
        [program, *args],
        input=data,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=max(0.0, ends_at - time.monotonic()),
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},  # one core, as for every other page
        preexec_fn=partial(_bind_to_worker, limit_s, ctypes.CDLL(None)),
    )
    if _cpu_s() >= cpu_end or done.returncode == -signal.SIGKILL:
        raise subprocess.TimeoutExpired(program, limit_s)
    return done.stdout


def _cpu_s() -> float:
    """Return the CPU seconds of all programs that this process has run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _bind_to_worker(limit_s: int, libc: ctypes.CDLL) -> None:
    """Limit the CPU time of a program, and have it killed when its worker dies."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    if sys.platform == "linux":
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
