"""What is known about the things that pages speak of? A knowledge base in one SQLite file.

    import_dump(file, kb)     an entity-attribute-value dump, or a list of aliases, goes in
    KnowledgeBase.open(kb)    entities by name, and the `Gazetteer` for linking (entities.py)
    shipped()                 the small football one that comes with focus, in memory

A dump is read line by line and never held: lines of one entity that follow each other
become one row, entities that come back later get another, and both are one on reading.
Names are sorted by SQLite itself, on the disk.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from focus.dump import Fact, FactReader, Watch
from focus.errors import KnowledgeError
from focus.plain import printable
from focus.score.entities import HEAD, Entity, is_linkable
from focus.segment import Segmenter, fold

APPLICATION_ID = 0x666F6B62
"""`PRAGMA application_id` of a knowledge base ("fokb")."""

VERSION = 1
SHIPPED = Path(__file__).parent / "data" / "football.tsv"

ALIASES = frozenset(
    "别名 别称 又称 又名 亦称 简称 昵称 全称 俗称 外号 绰号 本名 原名 曾用名 中文名 中文名称 中文别名"
    " 外文名 外文名称 英文名 英文名称 英文简称 alias".split()
)
CATEGORIES = frozenset("CATEGORY_ZH 类别 分类 category".split())
DESCRIPTIONS = frozenset("DESC 描述 简介 摘要 description".split())

_BATCH = 5_000  # entities per statement
_CACHE_KIB = 48 * 1024
_MANY_NAMES = re.compile("[、，,；;/|]")
_SENSE = re.compile(r"\s*[(（][^()（）]*[)）]$")  # 苹果（水果）

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entity (
    id   INTEGER PRIMARY KEY,  -- in the order of the dump
    name TEXT NOT NULL,        -- several rows may have one: their facts are put together
    size INTEGER NOT NULL      -- how many facts: the better known comes first
);
-- Apart, so that looking names up reads narrow rows only.
CREATE TABLE IF NOT EXISTS fact (
    id    INTEGER PRIMARY KEY,  -- = entity.id
    facts TEXT NOT NULL         -- JSON: [[attribute, value], ...]
);
-- Every name an entity goes by, folded; its own among them.
CREATE TABLE IF NOT EXISTS alias (text TEXT NOT NULL, entity INTEGER NOT NULL);
-- How names begin: the first {HEAD} characters, and as bits the lengths of such names.
CREATE TABLE IF NOT EXISTS head (text TEXT PRIMARY KEY, lengths INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""


class Imported(msgspec.Struct, frozen=True):
    """What came of an import.

    malformed   lines that were left out; `complaints` tells of the first few
    damage      why the file ended before its end; None: it was read whole
    """

    lines: int
    facts: int
    entities: int
    aliases: int
    malformed: int
    complaints: list[str]
    damage: str | None = None


# -- writing ------------------------------------------------------------------------


def import_dump(file: Path, kb: Path, watch: Watch = lambda done, lines: None) -> Imported:
    """Add a dump to a knowledge base, making that if need be; all of it or, on errors, nothing.

    KnowledgeError when the dump cannot be read at all or the base not be written. A dump
    that breaks off (compressed, half copied) is taken as far as it goes, see `damage`.
    """
    with _explaining(kb):
        _check(kb, must_exist=False)
        db = sqlite3.connect(kb, isolation_level=None)
        try:
            return _import(db, file, watch)
        finally:
            db.close()


def _import(db: sqlite3.Connection, file: Path, watch: Watch) -> Imported:
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    db.execute("PRAGMA temp_store = FILE")
    db.execute("PRAGMA cache_spill = ON")
    for statement in filter(str.strip, _SCHEMA.split(";\n")):
        db.execute(statement)
    reading = FactReader(file, watch)
    damage = None
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("DROP INDEX IF EXISTS alias_text")
        (last,) = db.execute("SELECT ifnull(max(id), 0) FROM entity").fetchone()
        rows, names = _fill(db, reading.facts(), last)
        damage = reading.damage
        db.execute("CREATE INDEX alias_text ON alias (text, entity)")
        db.execute("DELETE FROM head")
        db.executemany("INSERT INTO head VALUES (?, ?)", _heads(db))
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    return Imported(
        lines=reading.lines,
        facts=reading.kept,
        entities=rows,
        aliases=names,
        malformed=reading.malformed,
        complaints=reading.complaints,
        damage=damage,
    )


def _fill(db: sqlite3.Connection, facts: Iterable[Fact], last: int) -> tuple[int, int]:
    """Write entities and their names; how many."""
    encode = msgspec.json.Encoder().encode
    written = names = 0
    grouped = itertools.groupby(facts, key=lambda fact: fact[0])
    numbered = (
        (n, name, [f[1:] for f in each]) for n, (name, each) in enumerate(grouped, last + 1)
    )
    while batch := list(itertools.islice(numbered, _BATCH)):
        rows = [(n, name, len(own)) for n, name, own in batch]
        facts_of = [(n, encode(own).decode()) for n, _, own in batch]
        aliases = [(text, n) for n, name, own in batch for text in names_of(name, own)]
        db.executemany("INSERT INTO entity VALUES (?, ?, ?)", rows)
        db.executemany("INSERT INTO fact VALUES (?, ?)", facts_of)
        db.executemany("INSERT INTO alias VALUES (?, ?)", aliases)
        written += len(rows)
        names += len(aliases)
    return written, names


def names_of(name: str, facts: Iterable[tuple[str, str]]) -> set[str]:
    """Every folded name of an entity: 苹果（水果） is also 苹果, 别名 红魔、曼彻斯特联 two more."""
    texts = [name, _SENSE.sub("", name)]
    for attribute, value in facts:
        if attribute in ALIASES:
            texts += _MANY_NAMES.split(value)
    folded = (" ".join(fold(text).split()) for text in texts)
    return {text for text in folded if text}


def _heads(db: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Head and length bits of all names, out of the sorted index."""
    texts = (row[0] for row in db.execute("SELECT DISTINCT text FROM alias ORDER BY text"))
    for head, names in itertools.groupby(filter(is_linkable, texts), key=lambda text: text[:HEAD]):
        bits = 0
        for name in names:
            bits |= 1 << len(name)
        yield head, bits


