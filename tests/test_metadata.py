"""What pages say of themselves for machines: author, last change; and Markdown."""

import builtins
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.errors import ExportError
from focus.html.markdown import to_markdown, to_text
from focus.html.metadata import find_author
from focus.html.publication_date import MetadataSources, find_modification, find_publication
from tests.support.cases import cases

NOW = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
URL = "https://a.test/x"


def authors(html: str) -> str | None:
    return find_author(MetadataSources(html, URL))


@cases(
    "html",
    '<meta name="author" content="李雷">',
    '<meta property="article:author" content="https://fb.test/li"><a rel="author">李雷</a>',
    '<span itemprop="author"><b itemprop="name">李雷</b></span>',
    '<script type="application/ld+json">{"author": {"name": "李雷"}}</script>',
    '<script type="application/ld+json">{"@graph": [{"author": ["李雷"]}]}</script>',
    '<script type="application/ld+json">no json</script><meta name=author content=李雷>',
    '<script type="application/ld+json">{"name": "a\nb", "author": "李雷"};</script>',
    '<script type="application/ld+json">//<![CDATA[\n{"author": "李雷",}\n//]]></script>',
    '<script type="application/ld+json"><!-- {"author": "李雷"} --></script>',
    '<script type="application/ld+json; charset=utf-8">{"@graph": [{"@type": "NewsArticle",'
    '"author": {"@id": "#p"}}, {"@id": "#p", "name": "李雷", "@type": "Person"}]}</script>',
    '<script type="application/ld+json">[{"@type": "Article", "url": "/b", "author": "王五"}'
    ', {"@type": "Article", "author": "李雷"}]</script>',
    '<meta name="author" content="li@a.test (李雷)">',
    '<script type="application/ld+json">{"author": "<b>李雷</b> li@a.test"}</script>',
    "<p>2026-11-20 来源：新华社 作者：李雷 编辑：王五</p>",
    "<p>新华社北京11月20日电（记者 李雷）昨天晚上的比赛</p>",
    "<p>责任编辑：李雷 校对：王五</p>",
    "<div class=byline>By 李雷 | 20 November</div>",
)
def test_find_author_author_sources(html: str) -> None:
    assert authors(html) == "李雷"


BYLINES = """文/李雷; 文 | 李雷 编辑｜王五; 撰文：李雷 摄影：王五; 作者｜李雷
本文作者 李雷; 编辑/李雷; 【编辑:李雷】; 記者李雷／台北報導; （记者李雷 通讯员韩梅梅）昨天
作者：[美]李雷; 作者：李雷（教授）; 供稿：李雷 审核：王五; 记者 李雷 报道"""
SCRIPTS = """{"description": "a // b", /* of the text */ "author": "李雷"} // the end
{"name": "it\\'s", "author": "李雷"} {"@type": "Person", "name": "王五"}
{"@graph": {"@type": "Article", "author": {"givenName": "李雷"}}}
[{"@type": "Review", "author": "王五"}, {"@type": "NewsArticle", "author": "李雷"}]
{&quot;@type&quot;: &quot;Article&quot;, &quot;author&quot;: &quot;李雷&quot;}
[{"@type": "Article", "author": "#a"}, {"@type": "Person", "@id": "#a", "name": "李雷"}]"""


@pytest.mark.parametrize("line", re.split("; |\n", BYLINES))
def test_find_author_chinese_bylines(line: str) -> None:
    assert authors(f"<p>{line}</p>") == "李雷"


@pytest.mark.parametrize("script", SCRIPTS.splitlines())
def test_find_author_json_ld_as_sites_write_it(script: str) -> None:
    assert authors(f'<script type="application/ld+json">{script}</script>') == "李雷"


