"""Narrower terms: out of a knowledge base, out of word vectors, weighed by what they bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from focus.errors import TopicError
from focus.learn.kb.importing import import_dump
from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.narrower_terms import add_narrower_terms
from focus.score.subtopics import RESUME_PAGES, Subtopics, TitledPage
from focus.topic.topic import Topic, from_toml, from_words, parse_narrower_terms, to_builtins
from focus.topic.topic_file import to_toml
from tests.support.titles import titled

FACTS = """\
MySQL\t类别\t关系型数据库
MySQL\t别名\t我的数据库、麦斯扣
InnoDB\tpart of\tMySQL
数据库\t包含\t索引、事务
苹果（水果）\t类别\t水果
数据库系统概论\t类别\t数据库
Oracle（公司）\t类别\t公司
Oracle（软件）\tP31\t数据库（软件）
"""


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "dump.tsv").write_text(FACTS, "utf-8")
    import_dump(tmp_path / "dump.tsv", tmp_path / "kb.db")
    return KnowledgeBase.open(tmp_path / "kb.db")


def test_with_narrower_adds_terms_of_knowledge_base(kb: KnowledgeBase) -> None:
    """Two firms' names are shared; names with the topic's word in them add nothing."""
    found = add_narrower_terms(from_words("数据库"), kb)
    assert found.narrower == {
        "索引": 0.6, "事务": 0.6, "mysql": 0.6, "麦斯扣": 0.6, "oracle": 0.3, "innodb": 0.4,
    }  # fmt: skip
    assert found.sources["mysql"] == "knowledge base: 类别 关系型数据库"
    assert found.sources["innodb"] == "knowledge base: part of MySQL"
    assert found.sources["索引"] == "knowledge base: 数据库 包含"
    assert [each.text for each in found.keywords] == ["数据库"]


def test_with_narrower_unknown_topic_adds_nothing(kb: KnowledgeBase) -> None:
    topic = from_words("足球")
    assert add_narrower_terms(topic, kb) == topic


def test_with_narrower_keeps_best_known_terms(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("focus.learn.narrower_terms.MAX_TERMS", 3)
    assert list(add_narrower_terms(from_words("数据库"), kb).narrower) == ["索引", "事务", "mysql"]


# -- in a topic ---------------------------------------------------------------------


def test_narrower_terms_survive_topic_file_and_empty_table_is_omitted() -> None:
    topic = Topic("t", from_words("t").keywords, narrower={"MySQL": 0.6, "b 树": 0.3})
    assert from_toml(to_toml(topic), "t.toml") == topic
    assert parse_narrower_terms(to_builtins(topic)).narrower == {"MySQL": 0.6, "b 树": 0.3}
    assert "narrower" not in to_builtins(from_words("t"))
    with pytest.raises(TopicError, match=r"weight 2.0 not in"):
        from_toml('name = "t"\nkeywords = ["t"]\n[narrower]\nmysql = 2.0\n', "t.toml")


# -- in a crawl ---------------------------------------------------------------------


def pages(word: str, *, relevant: int, others: int, rest: int = 0) -> list[TitledPage]:
    on = [titled(f"{word} number {n}", True, n) for n in range(relevant)]
    off = [titled(f"{word} other {n}", False, n) for n in range(others)]
    return on + off + [titled(f"weather {n}", n % 5 == 0, n) for n in range(rest)]


def seen(found: Subtopics, titles: list[TitledPage]) -> Subtopics:
    for each in titles:
        found.add_page(each)
    return found


def test_narrower_term_has_weight_before_any_page() -> None:
    """w = 0.6, nothing seen: p = 4·0.6/6 = 0.4."""
    found = Subtopics({"MySQL": 0.6})
    assert found.weights["MySQL 入门"] == pytest.approx(0.4)
    assert found.weights["MySQLi"] == 0.0


def test_narrower_term_of_irrelevant_pages_is_dropped() -> None:
    """Worked in `Subtopics`: 0.18 after three pages, nothing after four; b = 0.2."""
    base = pages("", relevant=0, others=0, rest=20)
    assert seen(Subtopics({"mysql": 0.6}), base).words["mysql"] == pytest.approx(0.4)
    four = seen(Subtopics({"mysql": 0.6}), base + pages("mysql", relevant=0, others=10))
    assert "mysql" not in four.words
    kept = seen(Subtopics({"mysql": 0.6}), base + pages("mysql", relevant=10, others=0))
    assert kept.words["mysql"] > 0.6


def test_narrower_terms_of_several_words_are_counted() -> None:
    found = Subtopics({"spring boot": 0.6, "主从复制": 0.6})
    assert found.subtopics_in("学 Spring Boot 与mysql主从复制") == ["spring boot", "主从复制"]
    more = seen(found, pages("学 Spring Boot,", relevant=6, others=0, rest=24))
    assert more.words["spring boot"] > 0.6


def test_resume_gives_same_weights_to_narrower_terms() -> None:
    titles = pages("mysql", relevant=7, others=9, rest=30) + pages("redis", relevant=2, others=5)
    told = {"mysql": 0.6, "innodb": 0.4, "redis": 0.5}
    calm = seen(Subtopics(told), titles)
    broken = Subtopics(told)
    broken.resume(max(0, len(titles) - RESUME_PAGES))
    assert seen(broken, titles).words == calm.words
