"""Term vectors: weights of words in a text, and similarity of two texts.

A vector is a dict, word → weight; other words have weight 0. Words are folded tokens
(tokenisation.py). The rarity of a word in the language is that of the idf table of jieba, so that
one example page is enough to begin with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from focus.text.tokenisation import has_han

Vector = Mapping[str, float]
Idf = Callable[[str], float]

# jieba's table contains Chinese words only. Words of nearly every English sentence, address or
# program do not indicate a topic.
_STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be been before being below between"
    " both but by can could did do does doing don down each few for from further get had has have"
    " having he her here hers him his how if in into is it its just know like make may me more most"
    " my new no nor not now of off on once one only or other our out over own re same see set she"
    " should so some such than that the their them then there these they this those through time to"
    " too two under until up us use used using very was way we well were what when where which"
    " while who why will with would you your"
    " http https www com org net cn html htm php asp blog index page amp nbsp div span class style"
    " src href img png jpg gif utf gmt true false null none void int string var let const return"
    " else public private static function def import include self args id name type value key key"
    " end begin ok".split()
)


class BackgroundIdf:
    """Rarity of words in everyday text: idf = ln(documents / documents with the word).

    An unknown word with an ideograph has the median of the table, as in jieba: rare, but guesses of
    the segmenter should not outweigh real words. A word in another script has the mean of the table
    over running text (Σ df·idf / Σ df, 6.15), because the table contains no such words.
    """

    def __init__(self, table: Mapping[str, float]) -> None:
        self._table = table
        ordered = sorted(table.values())
        self.median = ordered[len(ordered) // 2]
        common = [math.exp(ordered[-1] - idf) for idf in ordered]
        self.mean = sum(map(float.__mul__, common, ordered)) / sum(common)

    def __call__(self, word: str) -> float:
        """Return the idf of a folded word, always positive: 的 0.88, 足球 8.20, 英超 11.07."""
        known = self._table.get(word)
        if known is not None:
            return known
        return self.median if has_han(word) else self.mean


@lru_cache(maxsize=1)
def background_idf() -> BackgroundIdf:
    """Return the idf of jieba's 270,000 words; the first call takes 0.2 s and 30 MiB."""
    package = find_spec("jieba")
    assert package is not None and package.origin is not None
    text = (Path(package.origin).parent / "analyse" / "idf.txt").read_text("utf-8")
    pairs = (line.rpartition(" ") for line in text.splitlines())
    return BackgroundIdf({word: float(idf) for word, _, idf in pairs if word})


def is_term(token: str) -> bool:
    """Return whether a token may indicate a topic: no single character, number or stop word.

    The idf table would give a high weight to single ideographs, which are parts of unknown names.
    """
    return len(token) > 1 and not token.isdecimal() and token not in _STOP_WORDS


def count_terms(tokens: Iterable[str]) -> Counter[str]:
    """Return how often each term occurs in a text."""
    return Counter(token for token in tokens if is_term(token))


def tf_idf(counts: Vector, idf: Idf, *, power: float = 1.0) -> dict[str, float]:
    """Return W_i = (F_i / Z)^power · idf(i): F_i occurrences in Z words (P4 2.3, power 1).

    A power under 1 limits the effect of a word that is repeated often. Example: 足球 2 times in 4
    words, on 1 of 10 pages: 2/4 · ln(10/1) = 1.151.
    """
    total = sum(counts.values())
    return {word: (n / total) ** power * idf(word) for word, n in counts.items()}


def count_documents(documents: Iterable[Iterable[str]]) -> Counter[str]:
    """Return the number of documents that contain each word."""
    return Counter(word for document in documents for word in set(document))


def collection_idf(document_counts: Mapping[str, int], documents: int) -> Idf:
    """Return the function ln(D / D_i) of a collection (P4 2.3); an unknown word counts as in one.

    Example: 10 documents, 足球 in 1: ln 10 = 2.303.
    """
    return lambda word: math.log(documents / max(1, document_counts.get(word, 0)))


def class_weights(on: Sequence[Iterable[str]], all_pages: Sequence[Iterable[str]]) -> Idf:
    """Return w_kc: a word's share of on-topic pages over its share of all pages, smoothed.

    ((a + 1) / (A + 2)) / ((n + 1) / (N + 2)), a of A on-topic and n of N pages have it. P5 2.1 only
    names the weight; Laplace's rule is used here. Example: in 3 of 4 on-topic and 4 of 18 pages:
    (4/6) / (5/20) = 2.667.
    """
    on_counts, all_counts = count_documents(on), count_documents(all_pages)
    on_total, all_total = len(on) + 2, len(all_pages) + 2

    def weight(word: str) -> float:
        return ((on_counts[word] + 1) / on_total) / ((all_counts[word] + 1) / all_total)

    return weight


def improved_tf_idf(
    counts: Vector, document_counts: Mapping[str, int], documents: int, *, weight: Idf
) -> dict[str, float]:
    """Return W_ik = t_ik · ln(N / n_k + 0.1) · w_kc, divided by the page's L2 norm (P5 2.1).

    Example, N = 2, word a twice, on 1 page, word b once, on both, w = 1: 2·ln 2.1 = 1.484,
    1·ln 1.1 = 0.0953, norm 1.487: a 0.998, b 0.064.
    """
    total = sum(counts.values())
    raw = {
        word: n
        / total
        * math.log(documents / max(1, document_counts.get(word, 0)) + 0.1)
        * weight(word)
        for word, n in counts.items()
    }
    return unit_vector(raw)


def vector_length(vector: Vector) -> float:
    """Return the length: {a: 3, b: 4} → 5."""
    return math.sqrt(sum(weight * weight for weight in vector.values()))


def unit_vector(vector: Vector) -> dict[str, float]:
    """Return the vector scaled to length 1; a zero vector is returned as it is."""
    length = vector_length(vector)
    return {word: weight / length for word, weight in vector.items()} if length else dict(vector)


def euclidean_similarity(topic: Vector, page: Vector) -> float:
    """Return max(0, 1 - ‖q - p‖ / ‖q‖) over the topic's words, in 0…1 (P3 eq. 5-2).

    P3 gives both vectors the n words of the topic, so other words of the page do not count.
    Example: q = {a: 3, b: 4}, p = {a: 3, b: 1, c: 9}: 1 - 3/5 = 0.4.
    """
    length = vector_length(topic)
    if not length:
        return 0.0
    distance = math.sqrt(sum((q - page.get(word, 0.0)) ** 2 for word, q in topic.items()))
    return max(0.0, 1.0 - distance / length)


def centroid(vectors: Sequence[Vector]) -> dict[str, float]:
    """Return the mean (P4 2.5): {a: 1}, {a: 1, b: 1} → {a: 1, b: 0.5}; of no vectors {}."""
    total: Counter[str] = Counter()
    for vector in vectors:
        for word, weight in vector.items():
            total[word] += weight  # type: ignore[assignment]
    return {word: weight / len(vectors) for word, weight in total.items()}


def strongest_words(vector: Vector, number: int) -> dict[str, float]:
    """Return the words of largest weight, in descending order; ties go by alphabet."""
    ranked = sorted(vector.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:number])
