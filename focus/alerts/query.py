"""Reads which words a page must, may, and must not have: `+欧冠 -彩票 "premier league"`.

    word           one of the bare words has to stand on the page, any of them
    a OR b         the same, but every such group has to be there on its own
    +word          has to be there
    -word, not     must not be there
    "two words"    a phrase; takes + and - as well

Words match as topic keywords do: ideographs anywhere, others as whole words, traditional
and simplified alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain

import msgspec

from focus.errors import ConfigError
from focus.topic.topic import Keyword, Topic

MAX_WORDS = 100
_TOKEN = re.compile(r'(?P<sign>[+\-＋－]?)(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>\S+))')


class WordQuery(msgspec.Struct, frozen=True):
    """An alert's words. `groups`: of each, one word at least; `bare`: of all of them, one."""

    must: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()

    def wanted(self) -> list[str]:
        """Every word that speaks for a page, each once."""
        return list(dict.fromkeys(chain(self.must, self.bare, *self.groups)))

    def all(self) -> list[str]:
        """Every word that has to be looked for, each once."""
        return list(dict.fromkeys(chain(self.wanted(), self.forbidden)))

    def satisfied(self, found: Collection[str]) -> bool:
        """Whether a page with these of the words is asked for.

        Worked: `+欧冠 决赛 抽签 -彩票` takes {欧冠, 抽签}, not {欧冠}, not {欧冠, 决赛, 彩票}.
        """
        return (
            all(word in found for word in self.must)
            and all(any(word in found for word in group) for group in self.groups)
            and (not self.bare or any(word in found for word in self.bare))
            and not any(word in found for word in self.forbidden)
        )

    def topic(self, name: str) -> Topic:
        """A topic of the wanted words, each as good as the other."""
        return Topic(name, tuple(map(Keyword, self.wanted())))


def parse(text: str) -> WordQuery:
    """The words of an alert. ConfigError for one that asks for nothing, or for too much."""
    signed = list(_tokens(text))
    must: list[str] = []
    bare: list[str] = []
    forbidden: list[str] = []
    groups: list[list[str]] = []
    at = 0
    while at < len(signed):
        sign, word = signed[at]
        group = [word]
        while not sign and at + 2 < len(signed) and _is_or(signed[at + 1]):
            group.append(signed[at + 2][1])
            at += 2
        if _is_or((sign, word)):
            raise ConfigError(
                "words {text!r}: OR stands between two words, as in 欧冠 OR 英超", text=text
            )
        if len(group) > 1:
            groups.append(group)
        else:
            {"+": must, "-": forbidden}.get(sign, bare).append(word)
        at += 1
    words = WordQuery(tuple(must), tuple(bare), tuple(map(tuple, groups)), tuple(forbidden))
    return _checked(words, text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """(sign, word); a quoted OR is a word like any other, an unquoted one has the sign |."""
    for found in _TOKEN.finditer(text):
        sign = found["sign"].translate({ord("＋"): "+", ord("－"): "-"})
        if found["phrase"] is not None:
            word = " ".join(found["phrase"].split())
        else:
            word = found["word"]
            if word == "OR" and not sign:
                sign = "|"
        if any(char.isalnum() for char in word):
            yield sign, word


def _is_or(signed: tuple[str, str]) -> bool:
    return signed[0] == "|"


def _checked(words: WordQuery, text: str) -> WordQuery:
    if not words.wanted():
        raise ConfigError(
            "words {text!r}: nothing is asked for; write a word without -, as 足球", text=text
        )
    if len(words.all()) > MAX_WORDS:
        raise ConfigError(
            "words {text!r}…: more than {max_words} of them", text=text[:40], max_words=MAX_WORDS
        )
    both = sorted(set(words.wanted()) & set(words.forbidden))
    if both:
        raise ConfigError(
            "words {text!r}: {both!r} is both wanted and forbidden", text=text, both=both[0]
        )
    return words
