"""Links the names in a text to entities of a knowledge base, by longest match.

    spans        pieces of the text that may be a name, by the first two letters and the length
    longest      those that are names; where they overlap the one further left, then the longer
    choose       of several entities with that name the one whose context the text shares

Where the names come from is the business of a `Gazetteer`: a knowledge base in SQLite
(`focus.learn.kb`) while training, a small table inside the classifier in a scorer worker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Protocol

import msgspec

from focus.text.tokenisation import fold, has_han

HEAD_CHARS = 2
"""Characters of a name that are looked up first; shorter names are not linked."""

MAX_NAME_CHARS = 48
"""Longer names are not linked: the lengths that occur are kept as bits of one integer."""


class Entity(msgspec.Struct, frozen=True):
    """A thing that has names.

    aliases      other names, without its own
    categories   what it is, such as 足球俱乐部
    description  a few sentences
    facts        every (attribute, value) as told, those above included
    """

    name: str
    aliases: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    description: str = ""
    facts: tuple[tuple[str, str], ...] = ()


class Mention(msgspec.Struct, frozen=True):
    """A place in a folded text, and the entity that it means."""

    start: int
    end: int
    text: str
    entity: str


class Gazetteer(Protocol):
    """Names of entities, asked in batches. All texts are folded."""

    def name_lengths(self, heads: Collection[str]) -> Mapping[str, int]:
        """For each first two characters: bit n set = there is a name of n characters."""

    def entities_by_name(self, texts: Collection[str]) -> Mapping[str, Sequence[str]]:
        """The entities that have each of these names, the best known first; no name, no key."""

    def context_words(self, entities: Collection[str]) -> Mapping[str, Collection[str]]:
        """The words that stand around each entity: its categories and description."""


def is_linkable(name: str) -> bool:
    """Whether a folded name may be looked for: not too short or long, no bare number."""
    return HEAD_CHARS <= len(name) <= MAX_NAME_CHARS and any(c.isalpha() for c in name)


def link_entities(text: str, tokens: Sequence[str], gazetteer: Gazetteer) -> list[Mention]:
    """The entities that a text speaks of, in order; `tokens` are its words (tokenisation.py).

    Three questions to the gazetteer, however long the text.
    """
    text, words = fold(text), set(tokens)
    heads = set(map(add, text, text[1:]))
    lengths = gazetteer.name_lengths(heads)
    starts = sorted((at, head) for head in heads & lengths.keys() for at in _find_all(head, text))
    candidates = [
        span for at, head in starts for span in candidate_spans(text, at, lengths[head], words)
    ]
    entities_by_name = gazetteer.entities_by_name({text[start:end] for start, end in candidates})
    chosen_spans = longest_spans(
        span for span in candidates if text[span[0] : span[1]] in entities_by_name
    )
    ambiguous = {
        e
        for a, b in chosen_spans
        if len(entities_by_name[text[a:b]]) > 1
        for e in entities_by_name[text[a:b]]
    }
    context_words = gazetteer.context_words(ambiguous) if ambiguous else {}
    mentions = []
    for start, end in chosen_spans:
        name = text[start:end]
        entities = entities_by_name[name]
        entity = (
            entities[0]
            if len(entities) == 1
            else choose_entity(entities, context_words, words - {name})
        )
        if entity is not None:
            mentions.append(Mention(start, end, name, entity))
    return mentions


def _find_all(part: str, text: str) -> Iterator[int]:
    """Where a part stands in a text, overlapping ones too: aa in aaa at 0 and 1."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def candidate_spans(
    text: str, start: int, lengths: int, words: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Pieces of a folded text from `start` that may be names, by the bits of their lengths.

    A name of two ideographs must be a word of the text, as 国民 in 中国民航 is none; one of
    three or more may stand anywhere, as segmenters cut names that they do not know. Where
    a name begins or ends with letters, a word must.
    """
    if start and _is_alphabetic(text[start - 1]) and _is_alphabetic(text[start]):
        return
    remaining_lengths = lengths
    while remaining_lengths:
        length = (remaining_lengths & -remaining_lengths).bit_length() - 1
        remaining_lengths &= remaining_lengths - 1
        end = start + length
        if end > len(text):
            return
        if end < len(text) and _is_alphabetic(text[end]) and _is_alphabetic(text[end - 1]):
            continue
        begins_with_two_ideographs = has_han(text[start]) and has_han(text[start + 1])
        if length > HEAD_CHARS or not begins_with_two_ideographs or text[start:end] in words:
            yield start, end


def _is_alphabetic(char: str) -> bool:
    """Of a script that parts its words."""
    return char.isalnum() and (char < "\u3007" or not has_han(char))


def longest_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that do not overlap: from the left, of several that begin there the longest.

    Worked: (0, 2), (0, 4), (2, 6), (5, 7) → (0, 4), (5, 7).
    """
    best: dict[int, int] = {}
    for start, end in spans:
        best[start] = max(end, best.get(start, 0))
    chosen: list[tuple[int, int]] = []
    for start in sorted(best):
        if not chosen or start >= chosen[-1][1]:
            chosen.append((start, best[start]))
    return chosen


def choose_entity(
    entities: Sequence[str], contexts: Mapping[str, Collection[str]], words: Collection[str]
) -> str | None:
    """The entity that a name means among these words; None when nothing speaks for any.

    The largest overlap |context ∩ words| / √|context| wins, of equals the best known. The
    name itself is not among the words, and one with a single bearer need not ask.

    Worked: 苹果, words {手机, 发布}: the firm, context {公司, 手机, 电脑, 品牌}, 1/2;
    the fruit, {水果, 植物, 栽培, 果实}, 0.
    """
    best, best_share = None, 0.0
    for entity in entities:
        context = contexts.get(entity, ())
        if context:
            share = sum(word in words for word in context) / len(context) ** 0.5
            if share > best_share:
                best, best_share = entity, share
    return best


class GazetteerTable(msgspec.Struct, frozen=True):
    """A gazetteer in memory, small enough to travel inside a classifier.

    names      folded name -> entities, the best known first
    around     entity -> words of its context, for those that share a name
    """

    names: dict[str, list[str]]
    around: dict[str, list[str]] = {}
    heads: dict[str, int] = {}

    def name_lengths(self, heads: Collection[str]) -> Mapping[str, int]:
        """Every head at once: it is in memory anyhow."""
        return self.heads

    def entities_by_name(self, texts: Collection[str]) -> Mapping[str, Sequence[str]]:
        return {text: self.names[text] for text in texts if text in self.names}

    def context_words(self, entities: Collection[str]) -> Mapping[str, Collection[str]]:
        return self.around


def make_gazetteer_table(
    names: Mapping[str, Sequence[str]], around: Mapping[str, Sequence[str]]
) -> GazetteerTable:
    """A table of these names, with the bits of their heads."""
    heads: dict[str, int] = {}
    for name in names:
        if is_linkable(name):
            heads[name[:HEAD_CHARS]] = heads.get(name[:HEAD_CHARS], 0) | 1 << len(name)
    return GazetteerTable(
        {name: list(entities) for name, entities in names.items()},
        {entity: list(words) for entity, words in around.items()},
        heads,
    )
