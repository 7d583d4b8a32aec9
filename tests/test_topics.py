"""Topics made of words and pages, tried on pages, widened: the commands of `focus topic`."""

import asyncio
import csv
import json
import math
import random
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from focus.errors import ConfigError
from focus.learn.corpus import html_document
from focus.learn.kb.importing import import_dump
from focus.learn.memory_crawl import PageSource, fetch_pages
from focus.learn.suggestions import count_effect, keep_accepted, list_suggestions
from focus.learn.topic_building import (
    ModelSet,
    SourcedPage,
    add_aliases,
    add_features,
    add_proposed_terms,
    choose_model,
    propose_topic_keywords,
)
from focus.report import export
from focus.score.statistics.profile import make_profile, make_published_profile, suggest_threshold
from focus.score.statistics.vector import collection_idf, improved_tf_idf, tf_idf
from focus.topic.terms import add_terms
from focus.topic.topic import Topic, from_toml, from_words
from tests.support.cases import cases
from tests.support.command import Focus, record
from tests.support.web import TinyWeb

BALL = ("射门", "越位", "裁判")
CODE = ("函数", "接口", "编译")


def html(title: str, words: str, links: str = "") -> str:
    text = f"{words}，这里是很长的一段话，说了很多。" * 3
    return f"<!doctype html><meta charset=utf-8><title>{title}</title><p>{text}</p>{links}"


def web() -> dict[str, str]:
    """Two sites, each with pages on the ball and pages on code behind its front page."""
    pages = {}
    for host in ("a.test", "b.test"):
        home = f"http://{host}/"
        for n in range(10):
            ball = f"足球，{BALL[n % 3]}，{BALL[(n + 1) % 3]}"
            pages[f"{home}ball{n}"] = html(f"足球{BALL[n % 3]}", ball)
            pages[f"{home}code{n}"] = html(CODE[n % 3], "，".join(CODE))
        anchors = "".join(f"<p><a href={url}>{url[-5:]}</a>" for url in pages if host in url)
        pages[home] = html("首页", "首页", anchors)
    return pages


@pytest.fixture
def focus(focus: Focus, tmp_path: Path) -> Focus:
    """Runs a command in a folder with web.warc.gz."""
    record(tmp_path / "web.warc.gz", web())
    return focus


def read(path: str) -> Topic:
    return from_toml(Path(path).read_text(encoding="utf-8"), path)


def sample(title: str, words: str, host: str = "") -> SourcedPage:
    return SourcedPage(title, host, html_document(html(title, words)))


# -- building -----------------------------------------------------------------------


def test_make_profile_returns_centroid_without_keywords() -> None:
    """Worked in the docstring: centroid 足球 0.9, 英超 0.3, so 英超 weighs a third."""
    profile = make_profile([{"足球": 0.8, "英超": 0.6}, {"足球": 1.0}], [], {"足球"})
    assert profile.features == {"英超": 0.3333}
    assert profile.sources == {"英超": "on 1 of 2 examples"}


def test_make_profile_several_sites_omits_words_of_one_site() -> None:
    pages = [{"英超": 1.0, "版权": 3.0}, {"英超": 1.0, "版权": 3.0}, {"英超": 1.0, "西甲": 1.0}]
    assert make_profile(pages, [], {"足球"}, sites=["a", "a", "b"]).features.keys() == {"英超"}
    expected = {"英超", "版权"}
    assert make_profile(pages, [], {"足球"}, sites=["a", "a", "a"]).features.keys() == expected


def test_make_published_profile_matches_p4_and_p5() -> None:
    on, off = [{"足球": 1.0, "英超": 1.0}], [{"新闻": 2.0, "足球": 2.0}]
    p4 = make_published_profile("p4", on, off, set())
    assert p4.features == {"英超": 1.0}  # W = 1/2·ln 2; 足球 is on both: ln 1 = 0
    p5 = make_published_profile("p5", on, off, set())
    # t·ln(N/n + 0.1)·w: 英超 ½·ln 2.1·(2/3)/(2/4), 足球 ½·ln 1.1·(2/3)/(3/4), then by the larger
    ratio = (math.log(1.1) * (2 / 3) / (3 / 4)) / (math.log(2.1) * (2 / 3) / (2 / 4))
    assert p5.features == {"英超": 1.0, "足球": pytest.approx(ratio, abs=1e-4)}
    assert make_published_profile("p5", on, off, {"英超"}).features.keys() == {"足球"}
    assert p5.sources["足球"] == "on 1 of 1 example, 1 of 1 others"


