"""Topics made of words and pages, tried on pages, widened: the commands of `focus topic`."""

import asyncio
import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from focus.config import AnalysisConfig
from focus.errors import ConfigError
from focus.learn.corpus import of_html
from focus.learn.kb.importing import import_dump
from focus.learn.memory_crawl import PageSource, fetch_pages, pilot
from focus.learn.topics import Bench, SourcedPage, Widening, build, widen, widened, with_aliases
from focus.report import export
from focus.score.statistics.profile import make_profile, make_published_profile, suggest_threshold
from focus.score.statistics.vector import collection_idf, improved_tf_idf, tf_idf
from focus.topic.topic import Topic, from_toml, from_words
from focus.workers import WorkerPool
from tests.support.command import Focus, record, runner, settle
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
def focus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Focus:
    """Runs a command in a folder with web.warc.gz."""
    settle(tmp_path, monkeypatch)
    record(tmp_path / "web.warc.gz", web())
    return runner(capfd)


def read(path: str) -> Topic:
    return from_toml(Path(path).read_text(encoding="utf-8"), path)


def sample(title: str, words: str, host: str = "") -> SourcedPage:
    return SourcedPage(title, host, of_html(html(title, words)))


# -- building -----------------------------------------------------------------------


def test_a_profile_is_the_centroid_beside_the_keywords() -> None:
    """Worked in the docstring: centroid 足球 0.9, 英超 0.3, so 英超 weighs a third."""
    found = make_profile([{"足球": 0.8, "英超": 0.6}, {"足球": 1.0}], [], {"足球"})
    assert found.features == {"英超": 0.3333}
    assert found.sources == {"英超": "on 1 of 2 examples"}


def test_a_word_of_a_single_site_is_no_feature_where_several_sites_speak() -> None:
    pages = [{"英超": 1.0, "版权": 3.0}, {"英超": 1.0, "版权": 3.0}, {"英超": 1.0, "西甲": 1.0}]
    assert make_profile(pages, [], {"足球"}, sites=["a", "a", "b"]).features.keys() == {"英超"}
    assert make_profile(pages, [], {"足球"}, sites=["a", "a", "a"]).features.keys() == {
        "英超",
        "版权",
    }


def test_features_as_p4_and_p5_weigh_them() -> None:
    on, off = [{"足球": 1.0, "英超": 1.0}], [{"新闻": 2.0, "足球": 2.0}]
    p4 = make_published_profile("p4", on, off, set())
    assert p4.features == {"英超": 1.0}  # W = 1/2·ln 2; 足球 is on both: ln 1 = 0
    p5 = make_published_profile("p5", on, off, set())
    # t·ln(N/n + 0.1)·w: 英超 ½·ln 2.1·(2/3)/(2/4), 足球 ½·ln 1.1·(2/3)/(3/4), then by the larger
    ratio = (math.log(1.1) * (2 / 3) / (3 / 4)) / (math.log(2.1) * (2 / 3) / (2 / 4))
    assert p5.features == {"英超": 1.0, "足球": pytest.approx(ratio, abs=1e-4)}
    assert make_published_profile("p5", on, off, {"英超"}).features.keys() == {"足球"}
    assert p5.sources["足球"] == "on 1 of 1 example, 1 of 1 others"


def test_w_of_p4_and_w_of_p5_worked_numbers() -> None:
    idf = collection_idf({"足球": 1}, 10)
    assert tf_idf({"足球": 2, "新闻": 2}, idf)["足球"] == pytest.approx(2 / 4 * math.log(10))
    found = improved_tf_idf({"a": 2, "b": 1}, {"a": 1, "b": 2}, 2, weight=lambda word: 1.0)
    assert found == pytest.approx({"a": 0.998, "b": 0.064}, abs=5e-4)


def test_a_threshold_parts_examples_from_others() -> None:
    assert suggest_threshold([0.5, 0.3], [0.1]) == pytest.approx(0.2)
    assert suggest_threshold([0.5, 0.3], []) == pytest.approx(0.15)


