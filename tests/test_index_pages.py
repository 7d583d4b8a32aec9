"""Index pages: what an address promises, what a page says and looks like."""

import pytest

from focus.config import AnalysisConfig
from focus.html.json_ld import MAX_JSON_LD, parse_json_ld, schema_types
from focus.records import Page
from focus.score.analysis import PageScorer
from focus.score.index_pages import Role, address_role, series_address
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases

ANALYST = PageScorer(AnalysisConfig(topic=to_builtins(from_words("足球"))))


def read(body: str, url: str = "http://h/sports/", *, head: str = "") -> Page:
    html = f"<html><head><title>新闻</title>{head}</head><body>{body}</body></html>"
    return ANALYST.score(url, html.encode(), "text/html; charset=utf-8")


ROLES = {
    Role.INDEX: """
        / /index.html /tags/%E8%B6%B3%E7%90%83/ /blog/categories/Java/leetcode/ /tags
        /en/news/ /%E6%A0%87%E7%AD%BE/x /wiki/Category:Football
        /wiki/%E5%88%86%E7%B1%BB:%E8%B6%B3%E7%90%83 /archives/2020/05/ /2024/05/01/
        /tag/es2015/ /?tag=x /w/index.php?title=Category:Football
        /w/index.php?title=%E5%88%86%E7%B1%BB:%E8%B6%B3%E7%90%83 /tags.html
        /zh-cn/archives.html /archives/2005/04/13/
    """,
    Role.PAGE: """
        /news/goal/ /w/index.php?title=Football /2024/05/01/goal/ /archives/12345
        /archives/12345.html /category/x/12345.html /categories/2020-05-01-goal/ /topics/123
        /forum/ball-7/topic/goal-3/ /topic/7-goal /topic/12 /3/library/collections.html
        /archives/2005/04/13/goal/
        /archives/2005/04/goal /?p=123 /p/504.html /p/2.html /p/1234 /wiki/P4 /page/about
        /vintage/wine
    """,
    Role.CONTINUATION: """
        /w/index.php?title=Category:Football&pagefrom=Goal /list?start=40 /page/2/
        /tags/x/page/12 /tags/x/index_2.html /a?cat=3&page=2 /tags/x/p/2/ /list/p-2.html
    """,
}


@pytest.mark.parametrize(
    ("path", "role"), [(path, role) for role, paths in ROLES.items() for path in paths.split()]
)
def test_address_role_common_addresses(path: str, role: Role) -> None:
    assert address_role(f"http://h{path}") is role


def test_series_address_pages_of_one_index_are_equal() -> None:
    paths = ("/t/x", "/t/x/", "/t/x/page/3/", "/t/x/page-3.html", "/t/x/index.html", "/t/x?page=2")
    assert {series_address(f"http://h{path}") for path in paths} == {"h/t/x/"}
    assert (
        series_address("https://h/a?cat=3&page=2")
        == series_address("http://h/a/?cat=3")
        == "h/a/?cat=3"
    )
    assert series_address("http://h/a?cat=3&page=2") != series_address("http://h/a?cat=4&page=2")


def test_series_address_wiki_category_is_one_series() -> None:
    paths = ("/wiki/Category:X", "/w/index.php?title=Category:X&pagefrom=M")
    assert {series_address(f"http://h{path}") for path in paths} == {"h/wiki/Category:X/"}
    assert series_address("http://h/w/index.php?title=X") == "h/w/?title=X"


@pytest.mark.parametrize("anchor", ["Next page »", "下一页", "下頁", "Older posts", "›"])
def test_is_pagination_text_next_and_previous_is_true(anchor: str) -> None:
    page = read(f'<a href="/sports/b">{anchor}</a>')
    assert page.links[0].target_role is Role.CONTINUATION


@pytest.mark.parametrize("rel", ["next", "prev nofollow"])
def test_link_role_rel_next_is_continuation(rel: str) -> None:
    page = read(f'<a href="/sports/b">2</a><a rel="{rel}" href="/sports/b"><i></i></a>')
    assert [link.target_role for link in page.links] == [Role.CONTINUATION]


