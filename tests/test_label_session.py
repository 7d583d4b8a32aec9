"""Labels: asked for, stored, learned from; pages judged again and what waits ranked again."""

import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest
from pytest import CaptureFixture, MonkeyPatch

from focus.commands.label import PageAsker, question_lines
from focus.errors import ConfigError
from focus.learn.labelling import (
    LabelQuestion,
    check_teachable,
    fit_parameters,
    learn_from_labels,
    make_snippet,
    update_topic_vector,
)
from focus.learn.model_file import LearnedTopic, load_model
from focus.score.relevance.evidence import Evidence
from focus.storage import url_log
from focus.storage.labels import ScoredPage
from focus.storage.lock import database_lock
from focus.topic.topic import from_toml, from_words
from tests.support.command import Focus, record

ON = [f"http://a.test/ball{n}" for n in range(6)]
OFF = [f"http://a.test/code{n}" for n in range(6)]
TOPIC = 'name = "足球"  # mine\nkeywords = ["足球"]\nseeds = ["http://a.test/"]\n'


def web() -> dict[str, str]:
    """A portal; pages that say 足球 by the way, on the ball and on code; each with two more."""
    links = "".join(f"<p><a href={url}>足球</a>" for url in (*ON, *OFF))
    head = "<title>足球足球</title><meta name=keywords content=足球>"
    pages = {"http://a.test/": f"{head}<p>足球，足球，足球，说的都是足球。{links}"}
    for kind, urls in (("射门和越位，裁判吹哨", ON), ("函数和接口，程序报错", OFF)):
        for n, url in enumerate(urls):
            more = "".join(
                f"<p><a href=http://a.test/more/{url[-5:]}/{k}>下一篇</a>" for k in (1, 2)
            )
            pages[url] = (
                f"<title>第{n}篇</title><p>今天第{n}次说到足球，{kind}，很长的一段话在此。{more}"
            )
    for url in (*ON, *OFF):
        for k in (1, 2):
            pages[f"http://a.test/more/{url[-5:]}/{k}"] = "<title>完</title><p>没有了。"
    return pages


@pytest.fixture
def focus(focus: Focus, tmp_path: Path) -> Focus:
    """Runs a command in a folder with a recorded web and a topic file; `said` is typed."""
    head = "<!doctype html><meta charset=utf-8>"
    record(tmp_path / "web.warc.gz", {url: head + body for url, body in web().items()})
    (tmp_path / "t.toml").write_text(TOPIC, encoding="utf-8")
    return focus


def crawl(db: str, *more: str) -> list[str]:
    """Fetch the portal and its twelve pages: what these link to waits."""
    return [
        *("crawl", "--topic", "t.toml", "--archive", "web.warc.gz", "--db", db),
        *("--concurrency", "1", "--workers", "1", "--max-pages", "13", *more),
    ]


def label(db: str, *more: str) -> list[str]:
    return ["label", "--topic", "t.toml", "--db", db, *more]


