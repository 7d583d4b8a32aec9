"""Related terms: their sources, the rule by which they are added, their weight in a crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from focus.config import AnalysisConfig
from focus.errors import ConfigError, TopicError
from focus.http import zstd
from focus.learn.kb.importing import import_dump
from focus.learn.kb.knowledge_base import KnowledgeBase
from focus.learn.kb_terms import add_kb_terms
from focus.learn.library import LIBRARY_FILE, choose_terms, find_topic, library_text
from focus.score.analysis import PageScorer
from focus.score.relevance.base import MAX_TEXT_CHARS
from focus.score.relevance.evidence import MAX_TERM_CHARS
from focus.score.subtopics import RESUME_PAGES, Subtopics, TitledPage
from focus.topic.terms import add_terms, parse_terms, remove_added_words
from focus.topic.topic import TERM_WEIGHT, Topic, from_builtins, from_toml, from_words, to_builtins
from focus.topic.topic_file import to_toml
from tests.support.cases import cases
from tests.support.titles import titled
from topics.pack import packed_text

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


def test_add_kb_terms_adds_two_levels_of_knowledge_base(kb: KnowledgeBase) -> None:
    """Two firms share the name Oracle; names with the topic's word in them add nothing."""
    topic = add_kb_terms(from_words("数据库"), kb)
    assert topic.terms == {
        "索引": 0.3, "事务": 0.3, "mysql": 0.3, "麦斯扣": 0.3, "oracle": 0.15, "innodb": 0.3,
    }  # fmt: skip
    assert topic.sources["mysql"] == "knowledge base: 类别 关系型数据库"
    assert topic.sources["innodb"] == "knowledge base: part of MySQL"
    assert topic.sources["索引"] == "knowledge base: 数据库 包含"
    assert [keyword.text for keyword in topic.keywords] == ["数据库"]


