"""A generated web that goes on publishing."""

import re

import pytest

from focus.demo.frame import listing_path
from focus.http.sitemap import read_listing
from tests.support.publishing import BEGIN, PublishingWeb, publishing


@pytest.fixture(scope="module")
def web() -> PublishingWeb:
    return publishing(3, pages=600, days=4, daily=0.2)


def text_at(web: PublishingWeb, url: str, moment: float) -> str:
    answer = web.respond(url, moment)
    assert answer is not None
    return answer.body.decode("utf-8", "replace")


def test_an_article_is_there_from_its_instant_on_and_not_before(web: PublishingWeb) -> None:
    assert [each.at for each in web.after] == sorted(each.at for each in web.after)
    for at, article in web.after[::17]:
        url = web.url_of(article)
        before, after = web.respond(url, at - 1), web.respond(url, at)
        assert before is not None and after is not None
        assert after.status == 200 and web.at(at - 1).article_at(url) is None
        site = web.plan.sites[article.site]
        section = web.plan.section(article)
        listed = f"http://{site.host}{listing_path(site, section)}"
        assert article.path in text_at(web, listed, at)
        assert article.path not in text_at(web, listed, at - 1)


def test_quiet_articles_stand_on_no_front_page(web: PublishingWeb) -> None:
    quiet = [each for each in web.after if each.article.quiet]
    assert 0.1 < len(quiet) / len(web.after) < 0.4
    for at, article in quiet:
        assert article.path not in text_at(
            web, web.url_of(article).split(article.path)[0] + "/", at
        )


def test_old_articles_come_late_and_reprints_repeat_a_text(web: PublishingWeb) -> None:
    articles = [article for _, article in web.after]
    old = [each for each in articles if each.appeared and each.published < each.appeared]
    copies = [each for each in articles if each.text_of >= 0]
    assert old and copies
    for copy in copies:
        original = web.plan.articles[copy.text_of]
        assert original.draft == copy.draft and original.text_of < 0
        pair = [text_at(web, web.url_of(each), 9e9) for each in (original, copy)]
        if web.plan.sites[copy.site].kind.codec == web.plan.sites[original.site].kind.codec:
            first, second = (re.findall(r"<p>([^<（]{30,})", each) for each in pair)
            assert len(set(first) & set(second)) > 0.7 * len(first)


def test_feeds_and_sitemaps_list_the_latest_first(web: PublishingWeb) -> None:
    at = BEGIN + 3 * 86_400
    for host, path, kind in (
        ("blog.laochen.example", "feed.xml", "feed"),
        ("www.jinbao.example", "sitemap.xml", "sitemap"),
    ):
        answer = web.respond(f"http://{host}/{path}", at)
        assert answer is not None
        listing = read_listing(answer.body)
        assert listing is not None and listing.kind == kind
        number = next(each.number for each in web.plan.sites if each.host == host)
        mine = [web.url_of(a) for then, a in web.after if then <= at and a.site == number]
        assert [each.url for each in listing.entries[: len(mine)]] == mine[::-1][
            : len(listing.entries)
        ]
    assert "/feed.xml" in text_at(web, "http://blog.laochen.example/", at)


def test_the_same_seed_gives_the_same_days() -> None:
    one, other = (publishing(3, pages=200, days=2, daily=0.1) for _ in range(2))
    assert one.after == other.after
    assert one.respond("http://www.xinlan.example/", BEGIN + 9e4) == other.respond(
        "http://www.xinlan.example/", BEGIN + 9e4
    )
    assert one.respond("http://nowhere.test/", BEGIN) is None
