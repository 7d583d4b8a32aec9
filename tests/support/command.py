"""Commands run in this process, in a home of their own, over a recorded web of a few pages."""

import gzip
import io
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from focus.__main__ import main


class Ended(NamedTuple):
    """A command that came to its end."""

    code: int
    out: str
    err: str


Focus = Callable[..., Ended]


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder, with an empty home below it and without FOCUS_* variables."""
    monkeypatch.chdir(folder)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(folder / "home"))
    for name in [name for name in os.environ if name.startswith("FOCUS_")]:
        monkeypatch.delenv(name)


def runner(capfd: pytest.CaptureFixture[str], *command: str) -> Focus:
    """Runs `focus COMMAND …`; `said` is what somebody types meanwhile."""

    def run(*arguments: str, said: str = "") -> Ended:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "argv", ["focus"])
            patched.setattr(sys, "stdin", io.StringIO(said))
            capfd.readouterr()
            return Ended(main((*command, *arguments)), *capfd.readouterr())

    return run


def record(file: Path, pages: Mapping[str, str]) -> None:
    """Write a WARC of these pages: URL -> HTML in UTF-8, or the address that it redirects to."""
    with file.open("wb") as out:
        for url, html in pages.items():
            head = "200 OK\r\nContent-Type: text/html"
            if html.startswith("http"):
                head = f"302 Found\r\nLocation: {html}"
            block = f"HTTP/1.1 {head}\r\n\r\n{html}".encode()
            head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
            head += f"Content-Length: {len(block)}\r\n\r\n"
            out.write(gzip.compress(head.encode() + block + b"\r\n\r\n"))
