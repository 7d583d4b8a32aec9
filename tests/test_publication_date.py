"""Dates of publication as pages say them, and snippets of their text."""

import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.alerts import message
from focus.alerts.snippet import MATCH_MARK, cut_snippet, fold_aligned, snippet_source
from focus.html.date_text import parse_date
from focus.html.publication_date import (
    EARLIEST,
    MetadataSources,
    date_from_url,
    find_publication,
    read_publication_time,
)
from focus.score.matching import Matcher
from focus.text.formatting import cell_width
from focus.topic.topic import from_words
from tests.support.cases import cases

SHANGHAI = ZoneInfo("Asia/Shanghai")
URL = "https://example.org/news/a.html"
MORNING = datetime(2026, 11, 21, 8, 30, tzinfo=SHANGHAI).timestamp()
FETCHED = MORNING + 6 * 3600


def read_time(html: str, url: str = URL, *, fetched_at: float = FETCHED) -> float | None:
    return read_publication_time(html, url, fetched_at=fetched_at, zone=SHANGHAI)


# -- where ----------------------------------------------------------------------------


@cases(
    "html",
    '<script type="ld+json">{"datePublished": "2026-11-21T08:30:00+08:00"}</script>',
    '<script type="application/ld+json">{"datePublished":"2026-11-21T00:30:00Z"}</script>',
    r'<script type="ld+json">{"datePublished":"2026-11-21T08:30\u002B08:00"}</script>',
    '<meta property="article:published_time" content="2026-11-21T08:30:00+08:00">',
    "<META NAME=PubDate CONTENT='2026-11-21 08:30:00'>",
    '<meta content="2026-11-21 08:30" itemprop="datePublished" />',
    '<meta name="weibo: article:create_at" content="x">'
    '<meta name="weibo:article:create_at" content="2026-11-21 08:30:00">',
    '<meta name="date" content="1999"><meta name="pubdate" content="2026/11/21 8:30">',
    '<span itemprop="datePublished">2026-11-21 08:30</span>',
    '<span itemprop="datePublished" content="2026-11-21T08:30">yesterday</span>',
    '<time datetime="2026-11-20">ad</time><h1>A</h1><time datetime="2026-11-21T08:30">.</time>',
    '<time datetime="2026-11-20">a</time><time pubdate datetime="2026-11-21T08:30">b</time>',
    "<h1>决赛</h1><div>2026年11月21日 08:30 来源：新华社</div><p>2022年12月18日 20:00</p>",
    "<h1>决赛</h1><div>来源：体育 <span>2026-11-21 08:30:00</span></div>",
    "<h1>A</h1><p>Published: <b>21 November 2026</b>, 8:30 am</p>",
    "<h1>A</h1><p>Nov. 21, 2026 8:30 AM</p>",
    "<title>决赛_体育</title><body>2020-01-01 00:00 <h2>决赛</h2>2026年11月21日8时30分",
    "<h1>A</h1><p>发布于 <time>2026-11-21 08:30</time>",
    "<h1>A</h1><span title='2026-11-21 08:30:00 +0800 CST'>yesterday</span>",
    "<h1>A</h1><script>var d = '2020-01-01 10:00'</script>2026.11.21 上午8:30",
)
def test_read_publication_time_all_sources(html: str) -> None:
    assert read_time(html) == MORNING


@cases("byline", "来源：新华社", "來源：中央社", "责任编辑：王一", "By A. Writer")
def test_read_publication_time_day_beside_byline_counts(byline: str) -> None:
    midnight = datetime(2026, 11, 21, tzinfo=SHANGHAI).timestamp()
    assert read_time(f'<h1>决赛</h1><p class="meta">2026-11-21 {byline}</p>') == midnight
    assert read_time("<h1>决赛</h1><p>2026-11-21 北京 大雪</p>") is None


@cases(
    "html",
    "<h1>决赛</h1><p>发布于 2026-11-21</p>",
    "<h1>决赛</h1><p>发表于 <time>2026-11-21</time></p>",
    "<h1>决赛</h1><time> 2026-11-21 </time>",
    "<h1>决赛</h1><div><span>2026-11-21</span> · 1 min</div>",
    "<h1>决赛</h1><p>新华社北京2026年11月21日电</p>",
    "<h1>决赛</h1><p>2026年11月21日 星期六</p>",
    "<h1>A</h1><relative-time datetime=2026-11-21>now</relative-time>",
)
def test_read_publication_time_standalone_day_counts(html: str) -> None:
    assert read_time(html) == datetime(2026, 11, 21, tzinfo=SHANGHAI).timestamp()