@pytest.mark.parametrize("anchor", ["Next steps", "下一篇", "Read more", "More", "1", ""])
def test_link_role_article_is_page(anchor: str) -> None:
    page = read(f'<a href="/sports/b">{anchor}</a>')
    assert page.links[0].target_role is Role.PAGE


def test_link_role_continuation_only_within_same_series() -> None:
    page = read(
        '<a href="/tags/x/page/2/">2</a><a href="/page/2/">older</a><a href="/tags/y/">y</a>'
        '<a href="/goal">goal</a>',
        "http://h/tags/x/",
    )
    expected = [Role.CONTINUATION, Role.INDEX, Role.INDEX, Role.PAGE]
    assert [link.target_role for link in page.links] == expected


CARDS = '<article><p>first</p><a href="/a">a</a></article>' * 4
LIST = "".join(
    f'<a href="/sports/2024-05-{day}/goal-{day}.html">{day}</a>' for day in range(10, 22)
)
OG = '<meta property="og:type" content="article">'
LD = '<script type="application/ld+json">{"@graph": [{"@type": "%s"}]}</script>'


@cases(
    "head, body, is_index",
    ("", "<p>goal</p>", False),
    (OG + LD % "Article", CARDS, False),
    ("", CARDS, True),
    ("", '<article class="comment-body">a</article>' * 9, False),
    ("", f"<article>a</article><aside>{'<article>b</article>' * 9}</aside>", False),
    ("", "".join(f'<a href="?post={n}">{n}</a>' for n in range(12)), False),
    (OG, CARDS, False),  # related articles below one
    (LD % "NewsArticle", CARDS, False),
    (LD % "CollectionPage", "<p>goal</p>", True),
    ("", LIST, True),
    ("", LIST + "<p>" + "进球" * 99, True),
    ("", f"<main><p>{'球队赢得了比赛。' * 99}</main><div>{LIST}</div>", False),  # beside a text
    ("", f"<nav>{LIST}</nav>", False),
    ("", LIST + "<p>text</p>" * 7, False),  # an article with many links
    ("", LIST[: len(LIST) // 2], False),
)
def test_is_index_page_neutral_address_uses_markup(head: str, body: str, is_index: bool) -> None:
    assert read(body, head=head).is_index_page is is_index


def test_is_index_page_address_overrides_metadata() -> None:
    assert read("<p>goal</p>", "http://h/tags/x/", head=OG + LD % "Article").is_index_page


def test_named_index_page_uses_title_and_address() -> None:
    assert read("", "http://h/tags/%E8%B6%B3%E7%90%83/").index_topic_score == 1.0
    titled = f"<html><title>{'x' * 78}足球</title>".encode()
    assert ANALYST.score("http://h/tags/1/", titled, None).index_topic_score == 1.0
    behind = f"<html><title>{'x' * 80}足球</title>".encode()  # the site's name
    assert ANALYST.score("http://h/tags/1/", behind, None).index_topic_score == 0.0
    article = "<html><title>足球</title><p>goal".encode()
    assert ANALYST.score("http://h/goal", article, None).index_topic_score == 0.0


def kinds(script: str) -> list[str]:
    return [kind for thing in parse_json_ld(script) for kind in schema_types(thing)]


def test_metadata_malformed_json_ld_is_read_partly() -> None:
    assert kinds('{"@type": "WebPage", "mainEntity": {"@type": "ItemList"}}') == ["WebPage"]
    graph = '[{"@type": ["Blog", 7]}, {"@graph": [{"@type": "Article"}, 3]}]'
    assert kinds(graph) == ["Blog", "Article"]
    for broken in (
        "",
        "{",
        "7",
        "null",
        '{"@graph": 1}',
        "[" * 5000,
        " " * (MAX_JSON_LD + 1) + "{}",
    ):
        assert kinds(broken) == []
