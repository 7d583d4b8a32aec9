"""Asks for labels page by page: a key on a terminal, a line if standard input is a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import click

from focus.errors import ConfigError
from focus.text.formatting import printable, replace_unprintable

QUIT_KEYS = ("q", "\x1b", "\x04")
MAX_ANSWER_LENGTH = len("quit")


class PageAsker:
    """Shows lines and reads an answer.

    Args:
        words: Key -> the word that it begins, as {"y": "yes", "n": "no", "s": "skip"}. "q" always
            quits, Space skips, and on a terminal Escape and Ctrl-D quit.
        stored_note: What happened to earlier answers, for the message about an invalid line.
    """

    def __init__(self, words: Mapping[str, str], *, stored_note: str) -> None:
        self._keys = {key: key for key in words} | dict.fromkeys(QUIT_KEYS, "q") | {" ": "s"}
        spelled = (f"[{word[0]}]{word[1:]}" for word in (*words.values(), "quit"))
        self._prompt = f"on topic? {' '.join(spelled)} "
        self._stored_note = stored_note
        self._line_count = 0

    def ask(self, lines: Iterable[str]) -> str:
        """Show lines, and return one of the keys or q. Raises ConfigError for an invalid line."""
        for line in lines:
            click.echo(replace_unprintable(line), err=True)
        return self._read_key() if sys.stdin.isatty() else self._read_line()

    def _read_key(self) -> str:
        click.echo(self._prompt, err=True, nl=False)
        while True:
            answer = self._keys.get(click.getchar().lower())
            if answer:
                click.echo(answer, err=True)
                return answer

    def _read_line(self) -> str:
        line = sys.stdin.readline()
        self._line_count += 1
        if not line:
            return "q"
        answer = self._keys.get(line.strip().lower()[:1] or " ")
        if answer is None or len(line.strip()) > MAX_ANSWER_LENGTH:
            *first, last = dict.fromkeys(self._keys[key] for key in self._keys)
            raise ConfigError(
                "standard input, line {n}: {line!r} is not {first} or {last}; {kept}",
                n=self._line_count,
                line=printable(line.strip(), 40),
                first=", ".join(first),
                last=last,
                kept=self._stored_note,
            )
        return answer
