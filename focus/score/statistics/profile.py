"""Features and threshold of a topic from example pages.

P4 2.3 and P5 2.1 take the strongest TF-IDF words of the example pages. Here the rarity of a word is
that in the language (vector.background_idf), so that one page is enough; pages off topic add P5's
class weights. `make_published_profile` has the formulas of the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

import msgspec

from focus.score.statistics.vector import (
    Vector,
    centroid,
    class_weights,
    collection_idf,
    count_documents,
    improved_tf_idf,
    strongest_words,
    tf_idf,
    unit_vector,
)

MAX_FEATURES = 50
PUBLISHED_FEATURES = 20
MIN_PAGES_FOR_SHARED_WORDS = 3  # with this many examples, words of a single one are omitted


class TopicProfile(msgspec.Struct, frozen=True):
    """Features with weights up to 1, and a text with the page counts of each."""

    features: dict[str, float]
    sources: dict[str, str]


def make_profile(
    on: Sequence[Vector],
    off: Sequence[Vector],
    keywords: Collection[str],
    *,
    sites: Sequence[str] = (),
) -> TopicProfile:
    """Return the strongest words of the centroid of TF-IDF vectors (P4 2.5), without keywords.

    on, off  vectors of pages on topic and off topic
    sites    site of each page of `on`; if there are several, words of a single site are omitted, so
             that its boilerplate does not become part of the topic

    Each vector is scaled to length 1; with pages off topic words are first weighted by class (P5's
    w_kc); a word on as large a share of them as of the others is omitted. The strongest word, which
    may be a keyword, has weight 1.

    Example: {足球: 0.8, 英超: 0.6} and {足球: 1}, keyword 足球: centroid 足球 0.9, 英超 0.3, so
    英超 = 0.333.
    """
    weight = class_weights(on, [*on, *off]) if off else (lambda word: 1.0)
    vectors = [unit_vector({word: x * weight(word) for word, x in page.items()}) for page in on]
    page_counts, off_counts = count_documents(on), count_documents(off)
    min_pages = 2 if len(on) >= MIN_PAGES_FOR_SHARED_WORDS else 1
    common = {word for word, pages in page_counts.items() if pages >= min_pages}
    common = {w for w in common if page_counts[w] * max(1, len(off)) > off_counts[w] * len(on)}
    if len(set(sites)) > 1:
        words_by_site: dict[str, set[str]] = {site: set() for site in sites}
        for page, site in zip(on, sites, strict=True):
            words_by_site[site].update(page)
        site_counts = count_documents(words_by_site.values())
        common = {word for word in common if site_counts[word] > 1}
    return _make_profile_from_vectors(
        vectors, on, off, MAX_FEATURES, lambda word: word in common - set(keywords)
    )


def make_published_profile(
    paper: str, on: Sequence[Vector], off: Sequence[Vector], keywords: Collection[str]
) -> TopicProfile:
    """Return the strongest words of the centroid with the weights of a paper, without keywords.

    paper    "p4": W = (F/Z)·log(D/D_i); "p5": the improved TF-IDF (see vector.py)
    on, off  word counts of each page; D and N are the number of both

    The papers give neither the number of words nor their weight compared with keywords: the
    strongest has weight 1, as a keyword. By P4, without pages off topic a word that is on every
    example has weight 0.

    Example, p4: {足球: 1, 英超: 1} on topic and {新闻: 2, 足球: 2} off topic, no keyword: 英超
    1/2·ln 2, 足球 1/2·ln 1 = 0, so 英超 alone, with weight 1.
    """
    page_counts, pages = count_documents([*on, *off]), len(on) + len(off)
    if paper == "p4":
        idf = collection_idf(page_counts, pages)
        vectors = [tf_idf(page, idf) for page in on]
    else:
        weight = class_weights(on, [*on, *off])
        vectors = [improved_tf_idf(page, page_counts, pages, weight=weight) for page in on]
    return _make_profile_from_vectors(
        vectors, on, off, PUBLISHED_FEATURES, lambda word: word not in keywords
    )


def _make_profile_from_vectors(
    vectors: Sequence[Vector],
    on: Sequence[Vector],
    off: Sequence[Vector],
    number: int,
    is_allowed: Callable[[str], bool],
) -> TopicProfile:
    centre, on_counts, off_counts = centroid(vectors), count_documents(on), count_documents(off)
    top = max(centre.values(), default=1.0) or 1.0
    candidates = {word: x / top for word, x in centre.items() if x > 0.0 and is_allowed(word)}
    features = {w: round(x, 4) for w, x in strongest_words(candidates, number).items()}
    sources = {w: _describe(on_counts[w], len(on), off_counts[w], len(off)) for w in features}
    return TopicProfile(features, sources)


def _describe(on: int, on_total: int, off: int, off_total: int) -> str:
    text = f"on {on} of {on_total} example{'s' if on_total > 1 else ''}"
    return f"{text}, {off} of {off_total} others" if off_total else text


def suggest_threshold(on: Sequence[float], off: Sequence[float]) -> float:
    """Return a threshold that separates examples on topic from those off topic by relevance.

    With both kinds it is the cut with the best F1, in the middle of its gap. With examples on topic
    only it is half of the smallest relevance, because other pages are never as close to their
    centroid.

    Examples: on 0.5, 0.3 and off 0.1 give 0.2; on 0.5, 0.3 alone give 0.15.
    """
    if not off:
        return min(on) / 2
    steps = sorted({0.0, *on, *off})
    cuts = [(low + high) / 2 for low, high in pairwise(steps)]
    return max(cuts, key=lambda cut: (_f1(on, off, cut), cut), default=0.0)


def _f1(on: Sequence[float], off: Sequence[float], cut: float) -> float:
    hits = sum(score > cut for score in on)
    accepted = hits + sum(score > cut for score in off)
    return 2.0 * hits / (accepted + len(on))