def ask(db: str | Path, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(db) as connection:
        rows = connection.execute(sql).fetchall()
    connection.close()
    return rows


def waiting(db: str) -> list[tuple[str, float, int | None]]:
    """URL, priority and parent of each URL that waits, as a restart finds them."""
    questions = []
    with closing(sqlite3.connect(db)) as connection:
        sql = "SELECT id, url, priority, parent FROM url WHERE state = 0 ORDER BY id"
        for row, url, priority, parent in connection.execute(sql).fetchall():
            better = url_log.load_latest_evidence(connection, row=row)
            if better is not None:
                priority, parent = better.priority, better.parent or parent
            questions.append((url, round(priority, 6), parent))
    return questions


RELEVANCE = (
    "SELECT url, round(relevance, 6), relevant FROM page_text JOIN page USING (id) ORDER BY url"
)


# -- a sitting ----------------------------------------------------------------------


def test_label_updates_model_and_crawl_continues(focus: Focus, tmp_path: Path) -> None:
    assert focus(*crawl("a.db"))[0] == 0
    before = {url: relevance for url, relevance, _ in ask("a.db", RELEVANCE)}
    assert "e^-sum" in focus("why", ON[0], "--db", "a.db")[1]
    code, out, err = focus(*label("a.db"), said="n\n" * 8 + "s\nq\n")
    assert code == 0
    assert "0 on topic, 8 off, 1 skipped (quit); 8 labels in all: 0 on, 8 off" in out
    assert "13 pages judged again" in out
    assert "relevance 0." in err and "text: 足球" in err
    assert 'model = "t.model.json"' in (tmp_path / "t.toml").read_text(encoding="utf-8")
    numbers = load_model(tmp_path / "t.model.json").params["evidence"]
    assert numbers["text"] < Evidence.defaults["text"]
    after = {url: relevance for url, relevance, _ in ask("a.db", RELEVANCE)}
    assert all(after[url] < before[url] for url in (*ON, *OFF))
    assert "e^-sum" not in focus("why", ON[0], "--db", "a.db")[1]  # the weights were others
    again = focus(*crawl("a.db", "--max-pages", "15"))
    assert "Continuing crawl 1" in again[2]
    assert ask("a.db", "SELECT count(*) FROM crawl") == [(1,)]


@pytest.mark.parametrize("strategy", ["best-first", "best-link", "yield", "bfs"])
def test_rerank_same_model_changes_nothing(focus: Focus, strategy: str) -> None:
    focus(*crawl("a.db", "--strategy", strategy))
    before = waiting("a.db"), ask("a.db", RELEVANCE), ask("a.db", "SELECT * FROM queue")
    code, out, _ = focus(*label("a.db", "--rank-only"))
    assert code == 0
    assert "0 of 24 waiting URLs have another priority" in out
    assert before == (waiting("a.db"), ask("a.db", RELEVANCE), ask("a.db", "SELECT * FROM queue"))


@pytest.mark.parametrize("strategy", ["best-first", "best-link", "yield"])
def test_rerank_equals_crawl_with_new_model(focus: Focus, strategy: str) -> None:
    """The portal's links are the best there are, so that both crawls fetch the same pages."""
    more = ["--strategy", strategy]
    focus(*crawl("a.db", *more))
    focus(*label("a.db"), said="n\n" * 6 + "q\n")
    focus(*crawl("b.db", *more))
    assert ask("a.db", RELEVANCE) == ask("b.db", RELEVANCE)
    assert {(u, p) for u, p, _ in waiting("a.db")} == {(u, p) for u, p, _ in waiting("b.db")}
    tallies = "SELECT pattern, fetched, round(yielded, 6) FROM queue ORDER BY id"
    assert ask("a.db", tallies) == ask("b.db", tallies)
    recent = "SELECT round(recent_fetched, 6), round(recent_yielded, 6), recent_at FROM queue"
    assert ask("a.db", recent) == ask("b.db", recent)
    counters = "SELECT json_extract(counters, '$.relevant') FROM progress"
    assert ask("a.db", counters) == ask("b.db", counters)


def test_labelled_page_is_relevant_by_its_label(focus: Focus) -> None:
    focus(*crawl("a.db"))
    with closing(sqlite3.connect("a.db")) as db, db:
        sql = "INSERT INTO label SELECT '足球', url, id, ?, 0 FROM page_text WHERE url = ?"
        db.executemany(sql, [(0, ON[0]), (1, OFF[0])])
    focus(*label("a.db", "--rank-only"))
    rows = focus("export", "--db", "a.db", "--relevant", "--fields", "url")[1]
    assert ON[0] not in rows and OFF[0] in rows and ON[1] in rows
    assert "not relevant, as labelled" in focus("why", ON[0], "--db", "a.db")[1]
    status = json.loads(focus("status", "--db", "a.db", "--json")[1])["status"]["crawl"]
    assert status["relevant"] == len(rows.splitlines())


def test_learn_from_labels_counts_labels_once_over_sessions(focus: Focus, tmp_path: Path) -> None:
    focus(*crawl("a.db"))
    focus(*label("a.db"), said="n\nn\ny\nq\n")
    first = load_model(tmp_path / "t.model.json")
    assert "3 labels: 1 on, 2 off" in focus(*label("a.db", "--rank-only"))[1]
    assert load_model(tmp_path / "t.model.json") == first
    asked = focus(*label("a.db"), said="")[2]
    labelled = [url for (url,) in ask("a.db", "SELECT url FROM label")]
    assert len(labelled) == 3
    assert not any(url in asked for url in labelled)


def test_update_classifier_learns_new_words(focus: Focus, tmp_path: Path) -> None:
    for kind, words in (("on", "比赛 球队 进球"), ("off", "代码 网络 数据")):
        lines = [
            json.dumps({"text": f"{word}{n}，很好的一段话。"})
            for n in range(4)
            for word in words.split()
        ]
        (tmp_path / f"{kind}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    trained = focus(
        "research", "train", "--topic", "t.toml", "--positive", "on.jsonl", "--negative",
        "off.jsonl",
    )  # fmt: skip
    assert trained[0] == 0
    assert focus(*crawl("a.db", "--relevance", "bayes"))[0] == 0

    def answer(page: str) -> str:
        return "y" if "射门" in page else "n" if "函数" in page else "s"

    shown = focus(*label("a.db"), said="s\n" * 20)[2].split("\n\n")  # in the same order again
    blocks = [block for block in shown if "http://" in block]
    said = "".join(answer(block) + "\n" for block in blocks)
    code, out, _ = focus(*label("a.db"), said=said)
    assert code == 0
    assert "6 on topic, 6 off" in out
    bayes = load_model(tmp_path / "t.model.json").bayes
    assert (bayes.labelled.on, bayes.labelled.off) == (6, 6)
    assert bayes.corrected is not None
    relevance = {url: value for url, value, _ in ask("a.db", RELEVANCE)}
    assert min(relevance[url] for url in ON) > max(relevance[url] for url in OFF)


def test_label_updates_topic_vector(focus: Focus, tmp_path: Path) -> None:
    assert focus(*crawl("a.db", "--relevance", "cosine"))[0] == 0
    focus(*label("a.db", "--limit", "3"), said="y\ny\nn\n")
    assert load_model(tmp_path / "t.model.json").features["足球"] == 1.0
    assert ask("a.db", "SELECT count(*) FROM label") == [(3,)]


# -- what is refused ----------------------------------------------------------------


def test_label_invalid_answer_is_reported_and_earlier_ones_are_stored(focus: Focus) -> None:
    focus(*crawl("a.db"))
    code, out, err = focus(*label("a.db"), said="y\nmaybe\n")
    assert (code, out) == (2, "")
    assert "standard input, line 2: 'maybe' is not y, n, s or q" in err.splitlines()[-1]
    assert ask("a.db", "SELECT relevant FROM label") == [(1,)]


def test_label_misuse_prints_one_line(focus: Focus, tmp_path: Path) -> None:
    assert "there is no database" in focus(*label("none.db"))[2]
    focus(*crawl("a.db", "--relevance", "position"))
    (tmp_path / "other.toml").write_text('name = "篮球"\nkeywords = ["篮球"]\n', encoding="utf-8")
    for topic, message in (
        ("t.toml", "relevance model position: learns nothing from labels"),
        ("other.toml", "crawl 1 is about '足球', the topic file about '篮球'"),
        ("足球", "topic file 足球: cannot be read"),
    ):
        code, _, err = focus("label", "--topic", topic, "--db", "a.db", said="y\n")
        assert code == 2 and message in err and "on topic?" not in err
    with database_lock(tmp_path / "a.db", pid=1):
        assert focus(*label("a.db"))[0] == 5


def test_label_without_answers_changes_nothing(focus: Focus, tmp_path: Path) -> None:
    focus(*crawl("a.db"))
    code, out, _ = focus(*label("a.db"), said="s\nq\n")
    assert code == 0
    assert "nothing has moved" in out
    assert (tmp_path / "t.toml").read_text(encoding="utf-8") == TOPIC
    assert not (tmp_path / "t.model.json").exists()


# -- the parts ----------------------------------------------------------------------


def stored(parts: dict[str, float], html: str = "") -> ScoredPage:
    return ScoredPage(0, 1, "http://a.test/", "", "", 0.5, False, parts, {}, html)


def test_fit_parameters_stay_near_tuned_and_keep_sign() -> None:
    examples = [(stored({"title": 1.0}), False) for _ in range(200)]
    numbers = fit_parameters("evidence", examples)
    assert numbers["bias"] < Evidence.defaults["bias"]
    assert 0.0 <= numbers["title"] < Evidence.defaults["title"]
    few = fit_parameters("evidence", examples[:1])
    assert abs(few["title"] - Evidence.defaults["title"]) < 1.0
    assert fit_parameters("evidence", [(stored({}), True)]) == {}


def test_update_topic_vector_example_matches_docstring() -> None:
    topic = from_toml(
        'name = "x"\nkeywords = ["足球"]\nfeatures = {"足球" = 1.0, "看台" = 0.5}', "t"
    )
    page = stored({}, "<p>门将，门将，门将，门将。门将扑救，门将扑救，足球足球足球足球，门将扑救。")
    on = update_topic_vector(topic, "cosine", [(page, True)])
    assert max(on.values()) == 1.0
    assert {"门将", "扑救"} <= on.keys()
    off = update_topic_vector(topic, "cosine", [(page, False)])
    assert "门将" not in off
    assert update_topic_vector(topic, "cosine", []) == {"足球": 1.0, "看台": 0.5}


def test_check_teachable_other_models_are_refused() -> None:
    for name in ("bayes", "evidence", "cosine", "euclid", "adaptive"):
        check_teachable(name)
    with pytest.raises(ConfigError, match="bayes, evidence"):
        check_teachable("boolean")
    with pytest.raises(ConfigError, match="focus research train"):
        learn_from_labels(LearnedTopic("足球"), from_words("足球"), "bayes", [])


def test_make_snippet_begins_near_first_word() -> None:
    text = "前" * 300 + "足球" + "后" * 300
    shown = make_snippet(text, ["足球"])
    assert shown.startswith("…前") and "足球" in shown and shown.endswith("后…")
    assert make_snippet("短文", ["足球"]) == "短文"
    assert "\x1b" not in make_snippet("\x1b[31m红", [])


def test_label_reads_keys(monkeypatch: MonkeyPatch, capfd: CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    keys = iter("xY?n \x1b")
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(click, "getchar", lambda: next(keys))
    asker = PageAsker()
    question = LabelQuestion("http://a.test/", "\x1b]0;题", 0.5, {"title": ["足球"]}, "…")
    lines = question_lines(question)
    assert [asker.ask(lines) for _ in range(4)] == ["y", "n", "s", "q"]
    shown = capfd.readouterr().err
    assert "\x1b" not in shown and "on topic? [y]es [n]o [s]kip [q]uit" in shown
    assert "relevance 0.50; title: 足球" in question_lines(question)[3]
