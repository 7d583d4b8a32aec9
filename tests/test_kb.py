"""Knowledge base: dumps of all kinds go in, entities and links come out."""

import gzip
import sqlite3
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch, TempPathFactory

from focus.cli import cli
from focus.errors import KnowledgeError
from focus.http import zstd
from focus.learn.kb.dump import MAX_LINE, FactReader
from focus.learn.kb.importing import import_dump
from focus.learn.kb.knowledge_base import KnowledgeBase, load_football, open_knowledge_base
from focus.learn.kb.schema import list_names
from focus.records import ignore_progress
from focus.score.statistics.entities import (
    MAX_NAME_CHARS,
    candidate_spans,
    choose_entity,
    is_linkable,
    link_entities,
    longest_spans,
    make_gazetteer_table,
)
from focus.text.tokenisation import Segmenter

DUMP = """\
苹果（水果）\tCATEGORY_ZH\t水果
苹果（水果）\tDESC\t苹果是一种水果，果实甜，树木栽培很广。
苹果公司\t别名\t苹果、Apple Inc
苹果公司\tCATEGORY_ZH\t公司
苹果公司\tDESC\t生产手机和电脑的公司，总部在美国。
苹果公司\t总部\t库比蒂诺
曼联\t别名\t红魔
曼联\t外文名\tManchester United
苹果公司\t创始人\t乔布斯
"""


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter()


def dump(folder: Path, text: str | bytes, name: str = "dump.tsv") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def imported(folder: Path, text: str | bytes, name: str = "dump.tsv") -> FactReader:
    return import_dump(dump(folder, text, name), folder / "kb.db").reader


# -- in and out ---------------------------------------------------------------------


def test_import_dump_stores_entities(tmp_path: Path) -> None:
    report = imported(tmp_path, DUMP)
    assert (report.lines, report.fact_count, report.malformed, report.damage) == (9, 9, 0, None)
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        apple = kb.load_entity("苹果公司")
        assert (apple.aliases, apple.categories) == (("苹果", "Apple Inc"), ("公司",))
        assert apple.description.startswith("生产手机")
        assert ("创始人", "乔布斯") in apple.facts  # told of later, in a row of its own
        assert kb.load_entity("苹果") is None
        assert [entity.name for entity in kb.find_entities("苹果")] == ["苹果公司", "苹果（水果）"]
        assert [entity.name for entity in kb.find_entities("APPLE  inc")] == ["苹果公司"]
        assert kb.find_entities("梨") == []


def test_import_dump_alias_list_adds_names(tmp_path: Path) -> None:
    imported(tmp_path, DUMP)
    report = imported(tmp_path, "曼彻斯特联\t曼联\n牛顿苹果\t苹果公司\n", "aliases.tsv")
    assert report.fact_count == 2
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        united = kb.find_entities("曼彻斯特联")[0]
        expected = ("曼联", ("红魔", "Manchester United", "曼彻斯特联"))
        assert (united.name, united.aliases) == expected


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_import_dump_reads_compressed_files(tmp_path: Path, pack: type) -> None:
    packed = pack(DUMP.encode())
    assert imported(tmp_path, packed + packed).fact_count == 18  # two members, as `cat` makes them


