"""Asks a person page by page: a key on a terminal, a line where standard input is a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import click

from focus.errors import ConfigError
from focus.text.formatting import printable, replace_unprintable

ENDS = ("q", "\x1b", "\x04")
LONGEST = len("quit")


class PageAsker:
    """Shows lines and takes an answer.

    words   key -> the word it begins: {"y": "yes", "n": "no", "s": "skip"}; "q" quits always.
            Space skips, and on a terminal Escape and Ctrl-D quit
    kept    what has become of the answers before a line that is none
    """

    def __init__(self, words: Mapping[str, str], *, kept: str) -> None:
        self._keys = {key: key for key in words} | dict.fromkeys(ENDS, "q") | {" ": "s"}
        spelled = (f"[{word[0]}]{word[1:]}" for word in (*words.values(), "quit"))
        self._prompt = f"on topic? {' '.join(spelled)} "
        self._kept = kept
        self._lines = 0

    def ask(self, lines: Iterable[str]) -> str:
        """One of the keys, or q; ConfigError for a line that is none of these."""
        for line in lines:
            click.echo(replace_unprintable(line), err=True)
        return self._key() if sys.stdin.isatty() else self._line()

    def _key(self) -> str:
        click.echo(self._prompt, err=True, nl=False)
        while True:
            said = self._keys.get(click.getchar().lower())
            if said:
                click.echo(said, err=True)
                return said

    def _line(self) -> str:
        line = sys.stdin.readline()
        self._lines += 1
        if not line:
            return "q"
        said = self._keys.get(line.strip().lower()[:1] or " ")
        if said is None or len(line.strip()) > LONGEST:
            *first, last = dict.fromkeys(self._keys[key] for key in self._keys)
            raise ConfigError(
                "standard input, line {n}: {line!r} is not {first} or {last}; {kept}",
                n=self._lines,
                line=printable(line.strip(), 40),
                first=", ".join(first),
                last=last,
                kept=self._kept,
            )
        return said
