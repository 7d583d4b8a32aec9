"""The model file and the topic file that names it: round trips, other versions, damage."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from focus.errors import ConfigError, TopicError
from focus.learn.model_file import (
    LearnedTopic,
    Trained,
    applied,
    load,
    name_in_topic,
    named_in,
    path_beside,
    save,
)
from focus.metrics.measures import Quality
from focus.score.relevance.bayes import Classifier, EntityExpansion
from focus.score.statistics.entities import make_gazetteer_table
from focus.score.statistics.feature_selection import WordCounts
from focus.score.statistics.naive_bayes import Calibration, ClassifierTest
from focus.topic.topic import Topic, from_words

TRAINED = Trained(
    select="ig",
    number=2,
    features=["联赛", "进球"],
    counts=WordCounts(5, 6, {"联赛": (5, 0), "进球": (4, 1), "代码": (0, 6)}),
    calibration=Calibration(0.2, -0.5),
    expansion=EntityExpansion(
        make_gazetteer_table({"红魔": ["曼联"]}, {"曼联": ["球队"]}), {"曼联": ["联赛"]}
    ),
    verdicts={"words": ClassifierTest(Quality(1.0, 0.5, 2 / 3), 0.1, 3)},
)
LEARNED = LearnedTopic("足球", TRAINED, {"evidence": {"bias": -2.0, "title": 3.0}}, {"球": 0.5})


def topic(path: Path) -> Topic:
    return msgspec.structs.replace(from_words("足球"), model=str(path))


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    save(tmp_path / "m.json", LEARNED)
    assert load(tmp_path / "m.json") == LEARNED
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"format": "focus-model", "version": 2, "learned": []}', "version 2, this one knows 1"),
        (b'{"format": "focus-model", "version": 1, "learned": {}}', "is damaged"),
        (b'{"format": "focus-model", "version": 1', "is damaged"),
        (b'{"pages": 3}', "is none of focus"),
        (b"\xff\xfe", "is damaged"),
        (b"", "is damaged"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=said) as error:
        load(path)
    assert str(path) in str(error.value)
    assert "focus train" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_model_that_is_not_there_or_of_another_topic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        applied(topic(tmp_path / "none.json"), "evidence")
    save(tmp_path / "m.json", msgspec.structs.replace(LEARNED, topic="篮球"))
    with pytest.raises(TopicError, match="'篮球', not '足球'"):
        applied(topic(tmp_path / "m.json"), "bayes")


def test_each_model_gets_what_was_learned_for_it(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    save(path, LEARNED)
    bare, payload = applied(topic(path), "bayes")
    assert bare.model is None
    classifier = msgspec.msgpack.decode(payload, type=Classifier)
    assert classifier == TRAINED.classifier()
    assert classifier.bayes.weights.keys() == {"联赛", "进球"}
    _, payload = applied(topic(path), "evidence", {"title": 1.0})
    assert msgspec.msgpack.decode(payload) == {"bias": -2.0}  # the user's own number wins
    assert msgspec.msgpack.decode(applied(topic(path), "cosine")[1]) == {"球": 0.5}
    assert applied(topic(path), "position")[1] == b""


def test_bayes_without_a_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match="focus train"):
        applied(from_words("足球"), "bayes")
    save(tmp_path / "m.json", LearnedTopic("足球"))
    with pytest.raises(TopicError, match="focus train"):
        applied(topic(tmp_path / "m.json"), "bayes")
    assert applied(from_words("足球"), "evidence") == (from_words("足球"), b"")


@pytest.mark.parametrize(
    "text",
    [
        '# mine\nname = "足球"\nkeywords = ["足球"]  # words\n',
        'name = "足球"\nmodel = "old.json" # old\nkeywords = ["足球"]',
        'name = "足球"\n\n[keywords]\n"足球" = 1.0\n\n[features]\n"球" = 0.5\n',
        'name = "足球"\n[[keywords]]\ntext = "足球"\n',
    ],
)
def test_the_model_is_named_and_all_else_stays(text: str) -> None:
    named = named_in(text, "football.toml", "a b/模型.json")
    before, after = tomllib.loads(text), tomllib.loads(named)
    assert after == {**before, "model": "a b/模型.json"}
    assert named_in(named, "football.toml", "a b/模型.json") == named
    assert ("# mine" in named) == ("# mine" in text)


def test_a_topic_file_that_cannot_take_the_line_is_refused() -> None:
    text = 'name = "足球"\nkeywords = ["足球"]\nsources = {a = """\nmodel = "x"\n"""}\n'
    with pytest.raises(TopicError, match="by hand"):
        named_in(text, "football.toml", "m.json")


def test_paths_are_written_from_the_topic_files_folder(tmp_path: Path) -> None:
    file = tmp_path / "topics" / "football.toml"
    file.parent.mkdir()
    file.write_text('name = "足球"\nkeywords = ["足球"]\n', encoding="utf-8")
    assert path_beside(file) == tmp_path / "topics" / "football.model.json"
    name_in_topic(file, path_beside(file))
    assert 'model = "football.model.json"' in file.read_text(encoding="utf-8")
    name_in_topic(file, tmp_path / "models" / "m.json")
    assert 'model = "../models/m.json"' in file.read_text(encoding="utf-8")
