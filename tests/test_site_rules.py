"""Rules for the URLs of common web applications: actions, page variants, index pages."""

import re
from pathlib import Path
from urllib.parse import quote

from focus.admission.site_rules import (
    detect_software,
    is_action_link,
    load_knowledge,
    reason_against,
    strip_params,
)
from focus.config import ScopeConfig
from focus.records import DropReason, Link
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import crawl

ACTION, VARIANT = DropReason.ACTION, DropReason.PAGE_VARIANT


def link(url: str, anchor: str = "", *, nofollow: bool = False) -> Link:
    address = f"http://a.test{quote(url, safe='/?&=%')}"
    return Link(address, b"", "a.test", anchor, nofollow=nofollow)


@cases(
    "url",
    "/logout", "/user/logout?next=/", "/logout.php", "/index.php?action=logout",
    "/post/7?vote=up", "/post/7/vote", "/vote?id=7&how=up&goto=news", "/?add-to-cart=5",
    "/item/?add_to_wishlist=5", "/cart/add/5", "/comments/5/delete", "/topic?do=mark_read",
    "/wiki?do=save&sectok=1f2e", "/forum.php?mod=x&formhash=1f2e", "/unsubscribe?u=5",
    "/wp-login.php?redirect_to=/", "/subscription/forum/5/", "/watch/topics/7",
)  # fmt: skip
def test_address_of_an_action_is_refused_everywhere(url: str) -> None:
    refusal = reason_against(f"http://a.test{url}")
    assert refusal is not None and refusal.reason is ACTION
    assert refusal.detail.startswith("any site: ")


@cases(
    "url",
    "/how-to-delete-a-branch", "/2026/vote-count-delayed/", "/wiki/Vote", "/wiki/Logout",
    "/docs/cli/docker/logout/", "/tag/vote?page=2", "/blog/unsubscribe/",
    "/news/report/12345.html", "/show.php?id=5&title=delete", "/article?a=report-2026",
    "/watch?v=abc", "/投票制度", "/archives/7/", "/list?action=view", "/follow/users/guide/",
)  # fmt: skip
def test_address_of_an_article_about_an_action_is_not_refused(url: str) -> None:
    assert reason_against(f"http://a.test{quote(url, safe='/?&=')}") is None


@cases(
    "url, anchor, nofollow, is_action",
    ("/c?id=5", "删除", False, True), ("/c/5", "[删除]", True, True),
    ("/c/5", "删除", False, False), ("/x?t=1", "Log out", False, True),
    ("/u/5", "关注", True, True), ("/list?c=5", "关注", False, False),
    ("/like/5", "Like", True, False), ("/wiki?title=Delete", "Delete", False, False),
    ("/wiki/删除?oldformat=1", "删除", False, False), ("/p?id=9", "投票制度", True, False),
    ("/p?id=9", "How to delete a branch", True, False),
)  # fmt: skip
def test_text_of_a_link_marks_an_action_only_with_query_or_nofollow(
    url: str, anchor: str, nofollow: bool, is_action: bool
) -> None:
    assert is_action_link(link(url, anchor, nofollow=nofollow)) is is_action


def test_parameters_that_do_not_change_a_page_are_removed() -> None:
    page = "http://a.test/goal/"
    assert strip_params(f"{page}?replytocom=5", "") == page
    assert strip_params(f"{page}?b=2&replytocom=5&a=1", "") == f"{page}?b=2&a=1"
    assert strip_params(f"{page}?share=x", "") == f"{page}?share=x"
    assert strip_params(f"{page}?ordering=-price&page=2&sort=asc", "") == f"{page}?page=2"
    assert strip_params(f"{page}?order=17", "") == f"{page}?order=17"
    assert strip_params("http://a.test/list/1@b.test/T/", "public-inbox") == (
        "http://a.test/list/1@b.test/"
    )
    assert strip_params(f"{page}?share=x&nb=1", "WordPress") == page


def test_patterns_compile_and_name_their_source() -> None:
    knowledge = load_knowledge()
    assert len(knowledge.applications) >= 25
    for rules in (*knowledge.everywhere, *knowledge.applications.values()):
        for role in ("action", "variant", "index", "content"):
            for pattern in rules.patterns(role):
                re.compile(pattern)
                assert not re.search(r"\\[A-Z]", pattern), "patterns are put into lower case"
        assert rules.is_everywhere or rules.source.startswith("https://")


async def test_links_that_change_something_are_never_requested() -> None:
    web = TinyWeb()
    urls = ("/logout", "/p/1?vote=up", "/c?id=3", "/?add-to-cart=1")
    actions = list(zip(urls, ("x", "赞", "删除", "买"), strict=True))
    pages = ["/how-to-log-out", "/wiki/Delete", "/p?id=4"]
    web.page("http://a.test/", links=[*actions, *pages])
    for url in pages:
        web.page(f"http://a.test{url}", title="football")
    run = await crawl(web, ["http://a.test/"])
    assert run.crawl.unit_of_work.drops[ACTION] == len(actions)
    expected = {"/robots.txt", "/", *pages}
    assert {hit.url.removeprefix("http://a.test") for hit in web.log} == expected


