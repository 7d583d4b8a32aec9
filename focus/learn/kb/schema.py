"""The schema of a knowledge base file, and the names of an entity."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from focus.errors import KnowledgeError
from focus.score.statistics.entities import HEAD_CHARS
from focus.text.formatting import printable
from focus.text.tokenisation import fold

APPLICATION_ID = 0x666F6B62
"""`PRAGMA application_id` of a knowledge base ("fokb")."""

VERSION = 1
CACHE_KIB = 48 * 1024

# Attributes by meaning, with the names in CN-DBpedia's dump and similar ones.
ALIASES = frozenset((
    "别名", "别称", "又称", "又名", "亦称", "简称", "昵称", "全称", "俗称", "外号", "绰号", "本名",
    "原名", "曾用名", "中文名", "中文名称", "中文别名", "外文名", "外文名称", "英文名", "英文名称",
    "英文简称", "alias",
))  # fmt: skip
CATEGORIES = frozenset(("CATEGORY_ZH", "类别", "分类", "category"))
BROADER = CATEGORIES | {
    "类型", "属于", "所属", "隶属于", "所属类别", "上级分类", "上位词", "性质", "是一种", "是一个",
    "instance of", "subclass of", "part of", "instance_of", "subclass_of", "part_of",
    "P31", "P279", "P361",
}  # fmt: skip
"""Their values are what the entity is an instance, a subclass or a part of (Wikidata's too)."""
NARROWER = frozenset(
    ("包括", "包含", "下位词", "分支", "分支学科", "has part", "has part(s)", "P527")
)
"""Attributes whose values are narrower than the entity."""
DESCRIPTIONS = frozenset(("DESC", "描述", "简介", "摘要", "description"))

NAME_SEPARATOR = re.compile("[、，,；;/|]")
"""Separator of names in a value with several."""

_SENSE = re.compile(r"\s*[(（][^()（）]*[)）]$")  # 苹果（水果）

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entity (
    id   INTEGER PRIMARY KEY,  -- in order of the dump
    name TEXT NOT NULL,        -- several rows may have the same name; their facts are combined
    size INTEGER NOT NULL      -- number of facts; larger entities come first
);
-- Facts have their own table, so that a search for names reads short rows only.
CREATE TABLE IF NOT EXISTS fact (
    id    INTEGER PRIMARY KEY,  -- = entity.id
    facts TEXT NOT NULL         -- JSON: [[attribute, value], ...]
);
-- All folded names of an entity, including its own.
CREATE TABLE IF NOT EXISTS alias (text TEXT NOT NULL, entity INTEGER NOT NULL);
-- First {HEAD_CHARS} characters of names, and the lengths of these names as bits.
CREATE TABLE IF NOT EXISTS head (text TEXT PRIMARY KEY, lengths INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""


def fold_name(name: str) -> str:
    """Return a name as it is stored and looked up: folded, with single spaces."""
    return " ".join(fold(name).split())


def remove_sense(name: str) -> str:
    """Return a name without the sense in brackets: 苹果（水果） → 苹果."""
    return _SENSE.sub("", name)


def list_names(name: str, facts: Iterable[tuple[str, str]]) -> set[str]:
    """Return all folded names: 苹果（水果） is also 苹果, 别名 红魔、曼彻斯特联 are two more."""
    texts = [name, remove_sense(name)]
    for attribute, value in facts:
        if attribute in ALIASES:
            texts += NAME_SEPARATOR.split(value)
    return {name for name in map(fold_name, texts) if name}


def check_file(path: Path, *, must_exist: bool) -> None:
    """Raise KnowledgeError unless `path` is a knowledge base of this version.

    A missing or empty file is allowed unless `must_exist`.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        header = b""
    except OSError as error:
        raise KnowledgeError("{path}: cannot be read: {error}", path=path, error=error) from None
    if not header:
        if must_exist:
            raise KnowledgeError(
                "there is no knowledge base at {path}; make one: focus research kb import DUMP "
                "--kb {path}",
                path=path,
            )
        return
    ours = header.startswith(b"SQLite format 3\0")
    if not ours or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise KnowledgeError("{path} is no knowledge base of focus; choose another --kb", path=path)
    version = int.from_bytes(header[60:64], "big")
    if version != VERSION:
        raise KnowledgeError(
            "{path} is a knowledge base of another focus (format {version}, this one knows "
            "{known}); import the dump into a new file",
            path=path,
            version=version,
            known=VERSION,
        )


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise KnowledgeError, with one line, for errors of SQLite about the file."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise KnowledgeError(
            "knowledge base {path}: {error}", path=path, error=printable(str(error))
        ) from error