def test_tf_idf_formulas_match_examples_of_p4_and_p5() -> None:
    idf = collection_idf({"足球": 1}, 10)
    assert tf_idf({"足球": 2, "新闻": 2}, idf)["足球"] == pytest.approx(2 / 4 * math.log(10))
    weights = improved_tf_idf({"a": 2, "b": 1}, {"a": 1, "b": 2}, 2, weight=lambda word: 1.0)
    assert weights == pytest.approx({"a": 0.998, "b": 0.064}, abs=5e-4)


def test_suggest_threshold_separates_examples() -> None:
    assert suggest_threshold([0.5, 0.3], [0.1]) == pytest.approx(0.2)
    assert suggest_threshold([0.5, 0.3], []) == pytest.approx(0.15)


def test_add_features_sets_features_and_threshold() -> None:
    site = " - Northport Herald</title><p>订阅本报的简报，每天早上阅读，订阅本报的简报。</p><title>"
    on = [sample(f"球{n}{site}", f"足球射门，越位，裁判吹哨{n}，比赛，Herald") for n in range(3)]
    off = [sample(f"码{n}{site}", f"函数和接口，程序报错{n}，比赛") for n in range(3)]
    words = from_words("足球")
    topic = add_features(Topic("足球", words.keywords, relevance="cosine"), on, off)
    assert {"射门", "越位", "裁判"} <= topic.features.keys()
    assert not {"足球", "函数", "接口", "比赛"} & topic.features.keys()
    alone = add_features(words, on, []).features.keys()
    assert "比赛" in alone and not {"northport", "herald", "订阅", "简报"} & alone
    assert topic.sources["射门"] == "on 3 of 3 examples, 0 of 3 others"
    bench = ModelSet(topic)
    assert all(bench.judge(item.page)[0].relevant for item in on)
    assert not any(bench.judge(item.page)[0].relevant for item in off)
    assert add_features(words, [], off) == words


@pytest.mark.parametrize(
    ("keyword", "chosen", "model"),
    [("裁判", None, None), ("other", None, "cosine"), ("other", "euclid", "euclid")],
)
def test_choose_model_by_examples(keyword: str, chosen: str | None, model: str | None) -> None:
    on = [sample(f"裁判{n}", "足球射门，越位，裁判吹哨，裁判出示黄牌") for n in range(5)]
    topic = Topic("t", from_words(keyword).keywords, relevance=chosen)
    topic = choose_model(topic, on)
    assert topic.relevance == model
    bench = ModelSet(add_features(topic, on, []))
    assert sum(bench.judge(item.page)[0].relevant for item in on) >= 3


def test_add_aliases_uses_knowledge_base(tmp_path: Path) -> None:
    dump = tmp_path / "kb.tsv"
    rows = [
        "曼联\t别名\t红魔、曼彻斯特联",
        "曼联\tCATEGORY_ZH\t足球俱乐部",
        "红魔（酒）\tCATEGORY_ZH\t饮料",
        "苹果（水果）\tDESC\t水果，植物",
        "苹果（公司）\tDESC\t公司，手机",
    ]
    dump.write_text("\n".join(rows) + "\n", encoding="utf-8")
    import_dump(dump, tmp_path / "kb.db")
    from focus.learn.kb.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        topic = add_aliases(from_words("曼联:0.9"), kb, [])
        same = add_aliases(from_words("苹果"), kb, [])
        fruit = add_aliases(from_words("苹果,水果"), kb, [])
    weights = {keyword.text: keyword.weight for keyword in topic.keywords}
    assert weights == {"曼联": 0.9, "曼彻斯特联": 0.72, "红魔": 0.36}
    assert topic.sources["红魔"] == "another name of 曼联"
    expected = "another name of 曼联"
    assert add_features(topic, [sample("球", "足球射门")], []).sources["红魔"] == expected
    assert [keyword.text for keyword in same.keywords] == ["苹果"]
    assert "苹果（公司）" not in {keyword.text for keyword in fruit.keywords}


# -- widening -----------------------------------------------------------------------