@cases(
    "html, author",
    ("<meta name=citation_author content='Li, L.'><meta name=citation_author content='Wu, D.'>",
     "L. Li, D. Wu"),
    *((f"<meta name=citation_author content='{name}'>", plain) for name, plain in (
        ("李, 娜", "李娜"), ("欧阳，雪", "欧阳雪"), ("李雷，韩梅梅", "李雷, 韩梅梅"))),
    ("<meta name=citation_authors content='King, Martin L., Jr.; Doe, Jane'>",
     "Martin L. King Jr., Jane Doe"),
    ("<meta name=dcterms.creator content='Jane Doe, MD'>", "Jane Doe, MD"),
    ("<h1>A</h1><p>By Jane Doe and John Roe</p>", "Jane Doe, John Roe"),
    ("<h1>A</h1><p>By Li, Na and Wang, Wei</p>", "Na Li, Wei Wang"),
    ("<p class=byline>By Li, Na; van der Berg, Piet J. | 3 May", "Na Li, Piet J. van der Berg"),
    ("<meta name=author content='Doe, Jane'>", "Jane Doe"), ("<p>By Monday, All is well", None),
    ("<p>作者：Tom Li、王五</p>", "Tom Li, 王五"),
    ("<p>Von Jane Doe</p>", "Jane Doe"), ("<p>Автор: Иван Петров</p>", "Иван Петров"),
    ("<p>Story by Jane Doe, reporter</p>", "Jane Doe"), ("<p>By Monday, all is well", None),
    ("<p>记者采访了很多人</p><p>我们的编辑：欢迎大家投稿</p><p>作者：佚名</p>", None),
    ("<meta name=author content='Jane Doe and John Roe'>", "Jane Doe, John Roe"),
    ("<meta name=author content='Food & Wine'>", "Food & Wine"),
    ("<meta name=author content='admin'><meta name=byl content='By Jane Doe'>", "Jane Doe"),
    ("<p><a rel=author>A Doe</a> <a rel=author>B Roe</a></p><p><a rel=author>C Poe</a>",
     "A Doe, B Roe"),
    ("<p>The cup was won.<div id=comments><p>By Jane Doe</p></div>", None),
    ("<p>The cup was won by Jane Doe</p><div class=author>li@a.test</div>", None),
)  # fmt: skip
def test_find_author_authors_in_bylines(html: str, author: str | None) -> None:
    assert authors(html) == author


def test_find_author_several_authors_are_unique() -> None:
    names = '[{"author":[{"name":"A"},{"name":"B"},"A"]}]'
    html = f'<script type="application/ld+json">{names}</script>'
    assert authors(html) == "A, B"


@cases(
    "html",
    '<meta property="article:modified_time" content="2026-11-21T08:30:00Z">',
    '<script type="application/ld+json">{"dateModified": "2026-11-21T08:30:00Z"}</script>',
    '<time itemprop="dateModified" datetime="2026-11-21T08:30Z">x</time>',
)
def test_find_modification(html: str) -> None:
    sources = MetadataSources(html, URL)
    modified = find_modification(sources, fetched_at=NOW, zone=UTC)
    assert modified == datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
    assert find_publication(sources, fetched_at=NOW, zone=UTC) is None


@cases(
    "json_ld",
    '{"author": ' + "[" * 900 + "]" * 900 + "}",
    "[" + "{}," * 90_000 + "{}]",
    '{"a": 1' + " " * 200_000 + "x",
    '{"a": "' + "/" * 200_000 + "x",
    '{"datePublished": "' + "2026-" * 40_000 + '"}',
)
def test_find_author_hostile_json_ld_is_read_in_time(json_ld: str) -> None:
    assert authors(f'<script type="application/ld+json">{json_ld}</script>') is None


@given(st.text())
def test_find_author_any_text_never_raises(text: str) -> None:
    assert find_modification(MetadataSources(text, URL), fetched_at=NOW, zone=UTC) is None
    authors(text)


ARTICLE = (
    "<html><body><nav><a href=/>首页</a></nav><article><h1>标题</h1><p>见<a href='/m'>战报</a>，"
    "今天晚上的比赛非常精彩，双方打得难解难分，最后主队三比二获胜，全场观众起立鼓掌。</p>"
    + "<p>上半场双方互有攻守，下半场开始以后主队连进两球，客队在终场前扳回一球。</p>"
    * 4
    + "<table><tr><th>队</th><th>分</th></tr><tr><td>皇马</td><td>3</td></tr></table>"
    "</article></body></html>"
)


def test_to_markdown_keeps_headings_links_and_tables() -> None:
    text = to_markdown(ARTICLE, URL)
    assert "# 标题" in text and "[战报](https://a.test/m)" in text and "| 皇马 | 3 |" in text
    assert "首页" not in text


def test_to_text_keeps_the_article_without_markup() -> None:
    text = to_text(ARTICLE, URL)
    assert "今天晚上的比赛非常精彩" in text and "首页" not in text and "](" not in text


def test_to_markdown_without_content_is_empty() -> None:
    assert to_markdown("", URL) == ""


def test_to_markdown_without_extra_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **others: Any) -> Any:
        if name == "trafilatura":
            raise ImportError(name)
        return real(name, *args, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExportError, match=r"focus-crawler\[markdown\]"):
        to_markdown(ARTICLE, URL)