def test_add_kb_terms_keeps_best_terms(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("focus.learn.kb_terms.MAX_TERMS", 3)
    assert list(add_kb_terms(from_words("数据库"), kb).terms) == ["索引", "事务", "mysql"]


# -- the rule -----------------------------------------------------------------------


@cases(
    "word, term",
    ("  offside\ttrap ", "offside trap"),
    ("越位", "越位"),
    ("football club", None),  # contains a keyword
    ("footballer", "footballer"),  # another word
    ("足球赛", None),
    ("Penalty", None),  # the topic has it in lower case
    ("球", None),
    ("2026", None),
    ("a\x00b", None),
    ("x" * 41, None),
)
def test_add_terms_accepts_usable_words_only(word: str, term: str | None) -> None:
    topic = Topic("t", from_words("足球,football").keywords, terms={"penalty": 0.5})
    terms = add_terms(topic, [word], "file").terms
    assert terms == {"penalty": 0.5} | ({} if term is None else {term: TERM_WEIGHT})


def test_parse_terms_skips_comments_and_empty_lines() -> None:
    assert parse_terms("# terms\n越位\n\n  own goal \n") == ["越位", "own goal"]


# -- in a topic ---------------------------------------------------------------------


def test_terms_survive_topic_file_and_empty_table_is_omitted() -> None:
    topic = Topic(
        "t", from_words("t").keywords, terms={"MySQL": 0.6, "b 树": 0.3}, sources={"MySQL": "x"}
    )
    assert from_toml(to_toml(topic), "t.toml") == topic
    assert from_builtins(to_builtins(topic)) == topic
    assert "terms" not in to_builtins(from_words("t"))


@cases(
    "table, terms, keywords",
    ("[terms]\nmysql = {}\nsql = {role = 'name', source = 'me'}", {"mysql": 0.3}, ["t", "sql"]),
    ("[terms]\nmysql = 0.5", {"mysql": 0.5}, ["t"]),
    ("[narrower]\nmysql = 0.6", {"mysql": 0.6}, ["t"]),  # written by an earlier version
)
def test_from_toml_reads_terms(table: str, terms: dict[str, float], keywords: list[str]) -> None:
    topic = from_toml(f'name = "t"\nkeywords = ["t"]\n{table}\n', "t.toml")
    assert (topic.terms, [keyword.text for keyword in topic.keywords]) == (terms, keywords)


@pytest.mark.parametrize("row", ["2.0", "{role = 'other'}", "{wieght = 0.3}"])
def test_from_toml_wrong_term_raises(row: str) -> None:
    with pytest.raises(TopicError, match=r"t\.toml"):
        from_toml(f'name = "t"\nkeywords = ["t"]\n[terms]\nmysql = {row}\n', "t.toml")


# -- the library --------------------------------------------------------------------


def test_library_is_packed_from_its_sources() -> None:
    packed = zstd.decompress(LIBRARY_FILE.read_bytes()).decode()
    assert packed == packed_text(), "run: python topics/pack.py"
    assert LIBRARY_FILE.stat().st_size <= 600_000


@cases("name", "足球", "Soccer", " football ", "footballs", "足球新闻", "football tips")
def test_find_topic_by_any_name_returns_names_and_terms(name: str) -> None:
    topic = find_topic(name)
    assert {"足球", "football"} <= set(topic.names)
    assert {"越位", "FIFA"} <= set(topic.terms)
    assert {"世界杯", "英超"} <= set(topic.narrower)


@pytest.mark.parametrize("name", ["", "|", "越位", "no such topic", "新闻资讯产业", "业"])
def test_find_topic_other_word_returns_none(name: str) -> None:
    assert find_topic(name) is None


def test_choose_terms_of_library_is_undone_by_remove_added_words() -> None:
    typed = from_words("足球,my own word:0.5")
    topic = choose_terms(typed, "library")
    assert topic.terms["越位"] == TERM_WEIGHT
    weights = {keyword.text: keyword.weight for keyword in topic.keywords}
    assert weights["足球"] > weights["soccer"] > weights["世界杯"] > topic.terms["越位"]
    assert {topic.sources[word] for word in ("soccer", "世界杯", "越位")} == {"library"}
    assert remove_added_words(topic) == typed
    assert choose_terms(typed, "none") == typed
    own = Topic("足球", from_words("足球").keywords, terms={"门将": 0.3})
    assert choose_terms(own, "library") == own


def test_choose_terms_from_file_or_missing_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("越位\n门将\n天气\n", "utf-8")
    topic = choose_terms(from_words("足球"), str(tmp_path / "words.txt"))
    assert topic.terms == {"越位": 0.3, "门将": 0.3}
    assert topic.sources == dict.fromkeys(topic.terms, "file words.txt")
    with pytest.raises(ConfigError, match="neither library nor none"):
        choose_terms(from_words("足球"), str(tmp_path / "absent.txt"))


def test_find_topic_damaged_library_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("focus.learn.library.LIBRARY_FILE", tmp_path / "library.zst")
    library_text.cache_clear()
    (tmp_path / "library.zst").write_bytes(LIBRARY_FILE.read_bytes()[:1000])
    with pytest.raises(ConfigError, match="cannot be read"):
        find_topic("足球")


# -- in a crawl ---------------------------------------------------------------------


def pages(word: str, *, relevant: int, others: int, rest: int = 0) -> list[TitledPage]:
    on = [titled(f"{word} number {n}", True, n) for n in range(relevant)]
    off = [titled(f"{word} other {n}", False, n) for n in range(others)]
    return on + off + [titled(f"weather {n}", n % 5 == 0, n) for n in range(rest)]


def seen(subtopics: Subtopics, titles: list[TitledPage]) -> Subtopics:
    for title in titles:
        subtopics.add_page(title)
    return subtopics


def test_term_has_weight_before_any_page() -> None:
    """w = 0.6, nothing seen: p = 4·0.6/6 = 0.4."""
    subtopics = Subtopics({"MySQL": 0.6})
    assert subtopics.weights["MySQL 入门"] == pytest.approx(0.4)
    assert subtopics.weights["MySQLi"] == 0.0


def test_term_of_irrelevant_pages_is_dropped() -> None:
    """Worked in `Subtopics`: 0.18 after three pages, nothing after four; b = 0.2."""
    base = pages("", relevant=0, others=0, rest=20)
    assert seen(Subtopics({"mysql": 0.6}), base).words["mysql"] == pytest.approx(0.4)
    four = seen(Subtopics({"mysql": 0.6}), base + pages("mysql", relevant=0, others=10))
    assert "mysql" not in four.words
    merged_terms = seen(Subtopics({"mysql": 0.6}), base + pages("mysql", relevant=10, others=0))
    assert merged_terms.words["mysql"] > 0.6


def test_terms_of_several_words_are_counted() -> None:
    subtopics = Subtopics({"spring boot": 0.6, "主从复制": 0.6})
    assert subtopics.subtopics_in("学 Spring Boot 与mysql主从复制") == ["spring boot", "主从复制"]
    more = seen(subtopics, pages("学 Spring Boot,", relevant=6, others=0, rest=24))
    assert more.words["spring boot"] > 0.6


def test_resume_gives_same_weights_to_terms() -> None:
    titles = pages("mysql", relevant=7, others=9, rest=30) + pages("redis", relevant=2, others=5)
    terms_now = {"mysql": 0.6, "innodb": 0.4, "redis": 0.5}
    calm = seen(Subtopics(terms_now), titles)
    broken = Subtopics(terms_now)
    broken.resume(max(0, len(titles) - RESUME_PAGES))
    assert seen(broken, titles).words == calm.words


# -- on a page ----------------------------------------------------------------------

TERMS = Topic(
    "足球", from_words("足球").keywords, terms=dict.fromkeys(("越位", "点球", "own goal"), 0.5)
)


def page_html(title: str, text: str) -> bytes:
    return f"<title>{title}</title><body><p>{text}</p><a href=/t>越位</a></body>".encode()


@cases(
    "title, text, matched",
    ("周末", "越位和点球", {}),  # two terms are too few
    (
        "点球",
        "越位，越位，点球，Own goals",
        {"title": ["点球"], "text": ["越位", "点球", "own goal"]},
    ),
    (
        "足球",
        "足球越位",
        {"title": ["足球"], "text": ["足球", "越位"]},
    ),  # a keyword needs no other term
    ("weather", "足球", {"text": ["足球"]}),
)
def test_evidence_counts_terms_with_keyword_or_two_other_terms(
    title: str, text: str, matched: dict[str, list[str]]
) -> None:
    scorer = PageScorer(AnalysisConfig(topic=to_builtins(TERMS)))
    page = scorer.score("http://a.test/", page_html(title, text), "text/html")
    terms_by_part = {part: page.matched_terms.get(part) for part in ("title", "text")}
    assert {part: words for part, words in terms_by_part.items() if words} == matched
    assert (page.relevance > 0.0) == bool(matched)


def test_term_search_in_long_body_is_bounded() -> None:
    scorer = PageScorer(AnalysisConfig(topic=to_builtins(TERMS)))
    for title, text in (
        ("点球", "天气" * MAX_TERM_CHARS + "越位点球own goal"),
        ("天气", "天气" * MAX_TEXT_CHARS + "足球"),
    ):
        assert not scorer.score("http://a.test/", page_html(title, text), "text/html").matched_terms


def test_evidence_with_terms_uses_folders_of_cited_addresses() -> None:
    scorer = PageScorer(AnalysisConfig(topic=to_builtins(TERMS)))
    link = "<a href=http://b.test/足球/1>b</a>".encode()
    page = scorer.score("http://a.test/1", page_html("x", "y") + link, "text/html")
    assert page.matched_terms["cited"] == ["足球"]
