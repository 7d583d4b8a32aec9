"""Texts that are nearly the same, and pages that say "not found" with status 200."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from focus.admission.near_duplicates import (
    FEWEST,
    LOST_TEXTS,
    NEAR,
    NearDuplicates,
    looks_lost,
    sentence_sample,
    simhash,
    wording,
)
from focus.records import DropReason, Page, UrlState
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import crawl
from tests.test_resume import Lives

CHARACTERS = [chr(0x4E00 + at) for at in range(3000)]

BITS = st.integers(0, 63)


def article(seed: int, clauses: int = 120) -> str:
    rng = random.Random(seed)
    return "，".join("".join(rng.choices(CHARACTERS, k=rng.randint(4, 14))) for _ in range(clauses))


def distance(first: str, second: str) -> int:
    return (simhash(first) ^ simhash(second)).bit_count()


def test_reordered_words_are_a_near_duplicate() -> None:
    clauses = article(1).split("，")
    assert simhash("，".join(clauses)) == simhash("。\n".join(reversed(clauses)))


def test_sentence_sample_is_the_same_quarter_in_every_text() -> None:
    text = ". ".join(f"A sentence that has the number {n}" for n in range(100))
    sample = sentence_sample(text)
    assert len(sample) == 25
    assert sentence_sample(text[len(text) // 2 :]) == sample[-12:]


def test_changed_word_is_near_and_other_texts_are_far() -> None:
    near = [distance(article(n), article(n).replace("，", "，今天，", 1)) for n in range(40)]
    far = [distance(article(n), article(n + 1000)) for n in range(40)]
    assert sum(bits <= NEAR for bits in near) > 25
    assert min(far) > 4 * NEAR


def test_template_with_other_tables_is_no_duplicate() -> None:
    template = article(7, 60)
    values = [[random.Random(n + at).randint(0, 9999) for n in range(40)] for at in (0, 999)]
    rows = [" ".join(f"{n}:{value}" for n, value in enumerate(row)) for row in values]
    assert distance(template + rows[0], template + rows[1]) > NEAR


@given(st.text(max_size=300))
def test_any_text_has_64_bits_unless_it_has_no_word(text: str) -> None:
    assert 0 <= simhash(text) < 1 << 64
    assert 0 <= wording(text) < 1 << 64
    assert (simhash(text) == 0) == (re.search(r"\w", text) is None)


def test_short_texts_must_be_equal() -> None:
    few = " ".join(f"word{n}" for n in range(FEWEST - 1))
    assert simhash(few, "a title") == simhash(few.replace(" ", "\n  "), "a title")
    assert simhash(few, "a title") != simhash(few, "another title")
    assert distance(few, few + " word1") > NEAR
    many = few + " one more"
    assert simhash(many, "a title") == simhash(many, "another title"), "the text is enough"


def test_short_texts_are_never_near_each_other_by_chance() -> None:
    texts = [simhash(f"足球 {n}", "足球") for n in range(2000)]
    twins = NearDuplicates()
    for number, text in enumerate(texts):
        assert twins.find(text) is None
        twins.add(number, text)
    assert [twins.find(text) for text in texts] == [*range(2000)]


def test_template_with_other_numbers_is_a_duplicate() -> None:
    assert wording("2026-11-22: 17 of 3,000 seats") == wording("1999-01-02: 4 of 1,250  seats")
    assert wording("Monday") != wording("Tuesday")


@cases(
    "title",
    "404 Not Found", "Page not found - Example", "Error 404",
    "The page you asked for could not be found", "This page doesn't exist",
    "页面不存在 - 某网", "您访问的页面不存在", "对不起，找不到该页面", "文章已被删除",
)  # fmt: skip
def test_not_found_titles_are_recognised(title: str) -> None:
    assert looks_lost(title)


@cases(
    "title",
    "", "Room 404 to let", "How I found my way", "Peugeot 404 review", "寻找失踪的球员",
    "A missing page of history",
)  # fmt: skip
def test_other_titles_are_not_recognised(title: str) -> None:
    assert not looks_lost(title)


def test_near_duplicate_refers_to_first_page() -> None:
    seen = NearDuplicates()
    seen.add(3, 0b1111 << 40)
    seen.add(5, 0b1101 << 40)
    assert seen.find(0b1100 << 40) == 3
    seen.add(9, 0)
    assert seen.find(0xFFFF) is None


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=NEAR))
def test_simhash_within_three_bits_is_found(bits: int, flipped: set[int]) -> None:
    seen = NearDuplicates()
    seen.add(1, bits or 1)
    assert seen.find((bits or 1) ^ sum(1 << bit for bit in flipped)) == 1


def test_page_like_the_missing_pages_of_its_host_is_missing() -> None:
    seen = NearDuplicates()
    lost, page = Page(is_soft_404=True, simhash=77), Page(is_relevant=True, simhash=77)
    assert seen.judge(1, "a.test", lost) == lost
    seen.remember(1, "a.test", lost)
    assert seen.judge(2, "a.test", page) == Page(is_soft_404=True, simhash=77)
    assert seen.judge(3, "b.test", page) == page


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/", links=["/1", "/2", "/3", "/gone"])
    for path, text in (("/1", article(1)), ("/2", article(1)), ("/3", article(3))):
        page = {"title": "足球", "keywords": "足球", "links": [f"/x{path}"]}
        web.page(f"http://a.test{path}", text=text, **page)
        web.page(f"http://a.test/x{path}")
    web.page("http://a.test/gone", title="页面不存在", text="对不起", links=["/1"])
    return web


@given(st.lists(st.integers(1, 2**64 - 1), max_size=60), st.integers(0, 59), st.sets(BITS))
def test_twins_equal_those_of_a_full_search(texts: list[int], near: int, flipped: set[int]) -> None:
    seen = NearDuplicates()
    for number, text in enumerate(texts):
        seen.add(100 + number, text)
    expected = (texts[near % len(texts)] if texts else 1) ^ sum(1 << bit for bit in flipped)
    at_hand = [n for n, text in enumerate(texts) if (text ^ expected).bit_count() <= NEAR]
    assert seen.find(expected) == (100 + at_hand[0] if at_hand else None)


def test_judge_compares_relevant_pages_only() -> None:
    seen, page = NearDuplicates(), Page(simhash=77)
    seen.add(3, 77)
    assert seen.judge(5, "a.test", page) is page
    assert seen.judge(5, "a.test", replace(page, is_relevant=True)).original_id == 3


def test_texts_stored_per_host_are_bounded() -> None:
    seen, rng = NearDuplicates(), random.Random(1)
    texts = [rng.getrandbits(64) for _ in range(5 * LOST_TEXTS)]
    for text in texts:
        seen.add_lost("a.test", text)
    assert sum(seen.is_lost("a.test", text) for text in texts) == LOST_TEXTS
    assert not seen.is_lost("b.test", texts[0])


async def test_duplicate_is_relevant_once_and_its_links_count(web: TinyWeb) -> None:
    run = await crawl(web, ["http://a.test/"])
    assert run.crawl.unit_of_work.totals.relevant == 2
    assert "http://a.test/x/2" in run.pages
    relevant = [event.url for event in run.events if event.relevant]
    assert relevant == ["http://a.test/1", "http://a.test/3"]


async def test_mirror_of_short_pages_has_no_further_results() -> None:
    web = TinyWeb()
    names = [f"{n}" for n in range(20)]
    mirrors = [f"/mirror/{name}" for name in names] + [f"/CASE/{name}" for name in names]
    web.page("http://a.test/", links=[f"/{name}" for name in names] + mirrors)
    teams = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往"  # equal keywords would be a template
    for name, team in zip(names, teams, strict=True):
        for folder in ("", "/mirror", "/CASE"):
            url = f"http://a.test{folder}/{name}"
            web.page(url, title=f"足球 {name}", keywords=f"足球,{team}", text="足球。")
    run = await crawl(web, ["http://a.test/"])
    relevant = [event.url for event in run.events if event.relevant]
    assert relevant == [f"http://a.test/{name}" for name in names]
    assert len(run.pages) == 39  # then the patterns of the mirrors are dropped


async def test_soft_404_is_no_page(web: TinyWeb) -> None:
    run = await crawl(web, ["http://a.test/"])
    assert "http://a.test/gone" not in run.pages
    assert run.crawl.unit_of_work.drops[DropReason.SOFT_404] == 1


async def test_status_why_and_export_know_duplicates(web: TinyWeb, tmp_path: Path) -> None:
    lives = Lives(web, tmp_path, "http://a.test/")
    await lives.live(requests=3)
    ends = await lives.live()  # the first was fetched in another life
    assert ends["http://a.test/2"] is UrlState.DONE
    with DatabaseReader(tmp_path / "x.db") as reader:
        assert reader.status(1).duplicates == 1
        assert reader.why(1, "http://a.test/2").duplicate_of == "http://a.test/1"
        assert reader.why(1, "http://a.test/gone").reason == "soft-404"
        marked = dict(reader.iter_rows(Selection(), ("url", "duplicate_of")))
        expected = {"http://a.test/2": "http://a.test/1"}
        assert {url: original for url, original in marked.items() if original} == expected
        urls = [url for (url,) in reader.iter_rows(Selection(duplicates=False), ("url",))]
        assert set(marked) - set(urls) == {"http://a.test/2"}
