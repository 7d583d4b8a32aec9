"""Chooses the passage of a text that shows the matches of a query best, and marks them."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

import msgspec

from focus.storage.search_terms import fold_spelling

PASSAGE_LENGTH = 160  # maximum characters of a passage
LEAD_LENGTH = 30  # maximum characters before the first mark; a passage prefers whole sentences
MAX_MARKS = 1_000  # matches of a text that are considered
_SENTENCE_ENDS = re.compile(r"[。！？!?；;\n]|\.(?=\s)")

Span = tuple[int, int]


class Passage(msgspec.Struct, frozen=True):
    """Part of a text, with the (start, end) positions of the matches in it."""

    text: str
    marks: list[Span] = []


def mark_matches(text: str, pattern: re.Pattern[str]) -> Passage:
    """Return the whole text in one line, with its matches."""
    line = " ".join(text.split())
    return Passage(line, _match_spans(line, pattern))


def best_passage(text: str, pattern: re.Pattern[str], *, length: int = PASSAGE_LENGTH) -> Passage:
    """Return the passage with the most different words of the query, then with the most matches.

    Returns the beginning of a text without matches.
    """
    spans = _match_spans(text, pattern)
    start = _passage_start(text, _best_window(text, spans, length)) if spans else 0
    end = min(len(text), start + length)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    marks = [(a + shift, b + shift) for a, b in spans if a >= start and b <= end]
    # Each character is replaced by one, so the positions of the marks stay correct.
    line = re.sub(r"\s", " ", text[start:end])
    return Passage(before + line + after, marks)


def _best_window(text: str, spans: list[Span], length: int) -> int:
    """Return the start of the window with the best matches."""
    starts = [a for a, _ in spans]
    kinds = [fold_spelling(text[a:b]) for a, b in spans]

    def worth(at: int) -> tuple[int, int, int]:
        inside = kinds[at : bisect_left(starts, starts[at] + length - LEAD_LENGTH)]
        return len(set(inside)), len(inside), -at

    return starts[max(range(len(spans)), key=worth)]


def _passage_start(text: str, at: int) -> int:
    """Return a start shortly before `at`: that of the sentence if it is near."""
    first = max(0, at - LEAD_LENGTH)
    stops = [stop.end() for stop in _SENTENCE_ENDS.finditer(text, first, at)]
    start = stops[-1] if stops else first
    return start + len(text[start:at]) - len(text[start:at].lstrip())


def _match_spans(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """Return the matches of the pattern as positions in the original text."""
    pieces = list(map(_plain_letter, text))  # ﬁ becomes two letters, most characters one
    ends = list(accumulate(map(len, pieces)))
    spans = []
    for match in pattern.finditer("".join(pieces)):
        first = bisect_left(ends, match.start() + 1)
        last = bisect_left(ends, match.end())
        spans.append((first, last + 1))
        if len(spans) == MAX_MARKS:
            break
    return spans


_plain_letter = lru_cache(maxsize=1 << 15)(fold_spelling)