def test_import_dump_truncated_file_is_imported_partly(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"甲{n}\t属性\t{n * n}\n" for n in range(20_000)).encode())
    report = imported(tmp_path, whole[: len(whole) // 2])
    assert report.damage is not None
    assert "breaks off after line" in report.damage
    assert 100 < report.fact_count < 20_000
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        assert kb.load_entity("甲7") is not None


def test_import_dump_malformed_lines_are_reported_and_skipped(tmp_path: Path) -> None:
    bad = [b"one column", b"a\tb", b"a\t\tc", b"\xff\xfe\tb\tc", b"x" * (MAX_LINE + 5), b""]
    text = b"\n".join(
        [b"\xef\xbb\xbf" + "甲\t属性\t值\r".encode(), *bad, "乙\t属性\t一\t二".encode()]
    )
    report = imported(tmp_path, text)
    assert (report.fact_count, report.malformed, report.lines) == (2, 5, 8)
    said = [complaint.removeprefix(f"{tmp_path}/dump.tsv:") for complaint in report.complaints]
    assert [line.partition(":")[0] for line in said] == ["2", "3", "4", "5", "6"]
    assert "1 columns where 3 belong" in said[0]
    assert "empty column" in said[2]
    assert "not UTF-8" in said[3]
    assert "longer than 1 MiB" in said[4]
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        second = kb.load_entity("乙")
        assert second.facts == (("属性", "一\t二"),)
        assert kb.load_entity("甲") is not None


@pytest.mark.parametrize("text", ["", "nonsense\n", "\n\n"])
def test_import_dump_file_without_facts_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(KnowledgeError, match="not one of its"):
        imported(tmp_path, text)
    assert not (tmp_path / "kb.db").exists()


def test_import_dump_failure_changes_nothing(tmp_path: Path) -> None:
    imported(tmp_path, DUMP)
    with pytest.raises(KnowledgeError):
        imported(tmp_path, "nonsense\n", "other.tsv")
    with pytest.raises(KnowledgeError, match="cannot be read"):
        import_dump(tmp_path / "nowhere.tsv", tmp_path / "kb.db")
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        assert [entity.name for entity in kb.find_entities("红魔")] == ["曼联"]


def test_check_file_other_file_is_refused_unchanged(tmp_path: Path) -> None:
    second_db = tmp_path / "other.db"
    sqlite3.connect(second_db).execute("CREATE TABLE t (x)").connection.close()
    before = second_db.read_bytes()
    for path, said in ((second_db, "no knowledge base"), (tmp_path / "none.db", "there is no")):
        with pytest.raises(KnowledgeError, match=said):
            KnowledgeBase.open(path)
    with pytest.raises(KnowledgeError, match="no knowledge base"):
        import_dump(dump(tmp_path, DUMP), second_db)
    assert second_db.read_bytes() == before


def test_check_file_other_version_is_refused(tmp_path: Path) -> None:
    imported(tmp_path, DUMP)
    db = sqlite3.connect(tmp_path / "kb.db")
    db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(KnowledgeError, match="another focus"):
        KnowledgeBase.open(tmp_path / "kb.db")


_CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=9
)


@given(st.lists(st.tuples(_CELL, _CELL, _CELL), min_size=1, max_size=30))
def test_import_dump_stores_every_fact(
    tmp_path_factory: TempPathFactory, facts: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("kb")
    text = "".join("\t".join(fact) + "\n" for fact in facts)
    reader = FactReader(dump(folder, text), ignore_progress)
    assert list(reader.read_facts()) == [
        tuple(cell.removeprefix("\ufeff") if at == n == 0 else cell for n, cell in enumerate(fact))
        for at, fact in enumerate(facts)
    ]


def test_import_dump_reports_progress(tmp_path: Path) -> None:
    steps: list[tuple[float, float]] = []
    file = dump(tmp_path, "甲\t属性\t值\n" * 50_000)
    import_dump(file, tmp_path / "kb.db", lambda *step: steps.append(step))
    assert len(steps) == 3, "after 20,000 and 40,000 lines and at the end"
    assert steps[-1] == (file.stat().st_size, file.stat().st_size)


def test_list_names_of_entity() -> None:
    facts = [("别名", "红魔、Ｍan Utd/曼联队"), ("成立", "1878")]
    assert list_names("曼联（足球俱乐部）", facts) == {
        "曼联(足球俱乐部)", "曼联", "红魔", "man utd", "曼联队",
    }  # fmt: skip


def test_load_football_has_entities(segmenter: Segmenter) -> None:
    kb = load_football(segmenter)
    assert len(kb) > 100
    assert kb.find_entities("红魔")[0].name == "曼联"
    assert kb.load_entities(["梅西", "无此人"]).keys() == {"梅西"}
    assert "足球运动员" in kb.load_entities(["梅西"])["梅西"].categories
    assert set(kb.list_names(1000, {"足球教练"})) >= {"瓜迪奥拉", "穆里尼奥"}
    assert len(kb.list_names(3)) == 3


# -- linking ------------------------------------------------------------------------


def linked(text: str, kb: KnowledgeBase, segmenter: Segmenter) -> list[tuple[str, str]]:
    return [(m.text, m.entity) for m in link_entities(text, segmenter.tokens(text), kb)]


def test_link_entities_finds_names_in_text(segmenter: Segmenter) -> None:
    text = "红魔在老特拉福德击败皇家马德里，C罗进球。The UEFA Champions League！"
    assert linked(text, load_football(segmenter), segmenter) == [
        ("红魔", "曼联"),
        ("皇家马德里", "皇马"),
        ("c罗", "C罗"),
        ("uefa champions league", "欧冠"),
    ]


@pytest.mark.parametrize("text", ["", "中", "ajaxa xajax", "她的梅", "\n梅\n西"])
def test_link_entities_text_without_names_is_empty(text: str, segmenter: Segmenter) -> None:
    assert linked(text, load_football(segmenter), segmenter) == []


def test_link_entities_ambiguous_name_uses_context(tmp_path: Path, segmenter: Segmenter) -> None:
    imported(tmp_path, DUMP)
    with KnowledgeBase.open(tmp_path / "kb.db", segmenter) as kb:
        assert linked("苹果的手机和电脑", kb, segmenter) == [("苹果", "苹果公司")]
        assert linked("苹果树木的栽培", kb, segmenter) == [("苹果", "苹果（水果）")]
        assert linked("我喜欢苹果", kb, segmenter) == []  # nothing speaks for either


def test_link_entities_examples_match_docstrings() -> None:
    assert longest_spans([(0, 2), (0, 4), (2, 6), (5, 7)]) == [(0, 4), (5, 7)]
    contexts = {"firm": ["公司", "手机", "电脑", "品牌"], "fruit": ["水果", "植物", "栽培", "果实"]}
    assert choose_entity(["fruit", "firm"], contexts, {"手机", "发布"}) == "firm"
    assert choose_entity(["fruit", "firm"], contexts, {"天气"}) is None


def test_link_entities_name_of_two_ideographs_must_be_token() -> None:
    assert list(candidate_spans("中国民航", 1, 1 << 2, {"中国", "民航"})) == []
    assert list(candidate_spans("国民经济", 0, 1 << 2, {"国民", "经济"})) == [(0, 2)]
    assert list(candidate_spans("登贝莱说", 0, 1 << 3, {"登", "贝莱说"})) == [(0, 3)]


def test_is_linkable_short_long_or_number_is_false() -> None:
    assert [is_linkable(name) for name in ("a", "1984", "曼联", "x" * (MAX_NAME_CHARS + 1))] == [
        False, False, True, False,
    ]  # fmt: skip


_NAMES = st.sets(st.text(alphabet="足球队a b", min_size=2, max_size=5).map(str.strip), max_size=6)


@given(_NAMES, st.text(alphabet="足球队a b", max_size=30))
def test_link_entities_table_and_database_agree(names: set[str], text: str) -> None:
    """The slow obvious way (every piece of the text) finds the same."""
    names = {name for name in names if is_linkable(name)}
    table = make_gazetteer_table({name: [name.upper()] for name in names}, {})
    words = _SEGMENTER.tokens(text)
    spans = [(m.start, m.end) for m in link_entities(text, words, table)]
    pieces = [
        (start, end)
        for start in range(len(text))
        for end in range(start + 2, len(text) + 1)
        if text[start:end] in names and (start, end) in _allowed(text, start, words)
    ]
    assert spans == longest_spans(pieces)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def _allowed(text: str, start: int, words: Collection[str]) -> list[tuple[int, int]]:
    return list(candidate_spans(text, start, (1 << MAX_NAME_CHARS + 1) - 1, set(words)))


_SEGMENTER = Segmenter()


def test_open_knowledge_base_default_is_football(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_knowledge_base(Path("football")) as known:
        assert known.find_entities("红魔")[0].name == "曼联"
    with pytest.raises(KnowledgeError, match="rugby"):
        open_knowledge_base(Path("rugby"))
    imported(tmp_path, "苹果公司\t别名\tApple\n")
    (tmp_path / "kb.db").rename(tmp_path / "football")
    with open_knowledge_base(Path("football")) as known:
        assert known.find_entities("红魔") == []


def test_topic_new_uses_football_base(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["topic", "new", "曼联", "--kb", "football"])
    assert result.exit_code == 0, result.output
    assert "红魔" in (tmp_path / "曼联.toml").read_text("utf-8")