def test_propose_topic_keywords_needs_no_labels() -> None:
    pages = [
        sample(f"足球{BALL[n % 3]}", f"足球，{BALL[n % 3]}，{BALL[(n + 1) % 3]}", host)
        for n in range(12)
        for host in ("a.test", "b.test")
    ]
    pages += [sample("编译", "，".join(CODE), host) for host in ("a.test", "b.test")] * 12
    topic = from_words("足球")
    expansion = propose_topic_keywords(topic, pages, limit=5)
    assert (expansion.on, expansion.off) == (24, 24)
    assert {proposal.word for proposal in expansion.proposals} == set(BALL)
    wide = add_proposed_terms(topic, expansion)
    assert wide.keywords[0] == topic.keywords[0]
    assert all(proposal.weight <= 0.3 for proposal in wide.keywords[1:])
    assert wide.sources["射门"].startswith("expanded: on 16 of 24 relevant pages, 0 of 24")


def test_propose_topic_keywords_without_certain_page_proposes_nothing() -> None:
    expansion = propose_topic_keywords(from_words("足球"), [sample("编译", "函数")], limit=5)
    assert (expansion.proposals, expansion.on, expansion.off) == ([], 0, 1)


def test_count_effect_counts_pages_with_terms_and_newly_relevant_ones() -> None:
    topic = from_words("足球")
    wide = add_terms(topic, ["射门", "越位", "裁判", "函数"], "file")
    suggestions = list_suggestions(topic, wide)
    pages = [
        sample("足球射门", "足球，射门"),  # relevant already
        sample("射门越位", "射门，越位，裁判"),
        sample("越位", "越位，裁判"),  # two terms are too few
        sample("函数", "函数"),
    ]
    effect = count_effect(topic, wide, suggestions, pages)
    counts = {s.term: (s.pages, s.newly_relevant) for s in effect.suggestions}
    assert counts == {"射门": (2, 1), "越位": (2, 1), "裁判": (2, 1), "函数": (1, 0)}
    assert (effect.pages, effect.newly_relevant) == (4, 1)


@cases(
    "accepted, rejected, terms",
    ([], [], ["射门", "越位"]),
    (["越位"], [], ["越位"]),
    ([], ["越位"], ["射门"]),
    (["all"], ["射门"], ["越位"]),
    (["函数"], [], None),
)
def test_keep_accepted_terms(
    accepted: list[str], rejected: list[str], terms: list[str] | None
) -> None:
    topic = from_words("足球")
    wide = add_terms(topic, ["射门", "越位"], "file")
    with nullcontext() if terms else pytest.raises(ConfigError, match="函数"):
        accepted_topic = keep_accepted(wide, list_suggestions(topic, wide), accepted, rejected)
        assert list(accepted_topic.terms) == terms


# -- small crawls -------------------------------------------------------------------


def test_fetch_pages_follows_redirect_and_nothing_else() -> None:
    site = TinyWeb()
    site.page("http://a.test/new", title="足球", links=["/more"])
    site.page("http://a.test/more")
    site.redirect("http://a.test/old", "http://a.test/new")

    async def fetched() -> tuple[list[tuple[str, str]], dict[str, str]]:
        from focus.config import FetchConfig, PolitenessConfig

        async with site.serve() as address:
            config = FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",))
            here = PageSource(fetch=config, politeness=PolitenessConfig(delay_s=0.0))
            urls = ["http://a.test/old", "http://a.test/none"]
            documents = await fetch_pages(urls, here, from_words("足球"))
        return [(page.url, page.seed) for page in documents.pages], documents.failures

    pages, troubles = asyncio.run(fetched())
    assert pages == [("http://a.test/new", "http://a.test/old")]
    assert list(troubles) == ["http://a.test/none"]
    assert "http://a.test/more" not in site.urls()
    assert "http://a.test/robots.txt" in site.urls(robots=True)


# -- the commands -------------------------------------------------------------------

NEW = ("topic", "new", "football", "--keyword", "足球", "--keyword", "英超:0.8")
SEEDS = ("--seed", "http://a.test/", "--seed", "http://b.test/")


