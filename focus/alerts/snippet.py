"""Snippet of a page: the passage that shows best why it matches.

It is the run of whole sentences with the most different matched words, then with the most matched
words, at most `WIDTH` terminal cells wide. A longer sentence is cut around its first match, with
"…" at each cut. Each matched word stands between two `MATCH_MARK` characters, which are invisible.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from focus.storage.alerts.records import MATCH_MARK
from focus.text.formatting import cell_width
from focus.text.tokenisation import fold

WIDTH = 240
MAX_CHARS = 50_000  # of a text; the first part shows what a page is about
_MAX_SENTENCES = 50  # sentences with a match that are compared
_FULLWIDTH = {0xFEE0 + code: code for code in range(0x21, 0x7F)}
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\uff60]"
)
_ENDS = re.compile(r"[。！？!?；;…]+[”’」』）)\"']*|[.]+[\"')\]]*(?=\s|$)|\n+")

MarkedSpan = tuple[int, int, str]
"""Start, end and name of a matched word."""


def fold_aligned(text: str) -> str:
    """Return a text folded for matching, with each character at its position."""
    low = text.lower()
    if len(low) == len(text):
        return low.translate(_FULLWIDTH)
    return "".join(short if len(short := fold(char)) == 1 else char for char in text)


def snippet_source(text: str) -> str:
    """Return the beginning of a text, without marks of its own."""
    return text[:MAX_CHARS].replace(MATCH_MARK, "")


def cut_snippet(text: str, spans: Iterable[MarkedSpan], *, width: int = WIDTH) -> str:
    """Return a passage of a text (see `snippet_source`) with its words marked, or its beginning."""
    distinct_spans = _without_overlaps(spans)
    sentences = _sentence_bounds(text)
    if not sentences:
        return ""
    start, end = _best_sentences(text, sentences, distinct_spans, width)
    if cell_width(text[start:end]) <= width:
        return _mark_words(text, start, end, distinct_spans)
    first = next((span for span in distinct_spans if start <= span[0] < end), None)
    first_char, last_char = _cut_window(
        text, (start, end), first[:2] if first else (start, start), width
    )
    before, after = "…" if first_char > start else "", "…" if last_char < end else ""
    return before + _mark_words(text, first_char, last_char, distinct_spans) + after


def _without_overlaps(spans: Iterable[MarkedSpan]) -> list[MarkedSpan]:
    """Return the spans in order, without those that overlap an earlier or longer one."""
    distinct_spans: list[MarkedSpan] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[0] < span[1] and (not distinct_spans or span[0] >= distinct_spans[-1][1]):
            distinct_spans.append(span)
    return distinct_spans


@lru_cache(maxsize=2)  # one page is cut for many alerts in succession
def _sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the sentences without surrounding white space."""
    sentences, start = [], 0
    for match in _ENDS.finditer(text):
        sentences.append((start, match.end()))
        start = match.end()
    sentences.append((start, len(text)))
    stripped = (
        (end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip()))
        for start, end in sentences
    )
    return [(start, end) for start, end in stripped if start < end]


def _best_sentences(
    text: str, sentences: Sequence[tuple[int, int]], spans: Sequence[MarkedSpan], width: int
) -> tuple[int, int]:
    """Return the bounds of the best run of sentences; its first sentence has a match."""
    best, best_score = sentences[0], (-1, -1)
    words_by_sentence = _sentence_words(sentences, spans)
    for first in sorted(words_by_sentence)[:_MAX_SENTENCES] or [0]:
        start, last = sentences[first][0], first
        while (
            last + 1 < len(sentences)
            and _approximate_width(text[start : sentences[last + 1][1]]) <= width
        ):
            last += 1
        words = [
            word for index in range(first, last + 1) for word in words_by_sentence.get(index, ())
        ]
        if (score := (len(set(words)), len(words))) > best_score:
            best, best_score = (start, sentences[last][1]), score
    return best


def _approximate_width(text: str) -> int:
    """Return nearly the same as `cells` in a tenth of the time."""
    return len(text) + len(_WIDE.findall(text))


def _sentence_words(
    sentences: Sequence[tuple[int, int]], spans: Iterable[MarkedSpan]
) -> dict[int, list[str]]:
    """Return the words that begin in each sentence, by the sentence's index."""
    words_by_sentence: dict[int, list[str]] = {}
    starts = [start for start, _ in sentences]
    for start, _, word in spans:
        words_by_sentence.setdefault(max(0, bisect_right(starts, start) - 1), []).append(word)
    return words_by_sentence


def _cut_window(
    text: str, sentence: tuple[int, int], middle: tuple[int, int], width: int
) -> tuple[int, int]:
    """Return the part of a long sentence around a word, with a third of the room before it."""
    begin, room = middle[0], width // 3
    while begin > sentence[0] and (room := room - cell_width(text[begin - 1])) >= 0:
        begin -= 1
    end, room = begin, width - 2
    while end < sentence[1] and (room := room - cell_width(text[end])) >= 0:
        end += 1
    return _trim_to_words(text, (begin, end), sentence, middle)


def _trim_to_words(
    text: str, part: tuple[int, int], sentence: tuple[int, int], middle: tuple[int, int]
) -> tuple[int, int]:
    """Return a part that cuts no Latin word, as long as it contains the matched word."""
    begin, end = part
    if begin > sentence[0] and text[begin - 1 : begin + 1].isascii():
        gap = text.find(" ", begin, middle[0])
        begin = gap + 1 if gap >= 0 else begin
    if end < sentence[1] and text[end - 1 : end + 1].isascii():
        gap = text.rfind(" ", middle[1], end)
        end = gap if gap >= 0 else end
    return begin, max(end, begin)


def _mark_words(text: str, start: int, end: int, spans: Iterable[MarkedSpan]) -> str:
    parts, position = [], start
    for first, last, _ in spans:
        if start <= first and last <= end:
            parts += [text[position:first], MATCH_MARK, text[first:last], MATCH_MARK]
            position = last
    parts.append(text[position:end])
    return " ".join("".join(parts).split())