@cases(
    "path, day",
    ("/2026/11/21/a.html", 21),
    ("/china/2026-11-20/doc-x.shtml", 20),
    ("/a/20261119/123.htm", 19),
    ("/202611/18/t.html", 18),
    ("/art/t20261117_5678.html", 17),
    ("/blog/2026-11-16-final.html", 16),
)
def test_read_publication_time_url_is_last_source(path: str, day: int) -> None:
    midnight = datetime(2026, 11, day, tzinfo=SHANGHAI).timestamp()
    assert read_time("<h1>no date</h1>", f"https://example.org{path}") == midnight
    assert read_time('<meta name=pubdate content="2026-11-21 08:30">', URL + path) == MORNING


@cases(
    "html",
    "",
    "<h1>History</h1><p>On 18 December 2022 the final was played; in 2026-11-21 nothing was.",
    '<meta name="pubdate" content="soon">',
    '<meta name="pubdate" content="1970-01-01T00:00:00Z">',  # before the web
    '<meta name="pubdate" content="2027-11-21">',  # in the future
    '<meta property="article:modified_time" content="2026-11-21T08:30:00+08:00">',
    '<script>{"datePublished":"2026-13-45T99:00"}</script>',
    '<meta name="pubdate" content="',
    "<time datetime",
    "datepublished",
)
def test_read_publication_time_without_date_is_none(html: str) -> None:
    assert read_time(html) is None


def test_read_publication_time_implausible_date_is_skipped() -> None:
    html = (
        '<script>{"datePublished": "0001-01-01T00:00:00Z"}</script>'
        '<meta name="pubdate" content="2099-01-01"><h1>A</h1> 2026-11-21 08:30'
    )
    assert read_time(html) == MORNING


@cases(
    "html, url, moment",
    ("<h1>x</h1><p>发布于 2026-11-18</p>", URL, datetime(2026, 11, 18, tzinfo=UTC)),
    ("", "https://example.org/2026/11/18/a", datetime(2026, 11, 18, tzinfo=UTC)),
    ("<h1>x</h1><p>2026-11-18 08:30</p>", URL, datetime(2026, 11, 18, 8, 30, tzinfo=SHANGHAI)),
)
def test_publication_time_day_zone_keeps_the_day(html: str, url: str, moment: datetime) -> None:
    timestamp = read_publication_time(html, url, fetched_at=FETCHED, zone=SHANGHAI, day_zone=UTC)
    assert timestamp == moment.timestamp()


LD = '<script type="application/ld+json">{}</script>'
OWN = LD.format('{"@type": "NewsArticle", "datePublished": "2026-11-20T08:00:00+01:00"}')


@cases(
    "html, expected",
    (OWN, "2026-11-20T08:00:00+01:00"),
    (LD.format('{"@type": "ItemList", "itemListElement": [{"@type": "Article",'
               '"datePublished": "2020-01-01"}]}') + OWN, "2026-11-20T08:00:00+01:00"),
    (LD.format('{"@type": "WebPage", "datePublished": "2019-05-05"}') + OWN,
     "2026-11-20T08:00:00+01:00"),
    (LD.format('{"@type": "Article", "url": "/other/x", "datePublished": "2019-05-05"}') + OWN,
     "2026-11-20T08:00:00+01:00"),
    (LD.format('{"@type": "NewsArticle", "comment": {"datePublished": "2026-11-21"},'
               '"datePublished": "2026-11-20T08:00:00Z"}'), "2026-11-20T08:00:00+00:00"),
    (LD.format('{"@type": "JobPosting", "datePosted": "2026-11-20"}'),
     "2026-11-20T00:00:00+00:00"),
    ("<script>var a = {\"publishedDate\": \"2026-11-20T08:00:00Z\"}</script>",
     "2026-11-20T08:00:00+00:00"),
    (f"{' ' * 400_000}{OWN}", "2026-11-20T08:00:00+01:00"),
    ("<div class=comments><time datetime=2026-11-21>x</time></div>", None),
    ("<h1>A</h1><div class='post-date'>20.11.26</div>", "2026-11-20T00:00:00+00:00"),
    ("<h1>A</h1><p>text of it</p><p>发表于</p><p>2026-11-20 08:00</p>",
     "2026-11-20T08:00:00+00:00"),
    ("<table><tr><td>2026-11-20</td></tr></table><h1>A</h1>", "2026-11-20T00:00:00+00:00"),
    ("<p>Registriert: 18.09.2008</p><h1>A</h1><p>20. November 2026, Li Na",
     "2026-11-20T00:00:00+00:00"),
)  # fmt: skip
def test_find_publication_of_the_page_itself(html: str, expected: str | None) -> None:
    date = find_publication(MetadataSources(html, URL), fetched_at=FETCHED, zone=UTC)
    assert (date and date.isoformat()) == expected