def test_examples_give_features_and_a_threshold_that_tells_them_apart() -> None:
    on = [sample(f"球{n}", "足球射门，越位，裁判吹哨") for n in range(3)]
    off = [sample(f"码{n}", "函数和接口，程序报错") for n in range(3)]
    words = from_words("足球")
    topic = build(Topic("足球", words.keywords, relevance="cosine"), on, off)
    assert {"射门", "越位", "裁判"} <= topic.features.keys()
    assert not {"足球", "函数", "接口"} & topic.features.keys()
    assert topic.sources["射门"] == "on 3 of 3 examples, 0 of 3 others"
    bench = Bench(topic)
    assert all(bench.judge(each.page)[0].relevant for each in on)
    assert not any(bench.judge(each.page)[0].relevant for each in off)
    assert build(words, [], off) == words


def test_other_names_come_from_a_knowledge_base(tmp_path: Path) -> None:
    dump = tmp_path / "kb.tsv"
    rows = [
        "曼联\t别名\t红魔、曼彻斯特联",
        "曼联\tCATEGORY_ZH\t足球俱乐部",
        "红魔（酒）\tCATEGORY_ZH\t饮料",
        "苹果（水果）\tDESC\t水果，植物",
        "苹果（公司）\tDESC\t公司，手机",
    ]
    dump.write_text("\n".join(rows) + "\n", encoding="utf-8")
    import_dump(dump, tmp_path / "kb.db", lambda done, lines: None)
    from focus.learn.kb.base import KnowledgeBase

    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        topic = with_aliases(from_words("曼联:0.9"), kb, [])
        same = with_aliases(from_words("苹果"), kb, [])
        fruit = with_aliases(from_words("苹果,水果"), kb, [])
    weights = {each.text: each.weight for each in topic.keywords}
    assert weights == {"曼联": 0.9, "曼彻斯特联": 0.72, "红魔": 0.36}
    assert topic.sources["红魔"] == "another name of 曼联"
    assert build(topic, [sample("球", "足球射门")], []).sources["红魔"] == "another name of 曼联"
    assert [each.text for each in same.keywords] == ["苹果"]
    assert "苹果（公司）" not in {each.text for each in fruit.keywords}


# -- widening -----------------------------------------------------------------------


def test_words_of_sure_pages_are_proposed_without_labels() -> None:
    pages = [
        sample(f"足球{BALL[n % 3]}", f"足球，{BALL[n % 3]}，{BALL[(n + 1) % 3]}", host)
        for n in range(12)
        for host in ("a.test", "b.test")
    ]
    pages += [sample("编译", "，".join(CODE), host) for host in ("a.test", "b.test")] * 12
    topic = from_words("足球")
    found = widen(topic, pages, Widening(5, 0.3))
    assert (found.on, found.off) == (24, 24)
    assert {each.word for each in found.proposals} == set(BALL)
    wide = widened(topic, found)
    assert wide.keywords[0] == topic.keywords[0]
    assert all(each.weight <= 0.3 for each in wide.keywords[1:])
    assert wide.sources["射门"].startswith("expanded: on 16 of 24 relevant pages, 0 of 24")


def test_without_a_sure_page_nothing_is_proposed() -> None:
    with pytest.raises(ConfigError, match="none of these pages is surely on topic"):
        widen(from_words("足球"), [sample("编译", "函数")], Widening(5, 0.3))


# -- small crawls -------------------------------------------------------------------


def test_a_page_that_moved_is_fetched_under_its_new_address_and_no_other() -> None:
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
            found = await fetch_pages(urls, here, from_words("足球"))
        return [(page.url, page.seed) for page in found.pages], found.failures

    pages, troubles = asyncio.run(fetched())
    assert pages == [("http://a.test/new", "http://a.test/old")]
    assert list(troubles) == ["http://a.test/none"]
    assert "http://a.test/more" not in site.urls()
    assert "http://a.test/robots.txt" in site.urls(robots=True)


