"""A knowledge base in one SQLite file: entities by name, and the gazetteer for linking.

importing.import_dump(file, kb)   adds a dump of facts or a list of aliases
KnowledgeBase.open(kb)            entities by name, and the `Gazetteer` for linking
load_football()                   the small football base that is part of focus, in memory
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from focus.learn.kb.importing import import_into
from focus.learn.kb.schema import (
    ALIASES,
    BROADER,
    CACHE_KIB,
    CATEGORIES,
    DESCRIPTIONS,
    NAME_SEPARATOR,
    check_file,
    explain_errors,
    fold_name,
    remove_sense,
)
from focus.records import ignore_progress
from focus.score.statistics.entities import Entity
from focus.text.tokenisation import Segmenter, has_han

FOOTBALL_FILE = Path(__file__).parent / "data" / "football.tsv"


class KnowledgeBase:
    """A read-only knowledge base: entities by name, and names in texts.

    It is a `score.statistics.entities.Gazetteer`. Close it, or use it in a `with` statement.
    """

    def __init__(self, db: sqlite3.Connection, where: Path, segmenter: Segmenter | None) -> None:
        self._db = db
        self._path = where
        self._segmenter = segmenter or Segmenter()
        self._cached_context = lru_cache(maxsize=20_000)(self._read_context)

    @classmethod
    def open(cls, path: Path, segmenter: Segmenter | None = None) -> KnowledgeBase:
        """Open a knowledge base. Raises KnowledgeError if there is none at `path`."""
        with explain_errors(path):
            check_file(path, must_exist=True)
            db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            return cls(db, path, segmenter)

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def load_entity(self, name: str) -> Entity | None:
        """Return the entity with exactly this name, None if there is none."""
        return next((entity for entity in self.find_entities(name) if entity.name == name), None)

    def find_entities(self, name: str) -> list[Entity]:
        """Return the entities with a name, the one with exactly it first, then the best known."""
        text = fold_name(name)
        entities = self._load_in_order(self.entities_by_name([text]).get(text, ()))
        return sorted(entities, key=lambda entity: entity.name != name)

    def entities_by_name(self, texts: Collection[str]) -> dict[str, list[str]]:
        names_by_text: dict[str, list[str]] = {}
        for text, name in self._query(_ENTITIES_SQL, texts):
            names = names_by_text.setdefault(text, [])
            if name not in names:
                names.append(name)
        return names_by_text

    def name_lengths(self, heads: Collection[str]) -> dict[str, int]:
        return dict(self._query(_HEADS_SQL, heads))

    def context_words(self, entities: Collection[str]) -> dict[str, frozenset[str]]:
        return {name: self._cached_context(name) for name in entities}

    def load_entities(self, names: Collection[str]) -> dict[str, Entity]:
        """Return the entities with exactly these names."""
        return {entity.name: entity for entity in self._load_in_order(names)}

    def __len__(self) -> int:
        """Return the approximate number of entities; those in several places count repeatedly."""
        number: int = self._db.execute("SELECT count(*) FROM entity").fetchone()[0]
        return number

    def list_names(self, limit: int, categories: Collection[str] | None = None) -> list[str]:
        """Return the first entities of the dump, optionally of any of these categories.

        It reads the whole base, so it is for training only.
        """
        names: dict[str, None] = {}
        with explain_errors(self._path):
            for name, facts in self._db.execute(_ALL_FACTS_SQL):
                if len(names) >= limit:
                    break
                if categories is None or (
                    any(category in facts for category in categories)
                    and not set(categories).isdisjoint(
                        _make_entity(name, _facts_decoder.decode(facts)).categories
                    )
                ):
                    names[name] = None
        return list(names)

    def find_narrower(self, words: Collection[str]) -> Iterator[tuple[Entity, str]]:
        """Yield entities under one of these folded words, each with the fact as "attribute value".

        Under 数据库 are its instances, subclasses and parts, and those of names that end with it
        (关系型数据库). It reads the whole base.
        """
        with explain_errors(self._path):
            for name, text in self._db.execute(_ALL_FACTS_SQL):
                if any(attribute in text for attribute in BROADER):
                    facts = _facts_decoder.decode(text)
                    broader_facts = (fact for fact in facts if fact[0] in BROADER)
                    match = next(
                        (f"{a} {v}" for a, v in broader_facts if _is_narrower(v, words)), None
                    )
                    if match is not None:
                        yield _make_entity(name, facts), match

    def _load_in_order(self, names: Collection[str]) -> list[Entity]:
        """Return entities in the order of the names, without unknown ones."""
        facts: dict[str, list[tuple[str, str]]] = {}
        for name, text in self._query(_FACTS_SQL, {fold_name(name) for name in names}):
            if name in names:
                facts.setdefault(name, []).extend(_facts_decoder.decode(text))
        return [_make_entity(name, facts[name]) for name in dict.fromkeys(names) if name in facts]

    def _read_context(self, name: str) -> frozenset[str]:
        entity = next(iter(self._load_in_order([name])), None)
        if entity is None:
            return frozenset()
        text = "\n".join((*entity.categories, entity.description))
        return frozenset(word for word in self._segmenter.tokens(text) if len(word) > 1)

    def _query(self, sql: str, texts: Collection[str]) -> list[Any]:
        texts_json = msgspec.json.encode(sorted(texts)).decode("utf-8", "replace")
        with explain_errors(self._path):
            return self._db.execute(sql, (texts_json,)).fetchall()


def open_knowledge_base(path: Path, segmenter: Segmenter | None = None) -> KnowledgeBase:
    """Open the base at `path`; the name `football` without such a file is the built-in base."""
    if str(path) == FOOTBALL_FILE.stem and not path.exists():
        return load_football(segmenter)
    return KnowledgeBase.open(path, segmenter)


def load_football(segmenter: Segmenter | None = None) -> KnowledgeBase:
    """Load the football base that is part of focus: 127 entities, 20 ms."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    import_into(db, FOOTBALL_FILE, ignore_progress)
    return KnowledgeBase(db, FOOTBALL_FILE, segmenter)