@cases(
    "html, url, expected",
    ("", "https://a.test/2026/11/19/x", "2026-11-19T23:49:00-01:00"),
    ("<h1>A</h1><time datetime=x>November 19, 2026, 6:49 PM</time>", URL,
     "2026-11-19T18:49:00-06:00"),
    ('<meta name=pubdate content="2026-11-20T01:49:00+01:00">', URL,
     "2026-11-20T01:49:00+01:00"),
    ("<h1>A</h1>", URL, "2026-11-20T00:49:00+00:00"),
)  # fmt: skip
def test_find_publication_in_utc_has_the_page_day(html: str, url: str, expected: str) -> None:
    html = f'<meta property="article:published_time" content="2026-11-20T00:49:00Z">{html}'
    date = find_publication(MetadataSources(html, url), fetched_at=FETCHED, zone=UTC)
    assert date is not None and date.isoformat() == expected


@cases("path", "/p/20269999/x", "/id/1202611211", "/2026/", "/v20261121", "/2026/13/45/")
def test_date_from_url_other_numbers_are_none(path: str) -> None:
    assert date_from_url(f"https://example.org{path}", UTC) is None


# -- how ------------------------------------------------------------------------------

moments = st.datetimes(datetime(1995, 1, 2), datetime(2035, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)
FORMS = [
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d %H:%M",
    "%Y年%m月%d日 %H:%M", "%Y年%m月%d日%H时%M分", "%Y%m%d%H%M%S", "%d %B %Y, %H:%M",
    "%a, %d %b %Y %H:%M:%S", "%B %d, %Y %I:%M %p", "%Y-%m-%d %I:%M:%S%p",
]  # fmt: skip


@given(moment=moments, form=st.sampled_from(FORMS))
def test_parse_date_all_forms_are_equal(moment: datetime, form: str) -> None:
    expected = moment.replace(tzinfo=SHANGHAI)
    assert parse_date(moment.strftime(form), SHANGHAI) == expected
    assert parse_date(f"发布：{moment.strftime(form)} 来源", SHANGHAI) == expected


@given(moment=moments, minutes=st.integers(-14 * 60, 14 * 60))
def test_parse_date_offset_overrides_zone(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_date(aware.isoformat(), SHANGHAI) == aware


@given(moment=moments)
def test_parse_date_epoch_seconds_and_milliseconds(moment: datetime) -> None:
    seconds = moment.replace(tzinfo=UTC, year=2015).timestamp() if moment.day < 29 else 1.5e9
    for text in (f"{seconds:.0f}", f"{seconds:.0f}123"):
        assert parse_date(text, SHANGHAI) == datetime.fromtimestamp(seconds, UTC)


DAYS = """21.11.2026; 21 de noviembre del 2026; 21 de novembro de 2026; 21 novembre 2026
21/Nov/2026; 21 november 2026; 21 ноября 2026 г.; 21 листопада 2026; 21 Kasım 2026
21 ноември 2026; 21. studenoga 2026.; 21. novembra 2026; 21. новембар 2026; 2026. november 21.
2026 m. lapkričio 21 d.; 21 tháng 11 năm 2026; 21 พฤศจิกายน 2569; 21 בנובמבר 2026; 21 नवंबर 2026
٢١ نوفمبر ٢٠٢٦; ۲۱ نوامبر ۲۰۲۶; 21/11/2026; 2026 年 11 月 21 日; 二〇二六年十一月二十一日
２０２６年１１月２１日; 令和8年11月21日; 民國115年11月21日; 21st of November 2026"""
MOMENTS = """16. Dezember 2012, 14:30 Uhr: 2012-12-16 14:30; 1er août 2020 à 14h30: 2020-08-01 14:30
3 мая 2019 в 10:05: 2019-05-03 10:05; 2020年1月5日（月）09時30分: 2020-01-05 09:30
2020년 1월 5일 오후 3:20: 2020-01-05 15:20; 2026年11月21日（星期六）11时18分: 2026-11-21 11:18
2026-11-21 周六 晚8：00: 2026-11-21 20:00; 2026年11月21日 中午12:30: 2026-11-21 12:30
2026/11/21 下午 02:26:26: 2026-11-21 14:26; Sat Nov 21 08:30:00 CST 2026: 2026-11-21 08:30
3 maggio 2019 ore 8:30: 2019-05-03 08:30; 5 września 2020: 2020-09-05 00:00"""


@pytest.mark.parametrize("text", re.split("; |\n", DAYS))
def test_parse_date_of_a_day_in_many_languages(text: str) -> None:
    assert parse_date(text, UTC) == datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(("text", "moment"), re.findall("([^;\n]+): ([-0-9 :]{16})", MOMENTS))
def test_parse_date_with_time_of_day(text: str, moment: str) -> None:
    date = parse_date(text.strip(), UTC)
    assert date is not None and date.strftime("%Y-%m-%d %H:%M") == moment


def test_parse_date_other_numbers_are_none() -> None:
    assert parse_date("32.12.2012, 31 Foo 2012", UTC) is None


def test_parse_date_slashes_depend_on_the_language() -> None:
    assert [
        parse_date("3/4/2026", UTC, language=name).month for name in ("en-us", "de", "en-gb")
    ] == [3, 4, 4]  # type: ignore[union-attr]
    assert parse_date("21.11.26", UTC) is None
    assert parse_date("21.11.26", UTC, short=True) == datetime(2026, 11, 21, tzinfo=UTC)


ATOMS = st.sampled_from([
    "<meta ", "name=", "pubdate", '"', "'", "content=", ">", "<time ", "datetime=", "<h1>",
    "</h1>", '"datePublished":', "itemprop=datePublished", "2026", "-", "11", "21", "年", "月",
    "日", " ", ":", "08", "30", "T", "Z", "+99:99", "Nov", "<!--", "-->", "<script", "</script>",
    "&nbsp;", "İ", "<",
])  # fmt: skip


@given(html=st.one_of(st.text(), st.lists(ATOMS, max_size=60).map("".join)), url=st.text())
def test_read_publication_time_any_text_is_plausible_or_none(html: str, url: str) -> None:
    timestamp = read_time(html, f"https://a.test/{url}")
    assert timestamp is None or EARLIEST <= timestamp <= FETCHED + 86400


# -- snippets -------------------------------------------------------------------------

MATCHER = Matcher(from_words("足球,欧冠,machine learning"))


def snippet(text: str, width: int = 240) -> str:
    text = snippet_source(text)
    return cut_snippet(text, MATCHER.keyword_spans(fold_aligned(text)), width=width)


def test_snippet_marks_words_in_whole_sentences() -> None:
    text = "今天天气很好。\n欧冠决赛在周六进行。足球迷很高兴。下周再说。\n其他新闻。"
    m = MATCH_MARK
    assert snippet(text, 40) == f"{m}欧冠{m}决赛在周六进行。{m}足球{m}迷很高兴。"


def test_snippet_finds_other_script_case_and_width() -> None:
    expected = f"{MATCH_MARK}ＭＡＣＨＩＮＥ Learning{MATCH_MARK} 與{MATCH_MARK}歐冠{MATCH_MARK}。"
    assert snippet("ＭＡＣＨＩＮＥ Learning 與歐冠。") == expected


def test_snippet_of_a_long_sentence_is_cut_around_the_word() -> None:
    text = snippet("长" * 300 + "足球" + "短" * 300, 60)
    assert text.startswith("…长")
    assert f"{MATCH_MARK}足球{MATCH_MARK}" in text
    assert text.endswith("短…")
    assert cell_width(text.replace(MATCH_MARK, "")) <= 60


def test_snippet_without_matches_is_the_beginning() -> None:
    assert (
        snippet("First sentence. Second one. " + "Third " * 90, 30) == "First sentence. Second one."
    )
    assert snippet("") == ""


def test_snippet_cuts_no_latin_word() -> None:
    text = snippet("alpha beta gamma machine learning delta epsilon zeta eta theta iota kappa", 40)
    words = text.replace(MATCH_MARK, "").strip("…").split()
    assert set(words) <= set(
        "alpha beta gamma machine learning delta epsilon zeta eta theta iota kappa".split()
    )


def test_snippet_messages_use_the_same_marks() -> None:
    assert message.MATCH_MARK == MATCH_MARK


def test_snippet_marks_in_page_text_are_removed() -> None:
    assert snippet(f"{MATCH_MARK}a{MATCH_MARK} 足球") == f"a {MATCH_MARK}足球{MATCH_MARK}"


PIECES = st.sampled_from(
    ["足球", "歐冠", "Machine  Learning", "。", ". ", "\n", "x", "词", " ", "İ", "ﬃ"]
)


@given(text=st.one_of(st.text(), st.lists(PIECES, max_size=80).map("".join)))
def test_snippet_is_short_and_its_marks_pair(text: str) -> None:
    cut = snippet(text, 50)
    assert cut.count(MATCH_MARK) % 2 == 0
    assert "\n" not in cut
    bare = cut.replace(MATCH_MARK, "")
    assert cell_width(bare) <= 52
    assert len(fold_aligned(text)) == len(text)
