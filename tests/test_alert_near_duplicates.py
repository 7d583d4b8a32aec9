"""Texts that an alert has already are recognised."""

from pathlib import Path
from random import Random

from focus.admission.near_duplicates import NEAR
from focus.alerts.near_duplicates import MAX_BITS_BETWEEN_SITES, AlertTexts
from tests.support.cases import cases
from tests.support.outbox import outbox

TEXT = Random(1).getrandbits(64)
HERE, THERE = "https://a.test/1", "https://b.test/1"


def changed(bits: int) -> int:
    """The text with so many bits flipped."""
    return TEXT ^ sum(1 << 5 * bit for bit in range(bits))


@cases(
    "bits, url, is_known",
    (0, HERE, True),
    (NEAR, HERE, True),
    (NEAR + 1, HERE, False),  # another day of the same column
    (NEAR + 1, THERE, True),  # a reprint
    (MAX_BITS_BETWEEN_SITES, THERE, True),
    (MAX_BITS_BETWEEN_SITES + 1, THERE, False),
)
def test_threshold_is_larger_between_sites(bits: int, url: str, is_known: bool) -> None:
    texts = AlertTexts()
    texts.add(7, TEXT, HERE)
    assert texts.find(changed(bits), url) == (7 if is_known else None)


def test_nearest_text_is_found() -> None:
    texts = AlertTexts()
    texts.add(1, changed(9), HERE)
    texts.add(2, changed(5), HERE)
    texts.add(3, 0, HERE)
    assert texts.find(TEXT, THERE) == 2
    assert texts.find(0, THERE) is None


def test_different_texts_are_not_duplicates() -> None:
    texts, rng = AlertTexts(), Random(2)
    for number in range(2000):
        texts.add(number, rng.getrandbits(64) | 1, f"https://{number}.test/")
    assert all(texts.find(rng.getrandbits(64) | 1, THERE) is None for _ in range(50))


def test_later_page_of_stored_match_without_text_is_found(tmp_path: Path) -> None:
    texts = AlertTexts()
    with outbox(tmp_path) as here:
        [match] = here.finds(here.alert("足球"), "https://a.test/story", simhash=0)
        for text in here.store.matches.load_texts(1):
            texts.add(*text)
    assert texts.find(0, "https://a.test/story?page=2") == match
