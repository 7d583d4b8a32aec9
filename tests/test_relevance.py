"""Topic words, matching and relevance models: the worked numbers of their docstrings."""

from collections.abc import Callable
from typing import Any

import jieba
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.config import AnalysisConfig
from focus.errors import ConfigError, TopicError
from focus.html.blocks import Block
from focus.html.parser import parse
from focus.html.reader import RawLink
from focus.records import Region
from focus.score.analysis import PageScorer
from focus.score.matching import Matcher
from focus.score.relevance import RELEVANCE, Document, make_model, relevance_threshold
from focus.text.tokenisation import Segmenter, make_rjieba_cut
from focus.topic.topic import Keyword, Topic, from_words, to_builtins
from tests.support.cases import cases


def text(body: str) -> Callable[[], list[Block]]:
    return lambda: [Block(body, 0, "p")]


@pytest.fixture(scope="module")
def football() -> Matcher:
    return Matcher(from_words("足球"))


SENTENCES = (
    "昨晚的足球比赛非常精彩 欧冠决赛将在伦敦举行 他喜欢研究机器学习和数据库 北京大学生前来应聘"
)


def test_the_segmenter_cuts_as_jieba_does() -> None:
    jieba.setLogLevel("WARNING")
    cut, reference = make_rjieba_cut(["机器学习"]), jieba.Tokenizer()
    reference.add_word("机器学习", 100_000)
    for text in SENTENCES.split():
        assert list(cut(text)) == reference.lcut(text)


def test_segmenter_tokens_are_folded() -> None:
    segmenter = Segmenter(["机器学习"])
    assert segmenter.tokens("足球Java 8！") == ("足球", "java", "8")
    assert segmenter.tokens("ＪＡＶＡ，机器学习") == ("java", "机器学习")
    assert segmenter.tokens("——  ！？") == ()


@cases(
    "keyword, text, number",
    ("足球", "足球赛和足球场", 2),  # inside a token
    ("Java", "javascript and typescript", 0),
    ("Java", "core java, 用java写", 2),
    ("games", "a game, two games, no gamer", 2),
    ("AI", "said of ai, chain, aide, openai 和ai技术", 2),
    ("machine learning", "machine-learning machine_learning, machinelearning, machine, x", 3),
    ("machine learning", "machine\nlearning", 1),
    ("machine learning", "machine and learning", 0),
    ("machine learning", "machine, learning", 0),
    ("art", "état d'art, artë, éart", 1),  # accented letters continue a word
)
def test_keyword_counts(keyword: str, text: str, number: int) -> None:
    matcher = Matcher(from_words(keyword))
    assert matcher.keyword_counts(text) == ({keyword: number} if number else {})
    assert matcher.has_keyword(text) == (number > 0)


@cases(
    "keyword, text, score",
    ("电影", "電影院", 1.0),
    ("電影", "电影院", 1.0),
    ("operating system", "Operating-Systems", 1.0),
    ("machine learning", "MachineLearning", 1.0),
    ("c language", "clanguage", 0.0),
)
def test_keyword_score(keyword: str, text: str, score: float) -> None:
    assert Matcher(from_words(keyword)).keyword_score[text] == score


def test_token_counts_phrase_is_one_token(football: Matcher) -> None:
    phrase = Matcher(from_words("machine learning"))
    assert phrase.token_counts["an introduction to machine  learning"] == (1, 4)
    assert football.token_counts["足球赛"] == (1, 1)


def test_combined_weight_multiplies_misses() -> None:
    matcher = Matcher(from_words("足球,射门:0.5,门将:0.5"))
    assert matcher.combined_weight(["射门", "门将"]) == pytest.approx(0.75)
    assert matcher.combined_weight(["足球", "射门"]) == 1.0


def test_cosine_of_anchor_example_matches_docstring(football: Matcher) -> None:
    assert football.cosine["足球 新闻 网站 首页"] == pytest.approx(0.5)
    assert football.cosine["首页"] == 0.0


