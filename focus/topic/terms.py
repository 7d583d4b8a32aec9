"""The rule by which words become related terms of a topic, whatever their source.

A library, a knowledge base, example pages, a file of words and a language model all propose words;
`add_terms` decides which of them the topic gets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import msgspec

from focus.topic.topic import TERM_WEIGHT, Keyword, Topic

LIBRARY = "library"
"""Source of terms from the library of topics that comes with focus."""
LLM = "llm"
"""Source of terms from a language model."""
CRAWL_SOURCES: Mapping[str, tuple[str, ...]] = {LIBRARY: (LIBRARY, LLM), LLM: (LLM,)}
"""`CrawlConfig.terms` -> sources of the words that the crawl adds to the topic as given."""
MAX_TERMS = 60
"""Terms that one source may add to a topic; matching a page takes time for each of them."""
_MAX_CHARS = 40
_SPACE = re.compile(r"\s+")


def add_terms(
    topic: Topic,
    words: Iterable[str],
    source: str | Mapping[str, str],
    *,
    weights: Mapping[str, float] | None = None,
    limit: int = MAX_TERMS,
) -> Topic:
    """Return the topic with those words as related terms that may serve as such.

    A term has at least two characters, one of them a letter, and at most 40. It does not contain a
    keyword, because a text with a keyword needs no term. Words that the topic has already keep
    their weight and source.

    Args:
        source: The origin of all words, or that of each word.
        weights: Weights that differ from `TERM_WEIGHT`.
    """
    known = {_fold(keyword.text) for keyword in topic.keywords}
    names = [re.compile(_name_pattern(name)) for name in known]
    known |= {_fold(term) for term in topic.terms}
    added: dict[str, float] = {}
    for word in words:
        text = _SPACE.sub(" ", word).strip()
        folded = _fold(text)
        if len(added) >= limit:
            break
        if folded not in known and is_usable(text) and not any(n.search(folded) for n in names):
            known.add(folded)
            added[text] = (weights or {}).get(word, TERM_WEIGHT)
    sources = {term: source if isinstance(source, str) else source.get(term, "") for term in added}
    return msgspec.structs.replace(
        topic, terms={**topic.terms, **added}, sources={**topic.sources, **sources}
    )


def add_names(topic: Topic, names: Iterable[str], source: str, *, weight: float) -> Topic:
    """Return the topic with further names as keywords, without its words: a term stays one."""
    known = {_fold(w) for w in (topic.name, *(k.text for k in topic.keywords), *topic.terms)}
    added = {_fold(name): Keyword(name.strip(), weight) for name in names}
    keywords = [keyword for folded, keyword in added.items() if folded not in known]
    return msgspec.structs.replace(
        topic,
        keywords=(*topic.keywords, *keywords),
        sources={**topic.sources, **dict.fromkeys((k.text for k in keywords), source)},
    )


def remove_added_words(topic: Topic, sources: Collection[str] = (LIBRARY, LLM)) -> Topic:
    """Return the topic without the names and terms of these sources."""
    return remove_words(topic, {word for word, s in topic.sources.items() if s in sources})


def remove_words(topic: Topic, words: Collection[str]) -> Topic:
    """Return the topic without these names and terms."""
    return msgspec.structs.replace(
        topic,
        keywords=tuple(keyword for keyword in topic.keywords if keyword.text not in words),
        terms={term: weight for term, weight in topic.terms.items() if term not in words},
        sources={word: source for word, source in topic.sources.items() if word not in words},
    )


def copy_added_words(topic: Topic, crawled: Topic) -> Topic:
    """Return the topic with what library and language model added when it was first crawled."""
    known = {keyword.text for keyword in topic.keywords} | topic.terms.keys()
    added = {w for w, source in crawled.sources.items() if source in (LIBRARY, LLM)} - known
    new_terms = {term: weight for term, weight in crawled.terms.items() if term in added}
    new_sources = {word: source for word, source in crawled.sources.items() if word in added}
    return msgspec.structs.replace(
        topic,
        keywords=(*topic.keywords, *(word for word in crawled.keywords if word.text in added)),
        terms={**topic.terms, **new_terms},
        sources={**topic.sources, **new_sources},
    )


def parse_terms(text: str) -> list[str]:
    """Return the words of a file with one term a line; lines that begin with # are comments."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()


def _name_pattern(name: str) -> str:
    """Return a pattern that finds a keyword: Latin words whole, ideographs anywhere."""
    before = r"(?<![a-z0-9])" if name[:1].isascii() else ""
    after = r"(?![a-z0-9])" if name[-1:].isascii() else ""
    return f"{before}{re.escape(name)}{after}"


def is_usable(text: str) -> bool:
    """Return whether a text has the length of a term, a letter, and no invisible character."""
    text = text.strip()
    has_letter = any(char.isalpha() for char in text)
    return 2 <= len(text) <= _MAX_CHARS and has_letter and text.isprintable()
