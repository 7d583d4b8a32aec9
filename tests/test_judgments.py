"""Reading topics, labels, hubs and aliases."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.errors import TopicError
from focus.evaluate.judgments import (
    Judge,
    Remarks,
    page_key,
    read_aliases,
    read_labels,
    read_topics,
    remove_hub_labels,
    resolve_alias,
    select_topics,
)
from tests.support.cases import cases

HEAD = "url\ttopic\tlabel\tevidence\n"


@cases(
    "first, second",
    ("http://a.test/x", "https://a.test/x"),
    ("http://A.Test/x#top", "http://a.test:80/x"),
    ("https://u:p@a.test:443/x", "http://a.test/x"),
    ("http://a.test", "http://a.test/"),
    ("http://a.test/%E8%B6%B3", "http://a.test/足"),
    ("http://a.test/%e8%b6%b3?q=1", "http://a.test/足?q=1"),
)
def test_page_key_equal_for_spellings_of_a_url(first: str, second: str) -> None:
    assert page_key(first) == page_key(second)


@cases(
    "first, second",
    ("http://a.test/x", "http://a.test/X"),
    ("http://a.test/x", "http://a.test/x/"),
    ("http://a.test/x?1", "http://a.test/x"),
    ("http://a.test:8080/", "http://a.test/"),
    ("http://a.test/%ff", "http://a.test/%fe"),
)
def test_page_key_differs_for_different_pages(first: str, second: str) -> None:
    assert page_key(first) != page_key(second)


@given(st.text())
def test_page_key_accepts_any_text(text: str) -> None:
    page_key(text)
    page_key("http://" + text)


def test_read_topics_reads_keyword_weights() -> None:
    text = '[{"name": "F", "keywords": ["足球", "英超:0.5"], "seeds": ["http://a.test/"], "n": 1}]'
    (task,) = read_topics(text, "t.json")
    assert task.name == "F"
    assert [(k.text, k.weight) for k in task.topic.keywords] == [("足球", 1.0), ("英超", 0.5)]


def test_read_topics_reads_referenced_topic_file(tmp_path: Path) -> None:
    words = "[keywords]\nx = 1.0\ny = 0.25\n"
    (tmp_path / "f.toml").write_text(f'name = "f"\nmodel = "m"\nseeds = ["a.test"]\n{words}')
    (task,) = read_topics('[{"name": "F", "file": "f.toml"}]', "t.json", tmp_path)
    assert (task.name, task.seeds) == ("F", ("a.test",))
    assert [(keyword.text, keyword.weight) for keyword in task.topic.keywords] == [
        ("x", 1.0),
        ("y", 0.25),
    ]
    assert task.topic.model == str(tmp_path / "m")
    for broken, complaint in (
        ('{"name": "F", "file": "g.toml"}', "g.toml: cannot be read"),
        ('{"name": "F", "file": "f.toml", "keywords": ["x"]}', "give one of them"),
    ):
        with pytest.raises(TopicError, match=complaint):
            read_topics(f"[{broken}]", "t.json", tmp_path)


@cases(
    "text, complaint",
    ("{}", "t.json: Expected"),
    ("[", "t.json: Input data was truncated"),
    ("[]", "t.json: no topic"),
    ('[{"name": "F", "keywords": ["x"]}]', "topic 'F' has no seed"),
    ('[{"name": "F", "keywords": ["x"], "seeds": []}]', "topic 'F' has no seed"),
    ('[{"name": "F", "keywords": [], "seeds": ["http://a.test/"]}]', "topic 'F': topic ''"),
    ('[{"name": "F", "keywords": ["x"], "seeds": ["a b"]}]', "contains white space"),
)
def test_read_topics_invalid_file_raises_error(text: str, complaint: str) -> None:
    with pytest.raises(TopicError, match=complaint.replace("[", r"\[")):
        read_topics(text, "t.json")


def test_duplicate_or_missing_topic_raises_error() -> None:
    entry = '{"name": "F", "keywords": ["x"], "seeds": ["http://a.test/"]}'
    with pytest.raises(TopicError, match="'F' stands twice"):
        read_topics(f"[{entry}, {entry}]", "t.json")
    tasks = read_topics(f"[{entry}]", "t.json")
    assert select_topics(tasks, []) == tasks == select_topics(tasks, ["F", "F"])
    with pytest.raises(TopicError, match="--topic G: not in the topics file; it has: F"):
        select_topics(tasks, ["G"])


def test_alias_labels_count_for_canonical_page() -> None:
    remarks = Remarks()
    rows = ["h", "http://a.test/x\thttp://a.test/y", "http://a.test/y\thttp://a.test/z", ""]
    aliases = read_aliases("\n".join(rows), remarks)
    labels = read_labels(HEAD + "https://a.test/x#1\tF\t1\te\n", ["F"], aliases, remarks)
    judge = Judge("labels", labels, aliases)
    assert judge.canonical_page("http://a.test/x") == "a.test/z"
    assert judge.topic_labels("F") == {"a.test/z": True}
    assert judge.topic_labels("G") == {}
    assert judge.labelled_pages() == {"a.test/z"}
    assert remarks.as_list() == []


def test_resolve_alias_circle_returns_start() -> None:
    assert resolve_alias("a", {"a": "b", "b": "a"}) == "a"
    assert resolve_alias("a", {"a": "b", "b": "c", "c": "b"}) == "a"
    assert resolve_alias("a", {"a": "a"}) == "a"


def test_broken_lines_are_counted_as_remarks() -> None:
    remarks = Remarks()
    lines = [
        "http://a.test/1\tF\t1\te", "http://a.test/2\tF\tyes\te", "http://a.test/3\tG\t1\te",
        "http://a.test/4", "", "http://a.test/1\tF\t0\te", "http://a.test/5\tF\t0\te",
    ]  # fmt: skip
    labels = read_labels(HEAD + "\r\n".join(lines), ["F"], {}, remarks)
    assert labels == {"F": {"a.test/1": True, "a.test/5": False}}
    assert [(r.what, r.count) for r in remarks.as_list()] == [
        ("labels that are neither 0 nor 1", 1),
        ("labels of unknown topics", 1),
        ("broken lines in the labels", 1),
        ("pages labelled both 0 and 1 (counted as 1)", 1),
    ]


def test_remove_hub_labels_removes_labels_of_hubs() -> None:
    remarks = Remarks()
    labels = {"F": {"a.test/1": True, "a.test/2": True}}
    hubs = "h\nhttp://a.test/1\tF\t\nhttp://a.test/3\tF\t\nu\tG\t\n"
    remove_hub_labels(labels, hubs, {}, remarks)
    assert labels == {"F": {"a.test/2": True}}
    assert [r.count for r in remarks.as_list()] == [1, 1]


def test_read_labels_accepts_trec_qrels() -> None:
    remarks = Remarks()
    text = (
        "football 0 http://a.test/1 2\nfootball\t0\thttp://a.test/2\t0\n"
        "football 0 http://a.test/3 -2\nfootball 0 page-4 1\nrugby 0 http://a.test/5 1\n"
    )
    expected = {"football": {"a.test/1": True, "a.test/2": False, "a.test/3": False}}
    assert read_labels(text, ["football"], {}, remarks) == expected
    assert {item.what: item.example for item in remarks.as_list()} == {
        "broken lines in the labels": "football 0 page-4 1",
        "labels of unknown topics": "rugby",
    }