def test_features_count_for_links_but_not_for_pages() -> None:
    topic = Topic("足球", (Keyword("足球"),), {"欧冠": 1.0, "皇马": 0.5, "足球": 0.9})
    matcher = Matcher(topic)
    assert matcher.link_score["欧冠 皇马"] == pytest.approx(1 - 0.85 * 0.925)
    assert matcher.keyword_score["欧冠 皇马"] == 0.0
    assert matcher.link_score["足球"] == matcher.link_score["足球 欧冠"] == 1.0
    assert matcher.link_score["歐冠"] == pytest.approx(0.15)  # in either script
    assert matcher.link_words("皇马 vs 足球") == ["足球", "皇马"]


def test_link_scores_include_features() -> None:
    topic = to_builtins(Topic("足球", (Keyword("足球"),), {"欧冠": 1.0}))
    scorer = PageScorer(AnalysisConfig(topic=topic, cosines=True))
    html = "<h2>欧冠</h2><a href=/欧冠/1>欧冠</a><a href=/2>天气</a>".encode()
    page = scorer.score("http://h/", html, "text/html; charset=utf-8")
    first, second = page.links
    scores = (first.anchor_score, first.url_score, first.heading_score)
    assert scores == pytest.approx((0.15, 0.15, 0.15))
    assert first.cosine_score == pytest.approx(0.5**0.5)
    assert (second.anchor_score, second.cosine_score) == (0.0, 0.0)
    assert page.relevance < 0.5


@cases("features, score", ({}, 0.0), ({"欧冠": 1.0}, 0.0), ({"欧冠": 1.0, "fifa": 1.0}, 0.15))
def test_may_match_ascii_skips_chinese_topics(features: dict[str, float], score: float) -> None:
    topic = to_builtins(Topic("足球", (Keyword("足球"),), features))
    scorer = PageScorer(AnalysisConfig(topic))
    html = b"<a href=/fifa/1>x</a><a href=/%E8%B6%B3%E7%90%83/1>x</a>"
    page = scorer.score("http://h/", html, "text/html")
    assert [link.url_score for link in page.links] == pytest.approx([score, 1.0])


def test_cosine_of_anchor_with_features_example_matches_docstring() -> None:
    topic = Topic("足球", (Keyword("足球"),), {"欧冠": 0.6, "皇马": 0.3})
    assert Matcher(topic).cosine["欧冠 新闻"] == pytest.approx(0.6 / (1.45**0.5 * 2**0.5))


def test_euclid_of_anchor_has_scale_of_pages(football: Matcher) -> None:
    assert football.euclid["足球 新闻"] == pytest.approx(0.5)
    assert (football.euclid["足球"], football.euclid["新闻"]) == (1.0, 0.0)
    page = Document(title="足球 新闻")
    judged = make_model("euclid", football, {}, as_published=True).judge(page)
    assert judged.relevance == pytest.approx(football.euclid["足球 新闻"])


def test_position_example_matches_docstring(football: Matcher) -> None:
    links = [RawLink("/", anchor) for anchor in ["足球", "足球", *["新闻"] * 38]]
    page = Document(title="足球 新闻 体育 首页", keywords="足球,体育", links=links)
    judgement = make_model("position", football, {}).judge(page)
    assert judgement.relevance == pytest.approx(0.25 + 0.75 + 0.25 * 0.05)
    assert judgement.matched["title"] == ["足球"]


def test_boolean_keyword_in_title_or_text_is_relevant(football: Matcher) -> None:
    model = make_model("boolean", football, {})
    assert model.judge(Document(blocks=text("这里说到足球一次"))).relevance == 1.0
    assert model.judge(Document(title="篮球", blocks=text("没有"))).relevance == 0.0


def test_evidence_example_matches_docstring(football: Matcher) -> None:
    model = make_model("evidence", football, {"lead": 0.0})
    page = Document(title="足球", blocks=text("足球" * 3 + "。" * 1994))
    judgement = model.judge(page)
    assert judgement.parts["text"] == pytest.approx(0.75)
    assert judgement.relevance == pytest.approx(0.911, abs=1e-3)


