"""A knowledge base in one SQLite file: entities by name, and the gazetteer for linking.

importing.import_dump(file, kb)   a dump of facts, or a list of aliases, goes in
KnowledgeBase.open(kb)            entities by name, and the `Gazetteer` for linking
shipped()                         the small football one that comes with focus, in memory
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from focus.learn.kb.file import (
    ALIASES,
    BROADER,
    CACHE_KIB,
    CATEGORIES,
    DESCRIPTIONS,
    MANY_NAMES,
    check,
    explaining,
    folded,
    without_sense,
)
from focus.learn.kb.importing import fill
from focus.score.statistics.entities import Entity
from focus.text.tokenisation import Segmenter, has_han

SHIPPED = Path(__file__).parent / "data" / "football.tsv"


class KnowledgeBase:
    """A knowledge base, read-only: entities by name, and names in texts.

    It is a `score.entities.Gazetteer`. Close it, or use it in a `with`.
    """

    def __init__(self, db: sqlite3.Connection, where: Path, segmenter: Segmenter | None) -> None:
        self._db = db
        self._where = where
        self._segmenter = segmenter or Segmenter()
        self._context = lru_cache(maxsize=20_000)(self._read_context)

    @classmethod
    def open(cls, path: Path, segmenter: Segmenter | None = None) -> KnowledgeBase:
        """KnowledgeError when there is no knowledge base at `path`."""
        with explaining(path):
            check(path, must_exist=True)
            db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            return cls(db, path, segmenter)

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def entity(self, name: str) -> Entity | None:
        """The entity of exactly that name; None when there is none."""
        return next((each for each in self.find(name) if each.name == name), None)

    def find(self, name: str) -> list[Entity]:
        """The entities that go by a name, the best known first; that of this very name leads."""
        asked = folded(name)
        found = self._entities(self.entities_by_name([asked]).get(asked, ()))
        return sorted(found, key=lambda each: each.name != name)

    def entities_by_name(self, texts: Collection[str]) -> dict[str, list[str]]:
        """See `Gazetteer`."""
        found: dict[str, list[str]] = {}
        for text, name in self._all(_NAMED, texts):
            names = found.setdefault(text, [])
            if name not in names:
                names.append(name)
        return found

    def name_lengths(self, heads: Collection[str]) -> dict[str, int]:
        """See `Gazetteer`."""
        return dict(self._all(_HEADS, heads))

    def context_words(self, entities: Collection[str]) -> dict[str, frozenset[str]]:
        """See `Gazetteer`: the words of categories and description."""
        return {name: self._context(name) for name in entities}

    def entities(self, names: Collection[str]) -> dict[str, Entity]:
        """Those of exactly these names."""
        return {each.name: each for each in self._entities(names)}

    def __len__(self) -> int:
        """How many entities, more or less: those told of in several places count often."""
        number: int = self._db.execute("SELECT count(*) FROM entity").fetchone()[0]
        return number

    def names(self, limit: int, categories: Collection[str] | None = None) -> list[str]:
        """The first so many entities of the dump, of all or of any of these categories.

        One pass over everything: meant for training, not for a crawl.
        """
        found: dict[str, None] = {}
        with explaining(self._where):
            for name, facts in self._db.execute(_EVERYTHING):
                if len(found) >= limit:
                    break
                if categories is None or (
                    any(each in facts for each in categories)
                    and not set(categories).isdisjoint(
                        _entity(name, _facts.decode(facts)).categories
                    )
                ):
                    found[name] = None
        return list(found)

    def narrower(self, words: Collection[str]) -> Iterator[tuple[Entity, str]]:
        """Entities that a fact puts under one of these folded words, each with "attribute value".

        Under 数据库: what is an instance, subclass or part of it, or of what ends with it
        (关系型数据库). One pass over everything.
        """
        with explaining(self._where):
            for name, text in self._db.execute(_EVERYTHING):
                if any(each in text for each in BROADER):
                    facts = _facts.decode(text)
                    above = (fact for fact in facts if fact[0] in BROADER)
                    under = next((f"{a} {v}" for a, v in above if _is_under(v, words)), None)
                    if under is not None:
                        yield _entity(name, facts), under

    def _entities(self, names: Collection[str]) -> list[Entity]:
        """In the order of the names; unknown ones left out."""
        facts: dict[str, list[tuple[str, str]]] = {}
        for name, text in self._all(_FACTS, {folded(name) for name in names}):
            if name in names:
                facts.setdefault(name, []).extend(_facts.decode(text))
        return [_entity(name, facts[name]) for name in dict.fromkeys(names) if name in facts]

    def _read_context(self, name: str) -> frozenset[str]:
        entity = next(iter(self._entities([name])), None)
        if entity is None:
            return frozenset()
        text = "\n".join((*entity.categories, entity.description))
        return frozenset(word for word in self._segmenter.tokens(text) if len(word) > 1)

    def _all(self, sql: str, texts: Collection[str]) -> list[Any]:
        asked = msgspec.json.encode(sorted(texts)).decode("utf-8", "replace")
        with explaining(self._where):
            return self._db.execute(sql, (asked,)).fetchall()


def opened(path: Path, segmenter: Segmenter | None = None) -> KnowledgeBase:
    """The knowledge base at `path`; of the name `football` with no such file, the shipped one."""
    if str(path) == SHIPPED.stem and not path.exists():
        return shipped(segmenter)
    return KnowledgeBase.open(path, segmenter)


def shipped(segmenter: Segmenter | None = None) -> KnowledgeBase:
    """The football knowledge base that comes with focus: 127 entities, 20 ms to load."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    fill(db, SHIPPED, lambda done, lines: None)
    return KnowledgeBase(db, SHIPPED, segmenter)


_facts = msgspec.json.Decoder(list[tuple[str, str]])


def _entity(name: str, facts: Sequence[tuple[str, str]]) -> Entity:
    facts = tuple(dict.fromkeys(facts))
    aliases = [
        alias.strip()
        for attribute, value in facts
        if attribute in ALIASES
        for alias in MANY_NAMES.split(value)
    ]
    return Entity(
        name=name,
        aliases=tuple(each for each in dict.fromkeys(aliases) if each and each != name),
        categories=tuple(dict.fromkeys(value for key, value in facts if key in CATEGORIES)),
        description="\n".join(value for key, value in facts if key in DESCRIPTIONS),
        facts=facts,
    )


def _is_under(value: str, words: Collection[str]) -> bool:
    broader = {folded(without_sense(each)) for each in MANY_NAMES.split(value)}
    return any(
        each == word or each.endswith(word if has_han(word) else f" {word}")
        for each in broader
        for word in words
    )


_HEADS = "SELECT text, lengths FROM json_each(?) AS asked JOIN head ON head.text = asked.value"
_NAMED = """
SELECT alias.text, entity.name FROM json_each(?) AS asked
CROSS JOIN alias ON alias.text = asked.value CROSS JOIN entity ON entity.id = alias.entity
ORDER BY alias.text, entity.size DESC, entity.id"""
_FACTS = """
SELECT entity.name, fact.facts FROM json_each(?) AS asked
CROSS JOIN alias ON alias.text = asked.value CROSS JOIN entity ON entity.id = alias.entity
CROSS JOIN fact ON fact.id = entity.id ORDER BY entity.id"""
_EVERYTHING = "SELECT name, facts FROM entity JOIN fact USING (id) ORDER BY id"