def test_topic_commands_work_together(focus: Focus) -> None:
    code, out, err = focus(*NEW, *SEEDS, "-o", "f.toml")
    assert (code, out) == (0, "")
    assert re.search(r"\d+ keywords, \d+ related terms", err)
    assert read("f.toml").keywords[:2] == from_words("足球,英超:0.8").keywords
    code, out, _ = focus("topic", "show", "f.toml")
    assert code == 0
    assert re.search(r"英超 +0\.8 +given\n", out)
    archive = ("--archive", "web.warc.gz")
    code, out, _ = focus("topic", "test", "f.toml", "http://a.test/ball1", *archive)
    assert code == 0
    assert "evidence: relevant" in out and "× 2.5 = +2.50  足球" in out
    pages = ("crawl", "-q", "--topic", "f.toml", *archive, "--db", "c.db", "--max-pages", "22")
    assert focus(*pages)[0] == 0
    suggest = ("topic", "suggest", "f.toml", "--db", "c.db")
    code, out, _ = focus(*suggest, "-o", "w.toml")
    assert code == 0
    wide = read("w.toml")
    assert set(BALL) & {term for term in wide.terms if wide.sources[term] != "library"}
    assert wide.seeds == ("http://a.test/", "http://b.test/")
    crawl = ("crawl", "-q", "--topic", "w.toml", *archive, "--db", "c.db", "--max-pages", "20")
    assert focus(*crawl)[0] == 0
    code, out, _ = focus("topic", "test", "w.toml", "http://a.test/", "--db", "c.db", "--json")
    assert code == 0
    assert json.loads(out)[0]["models"]["evidence"]["threshold"] == 0.5
    code, out, _ = focus(*suggest, "--json")
    assert code == 0
    assert json.loads(out)["expansion"]["proposals"]
    Path("words.txt").write_text("射门\n越位\n", "utf-8")
    words = ("--terms", "words.txt", "--accept", "射门", "-o", "s.toml")
    code, out, _ = focus("topic", "suggest", "xyzzyq", *words, "--db", "c.db")
    assert code == 0
    assert re.search(r"射门 +term +0\.3 +\d+ +0 +file words\.txt\n", out)
    assert "with all of them 0 of " in out
    assert list(read("s.toml").terms) == ["射门"]
    assert "no source proposes" in focus("topic", "expand", "xyzzyq").out  # its old name


def test_topic_test_judges_with_the_terms_of_the_library(focus: Focus) -> None:
    text = "越位、点球和角球都有争议，任意球也是。"
    Path("terms.html").write_text(html("越位、点球和角球", text), encoding="utf-8")
    code, out, _ = focus("topic", "test", "足球", "terms.html")
    assert code == 0
    assert "evidence: relevant" in out and "越位" in out


def test_topic_new_one_example_is_enough(focus: Focus, tmp_path: Path) -> None:
    folder = tmp_path / "on"
    folder.mkdir()
    (folder / "1.html").write_text(html("足球", "足球射门，越位，裁判吹哨"), encoding="utf-8")
    (folder / "notes.pdf").write_bytes(b"%PDF")
    links = "".join(f"<li><a href=/2026/{n}.html>足球新闻{n}</a>" for n in range(30))
    Path("list.html").write_text(f"<meta charset=utf-8><title>足球</title>{links}", "utf-8")
    options = ("--example", "on", "--example", "list.html", "--example", "http://a.test/")
    _, _, err = focus(*NEW, *options, "--archive", "web.warc.gz", "-o", "g.toml")
    assert "that list other pages (2 of 3): list.html, http://a.test/." in err
    code, _, err = focus(*NEW, "--example", "on", "--relevance", "cosine", "-o", "f.toml")
    assert code == 0
    assert "of 1 example" in err
    code, _, err = focus("topic", "new", "t", "--keyword", "帆船", "--example", "on")
    assert (code, "--keyword 帆船: is on none of the example pages" in err) == (2, True)
    topic = read("f.toml")
    assert "越位" in topic.features
    assert topic.threshold is not None
    code, out, _ = focus("topic", "test", "f.toml", "on/1.html", "--relevance", "all")
    assert code == 0
    assert "cosine: relevant" in out and "position: relevant" in out and "bayes: " in out
    assert "no trained classifier" in out


def test_topic_new_examples_from_archive(focus: Focus) -> None:
    pages = [f"http://a.test/ball{n}" for n in range(3)]
    options = [part for page in pages for part in ("--example", page)]
    off = ("--not-example", "http://b.test/code1", "--not-example", "http://b.test/gone")
    code, _, err = focus(*NEW, *options, *off, "--archive", "web.warc.gz", "-o", "f.toml")
    assert code == 0
    assert "of 3 examples and 1 others" in err and "http://b.test/gone: " in err
    assert "list other pages" not in err
    assert "越位" in read("f.toml").features


def test_topic_new_existing_file_is_not_overwritten(focus: Focus) -> None:
    assert focus(*NEW, "-o", "f.toml")[0] == 0
    Path("f.toml").write_text("mine")
    code, _, err = focus(*NEW, "-o", "f.toml")
    assert (code, Path("f.toml").read_text()) == (2, "mine")
    assert "f.toml: already exists" in err
    assert focus(*NEW, "-o", "f.toml", "--force")[0] == 0


