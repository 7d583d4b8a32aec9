"""The model file and the topic file that names it: round trips, other versions, damage."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from focus.errors import ConfigError, TopicError
from focus.learn.model_file import (
    LearnedTopic,
    TrainedClassifier,
    apply_model,
    load_model,
    model_path,
    save_model,
    set_model_line,
    write_model_name,
)
from focus.metrics.measures import Quality
from focus.score.relevance.bayes import Classifier, EntityExpansion
from focus.score.statistics.entities import make_gazetteer_table
from focus.score.statistics.feature_selection import WordCounts
from focus.score.statistics.naive_bayes import Calibration, ClassifierTest
from focus.topic.topic import Topic, from_words
from tests.support.cases import cases

TRAINED = TrainedClassifier(
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


def test_load_model_returns_saved_model(tmp_path: Path) -> None:
    save_model(tmp_path / "m.json", LEARNED)
    assert load_model(tmp_path / "m.json") == LEARNED
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


@cases(
    "data, said",
    (b'{"format": "focus-model", "version": 2, "learned": []}', "version 2, this one knows 1"),
    (b'{"format": "focus-model", "version": 1, "learned": {}}', "is damaged"),
    (b'{"format": "focus-model", "version": 1', "is damaged"),
    (b'{"pages": 3}', "is none of focus"),
    (b"\xff\xfe", "is damaged"),
    (b"", "is damaged"),
)
def test_load_model_other_file_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=said) as error:
        load_model(path)
    assert str(path) in str(error.value)
    assert "focus research train" in str(error.value)
    assert "\n" not in str(error.value)


def test_load_topic_model_missing_or_other_topic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        apply_model(topic(tmp_path / "none.json"), "evidence")
    save_model(tmp_path / "m.json", msgspec.structs.replace(LEARNED, topic="篮球"))
    with pytest.raises(TopicError, match="'篮球', not '足球'"):
        apply_model(topic(tmp_path / "m.json"), "bayes")


def test_apply_model_returns_training_of_relevance_model(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    save_model(path, LEARNED)
    bare, payload = apply_model(topic(path), "bayes")
    assert bare.model is None
    classifier = msgspec.msgpack.decode(payload, type=Classifier)
    assert classifier == TRAINED.make_classifier()
    assert classifier.bayes.weights.keys() == {"联赛", "进球"}
    _, payload = apply_model(topic(path), "evidence", {"title": 1.0})
    assert msgspec.msgpack.decode(payload) == {"bias": -2.0}  # the user's own number wins
    assert msgspec.msgpack.decode(apply_model(topic(path), "cosine")[1]) == {"球": 0.5}
    assert apply_model(topic(path), "position")[1] == b""


def test_apply_model_bayes_without_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match="focus research train"):
        apply_model(from_words("足球"), "bayes")
    save_model(tmp_path / "m.json", LearnedTopic("足球"))
    with pytest.raises(TopicError, match="focus research train"):
        apply_model(topic(tmp_path / "m.json"), "bayes")
    assert apply_model(from_words("足球"), "evidence") == (from_words("足球"), b"")


@cases(
    "text",
    '# mine\nname = "足球"\nkeywords = ["足球"]  # words\n',
    'name = "足球"\nmodel = "old.json" # old\nkeywords = ["足球"]',
    'name = "足球"\n\n[keywords]\n"足球" = 1.0\n\n[features]\n"球" = 0.5\n',
    'name = "足球"\n[[keywords]]\ntext = "足球"\n',
)
def test_set_model_line_keeps_other_lines(text: str) -> None:
    named = set_model_line(text, "football.toml", "a b/模型.json")
    before, after = tomllib.loads(text), tomllib.loads(named)
    assert after == {**before, "model": "a b/模型.json"}
    assert set_model_line(named, "football.toml", "a b/模型.json") == named
    assert ("# mine" in named) == ("# mine" in text)


def test_set_model_line_unsuitable_file_is_refused() -> None:
    text = 'name = "足球"\nkeywords = ["足球"]\nsources = {a = """\nmodel = "x"\n"""}\n'
    with pytest.raises(TopicError, match="by hand"):
        set_model_line(text, "football.toml", "m.json")


def test_write_model_name_is_relative_to_topic_file(tmp_path: Path) -> None:
    file = tmp_path / "topics" / "football.toml"
    file.parent.mkdir()
    file.write_text('name = "足球"\nkeywords = ["足球"]\n', encoding="utf-8")
    assert model_path(file) == tmp_path / "topics" / "football.model.json"
    write_model_name(file, model_path(file))
    assert 'model = "football.model.json"' in file.read_text(encoding="utf-8")
    write_model_name(file, tmp_path / "models" / "m.json")
    assert 'model = "../models/m.json"' in file.read_text(encoding="utf-8")
