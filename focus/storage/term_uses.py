"""Related terms that decided: relevant pages that lack the words by which the topic was given."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec

from focus.storage.schema import id_range
from focus.topic.terms import LIBRARY, LLM

MAX_TERMS = 20


class TermUses(msgspec.Struct, frozen=True):
    """Number of relevant pages without a given keyword, and on how many of them each term is."""

    pages: int = 0
    terms: list[tuple[str, int]] = []


def read_term_uses(db: sqlite3.Connection, crawl: int, topic: Mapping[str, Any]) -> TermUses:
    """Return the terms that decided, most frequent first, in one pass over relevant pages.

    Names that the library or a language model added count as terms. Example: a page with 足球 and
    越位 counts for neither, one with 越位, 点球 and 门将 for all three.
    """
    if not topic.get("terms"):
        return TermUses()
    sources = topic.get("sources", {})
    keywords = {keyword["text"] for keyword in topic["keywords"]}
    own_words = {word for word in keywords if sources.get(word) not in (LIBRARY, LLM)}
    counts, pages = Counter[str](), 0
    for (matched,) in db.execute(_MATCHED, id_range(crawl)):
        words = set(chain.from_iterable(msgspec.json.decode(matched).values()))
        if words and words.isdisjoint(own_words):
            pages += 1
            counts.update(words)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TermUses(pages, ranked[:MAX_TERMS])


_MATCHED = """
SELECT matched FROM page JOIN page_text USING (id) WHERE page.id BETWEEN ? AND ? AND page.relevant
"""
