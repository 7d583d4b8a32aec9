"""Chooses the passage of a text that shows best what was searched for, and where to mark it."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

import msgspec

from focus.storage.search_terms import plain

LENGTH = 160  # characters of a passage
LEAD = 30  # of them before the first mark, or fewer where a sentence begins
MAX_MARKS = 1_000  # of a text that are looked at
_STOPS = re.compile(r"[。！？!?；;\n]|\.(?=\s)")

Span = tuple[int, int]


class Passage(msgspec.Struct, frozen=True):
    """A piece of text, and the (begin, end) of what is to be marked in it."""

    text: str
    marks: list[Span] = []


def marked(text: str, pattern: re.Pattern[str]) -> Passage:
    """The whole text, in one line, marked."""
    line = " ".join(text.split())
    return Passage(line, _spans(line, pattern))


def passage(text: str, pattern: re.Pattern[str], *, length: int = LENGTH) -> Passage:
    """The passage with most of the different words searched for, then with most marks.

    A text without any gives its beginning.
    """
    spans = _spans(text, pattern)
    start = _lead(text, _best(text, spans, length)) if spans else 0
    end = min(len(text), start + length)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    marks = [(a + shift, b + shift) for a, b in spans if a >= start and b <= end]
    # One character for one: the marks stay where they are.
    line = re.sub(r"\s", " ", text[start:end])
    return Passage(before + line + after, marks)


def _best(text: str, spans: list[Span], length: int) -> int:
    """Where the best window of spans begins."""
    starts = [a for a, _ in spans]
    kinds = [plain(text[a:b]) for a, b in spans]

    def worth(at: int) -> tuple[int, int, int]:
        inside = kinds[at : bisect_left(starts, starts[at] + length - LEAD)]
        return len(set(inside)), len(inside), -at

    return starts[max(range(len(spans)), key=worth)]


def _lead(text: str, at: int) -> int:
    """A little before: the sentence's beginning if it is near."""
    first = max(0, at - LEAD)
    stops = [found.end() for found in _STOPS.finditer(text, first, at)]
    start = stops[-1] if stops else first
    return start + len(text[start:at]) - len(text[start:at].lstrip())


def _spans(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """Where the pattern is found, in characters of the text as it stands."""
    pieces = list(map(_letter, text))  # of ﬁ there are two letters, of most one
    ends = list(accumulate(map(len, pieces)))
    found = []
    for match in pattern.finditer("".join(pieces)):
        first = bisect_left(ends, match.start() + 1)
        last = bisect_left(ends, match.end())
        found.append((first, last + 1))
        if len(found) == MAX_MARKS:
            break
    return found


_letter = lru_cache(maxsize=1 << 15)(plain)
