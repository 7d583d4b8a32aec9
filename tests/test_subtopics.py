"""Sub-topics: words of relevant pages' titles, by counted evidence, the same after a restart."""

from __future__ import annotations

import pytest

from focus.score import subtopics
from focus.score.statistics.phrases import log_likelihood_ratio
from focus.score.subtopics import Subtopics, TitledPage, adjacent_updates
from tests.support.titles import titled as page


def shelf(word: str = "redis", *, hubs: int = 6) -> list[TitledPage]:
    """Of 30 pages 6 are relevant and have the word."""
    on = [page(f"{word} number {n}", True, n % hubs) for n in range(6)]
    return on + [page(f"weather number {n}", False, n) for n in range(24)]


def learned(pages: list[TitledPage]) -> Subtopics:
    subtopics = Subtopics()
    for item in pages:
        subtopics.add_page(item)
    return subtopics


def test_log_likelihood_ratio_example_matches_docstring() -> None:
    assert log_likelihood_ratio(6, 6, 20, 100) == pytest.approx(19.3, abs=0.02)
    assert log_likelihood_ratio(2, 10, 20, 100) == 0.0
    assert log_likelihood_ratio(1, 10, 20, 100) == 0.0  # it speaks against
    assert 0.0 < log_likelihood_ratio(3, 10, 20, 100) < subtopics.MIN_LOG_LIKELIHOOD


def test_word_weight_example_matches_docstring() -> None:
    """6 of 6, share 0.2: (6 + 0.4)/8 = 0.8; (0.8 - 0.2)/0.8 = 0.75."""
    subtopics = learned(shelf())
    assert subtopics.words == {"redis": pytest.approx(0.75)}
    assert subtopics.weights["Redis Cluster"] == pytest.approx(0.75)
    assert subtopics.weights["weather"] == subtopics.weights[""] == 0.0


def test_words_from_one_hub_are_omitted() -> None:
    assert learned(shelf(hubs=2)).words == {}
    assert learned(shelf(hubs=3)).words


def test_add_page_index_page_is_ignored() -> None:
    tagged = [item._replace(url="http://h/tags/redis/") for item in shelf()[:6]]
    assert learned(tagged + shelf()[6:]).words == {}


def test_subtopics_in_matches_ideographs_anywhere_and_latin_whole_words() -> None:
    subtopics = learned(shelf("索引"))
    assert subtopics.subtopics_in("数据库索引优化") == ["索引"]
    subtopics = learned(shelf("go"))
    assert subtopics.subtopics_in("Learn GO!") == subtopics.subtopics_in("用go写") == ["go"]
    assert (
        subtopics.subtopics_in("google")
        == subtopics.subtopics_in("cargo")
        == subtopics.subtopics_in("go2")
        == []
    )


def test_subtopics_in_prefers_longest_and_finds_last_word() -> None:
    longer = [page(f"kubernetes number {n}", True, n) for n in range(6)]
    subtopics = learned([*shelf("go"), *longer])
    assert sorted(subtopics.words) == ["go", "kubernetes"]
    assert subtopics.subtopics_in("kubernetes in go") == ["kubernetes", "go"]


def test_words_omit_numbers_letters_and_end_of_long_titles() -> None:
    many = [page("2024 x " + "-" * 80 + " site", True, n) for n in range(6)]
    assert learned(many + shelf()[6:]).words == {}


def test_words_outside_window_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subtopics, "WINDOW", 60)
    later = [page(f"redis number {n}", False, n) for n in range(60)]
    assert learned(shelf() + later).words == {}


@pytest.mark.parametrize("repeats_updates", [True, False])
@pytest.mark.parametrize("pages", [4, 5, 61, 99, 100, 230, 251])
def test_resume_gives_same_words(
    monkeypatch: pytest.MonkeyPatch, pages: int, repeats_updates: bool
) -> None:
    monkeypatch.setattr(subtopics, "WINDOW", 100)
    names = ("redis", "mysql", "rain", "snow")
    titles = [
        page(f"{names[(n * n + n // 40) % 4]} number {n}", (n * n + n // 60) % 4 < 2, n % 7)
        for n in range(pages + 40)
    ]
    calm, broken = learned(titles[:pages]), Subtopics()
    recalled = titles[max(0, pages - 105) : pages]
    broken.resume(pages - len(recalled), 0 if repeats_updates else pages)
    for title in recalled:
        broken.add_page(title)
    assert broken.words == calm.words
    for title in titles[pages:]:
        calm.add_page(title)
        broken.add_page(title)
        assert (broken.words, broken.page_count) == (calm.words, calm.page_count)


def test_adjacent_updates_depend_on_page_count_only() -> None:
    updates = [adjacent_updates(pages) for pages in (0, 4, 5, 7, 99, 100)]
    assert updates == [(0, 5), (0, 5), (5, 10), (5, 10), (95, 100), (100, 105)]
    last, following = adjacent_updates(100_000)
    assert following - last <= subtopics.RESUME_PAGES - subtopics.WINDOW