@cases(
    "arguments, complaint",
    (["new", "f", "--keyword", "a:2"], "weight 2.0 not in (0, 1]"),
    (["new", "f", "--seed", "a b"], "contains white space"),
    (["new", "f", "--example", "none.html"], "none.html: there is no such file or folder"),
    (["new", "f", "--example", "."], "there is no page in it"),
    (["new", "f", "--example", "junk.bin"], "junk.bin: is neither text nor HTML"),
    (["new", "f", "-o", "no/f.toml"], "there is no folder"),
    (["new", "f", "--relevance", "evidenc"], "did you mean 'evidence'?"),
    (["show", "bad.toml"], "bad.toml:2: unknown key 'keyword'"),
    (["test", "足球", "none.html"], "there is no such file or folder"),
    (["test", "足球", "http://a.test/gone", "--archive", "web.warc.gz"], "no pages to judge"),
    (["test", "足球", "http://a.test/", "--db", "none.db"], "no database at none.db"),
    (["suggest", "足球", "--archive", "web.warc.gz", "--db", "x.db"], "exclude each other"),
    (["suggest", "足球", "--db", "none.db"], "no database at none.db"),
)
def test_topic_commands_misuse_is_one_line(
    focus: Focus, arguments: list[str], complaint: str
) -> None:
    Path("bad.toml").write_text('name = "f"\nkeyword = ["a"]\n')
    Path("junk.bin").write_bytes(random.Random(1).randbytes(5000))
    code, out, err = focus("topic", *arguments)
    assert code in (1, 2)
    assert out == ""
    assert complaint in err
    assert not Path("f.toml").exists()
    assert err.count("focus: error") == 1


def test_topic_commands_use_network_options_of_focus_toml(focus: Focus) -> None:
    Path("focus.toml").write_text('[crawl]\nproxy = "http://p:1"\n')
    code, _, err = focus("topic", "test", "足球", "http://a.test/", "--connect-to", "127.0.0.1:9")
    assert code == 2
    assert "--proxy and --connect-to exclude each other" in err


# -- the main content of what was found ---------------------------------------------


def test_export_main_content_in_every_format(focus: Focus) -> None:
    archive = ("--archive", "web.warc.gz", "--db", "c.db", "--seed", "http://a.test/")
    more = ("--concurrency", "1", "--max-pages", "9")
    assert focus("crawl", "-q", "--topic", "足球", *archive, *more)[0] == 0
    fields = ("--fields", "url", "--text", "--sort", "relevance")
    code, out, _ = focus("export", "--db", "c.db", *fields)
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, len(rows)) == (0, 9)
    assert all(list(row) == ["url", "text"] for row in rows)
    assert rows[0]["text"].startswith("足球，")
    assert "<p>" not in rows[0]["text"]
    assert "text" not in json.loads(focus("export", "--db", "c.db")[1].splitlines()[0])
    assert list(json.loads(focus("export", "--db", "c.db", "--text")[1].splitlines()[0]))[-1] == (
        "text"
    )
    by_other = focus("export", "--db", "c.db", *fields, "--text-by", "trafilatura")[1]
    others = [json.loads(line) for line in by_other.splitlines()]
    assert [row["url"] for row in others] == [row["url"] for row in rows] and others[0]["text"]
    assert focus("export", "--db", "c.db", *fields, "--since-published", "1d")[1] == ""
    assert focus("export", "--db", "c.db", *fields, "--format", "csv", "-o", "x.csv")[0] == 0
    with Path("x.csv").open(encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [row["text"] for row in rows]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert focus("export", "--db", "c.db", *fields, "--format", "parquet", "-o", "x.pq")[0] == 0
    assert parquet.read_table("x.pq").column("text").to_pylist() == [row["text"] for row in rows]


def test_export_missing_text_is_null(focus: Focus) -> None:
    archive = ("--archive", "web.warc.gz", "--db", "c.db", "--seed", "http://a.test/")
    assert focus("crawl", "-q", "--topic", "足球", *archive, "--keep", "none")[0] == 0
    code, out, _ = focus("export", "--db", "c.db", "--text", "--limit", "1")
    assert code == 0
    assert json.loads(out)["text"] is None


def test_export_long_texts_are_written_in_parts(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK_CHARS", 10)
    rows = [(n, "x" * 6) for n in range(5)]
    parts = list(export._iter_chunks(rows, 512))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert [row for part in parts for row in part] == rows