def test_a_pilot_crawl_of_an_archive_is_the_same_each_time(focus: Focus, tmp_path: Path) -> None:
    def crawled() -> list[str]:
        seeds = ["http://a.test/", "http://b.test/"]
        recorded = PageSource(archive=tmp_path / "web.warc.gz")
        found = asyncio.run(
            pilot(from_words("足球"), seeds, recorded, requests=24, watch=lambda event: None)
        )
        return [page.url for page in found.pages]

    once = crawled()
    assert once == crawled()
    assert len(once) == 22  # and two requests for robots.txt
    assert {"http://a.test/", "http://b.test/"} <= set(once)


def test_workers_fill_what_the_strategy_wants_whoever_orders_the_crawl(
    focus: Focus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[AnalysisConfig] = []

    class Pool(WorkerPool):
        def __init__(self, config: AnalysisConfig, **rest: Any) -> None:
            told.append(config)
            super().__init__(config, **rest)

    monkeypatch.setattr("focus.session.runtime.WorkerPool", Pool)
    recorded = PageSource(archive=tmp_path / "web.warc.gz")
    asyncio.run(pilot(from_words("足球"), ["http://a.test/"], recorded, requests=1, watch=str))
    assert told[0].titles
    assert told[0].url_patterns


# -- the commands -------------------------------------------------------------------

NEW = ("topic", "new", "football", "--keyword", "足球", "--keyword", "英超:0.8")
SEEDS = ("--seed", "http://a.test/", "--seed", "http://b.test/")


def test_a_topic_is_made_shown_tried_widened_and_crawled_for(focus: Focus) -> None:
    code, out, err = focus(*NEW, *SEEDS, "-o", "f.toml")
    assert (code, out) == (0, "")
    assert "2 keywords" in err
    assert read("f.toml").keywords == from_words("足球,英超:0.8").keywords
    code, out, _ = focus("topic", "show", "f.toml")
    assert code == 0
    assert "英超  0.8  given" in out
    archive = ("--archive", "web.warc.gz")
    code, out, _ = focus("topic", "test", "f.toml", "http://a.test/ball1", *archive)
    assert code == 0
    assert "evidence: relevant" in out
    assert "× 2.5 = +2.50  足球" in out
    code, out, err = focus(
        "topic", "expand", "f.toml", *archive, "--explain", "-o", "w.toml", "--pilot", "60"
    )
    assert code == 0
    assert "lift" in out
    assert "Pilot crawl: " in err
    wide = read("w.toml")
    assert set(BALL) & {each.text for each in wide.keywords}
    assert wide.seeds == ("http://a.test/", "http://b.test/")
    crawl = ("crawl", "-q", "--topic", "w.toml", *archive, "--db", "c.db", "--max-pages", "20")
    assert focus(*crawl)[0] == 0
    code, out, _ = focus("topic", "test", "w.toml", "http://a.test/", "--db", "c.db", "--json")
    assert code == 0
    assert json.loads(out)[0]["models"]["evidence"]["threshold"] == 0.5
    code, out, _ = focus("topic", "expand", "f.toml", "--db", "c.db", "--json")
    assert code == 0
    assert json.loads(out)["proposals"]


def test_one_example_page_is_enough_to_begin(focus: Focus, tmp_path: Path) -> None:
    folder = tmp_path / "on"
    folder.mkdir()
    (folder / "1.html").write_text(html("足球", "足球射门，越位，裁判吹哨"), encoding="utf-8")
    (folder / "notes.pdf").write_bytes(b"%PDF")
    code, _, err = focus(*NEW, "--example", "on", "--relevance", "cosine", "-o", "f.toml")
    assert code == 0
    assert "of 1 example" in err
    topic = read("f.toml")
    assert "越位" in topic.features
    assert topic.threshold is not None
    code, out, _ = focus("topic", "test", "f.toml", "on/1.html", "--relevance", "all")
    assert code == 0
    assert "cosine: relevant" in out
    assert "position: relevant" in out
    assert "bayes: " in out
    assert "no trained classifier" in out


def test_examples_may_come_from_an_archive(focus: Focus) -> None:
    pages = [f"http://a.test/ball{n}" for n in range(3)]
    given = [part for page in pages for part in ("--example", page)]
    off = ("--not-example", "http://b.test/code1", "--not-example", "http://b.test/gone")
    code, _, err = focus(*NEW, *given, *off, "--archive", "web.warc.gz", "-o", "f.toml")
    assert code == 0
    assert "of 3 examples and 1 others" in err
    assert "http://b.test/gone: " in err
    assert "越位" in read("f.toml").features


def test_a_file_that_is_there_is_not_overwritten_by_mistake(focus: Focus) -> None:
    assert focus(*NEW, "-o", "f.toml")[0] == 0
    Path("f.toml").write_text("mine")
    code, _, err = focus(*NEW, "-o", "f.toml")
    assert (code, Path("f.toml").read_text()) == (2, "mine")
    assert "f.toml: is there already" in err
    assert focus(*NEW, "-o", "f.toml", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["new", "f", "--keyword", "a:2"], "weight 2.0 not in (0, 1]"),
        (["new", "f", "--seed", "a b"], "has white space"),
        (["new", "f", "--example", "none.html"], "none.html: there is no such file or folder"),
        (["new", "f", "-o", "no/f.toml"], "there is no folder"),
        (["new", "f", "--relevance", "evidenc"], "did you mean 'evidence'?"),
        (["show", "bad.toml"], "bad.toml:2: unknown key 'keyword'"),
        (["test", "足球", "none.html"], "there is no such file or folder"),
        (["test", "足球", "http://a.test/gone", "--archive", "web.warc.gz"], "no page to judge"),
        (["test", "足球", "http://a.test/", "--db", "none.db"], "no database at none.db"),
        (["expand", "足球", "--archive", "web.warc.gz"], "no seed for the pilot crawl"),
        (["expand", "足球", "--archive", "web.warc.gz", "--db", "x.db"], "exclude each other"),
        (["expand", "足球", "--db", "none.db"], "no database at none.db"),
    ],
)
def test_misuse_gets_one_line(focus: Focus, arguments: list[str], complaint: str) -> None:
    Path("bad.toml").write_text('name = "f"\nkeyword = ["a"]\n')
    code, out, err = focus("topic", *arguments)
    assert code in (1, 2)
    assert out == ""
    assert complaint in err
    assert not Path("f.toml").exists()
    assert err.count("focus: error") == 1


