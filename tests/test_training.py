"""Training: pages of all kinds in, a tested classifier out, and the command around it."""

import json
from pathlib import Path

import pytest

from focus.errors import ConfigError
from focus.learn.corpus import html_document, read_pages, text_document
from focus.learn.kb.knowledge_base import load_football
from focus.learn.model_file import TrainedClassifier, load_model
from focus.learn.training import (
    FeatureExtractor,
    TrainingOptions,
    keep_shared_features,
    make_examples,
    train_classifier,
)
from focus.score.matching import Matcher
from focus.score.relevance import make_model
from focus.score.relevance.bayes import page_text
from focus.topic.topic import from_words
from tests.support.cases import cases
from tests.support.command import Focus

MATCHER = Matcher(from_words("足球"))
CLUBS = ("曼联", "皇马", "巴萨", "拜仁", "阿森纳", "切尔西", "热刺", "利物浦", "罗马队", "里昂队")
ON = [f"{club}昨晚赢下比赛，门将扑出一球，教练在赛后很满意。" for club in CLUBS]
PLAN = TrainingOptions(number=40)
OFF = [f"第{n}个函数读取数据库，程序的接口返回结果，测试通过。" for n in range(12)]


def trained(*, entities: bool, plan: TrainingOptions = PLAN) -> TrainedClassifier:
    extractor = FeatureExtractor(
        MATCHER.segmenter, load_football(MATCHER.segmenter) if entities else None
    )
    pages = [
        *make_examples(map(text_document, ON), True, extractor),
        *make_examples(map(text_document, OFF), False, extractor),
    ]
    return train_classifier(pages, extractor, plan)


@pytest.mark.parametrize("select", ["ig", "chi", "mi", "df"])
def test_train_classifier_returns_tested_classifier(select: str) -> None:
    classifier = trained(entities=False, plan=TrainingOptions(select, 30))
    assert list(classifier.verdicts) == ["words", "words, calibrated"]
    assert classifier.verdicts["words"].quality.f1 > 0.9
    assert 0 < len(classifier.features) <= 30
    assert classifier.expansion is None
    assert classifier == trained(entities=False, plan=TrainingOptions(select, 30))


def test_train_classifier_entities_recognise_unseen_club() -> None:
    import msgspec

    judge = {}
    for entities in (False, True):
        payload = msgspec.msgpack.encode(trained(entities=entities).make_classifier())
        model = make_model("bayes", MATCHER, {}, trained=payload)
        judge[entities] = model.judge(text_document("尤文图斯和马竞今天有消息。")).relevance
    assert judge[True] > judge[False] + 0.1
    assert trained(entities=True).verdicts.keys() > {"words", "words and entities"}


def test_keep_shared_features_omits_words_of_one_entity() -> None:
    extractor = FeatureExtractor(MATCHER.segmenter, load_football(MATCHER.segmenter))
    pages = keep_shared_features(make_examples(map(text_document, ON), True, extractor), extractor)
    features = {item for page in pages for item in page.expansion}
    assert "足球俱乐部" in features and "曼联" in features
    assert "弗格森" not in features  # only 曼联 has it


@cases("on, off, said", (2, 12, "--positive: only 2"), (10, 0, "--negative"))
def test_train_classifier_too_few_pages_is_refused(on: int, off: int, said: str) -> None:
    extractor = FeatureExtractor(MATCHER.segmenter)
    pages = [
        *make_examples(map(text_document, ON[:on]), True, extractor),
        *make_examples(map(text_document, OFF[:off]), False, extractor),
    ]
    with pytest.raises(ConfigError, match=said):
        train_classifier(pages, extractor, TrainingOptions())


# -- pages --------------------------------------------------------------------------