# -- reading ------------------------------------------------------------------------


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
        with _explaining(path):
            _check(path, must_exist=True)
            db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
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
        asked = " ".join(fold(name).split())
        found = self._entities(self.named([asked]).get(asked, ()))
        return sorted(found, key=lambda each: each.name != name)

    def named(self, texts: Collection[str]) -> dict[str, list[str]]:
        """See `Gazetteer`."""
        found: dict[str, list[str]] = {}
        for text, name in self._all(_NAMED, texts):
            names = found.setdefault(text, [])
            if name not in names:
                names.append(name)
        return found

    def lengths(self, heads: Collection[str]) -> dict[str, int]:
        """See `Gazetteer`."""
        return dict(self._all(_HEADS, heads))

    def contexts(self, entities: Collection[str]) -> dict[str, frozenset[str]]:
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
        with _explaining(self._where):
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

    def _entities(self, names: Collection[str]) -> list[Entity]:
        """In the order of the names; unknown ones left out."""
        facts: dict[str, list[tuple[str, str]]] = {}
        folded = {" ".join(fold(name).split()) for name in names}
        for name, text in self._all(_FACTS, folded):
            if name in names:
                facts.setdefault(name, []).extend(_facts.decode(text))
        return [_entity(name, facts[name]) for name in dict.fromkeys(names) if name in facts]

    def _read_context(self, name: str) -> frozenset[str]:
        entity = next(iter(self._entities([name])), None)
        if entity is None:
            return frozenset()
        text = "\n".join((*entity.categories, entity.description))
        return frozenset(word for word in self._segmenter.tokens(text) if len(word) > 1)

    def _all(self, sql: str, texts: Collection[str]) -> list[tuple[str, str]]:
        asked = msgspec.json.encode(sorted(texts)).decode("utf-8", "replace")
        with _explaining(self._where):
            return self._db.execute(sql, (asked,)).fetchall()


def shipped(segmenter: Segmenter | None = None) -> KnowledgeBase:
    """The football knowledge base that comes with focus: 127 entities, 20 ms to load."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _import(db, SHIPPED, lambda done, lines: None)
    return KnowledgeBase(db, SHIPPED, segmenter)


_facts = msgspec.json.Decoder(list[tuple[str, str]])


def _entity(name: str, facts: Sequence[tuple[str, str]]) -> Entity:
    facts = tuple(dict.fromkeys(facts))
    aliases = [
        alias.strip()
        for attribute, value in facts
        if attribute in ALIASES
        for alias in _MANY_NAMES.split(value)
    ]
    return Entity(
        name=name,
        aliases=tuple(each for each in dict.fromkeys(aliases) if each and each != name),
        categories=tuple(dict.fromkeys(value for key, value in facts if key in CATEGORIES)),
        description="\n".join(value for key, value in facts if key in DESCRIPTIONS),
        facts=facts,
    )


# -- the file -----------------------------------------------------------------------


def _check(path: Path, *, must_exist: bool) -> None:
    """KnowledgeError unless `path` is a knowledge base that we can read (or nothing yet)."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        header = b""
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error.strerror}") from None
    if not header:
        if must_exist:
            raise KnowledgeError(
                f"there is no knowledge base at {path}; make one: focus kb import DUMP --kb {path}"
            )
        return
    ours = header.startswith(b"SQLite format 3\0")
    if not ours or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise KnowledgeError(f"{path} is no knowledge base of focus; choose another --kb")
    version = int.from_bytes(header[60:64], "big")
    if version != VERSION:
        raise KnowledgeError(
            f"{path} is a knowledge base of another focus (format {version}, this one knows "
            f"{VERSION}); import the dump into a new file"
        )


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """SQLite's complaints about the file as one line."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise KnowledgeError(f"knowledge base {path}: {printable(str(error))}") from error


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