def test_the_network_options_of_focus_toml_hold_here_too(focus: Focus) -> None:
    Path("focus.toml").write_text('[crawl]\nproxy = "http://p:1"\n')
    code, _, err = focus("topic", "test", "足球", "http://a.test/", "--connect-to", "127.0.0.1:9")
    assert code == 2
    assert "--proxy and --connect-to exclude each other" in err


# -- the main content of what was found ---------------------------------------------


def test_main_content_is_exported_in_every_format(focus: Focus) -> None:
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
    assert focus("export", "--db", "c.db", *fields, "--format", "csv", "-o", "x.csv")[0] == 0
    with Path("x.csv").open(encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [row["text"] for row in rows]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert focus("export", "--db", "c.db", *fields, "--format", "parquet", "-o", "x.pq")[0] == 0
    assert parquet.read_table("x.pq").column("text").to_pylist() == [row["text"] for row in rows]


def test_text_that_was_not_kept_is_null(focus: Focus) -> None:
    archive = ("--archive", "web.warc.gz", "--db", "c.db", "--seed", "http://a.test/")
    assert focus("crawl", "-q", "--topic", "足球", *archive, "--keep", "none")[0] == 0
    code, out, _ = focus("export", "--db", "c.db", "--text", "--limit", "1")
    assert code == 0
    assert json.loads(out)["text"] is None


def test_long_texts_are_written_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK_CHARS", 10)
    rows = [(n, "x" * 6) for n in range(5)]
    parts = list(export._chunks(rows, 512))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert [row for part in parts for row in part] == rows
