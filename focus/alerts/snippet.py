"""Cuts the passage of a page that shows best why it matches an alert.

The run of whole sentences that holds the most different matched words, then the most of
them, at most `WIDTH` terminal cells; of a sentence that is longer, the part around its
matches, with "…" where it was cut. Each matched word stands between two `MARK` signs,
which are invisible where nobody takes them out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from focus.storage.alerts.records import MARK
from focus.text.formatting import cells
from focus.text.tokenisation import fold

WIDTH = 240
MAX_CHARS = 50_000  # of a text: what a page is about stands in its first part
_LOOKED_AT = 50  # sentences with a match, the first ones
_FULLWIDTH = {0xFEE0 + code: code for code in range(0x21, 0x7F)}
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\uff60]"
)
_ENDS = re.compile(r"[。！？!?；;…]+[”’」』）)\"']*|[.]+[\"')\]]*(?=\s|$)|\n+")

MarkedSpan = tuple[int, int, str]
"""Where a word stands, from and to, and which."""


def aligned(text: str) -> str:
    """A text folded for matching so that every character stays where it was."""
    low = text.lower()
    if len(low) == len(text):
        return low.translate(_FULLWIDTH)
    return "".join(short if len(short := fold(char)) == 1 else char for char in text)


def plain(text: str) -> str:
    """A text to make a snippet of: its first part, without marks of its own."""
    return text[:MAX_CHARS].replace(MARK, "")


def snippet(text: str, spans: Iterable[MarkedSpan], *, width: int = WIDTH) -> str:
    """A passage of a text (see `plain`), its words marked; the beginning where there are none."""
    found = _apart(spans)
    sentences = _sentences(text)
    if not sentences:
        return ""
    start, end = _best(text, sentences, found, width)
    if cells(text[start:end]) <= width:
        return _marked(text, start, end, found)
    first = next((span for span in found if start <= span[0] < end), None)
    left, right = _around(text, (start, end), first[:2] if first else (start, start), width)
    before, after = "…" if left > start else "", "…" if right < end else ""
    return before + _marked(text, left, right, found) + after


def _apart(spans: Iterable[MarkedSpan]) -> list[MarkedSpan]:
    """In order, without those that overlap an earlier or longer one."""
    kept: list[MarkedSpan] = []
    for span in sorted(spans, key=lambda each: (each[0], -each[1])):
        if span[0] < span[1] and (not kept or span[0] >= kept[-1][1]):
            kept.append(span)
    return kept


@lru_cache(maxsize=2)  # a page is cut for many alerts, one after the other
def _sentences(text: str) -> list[tuple[int, int]]:
    """Where sentences begin and end, white space around them taken off."""
    found, start = [], 0
    for match in _ENDS.finditer(text):
        found.append((start, match.end()))
        start = match.end()
    found.append((start, len(text)))
    stripped = (
        (end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip()))
        for start, end in found
    )
    return [(start, end) for start, end in stripped if start < end]


def _best(
    text: str, sentences: Sequence[tuple[int, int]], spans: Sequence[MarkedSpan], width: int
) -> tuple[int, int]:
    """Beginning and end of the run of sentences that says most; its first sentence has a match."""
    best, most = sentences[0], (-1, -1)
    held = _held(sentences, spans)
    for first in sorted(held)[:_LOOKED_AT] or [0]:
        start, last = sentences[first][0], first
        while last + 1 < len(sentences) and _width(text[start : sentences[last + 1][1]]) <= width:
            last += 1
        words = [word for at in range(first, last + 1) for word in held.get(at, ())]
        if (score := (len(set(words)), len(words))) > most:
            best, most = (start, sentences[last][1]), score
    return best


def _width(text: str) -> int:
    """About `plain.cells`, at a tenth of the cost."""
    return len(text) + len(_WIDE.findall(text))


def _held(
    sentences: Sequence[tuple[int, int]], spans: Iterable[MarkedSpan]
) -> dict[int, list[str]]:
    """Sentences with matches, by number, and the words that begin in each."""
    held: dict[int, list[str]] = {}
    starts = [start for start, _ in sentences]
    for start, _, word in spans:
        held.setdefault(max(0, bisect_right(starts, start) - 1), []).append(word)
    return held


def _around(
    text: str, sentence: tuple[int, int], middle: tuple[int, int], width: int
) -> tuple[int, int]:
    """The part of a long sentence around a word, a third of the room before it."""
    left, room = middle[0], width // 3
    while left > sentence[0] and (room := room - cells(text[left - 1])) >= 0:
        left -= 1
    right, room = left, width - 2
    while right < sentence[1] and (room := room - cells(text[right])) >= 0:
        right += 1
    return _to_words(text, (left, right), sentence, middle)


def _to_words(
    text: str, part: tuple[int, int], sentence: tuple[int, int], middle: tuple[int, int]
) -> tuple[int, int]:
    """A part that cuts no Latin word in two, as long as the word in its middle stays in."""
    left, right = part
    if left > sentence[0] and text[left - 1 : left + 1].isascii():
        gap = text.find(" ", left, middle[0])
        left = gap + 1 if gap >= 0 else left
    if right < sentence[1] and text[right - 1 : right + 1].isascii():
        gap = text.rfind(" ", middle[1], right)
        right = gap if gap >= 0 else right
    return left, max(right, left)


def _marked(text: str, start: int, end: int, spans: Iterable[MarkedSpan]) -> str:
    pieces, at = [], start
    for first, last, _ in spans:
        if start <= first and last <= end:
            pieces += [text[at:first], MARK, text[first:last], MARK]
            at = last
    pieces.append(text[at:end])
    return " ".join("".join(pieces).split())