def test_evidence_lists_matched_words_by_part(football: Matcher) -> None:
    model = make_model("evidence", football, {})
    links = [
        RawLink("/tags/x", "#足球"),
        RawLink("/1", "英超第三轮的足球战报，一条长长的链接文字"),
        RawLink("/2", "新闻"),
    ]
    judgement = model.judge(Document(title="足球", blocks=text("足球"), links=links))
    assert judgement.parts.keys() == judgement.matched.keys()
    assert judgement.matched["tag"] == judgement.matched["anchors"] == ["足球"]


def test_evidence_tag_cloud_counts_little(football: Matcher) -> None:
    model = make_model("evidence", football, {})
    tag = RawLink("/tags/x", "#足球")
    others = [RawLink(f"/tags/{n}", f"标签{n}") for n in range(200)]
    single = model.judge(Document(links=[tag], blocks=text("正文")))
    cloud = model.judge(Document(links=[tag, *others], blocks=text("正文")))
    menu = RawLink("/", "足球", region=Region.NAV)
    nav = model.judge(Document(links=[menu], blocks=text("正文")))
    assert single.relevance > 0.5 > cloud.relevance > nav.relevance


def test_evidence_title_of_another_page_is_no_tag() -> None:
    matcher = Matcher(from_words("足球,football,association football"))
    judge = make_model("evidence", matcher, {}).judge
    anchors = ["#足球 (12)", "足球新闻", "Football", "Derby report - football", "足球新闻网站"]
    pages = [Document(links=[RawLink("/x", anchor)], blocks=text("正文")) for anchor in anchors]
    assert ["tag" in judge(page).parts for page in pages] == [True, True, True, False, False]


def test_evidence_text_omits_navigation(football: Matcher) -> None:
    menu = Block("足球 篮球 网球", 8, "li")
    page = Document(blocks=lambda: [menu, Block("今天天气很好。", 0, "p")])
    assert "text" not in make_model("evidence", football, {}).judge(page).parts


def test_evidence_text_omits_site_boilerplate(football: Matcher) -> None:
    frame = "<div class=site-nav><p>足球的新闻</p></div><aside>足球</aside><footer>足球</footer>"
    html = f"{frame}<main><p>今天天气很好。</p></main>"
    evidence = make_model("evidence", football, {})

    def judge(html: str) -> dict[str, float]:
        page = parse(html)
        return evidence.judge(Document(blocks=page.extract_blocks, region=page.block_region)).parts

    assert judge(html) == {}
    assert judge(f"<header><p>足球</p></header>{html}").keys() == {"lead", "text"}  # its heading


@cases(
    "keywords, source",
    ("足球", "<p>亚足球联</p>"),
    ("足球", "<p>⾜球</p>"),  # U+2F9C, as text out of a PDF has it
    ("足球", "<p>&#36275;&#x7403;</p>"),
    ("足球", "<p>足<b>球</b></p>"),
    ("国际象棋", "<p>國際象棋</p>"),
    ("java", "<h1>ＪＡＶＡ</h1>"),
    ("java", "学java好"),
    ("c++", "in C++11 it"),
    ("машина", "<b>МАШИНА</b>"),
    ("football", "foot&shy;ball, foot&#8203;ball"),
    ("欧冠决赛", "今年的欧冠决\n\t赛"),
    ("web crawler", "A Web&#160;Crawler."),
)
def test_main_text_contains_keyword_in_all_spellings(keywords: str, source: str) -> None:
    page = Document.from_parsed(parse(source))
    assert Matcher(from_words(keywords)).keyword_counts(page.main_text)


def test_evidence_section_uses_folders_of_address(football: Matcher) -> None:
    evidence, soccer = make_model("evidence", football, {}), "http://h/足球/2024/1.html"
    filed = evidence.judge(Document(url=soccer, url_words="足球 2024 1"))
    named = evidence.judge(Document(url="http://h/足球", url_words="足球"))
    assert (filed.parts, named.parts) == ({"url": 1.0, "section": 1.0}, {"url": 1.0})
    assert filed.relevance > 0.5 > named.relevance