_facts_decoder = msgspec.json.Decoder(list[tuple[str, str]])


def _make_entity(name: str, facts: Sequence[tuple[str, str]]) -> Entity:
    facts = tuple(dict.fromkeys(facts))
    aliases = [
        alias.strip()
        for attribute, value in facts
        if attribute in ALIASES
        for alias in NAME_SEPARATOR.split(value)
    ]
    return Entity(
        name=name,
        aliases=tuple(alias for alias in dict.fromkeys(aliases) if alias and alias != name),
        categories=tuple(dict.fromkeys(value for key, value in facts if key in CATEGORIES)),
        description="\n".join(value for key, value in facts if key in DESCRIPTIONS),
        facts=facts,
    )


def _is_narrower(value: str, words: Collection[str]) -> bool:
    broader = {fold_name(remove_sense(term)) for term in NAME_SEPARATOR.split(value)}
    return any(
        term == word or term.endswith(word if has_han(word) else f" {word}")
        for term in broader
        for word in words
    )


_HEADS_SQL = "SELECT text, lengths FROM json_each(?) AS asked JOIN head ON head.text = asked.value"
_ENTITIES_SQL = """
SELECT alias.text, entity.name FROM json_each(?) AS asked
CROSS JOIN alias ON alias.text = asked.value CROSS JOIN entity ON entity.id = alias.entity
ORDER BY alias.text, entity.size DESC, entity.id"""
_FACTS_SQL = """
SELECT entity.name, fact.facts FROM json_each(?) AS asked
CROSS JOIN alias ON alias.text = asked.value CROSS JOIN entity ON entity.id = alias.entity
CROSS JOIN fact ON fact.id = entity.id ORDER BY entity.id"""
_ALL_FACTS_SQL = "SELECT name, facts FROM entity JOIN fact USING (id) ORDER BY id"
