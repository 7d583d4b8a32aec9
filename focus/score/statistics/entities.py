"""Linking of names in a text to entities of a knowledge base, by longest match.

    candidate_spans  pieces of the text that may be a name, by the first two characters and the
                     length
    longest_spans    the names among them; of overlapping ones the first, then the longest
    choose_entity    of several entities with a name the one whose context fits the text

A `Gazetteer` contains the names: a knowledge base in SQLite (`focus.learn.kb`) during training, a
small table in the classifier in a scorer process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Protocol

import msgspec

from focus.text.tokenisation import fold, has_han

HEAD_CHARS = 2
"""First characters by which names are looked up; shorter names are not linked."""

MAX_NAME_CHARS = 48
"""Longer names are not linked, because lengths are stored as bits of an integer."""


class Entity(msgspec.Struct, frozen=True):
    """A thing that has names.

    aliases      other names, without its own
    categories   its kinds, such as 足球俱乐部
    description  a few sentences
    facts        all (attribute, value) pairs of the dump, including those above
    """

    name: str
    aliases: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    description: str = ""
    facts: tuple[tuple[str, str], ...] = ()


class Mention(msgspec.Struct, frozen=True):
    """A name in a folded text, and the entity that it means."""

    start: int
    end: int
    text: str
    entity: str


class Gazetteer(Protocol):
    """Names of entities, queried in batches. All texts are folded."""

    def name_lengths(self, heads: Collection[str]) -> Mapping[str, int]:
        """Return for each first two characters a bit set; bit n means names of n characters."""

    def entities_by_name(self, texts: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the entities with each name, the best known first; unknown names are omitted."""

    def context_words(self, entities: Collection[str]) -> Mapping[str, Collection[str]]:
        """Return the context of each entity: the words of its categories and description."""


def is_linkable(name: str) -> bool:
    """Return whether a folded name may be linked: not too short or long, not only digits."""
    return HEAD_CHARS <= len(name) <= MAX_NAME_CHARS and any(c.isalpha() for c in name)


def link_entities(text: str, tokens: Sequence[str], gazetteer: Gazetteer) -> list[Mention]:
    """Return the entities mentioned in a text, in order; `tokens` are its words.

    It makes three queries to the gazetteer, however long the text is.
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
    """Yield all positions of a part in a text, including overlapping ones: aa in aaa at 0 and 1."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def candidate_spans(
    text: str, start: int, lengths: int, words: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Yield pieces of a folded text from `start` that may be names, by the bits of their lengths.

    A name of two ideographs must be a token of the text: 国民 in 中国民航 is none. A longer one may
    occur anywhere, because segmenters split unknown names. If a name begins or ends with letters, a
    word must begin or end there.
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
    """Return whether a character belongs to a script with spaces between words."""
    return char.isalnum() and (char < "\u3007" or not has_han(char))


def longest_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans that do not overlap: from the left, of several with one start the longest.

    Example: (0, 2), (0, 4), (2, 6), (5, 7) → (0, 4), (5, 7).
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
    """Return the entity that a name means among these words, None if no context fits.

    The largest |context ∩ words| / √|context| wins, of equals the best known. The name itself must
    not be among the words.

    Example: 苹果 with words {手机, 发布}: the firm with context {公司, 手机, 电脑, 品牌} has 1/2,
    the fruit with {水果, 植物, 栽培, 果实} has 0.
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
    """A gazetteer in memory, small enough to be part of a classifier.

    names      folded name -> entities, the best known first
    around     entity -> words of its context, for entities that share a name
    heads      first characters of names -> bit set of their lengths
    """

    names: dict[str, list[str]]
    around: dict[str, list[str]] = {}
    heads: dict[str, int] = {}

    def name_lengths(self, heads: Collection[str]) -> Mapping[str, int]:
        """Return the bit sets of all first characters, asked for or not."""
        return self.heads

    def entities_by_name(self, texts: Collection[str]) -> Mapping[str, Sequence[str]]:
        return {text: self.names[text] for text in texts if text in self.names}

    def context_words(self, entities: Collection[str]) -> Mapping[str, Collection[str]]:
        return self.around


def make_gazetteer_table(
    names: Mapping[str, Sequence[str]], around: Mapping[str, Sequence[str]]
) -> GazetteerTable:
    """Return a table of these names and contexts."""
    heads: dict[str, int] = {}
    for name in names:
        if is_linkable(name):
            heads[name[:HEAD_CHARS]] = heads.get(name[:HEAD_CHARS], 0) | 1 << len(name)
    return GazetteerTable(
        {name: list(entities) for name, entities in names.items()},
        {entity: list(words) for entity, words in around.items()},
        heads,
    )