def test_evidence_cited_uses_folders_of_linked_addresses(football: Matcher) -> None:
    evidence = make_model("evidence", football, {})

    def judge(*hrefs: str) -> dict[str, float]:
        links = [RawLink(href, "more") for href in hrefs]
        return evidence.judge(Document(url="http://h/1", links=links)).parts

    cited = "https://news.example/足球/1"
    assert judge(cited, "/足球/2", "http://h/足球/3") == {"cited": 1.0}
    assert judge(cited, "http://a.example/x/1") == {"cited": 0.5}
    assert judge("http://news.example/足球") == {}  # its own name, no folder
    assert judge(cited, *(f"http://a.example/{n}/x" for n in range(10))) == {}


_TEXT = st.text(alphabet="足球篮球 java，。ａ1-", max_size=40)


@pytest.mark.parametrize("name", [name for name in RELEVANCE if name != "bayes"])  # untrained
@given(title=_TEXT, keywords=_TEXT, body=_TEXT, anchors=st.lists(_TEXT, max_size=5))
def test_relevance_is_in_range_and_monotone(
    name: str, title: str, keywords: str, body: str, anchors: list[str]
) -> None:
    model = make_model(name, Matcher(from_words("足球"), _SEGMENTER), {})
    links = [RawLink("/", anchor) for anchor in anchors]
    page = Document(title=title, keywords=keywords, links=links, blocks=text(body))
    relevance = model.judge(page).relevance
    assert 0.0 <= relevance <= (2.0 if name == "position" else 1.0)
    assert model.judge(page).relevance == relevance


_SEGMENTER = Segmenter(["足球"])


def test_from_words_parses_keywords_and_weights() -> None:
    topic = from_words("足球，英超:0.8、machine learning")
    expected = [("足球", 1.0), ("英超", 0.8), ("machine learning", 1.0)]
    assert [(k.text, k.weight) for k in topic.keywords] == expected
    assert topic.name == "足球"


@pytest.mark.parametrize("words", ["", " , ，", "！", "足球:7", "足球:0", "足球:1.2.3"])
def test_from_words_invalid_topic_is_refused(words: str) -> None:
    with pytest.raises(TopicError):
        from_words(words)


@cases(
    "relevance, topic, option, as_published, expected",
    ("cosine", {}, None, False, 0.05),  # the model's default
    ("cosine", {}, None, True, 0.15),  # its paper's
    ("evidence", {}, None, True, 0.5),  # no paper has one
    ("cosine", {"relevance": "cosine", "threshold": 0.3}, None, False, 0.3),
    ("cosine", {"relevance": "cosine", "threshold": 0.3}, None, True, 0.3),
    ("evidence", {"threshold": 0.3}, None, False, 0.3),  # tuned for the default model
    ("cosine", {"threshold": 0.3}, None, False, 0.05),  # tuned for another model
    ("cosine", {"relevance": "euclid", "threshold": 0.3}, None, True, 0.15),
    ("cosine", {"relevance": "cosine", "threshold": 0.3}, 0.7, True, 0.7),
    ("cosine", {"relevance": "cosine", "threshold": 0.3}, 0.0, False, 0.0),
    ("cosine", {"relevance": "cosine", "threshold": 0.0}, None, False, 0.0),
)
def test_relevance_threshold_applies_the_first_that_is_set(
    relevance: str, topic: dict[str, Any], option: float | None, as_published: bool, expected: float
) -> None:
    named = msgspec.structs.replace(from_words("足球"), **topic)
    threshold = relevance_threshold(relevance, named, option=option, as_published=as_published)
    assert threshold == expected


def test_model_class_unknown_name_lists_known(football: Matcher) -> None:
    with pytest.raises(ConfigError, match="evidence"):
        make_model("no-such", football, {})
    with pytest.raises(ConfigError, match="alpha"):
        make_model("position", football, {"gamma": 1.0})