def test_read_pages_reads_folders_and_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.html").write_text("<title>甲</title><p>正文在此，很长。", encoding="gb18030")
    (tmp_path / "below" / "b.TXT").write_text("乙说的话，很长很长。", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text(
        '{"title": "丙", "text": "说话", "other": 1}\n\n{"html": "<title>丁</title>"}\n', "utf-8"
    )
    (tmp_path / "d.png").write_bytes(b"\x89PNG")
    messages: list[str] = []
    texts = [page_text(page) for page in read_pages(tmp_path, messages.append)]
    assert [text[:1] for text in texts] == ["甲", "\n", "丙", "丁"] or len(texts) == 4
    assert messages == []
    assert len(list(read_pages(tmp_path / "d.png", messages.append))) == 1  # named: taken as it is


def test_read_pages_malformed_line_is_reported_with_number(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_bytes(b'{"text": "a b"}\nnonsense\n{"text": 5}\n{}\n\xff\n{"html": "<p>x"}\n')
    messages: list[str] = []
    assert len(list(read_pages(file, messages.append))) == 2
    expected = ["2", "3", "4", "5"]
    assert [line.removeprefix(f"{file}:").partition(":")[0] for line in messages] == expected


def test_page_text_includes_meta_data() -> None:
    page = html_document("<title>标题</title><meta name=keywords content=足球><p>正文。")
    assert "足球" in page_text(page)


# -- the command --------------------------------------------------------------------


@pytest.fixture
def focus(focus: Focus, tmp_path: Path) -> Focus:
    for kind, texts in (("on", ON), ("off", OFF)):
        (tmp_path / kind).mkdir()
        for number, text in enumerate(texts):
            page = f"<title>{text[:4]}</title><p>{text}"
            (tmp_path / kind / f"{number}.html").write_text(page, encoding="utf-8")
    (tmp_path / "t.toml").write_text('name = "足球"\nkeywords = ["足球"]\n', encoding="utf-8")

    return focus


TRAIN = ("research", "train", "--topic", "t.toml", "--positive", "on", "--negative", "off")


def test_train_prints_quality_and_writes_model_name(focus: Focus, tmp_path: Path) -> None:
    code, out, err = focus(*TRAIN, "--entities", "--features", "30")
    assert code == 0
    assert "words and entities, calibrated" in out and "Brier" in out
    assert "Model in t.model.json" in err
    assert 'model = "t.model.json"' in (tmp_path / "t.toml").read_text(encoding="utf-8")
    learned = load_model(tmp_path / "t.model.json")
    assert learned.bayes.expansion is not None
    shown = focus(
        "crawl", "--topic", "t.toml", "--relevance", "bayes", "--seed", "a.test", "--dry-run"
    )
    assert shown[0] == 0
    assert "bayes" in shown[1]


def test_train_replaces_model_file_of_other_version(focus: Focus, tmp_path: Path) -> None:
    focus(*TRAIN)
    file = tmp_path / "t.model.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "version": 99}), encoding="utf-8")
    refused = focus(
        "crawl", "--topic", "t.toml", "--relevance", "bayes", "--seed", "a.test", "--dry-run"
    )
    assert refused[0] == 2
    assert refused[2].startswith("focus: error: model file t.model.json: made by another focus")
    code, _, err = focus(*TRAIN)
    assert code == 0
    assert "version 99" in err
    assert load_model(file).bayes is not None


@cases(
    "arguments, said",
    (("research", "train", "--topic", "t.toml"), "no pages to train on"),
    (("research", "train", "--topic", "t.toml", "--positive", "on"), "no pages to train on"),
    (("research", "train", "--topic", "足球", "--positive", "on", "--negative", "off"), "-o FILE"),
    ((*TRAIN, "--kb", "none.db"), "there is no knowledge base"),
    ((*TRAIN, "--positive", "none"), "there is no such file"),
    ((*TRAIN, "--from-crawl", "1", "--db", "none.db"), "there is no database"),
    (
        ("crawl", "--topic", "t.toml", "--relevance", "bayes", "--seed", "a.test"),
        "focus research train",
    ),
    (("research", "kb", "import", "none.tsv", "--kb", "kb.db"), "cannot be read"),
)
def test_train_misuse_prints_one_line(focus: Focus, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = focus(*arguments)
    assert code in (1, 2)
    assert out == ""
    lines = err.splitlines()
    assert lines[-1].startswith("focus: error: ")
    assert said in lines[-1]


def test_train_topic_words_without_file_is_refused(focus: Focus) -> None:
    code, _, err = focus("research", "train", "--topic", "足球", *TRAIN[4:], "-o", "m.json")
    assert code == 0
    assert 'model = "m.json"' in err


def test_kb_import_reports_lines(focus: Focus, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("甲\t别名\t乙\nbad\n甲\tDESC\t好\n", encoding="utf-8")
    code, out, err = focus("research", "kb", "import", "d.tsv", "--kb", "kb.db")
    assert (code, out) == (0, "")
    assert err.splitlines()[0].startswith("focus: d.tsv:2: 1 columns")
    assert "2 names from 3 lines (1 malformed)" in err
