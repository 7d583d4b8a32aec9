"""Rules for the URLs of common web applications: actions, page variants, index pages."""

import re
from urllib.parse import quote

import pytest

from focus.admission.site_rules import (
    is_action_link,
    load_knowledge,
    reason_against,
    strip_params,
)
from focus.records import DropReason, Link
from tests.support.web import TinyWeb
from tests.test_crawl import crawl

ACTION, VARIANT = DropReason.ACTION, DropReason.PAGE_VARIANT


def link(url: str, anchor: str = "", *, nofollow: bool = False) -> Link:
    return Link(
        f"http://a.test{quote(url, safe='/?&=%')}", b"", "a.test", anchor, nofollow=nofollow
    )


@pytest.mark.parametrize(
    "url",
    [
        "/logout",
        "/user/logout?next=/",
        "/logout.php",
        "/index.php?action=logout",
        "/post/7?vote=up",
        "/post/7/vote",
        "/vote?id=7&how=up&goto=news",
        "/?add-to-cart=5",
        "/item/?add_to_wishlist=5",
        "/cart/add/5",
        "/comments/5/delete",
        "/topic?do=mark_read",
        "/wiki?do=save&sectok=1f2e",
        "/forum.php?mod=x&formhash=1f2e",
        "/unsubscribe?u=5",
        "/wp-login.php?redirect_to=/",
    ],
)
def test_address_of_an_action_is_refused_everywhere(url: str) -> None:
    refusal = reason_against(f"http://a.test{url}")
    assert refusal is not None and refusal.reason is ACTION


@pytest.mark.parametrize(
    "url",
    [
        "/how-to-delete-a-branch",
        "/2026/vote-count-delayed/",
        "/wiki/Vote",
        "/wiki/Logout",
        "/docs/cli/docker/logout/",
        "/tag/vote?page=2",
        "/blog/unsubscribe/",
        "/news/report/12345.html",
        "/show.php?id=5&title=delete",
        "/article?a=report-2026",
        "/watch?v=abc",
        "/投票制度",
        "/archives/7/",
        "/list?action=view",
    ],
)
def test_address_of_an_article_about_an_action_is_not_refused(url: str) -> None:
    assert reason_against(f"http://a.test{quote(url, safe='/?&=')}") is None


@pytest.mark.parametrize(
    ("url", "anchor", "nofollow", "is_action"),
    [
        ("/c?id=5", "删除", False, True),
        ("/c/5", "[删除]", True, True),
        ("/c/5", "删除", False, False),
        ("/x?t=1", "Log out", False, True),
        ("/u/5", "关注", True, True),
        ("/list?c=5", "关注", False, False),
        ("/like/5", "Like", True, False),
        ("/wiki?title=Delete", "Delete", False, False),
        ("/wiki/删除?oldformat=1", "删除", False, False),
        ("/p?id=9", "投票制度", True, False),
        ("/p?id=9", "How to delete a branch", True, False),
    ],
)
def test_text_of_a_link_marks_an_action_only_with_query_or_nofollow(
    url: str, anchor: str, nofollow: bool, is_action: bool
) -> None:
    assert is_action_link(link(url, anchor, nofollow=nofollow)) is is_action


def test_parameters_that_do_not_change_a_page_are_removed() -> None:
    page = "http://a.test/goal/"
    assert strip_params(f"{page}?replytocom=5", "") == page
    assert strip_params(f"{page}?b=2&replytocom=5&a=1", "") == f"{page}?b=2&a=1"
    assert strip_params(f"{page}?share=x", "") == f"{page}?share=x"
    assert strip_params(f"{page}?share=x&nb=1", "WordPress") == page


def test_every_pattern_compiles_and_names_its_source() -> None:
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
    actions = [
        ("/logout", "x"),
        ("/p/1?vote=up", "赞"),
        ("/c?id=3", "删除"),
        ("/?add-to-cart=1", "买"),
    ]
    pages = ["/how-to-log-out", "/wiki/Delete", "/p?id=4"]
    web.page("http://a.test/", links=[*actions, *pages])
    for url in pages:
        web.page(f"http://a.test{url}", title="football")
    run = await crawl(web, ["http://a.test/"])
    assert run.crawl.unit_of_work.drops[ACTION] == len(actions)
    assert {hit.url.removeprefix("http://a.test") for hit in web.log} == {
        "/robots.txt",
        "/",
        *pages,
    }


async def test_seed_may_lead_to_a_log_in_page() -> None:
    web = TinyWeb()
    web.redirect("http://a.test/", "http://a.test/login")
    web.page("http://a.test/login", links=["/logout"])
    run = await crawl(web, ["http://a.test/"])
    assert [hit.url for hit in web.log][-1] == "http://a.test/login"
    assert run.crawl.unit_of_work.drops[ACTION] == 1