async def test_seed_may_lead_to_a_log_in_page() -> None:
    web = TinyWeb()
    web.redirect("http://a.test/", "http://a.test/login")
    web.page("http://a.test/login", links=["/logout"])
    run = await crawl(web, ["http://a.test/"])
    assert [hit.url for hit in web.log][-1] == "http://a.test/login"
    assert run.crawl.unit_of_work.drops[ACTION] == 1


@cases(
    "row",
    *Path(__file__).with_name("support").joinpath("software_urls.txt").read_text().splitlines(),
)
def test_documented_urls_of_software(row: str) -> None:
    software, *roles = (part.strip() for part in row.split("|"))
    assert software in {*load_knowledge().applications, "any site"}
    for reason, urls in zip((ACTION, VARIANT, None), roles, strict=True):
        for url in urls.split():
            refusal = reason_against(f"http://a.test{quote(url, safe='/?&=%;:+,@')}", software)
            assert (refusal and refusal.reason) is reason, url
            assert refusal is None or refusal.detail.startswith(f"{software}: ")


@cases(
    "generator, source, software",
    ("WordPress 6.1", "", "WordPress"),
    ("MediaWiki 1.39", '<link href="/wp-content/x.css">', "MediaWiki"),
    ("", '<link href="/wp-content/x.css">', "WordPress"),
    ("", "<link href=http://a.test/blog/wp-content/x.css>", "WordPress"),
    ("", '<img src="https://b.test/wp-content/x.png">', ""),
    ("", '<img src="//b.test/wp-content/x.png"><script src="/wp-content/x.js">', "WordPress"),
    ("", "<p>Powered by Discuz! X3.4</p>", "Discuz!"),
    ("Hugo 0.120", '<link href="/wp-content/x.css">', ""),
    ("Elementor 3.1\nfeatures: x\n", "", "WordPress"),
    ("", "<p>x</p>" * 9_000 + "<p>Powered by phpBB</p>", "phpBB"),
)
def test_software_detected_by_html_or_generator(generator: str, source: str, software: str) -> None:
    assert detect_software(generator, source.encode(), "a.test") == software


def blog() -> TinyWeb:
    """A blog whose first page does not show its software."""
    web = TinyWeb()
    head = '<meta name="generator" content="WordPress 6.1">'
    web.page("http://a.test/", links=["/feed/", "/1/", "/2/?replytocom=5", "/2/?share=x"])
    web.page("http://a.test/1/", head=head, links=["/2/?share=x", "/2/", "/1/feed/", "/?s=ball"])
    for url in ("/feed/", "/2/", "/2/?share=x", "/1/feed/", "/?s=ball"):
        web.page(f"http://a.test{url}")
    return web


async def test_variants_are_dropped_once_the_software_of_a_host_is_known() -> None:
    web = blog()
    run = await crawl(web, ["http://a.test/"])
    assert [hit.url.removeprefix("http://a.test") for hit in web.log] == [
        "/robots.txt", "/", "/feed/", "/1/", "/2/", "/2/?share=x",
    ]  # fmt: skip
    assert run.crawl.unit_of_work.drops[VARIANT] == 2
    assert run.crawl.frontier.host("a.test").software == "WordPress"


async def test_variants_are_fetched_without_site_rules() -> None:
    web = blog()
    await crawl(web, ["http://a.test/"], scope=ScopeConfig(site_rules=False))
    assert {"http://a.test/1/feed/", "http://a.test/2/?share=x"} <= {hit.url for hit in web.log}


async def test_variants_that_waited_are_dropped_when_they_are_due() -> None:
    web = TinyWeb()
    web.page("http://b.test/", links=["http://a.test/1/", "http://a.test/1/feed/"])
    web.page("http://a.test/1/", head='<meta name="generator" content="WordPress 6.1">')
    run = await crawl(web, ["http://b.test/"])
    assert "http://a.test/1/feed/" not in {hit.url for hit in web.log}
    assert run.crawl.unit_of_work.drops[VARIANT] == 1


async def test_links_to_pages_that_a_wiki_does_not_have_yet_are_ignored() -> None:
    web = TinyWeb()
    new = '<a href="/doku.php?id=new" rel="nofollow">new</a>'
    head = f'<meta name="generator" content="DokuWiki">{new}'
    web.page("http://a.test/", head=head, links=["/doku.php?id=old"])
    run = await crawl(web, ["http://a.test/"])
    assert len(run.crawl.url_table) == 2
