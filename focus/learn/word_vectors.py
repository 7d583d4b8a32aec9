"""Finds the words nearest to others in a file of word vectors, which is read and never held.

Text as word2vec, fastText and GloVe write it: a word and its numbers a line, before them perhaps a
line with how many words and numbers there are; plain, .gz or .zst. The file is read twice, first
for the vectors asked about, then for what is near them; memory holds a chunk of lines and the best.
"""

from __future__ import annotations

import heapq
import math
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from focus.errors import KnowledgeError
from focus.http.zstd import ZstdError
from focus.learn.kb.dump import unpacked
from focus.text.tokenisation import fold

MOST_WORDS = 500_000  # that are read: such files begin with the most frequent
_CHUNK = 2_000  # lines
_MAX_LINE = 1 << 20  # bytes
_FEWEST = 2  # numbers of a vector

Numbers = npt.NDArray[np.float32]
Asked = tuple[Sequence[Sequence[str]], float]
"""The spellings of a word, best first, each as the words whose mean it is; its weight."""


class _Shape(NamedTuple):
    """`words` None: the file does not say. `begins`: lines before the first vector."""

    words: int | None
    numbers: int
    begins: int


def nearest(path: Path, asked: Sequence[Asked], *, limit: int) -> list[tuple[str, float]]:
    """(Folded word, cosine) of the `limit` words nearest to the weighted mean of those asked.

    A word that the file has in several cases counts as its nearest. KnowledgeError, one line, for
    what is no such file, breaks off, has lines of another length, or knows none of the words.
    """
    wanted = {word for spellings, _ in asked for words in spellings for word in words}
    known: dict[str, Numbers] = {}
    for words, vectors in _chunks(path, wanted):
        known.update(zip(map(fold, words), _units(vectors), strict=True))
    middle = _middle(asked, known)
    if middle is None:
        raise KnowledgeError(
            "{path}: has no vector of {words}",
            path=path,
            words=", ".join(spellings[0][0] for spellings, _ in asked),
        )
    best: dict[str, float] = {}
    for words, vectors in _chunks(path):
        for word, cosine in zip(map(fold, words), (_units(vectors) @ middle).tolist(), strict=True):
            if cosine > best.get(word, 0.0):
                best[word] = cosine
        if len(best) > 20 * limit:
            best = dict(_largest(best, limit))
    return _largest(best, limit)


def _largest(found: dict[str, float], limit: int) -> list[tuple[str, float]]:
    return heapq.nsmallest(limit, found.items(), key=lambda item: (-item[1], item[0]))


def _middle(asked: Sequence[Asked], known: dict[str, Numbers]) -> Numbers | None:
    """The direction of the words asked; those that are not known do without."""
    found = []
    for spellings, weight in asked:
        words = next((words for words in spellings if words and known.keys() >= set(words)), None)
        if words is not None:
            found.append(weight * _unit([known[word] for word in words]))
    return _unit(found) if found else None


def _unit(vectors: Sequence[Numbers]) -> Numbers:
    """Of their sum."""
    unit: Numbers = _units(np.asarray(vectors, np.float32).sum(axis=0, keepdims=True))[0]
    return unit


def _units(vectors: Numbers) -> Numbers:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Numbers = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return units


def _chunks(path: Path, wanted: set[str] | None = None) -> Iterator[tuple[list[str], Numbers]]:
    """Words and their vectors, a chunk of lines at a time; of the wanted words, if any are."""
    with _opened(path) as file:
        shape, lines = _shape(path, file), 0
        file.seek(0)
        for _ in range(shape.begins):
            file.readline()
        while lines < MOST_WORDS and (
            chunk := list(islice(iter(lambda: file.readline(_MAX_LINE), b""), _CHUNK))
        ):
            at, lines = shape.begins + lines + 1, lines + len(chunk)
            parted = [_parted(line.rstrip(), shape.numbers) for line in chunk]
            if wanted is not None:
                parted = [parts for parts in parted if fold(parts[0]) in wanted]
            if parted:
                words, numbers = zip(*parted, strict=True)
                yield list(words), _vectors(numbers, shape.numbers, path, at)
        if shape.words is not None and lines < min(shape.words, MOST_WORDS):
            raise KnowledgeError(
                "{path}: breaks off: {lines:,} of {words:,} words",
                path=path,
                lines=lines,
                words=shape.words,
            )


def _parted(line: bytes, width: int) -> tuple[str, bytes]:
    """The word and its numbers; the word may hold spaces, as some of GloVe's do."""
    if line.count(b" ") == width:
        word, _, rest = line.partition(b" ")
    else:
        word, rest = line, b""
        parts = line.rsplit(b" ", width)
        if len(parts) == width + 1:
            word, rest = parts[0], b" ".join(parts[1:])
    return word.decode("utf-8", "replace"), rest


def _vectors(numbers: Sequence[bytes], width: int, path: Path, at: int) -> Numbers:
    made = _read(numbers)
    if made.size != width * len(numbers) or not np.isfinite(made).all():
        good = (
            len(parts := rest.split()) == width and all(map(_is_number, parts)) for rest in numbers
        )
        raise KnowledgeError(
            "{path}:{line}: is no word with {numbers} numbers",
            path=path,
            line=next((line for line, is_good in enumerate(good, at) if not is_good), at),
            numbers=width,
        )
    return made.reshape(-1, width)


def _read(numbers: Sequence[bytes]) -> Numbers:
    """All of them in one row; fewer where one is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(b" ".join(numbers), dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.zeros(0, np.float32)


def _shape(path: Path, file: BinaryIO) -> _Shape:
    """Of the first lines: `400000 300`, or a word and its numbers."""
    head = file.readline(_MAX_LINE).split()
    if len(head) == 2 and all(part.isdigit() for part in head):
        return _Shape(int(head[0]), int(head[1]), 1)
    if len(head) > _FEWEST and all(map(_is_number, head[1:])):
        return _Shape(None, len(head) - 1, 0)
    raise KnowledgeError(
        "{path}: is no file of word vectors as text (word2vec, fastText, GloVe; plain, .gz or "
        ".zst)",
        path=path,
    )


def _is_number(part: bytes) -> bool:
    try:
        return math.isfinite(float(part))
    except ValueError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as raw:
            yield unpacked(raw)
    except (OSError, EOFError, zlib.error, ZstdError) as error:
        raise KnowledgeError("{path}: cannot be read: {error}", path=path, error=error) from None
