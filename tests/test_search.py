"""search: which stored pages say what somebody looks for, and how the index keeps up."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import CaptureFixture, MonkeyPatch

from focus.admission.near_duplicates import simhash
from focus.commands.search import marked_text, result_lines
from focus.errors import ConfigError, FocusError, StoreError
from focus.http import zstd
from focus.records import Batch, HostRow, Outcome, Page, PageRow, QueueRow, UrlState
from focus.storage import search_file, search_index
from focus.storage.passages import best_passage, mark_matches
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection
from focus.storage.search import SearchResults, search
from focus.storage.search_file import index_path
from focus.storage.search_index import SearchIndex
from focus.storage.search_terms import (
    fold_spelling,
    index_words,
    needle_pattern,
    parse_query,
    two_character_words,
)
from focus.store import Store
from focus.text.tokenisation import Segmenter
from tests.support import stored
from tests.support.cases import cases
from tests.support.command import Ended, runner
from tests.support.stored import store_crawl

HOSTS = ("a.test", "b.a.test", "c.test")
CUT = Segmenter()


def page_row(number: int, title: str, text: str, **more: Any) -> PageRow:
    """Page `number`, on the host that its number is of, fetched so many days after 1970."""
    source = f"<title>{title}</title><p>{text}</p>"
    own = {key: more.pop(key) for key in tuple(more) if key in Page.__struct_fields__}
    page = {"relevance": 0.0, "body_zstd": zstd.compress(source.encode())} | own
    fields: dict[str, Any] = {
        "url": f"http://{HOSTS[number % 3]}/{number}",
        "fetched_at": 86400.0 * number,
        "pagerank": 0.0,
        "page": Page(title=title, **page),
    }
    return stored.page_row(number, **(fields | more))


def batch(rows: Iterable[PageRow], **more: Any) -> Batch:
    """These pages, with URLs, hosts and queues of theirs."""
    rows = list(rows)
    urls = [stored.url_row(row.id, url=row.url, queue_id=row.id % 3) for row in rows]
    fields: dict[str, Any] = {
        "hosts": [HostRow(n, host) for n, host in enumerate(HOSTS)],
        "queues": [QueueRow(n, n, "") for n in range(3)],
        "urls": urls,
        "pages": rows,
        "outcomes": [Outcome(r.id, UrlState.DONE) for r in rows],
        "now": 50.0,
    }
    return Batch(**(fields | more))


def pages(*texts: tuple[str, str]) -> Batch:
    """Pages of these titles and texts."""
    return batch(page_row(n, title, text) for n, (title, text) in enumerate(texts))


def find(path: Path, query: str, **more: Any) -> SearchResults:
    """Search an index that is up to date."""
    paging = {key: more.pop(key) for key in ("limit", "offset") if key in more}
    with SearchIndex(path) as index:
        index.update()
        return search(index, query, Selection(**({"crawl": "all"} | more)), **paging)


def numbers(results: SearchResults) -> list[int]:
    """The pages found, by the numbers in their URLs."""
    return [int(hit.url.rpartition("/")[2]) for hit in results.hits]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


# -- spelling -----------------------------------------------------------------------


def test_index_words_han_as_pairs_and_others_as_words() -> None:
    words = index_words(fold_spelling("欧冠决赛 in ＣＡＦÉ!"))
    assert words == "欧冠 冠决 决赛 赛 in cafe".split()


def test_fold_spelling_traditional_equals_simplified() -> None:
    assert fold_spelling("歐洲冠軍聯賽") == "欧洲冠军联赛"


def test_two_character_words_are_words_of_segmenter() -> None:
    words = two_character_words("产品和服务", CUT)
    assert "产品" in words and "和服" not in words


@cases(
    "typed, expression",
    ("欧冠", '"欧冠"'),
    ("足", '"足" *'),
    ("欧冠的决赛", '"欧冠" AND "决赛"'),
    ("node.js", '"node js"'),
    ('"欧冠，决赛" Java', '"欧冠 冠 决赛" AND "java"'),
    ("“champions league”", '"champions league"'),
    ("欧冠 -彩票 －广告", '("欧冠") NOT ("彩票" OR "广告")'),
    ('+欧冠 -"a b"', '("欧冠") NOT ("a b")'),
    ("欧冠 欧冠 ，", '"欧冠"'),
)
def test_parse_query_words_phrases_and_exclusions(typed: str, expression: str) -> None:
    assert parse_query(typed, CUT).expression == expression


@cases(
    "typed, said",
    ("", "nothing to search for"),
    (" ，。 ", "nothing to search for"),
    ('""', "nothing to search for"),
    ("-彩票", "has only excluded words"),
    ("a " * 65, "more than 64 words"),
)
def test_parse_query_without_words_raises_one_line(typed: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        parse_query(typed, CUT)
    assert "\n" not in str(error.value)


@given(st.text(max_size=30))
def test_parse_query_any_text_returns_query_or_raises(typed: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(a, b, c, content = '', tokenize = 'ascii')")
        try:
            query = parse_query(typed, CUT)
        except ConfigError:
            return
        db.execute("SELECT rowid FROM t WHERE t MATCH ?", (query.expression,)).fetchall()
        needle_pattern(query.needles)


_WEB = st.text(alphabet="足球决赛欧冠，a 1", max_size=40)


@given(_WEB, st.text(alphabet="足球决赛欧冠", min_size=1, max_size=5))
def test_search_phrase_matches_only_texts_containing_it(text: str, phrase: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(a, content = '', tokenize = 'ascii')")
        words = " ".join(index_words(fold_spelling(text)))
        db.execute("INSERT INTO t (rowid, a) VALUES (1, ?)", (words,))
        expression = parse_query(f'"{phrase}"', CUT).expression
        rows = db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()
    assert bool(rows) == (phrase in text)


# -- what is shown ------------------------------------------------------------------


def test_mark_matches_positions_are_in_original_text() -> None:
    passage = mark_matches("ﬁfa：ＵＥＦＡ 歐冠  決賽", needle_pattern(("uefa", "欧冠", "决赛")))
    assert passage.text == "ﬁfa：ＵＥＦＡ 歐冠 決賽"
    assert [passage.text[a:b] for a, b in passage.marks] == ["ＵＥＦＡ", "歐冠", "決賽"]


def test_mark_matches_whole_latin_words_and_phrases() -> None:
    pattern = needle_pattern(parse_query('java "premier league"', CUT).needles)
    passage = mark_matches("JavaScript, Java: Premier-League", pattern)
    assert [passage.text[a:b] for a, b in passage.marks] == ["Java", "Premier-League"]


def test_best_passage_has_most_words_of_query() -> None:
    text = "欧冠。" + "无" * 300 + "。今晚欧冠决赛开球。" + "无" * 300
    passage = best_passage(text, needle_pattern(("欧冠", "决赛")), length=40)
    assert passage.text.startswith("…今晚欧冠决赛开球。")
    assert passage.text.endswith("…")
    assert [passage.text[a:b] for a, b in passage.marks] == ["欧冠", "决赛"]


def test_best_passage_without_match_is_beginning() -> None:
    assert best_passage("一二三", needle_pattern(("欧冠",))).text == "一二三"
    assert best_passage("", needle_pattern(("欧冠",))).text == ""


@given(st.text(max_size=60), st.integers(5, 30))
def test_best_passage_marks_are_inside(text: str, length: int) -> None:
    passage = best_passage(text, needle_pattern(("a", "足")), length=length)
    for begin, end in passage.marks:
        assert 0 <= begin < end <= len(passage.text)
        assert fold_spelling(passage.text[begin:end]).strip() != ""


def test_search_output_marks_lines_without_control_characters(path: Path) -> None:
    store_crawl(path, pages(("欧\x1b[31m冠", "欧冠 \u202e 决赛")))
    results = find(path, "决赛")
    lines = result_lines(results, mark=lambda text: f"<{text}>")
    assert lines[3].strip() == "欧冠   <决赛>"
    assert all(line.isprintable() for line in lines)
    assert lines[-1] == "1 page of 1"
    assert marked_text(results.hits[0].title, str) == "欧 [31m冠"


# -- finding ------------------------------------------------------------------------


def test_search_all_words_first_and_no_excluded(path: Path) -> None:
    texts = "皇马进入决赛", "小组赛抽签", "歐冠的決賽在倫敦", "竞彩彩票推荐"
    store_crawl(path, pages(*zip(("欧冠", "欧冠", "新闻", "欧冠决赛"), texts, strict=True)))
    for query in ("欧冠 决赛", "欧冠决赛"):
        results = find(path, query)
        assert sorted(numbers(results)[:3]) == [0, 2, 3] and numbers(results)[3] == 1
        assert [hit.missing for hit in results.hits] == [(), (), (), ("决赛",)]
        assert (results.pages, results.with_all_words) == (4, 3)
    assert result_lines(results, str)[-1] == "4 pages of 4, 3 with all words"
    for query, expected in {
        '"欧冠决赛"': [3],
        "欧冠 决赛 -彩票": [0, 1, 2],
        '"小组赛" 决赛': [1],
        "篮球 抽籤": [1],
        "皇": [0],
        "篮球": [],
    }.items():
        assert sorted(numbers(find(path, query))) == expected, query


def test_search_published_date_selects_and_sorts(path: Path) -> None:
    days = ("2023-11-20", "2023-11-22", "2023-11-21T08:00:00+08:00", "")
    texts = [f"欧冠决赛 {n}{f'<time>{day}</time>' if day else ''}" for n, day in enumerate(days)]
    rows = [page_row(n, "欧冠", text, fetched_at=1.8e9) for n, text in enumerate(texts)]
    store_crawl(path, batch(rows))
    since = datetime(2023, 11, 21, tzinfo=UTC).timestamp()
    assert numbers(find(path, "欧冠", sort="published")) == [1, 2, 0, 3]
    assert numbers(find(path, "欧冠", since_published=since, sort="published")) == [1, 2]
    assert numbers(find(path, "欧冠", until_published=since)) == [0]
    with DatabaseReader(path) as reader:
        chosen = Selection(crawl="all", since_published=since, sort="published")
        urls = [url for (url,) in reader.iter_rows(chosen, ["url"])]
    assert [url[-1] for url in urls] == ["1", "2"]
    with pytest.raises(ConfigError, match="unknown order"):
        find(path, "欧冠", sort="hub")


def test_search_order_by_title_then_words_then_quality(path: Path) -> None:
    filling = "别的句子说别的事情，与此毫无关系。"
    rows = [
        page_row(0, "新闻", f"我们的产品和服务很好。{filling}"),
        page_row(1, "新闻", f"她穿着和服走来走去。{filling}"),
        page_row(2, "和服", f"她穿着它走来走去。{filling}"),
        page_row(3, "新闻", f"她穿着和服走来走去。{filling}", relevance=0.9),
    ]
    store_crawl(path, batch(rows))
    assert numbers(find(path, "和服")) == [2, 3, 1, 0]


def test_search_score_is_bm25_times_quality_factor(path: Path) -> None:
    store_crawl(path, batch([page_row(0, "a", "足球"), page_row(1, "a", "足球", relevance=1.0)]))
    half, none = find(path, "足球").hits
    assert (half.relevance, none.relevance) == (1.0, 0.0)
    assert half.score == pytest.approx(1.25 * none.score)  # quality ½·relevance, no PageRank


def test_search_selection_filters_results(path: Path) -> None:
    rows = [page_row(n, "足球", f"第{n}页", is_relevant=n > 3) for n in range(6)]
    store_crawl(path, batch(rows))
    store_crawl(path, batch([page_row(9, "足球", "网球")]), topic="网球")
    assert sorted(numbers(find(path, "足球", host="a.test"))) == [0, 1, 3, 4, 9]
    assert sorted(numbers(find(path, "足球", relevant=True))) == [4, 5]
    assert sorted(numbers(find(path, "足球", since=86400.0 * 4))) == [4, 5, 9]
    assert numbers(find(path, "足球", topic="网球")) == [9]
    assert numbers(find(path, "足球", crawl="latest")) == [9]
    with pytest.raises(ConfigError, match="no crawl 7"):
        find(path, "足球", crawl="7")


def test_search_omits_noindex_and_dropped_pages(path: Path) -> None:
    rows = [page_row(n, "足球", "页", noindex=n == 1) for n in range(3)]
    ends = [Outcome(n, UrlState.DROPPED if n == 2 else UrlState.DONE) for n in range(3)]
    store_crawl(path, batch(rows, outcomes=ends))
    assert numbers(find(path, "足球")) == [0]


def test_search_page_without_source_by_title_and_description(path: Path) -> None:
    store_crawl(path, batch([page_row(0, "欧冠", "x", body_zstd=b"", description="决赛在今晚")]))
    hit = find(path, "欧冠 决赛").hits[0]
    assert hit.snippet.text == "决赛在今晚"


def test_search_limit_and_offset_keep_order(path: Path) -> None:
    store_crawl(path, pages(*(("足球", f"第{n}页") for n in range(7))))
    whole = numbers(find(path, "足球", limit=7))
    assert numbers(find(path, "足球", limit=3)) == whole[:3]
    assert numbers(find(path, "足球", limit=3, offset=3)) == whole[3:6]
    assert numbers(find(path, "足球", offset=7)) == []
    assert find(path, "足球", limit=1).pages == 7


def test_search_near_duplicates_are_one_result(path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    near = simhash(words)
    rows = [page_row(n, "足球", words, simhash=near ^ (1 << 63) * (n == 1)) for n in range(5)]
    second = page_row(5, "足球", words, simhash=~near & (1 << 64) - 1)
    store_crawl(path, batch([*rows, second]))
    results = find(path, "足球")
    assert sorted(hit.similar for hit in results.hits) == [0, 4]
    assert "+4 similar" in "\n".join(result_lines(results, str))


def test_search_url_in_several_crawls_is_one_result(path: Path) -> None:
    for _ in range(3):
        store_crawl(path, pages(("足球", "页")))
    results = find(path, "足球")
    assert [hit.similar for hit in results.hits] == [2]
    assert results.pages == 3


def test_search_over_limit_ranks_titles_and_newest(path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr("focus.storage.search.MAX_RANKED", 3)
    store_crawl(path, pages(("足球", "足球"), *[("新闻", "足球")] * 7))
    results = find(path, "足球")
    assert (results.pages, results.complete) == (3, False)
    assert numbers(results)[0] == 0
    assert result_lines(results, str)[-1] == "More than 3 pages of 8"


# -- keeping up ---------------------------------------------------------------------


def test_update_indexes_only_new_pages(path: Path) -> None:
    crawl = store_crawl(path, pages(("足球", "一")))
    with SearchIndex(path) as index:
        assert (index.update(), index.update()) == (1, 0)
        _write(path, crawl, batch([page_row(1, "足球", "二")]))
        calls: list[tuple[float, float]] = []
        assert index.update(lambda done, total: calls.append((done, total))) == 1
        assert calls == [(1, 1)]
        assert sorted(numbers(search(index, "足球"))) == [0, 1]


def _write(path: Path, crawl: int, *batches: Batch) -> None:
    """Go on with a crawl."""

    async def write() -> None:
        async with Store.open(path, now=60.0, pid=1) as store:
            for item in batches:
                await store.write(crawl, item)

    asyncio.run(write())


def test_update_revisited_page_is_found_by_new_text_only(path: Path) -> None:
    crawl = store_crawl(path, pages(("旧闻", "欧冠"), ("别的", "欧冠")))
    assert sorted(numbers(find(path, "欧冠"))) == [0, 1]
    _write(path, crawl, batch([page_row(0, "新闻", "英超", request_number=9)], urls=[]))
    assert numbers(find(path, "欧冠")) == [1]
    assert numbers(find(path, "英超")) == [0]
    assert find(path, "英超").indexed == 2
    hidden = page_row(0, "新闻", "英超", request_number=10, noindex=True)
    _write(path, crawl, batch([hidden], urls=[]))
    assert numbers(find(path, "英超")) == []


def test_update_removes_deleted_and_replaced_crawls(path: Path) -> None:
    store_crawl(path, pages(("足球", "旧")))
    second = store_crawl(path, pages(("网球", "二")), topic="网球")
    find(path, "足球")
    with closing(sqlite3.connect(path)) as db:
        for table in ("page", "page_text", "body", "url_found"):
            db.execute(f"DELETE FROM {table} WHERE id >> 32 = ?", (second,))
        db.execute("DELETE FROM crawl WHERE id = ?", (second,))
        db.execute("DELETE FROM progress WHERE crawl = ?", (second,))
        db.commit()
    assert find(path, "网球").pages == 0
    assert find(path, "足球").indexed == 1
    for file in path.parent.glob("crawl.db*"):
        if file != index_path(path):
            file.unlink()
    store_crawl(path, pages(("排球", "新")), topic="排球")  # crawl 1 of another database
    assert numbers(find(path, "足球")) == []
    assert numbers(find(path, "排球")) == [0]


def test_update_third_stale_rebuilds_index(path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "MIN_STALE_DOCUMENTS", 3)
    crawl = store_crawl(path, pages(*(("足球", "一") for _ in range(4))))
    find(path, "足球")
    rows = [page_row(n, "足球", "二", request_number=9 + n) for n in range(4)]
    _write(path, crawl, batch(rows, urls=[]))
    assert find(path, "二").pages == 4
    with SearchIndex(path) as index:
        assert index.db.execute("SELECT count(*), count(page) FROM doc").fetchone() == (8, 4)
        assert index.update() == 4
        assert search(index, "二").pages == 4
        assert index.db.execute("SELECT count(*), count(page) FROM doc").fetchone() == (4, 4)


def test_update_interrupted_keeps_batches(path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "PAGES_PER_BATCH", 4)
    monkeypatch.setattr(search_index, "PAGES_PER_READ", 2)
    store_crawl(path, pages(*(("足球", f"第{n}页") for n in range(10))))

    def interrupt(done: float, total: float) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with SearchIndex(path) as index:
        with pytest.raises(KeyboardInterrupt):
            index.update(interrupt)
        assert search(index, "足球").pages == 4
        assert index.update() == 6
        assert search(index, "足球").pages == 10


def test_search_during_crawl_writes_succeeds(path: Path) -> None:
    """The database is held and in a transaction all the while; the index needs none of it."""

    async def crawl() -> list[int]:
        counts = []
        async with Store.open(path, now=0.0, pid=1) as store:
            identity = {"seeds": ["x"], "topic": "足球", "strategy": "bfs"}
            number = (await store.begin_crawl(identity, "{}", fresh=True, now=1.0)).id
            for n in range(4):
                await store.write(number, batch([page_row(n, "足球", f"第{n}页")]))
                with closing(sqlite3.connect(path, isolation_level=None)) as db:
                    db.execute("BEGIN IMMEDIATE")
                    counts.append(await asyncio.to_thread(lambda: find(path, "足球").pages))
                    db.execute("ROLLBACK")
        return counts

    assert asyncio.run(crawl()) == [1, 2, 3, 4]


def test_update_concurrent_indexes_each_page_once(path: Path) -> None:
    store_crawl(path, pages(*(("足球", f"第{n}页") for n in range(60))))
    done: list[int] = []

    def update() -> None:
        with SearchIndex(path) as index:
            done.append(index.update())

    threads = [threading.Thread(target=update) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 60
    assert find(path, "足球").pages == 60


def test_update_killed_loses_at_most_one_batch(path: Path) -> None:
    store_crawl(path, pages(*(("足球", f"第{n}页") for n in range(30))))
    code = (
        "import os, sys; from pathlib import Path; from focus.storage import search_index as s\n"
        "s.PAGES_PER_BATCH, s.PAGES_PER_READ = 8, 4\n"
        "s.SearchIndex(Path(sys.argv[1])).update(lambda n, _: os._exit(9) if n >= 20 else None)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, timeout=600)
    assert run.returncode == 9
    with SearchIndex(path) as index:
        assert search(index, "足球").pages == 16
        assert index.update() == 14


# -- what may be wrong --------------------------------------------------------------


def test_index_damaged_or_foreign_raises(path: Path) -> None:
    store_crawl(path, pages(("足球", "一")))
    find(path, "足球")
    good = index_path(path).read_bytes()
    index_path(path).write_bytes(good[:4096] + b"\xff" * (len(good) - 4096))
    with pytest.raises(StoreError, match="damaged; delete it"):
        find(path, "足球")
    index_path(path).write_bytes(b"not a database at all" * 400)
    with pytest.raises(StoreError, match="damaged; delete it"):
        find(path, "足球")
    index_path(path).unlink()
    with closing(sqlite3.connect(index_path(path))) as db:
        db.execute("CREATE TABLE other (x)")
    with pytest.raises(StoreError, match="not a search index of focus"):
        find(path, "足球")


def test_index_older_format_is_rebuilt(path: Path) -> None:
    store_crawl(path, pages(("足球", "一")))
    find(path, "足球")
    with closing(sqlite3.connect(index_path(path))) as db:
        db.execute("PRAGMA user_version = 0")
    assert find(path, "足球").pages == 1


def test_index_locked_by_other_program_raises(path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(search_file, "LOCK_TIMEOUT_S", 0.05)
    crawl = store_crawl(path, pages(("足球", "一")))
    find(path, "足球")
    with closing(sqlite3.connect(index_path(path), isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert find(path, "足球").pages == 1  # there is nothing to write
        _write(path, crawl, batch([page_row(1, "足球", "二")]))
        with pytest.raises(StoreError, match="another program is writing"):
            find(path, "足球")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_search_read_only_folder_uses_existing_index(path: Path) -> None:
    store_crawl(path, pages(("足球", "一")))
    find(path, "足球")
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert find(path, "足球").pages == 1
    finally:
        path.parent.chmod(0o755)


def test_index_without_fts5_raises_one_line(path: Path, monkeypatch: MonkeyPatch) -> None:
    store_crawl(path, pages(("足球", "一")))
    monkeypatch.setattr(search_file, "_SCHEMA", "CREATE VIRTUAL TABLE t USING fts5x(a)")
    with pytest.raises(StoreError, match="SQLite has no FTS5") as error:
        find(path, "足球")
    assert "\n" not in str(error.value)


def test_index_failed_open_closes_both_files(path: Path) -> None:
    with pytest.raises(FocusError, match="there is no database"):
        SearchIndex(path)
    assert not index_path(path).exists()


# -- the command --------------------------------------------------------------------


def run(capfd: CaptureFixture[str], *arguments: str) -> Ended:
    return runner(capfd, "search")(*arguments)


def test_search_command_prints_results(path: Path, capfd: CaptureFixture[str]) -> None:
    store_crawl(path, pages(("欧冠决赛", "皇马夺冠"), ("欧冠决赛", "彩票 推荐 号码")))
    code, out, err = run(capfd, "--db", str(path), "欧冠", "决赛", "-彩票")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["1. 欧冠决赛", "   http://a.test/0"]
    assert out.splitlines()[-1] == "1 page of 2"
    assert hit_numbers(run(capfd, "--db", str(path), "欧冠", "-彩票 推荐", "--json")[1]) == [0]
    assert hit_numbers(run(capfd, "--db", str(path), "欧冠", "-推荐 彩票", "--json")[1]) == [0, 1]
    assert run(capfd, "--db", str(path), "篮球")[1:] == ("", "Nothing found in 2 pages\n")


def hit_numbers(out: str) -> list[int]:
    return sorted(int(hit["url"].rpartition("/")[2]) for hit in json.loads(out)["hits"])


@cases(
    "arguments, said",
    ((), "Missing argument"),
    (("，",), "nothing to search for"),
    (("足球", "--crawl", "7"), "no crawl 7"),
    (("足球", "--topic", "nix"), "on the topic nix"),
    (("足球", "--limt", "3"), "No such option"),
)
def test_search_command_wrong_use_exits_with_2(
    path: Path, capfd: CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    store_crawl(path, pages(("足球", "一")))
    code, out, err = run(capfd, "--db", str(path), *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_search_missing_or_empty_database_raises(path: Path, capfd: CaptureFixture[str]) -> None:
    code, _, err = run(capfd, "--db", str(path), "足球")
    assert code == 1
    assert "`focus crawl` creates one" in err
    store_crawl(path)
    code, _, err = run(capfd, "--db", str(path), "足球")
    assert "no pages yet" in err
    with DatabaseReader(path) as reader:
        assert reader.crawl_ids("all") == [1]


def test_is_current_replaced_file_returns_false(path: Path) -> None:
    store_crawl(path, pages(("足球", "一")))
    with SearchIndex(path) as index:
        index.update()
        assert index.is_current()
        index.path.unlink()
        assert not index.is_current()
        with SearchIndex(path) as new_index:
            new_index.update()
            assert new_index.is_current() and not index.is_current()
