"""Query language of alerts: `+欧冠 -彩票 "premier league"`.

    word           at least one of the plain words must be on the page
    a OR b         at least one of the group must be on the page
    +word          must be on the page
    -word          must not be on the page
    "two words"    a phrase; takes + and - as well

Words match as topic keywords do: ideographs anywhere, other words as whole words, in traditional
and simplified characters.
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
    """Words of an alert; one of `optional` and one of each of `groups` are needed."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()

    def positive_words(self) -> list[str]:
        """Return the words that speak for a page, without repetitions."""
        return list(dict.fromkeys(chain(self.required, self.optional, *self.groups)))

    def all_words(self) -> list[str]:
        """Return all words to search for, without repetitions."""
        return list(dict.fromkeys(chain(self.positive_words(), self.forbidden)))

    def is_satisfied_by(self, words: Collection[str]) -> bool:
        """Return whether a page with these words matches.

        Example: `+欧冠 决赛 抽签 -彩票` matches {欧冠, 抽签}, not {欧冠}, not {欧冠, 决赛, 彩票}.
        """
        return (
            all(word in words for word in self.required)
            and all(any(word in words for word in group) for group in self.groups)
            and (not self.optional or any(word in words for word in self.optional))
            and not any(word in words for word in self.forbidden)
        )

    def topic(self, name: str) -> Topic:
        """Return a topic of the positive words with equal weights."""
        return Topic(name, tuple(map(Keyword, self.positive_words())))


def parse(text: str) -> WordQuery:
    """Return the query of a text. Raises ConfigError for too many or no positive words."""
    signed_words = list(_tokens(text))
    required: list[str] = []
    optional: list[str] = []
    forbidden: list[str] = []
    groups: list[list[str]] = []
    position = 0
    while position < len(signed_words):
        sign, word = signed_words[position]
        group = [word]
        while not sign and position + 2 < len(signed_words) and _is_or(signed_words[position + 1]):
            group.append(signed_words[position + 2][1])
            position += 2
        if _is_or((sign, word)):
            raise ConfigError(
                "words {text!r}: OR must stand between two words, as in 欧冠 OR 英超", text=text
            )
        if len(group) > 1:
            groups.append(group)
        else:
            {"+": required, "-": forbidden}.get(sign, optional).append(word)
        position += 1
    words = WordQuery(tuple(required), tuple(optional), tuple(map(tuple, groups)), tuple(forbidden))
    return _validate(words, text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield (sign, word). An unquoted OR has the sign `|`; a quoted one is a word."""
    for match in _TOKEN.finditer(text):
        sign = match["sign"].translate({ord("＋"): "+", ord("－"): "-"})
        if match["phrase"] is not None:
            word = " ".join(match["phrase"].split())
        else:
            word = match["word"]
            if word == "OR" and not sign:
                sign = "|"
        if any(char.isalnum() for char in word):
            yield sign, word


def _is_or(signed_words: tuple[str, str]) -> bool:
    return signed_words[0] == "|"


def _validate(words: WordQuery, text: str) -> WordQuery:
    if not words.positive_words():
        raise ConfigError(
            "words {text!r}: there is no word to find; write one without -, such as 足球", text=text
        )
    if len(words.all_words()) > MAX_WORDS:
        raise ConfigError(
            "words {text!r}…: more than {max_words} of them", text=text[:40], max_words=MAX_WORDS
        )
    both = sorted(set(words.positive_words()) & set(words.forbidden))
    if both:
        raise ConfigError(
            "words {text!r}: {both!r} is both required and excluded", text=text, both=both[0]
        )
    return words
