"""Finds pages that repeat the text of another one, or that say "not found" with status 200.

    simhash      64 bits that hardly differ for texts that hardly differ (Charikar 2002)
    wording      64 bits of a text without its numbers and the words of its title
    sentence_sample  hashes of some of its sentences, to find pages that contain one another
    text_digest  64 bits of a text, whole, whatever time of day it tells
    looks_lost   whether a title says that there is no such page
    NearDuplicates        finds earlier texts at a Hamming distance of at most 3 (Manku 2007)

Features are the distinct words (runs of letters and digits; in Chinese that is a clause).
Of a long text the 96 with the smallest checksums stand for all: two texts that share
their words share these. Then 3 bits mean about one or two words in a hundred; articles of
one template differ in far more. A text of few words has the 64 bits of a plain hash instead,
its title's included: then only the very same page is the same (two such hashes are within
3 bits of each other once in 10¹⁴ times).
"""

from __future__ import annotations

import re
import struct
from array import array
from hashlib import blake2b
from zlib import crc32

from msgspec import structs

from focus.records import Page

MAX_CHARS = 6_000
FEATURES = 96
FEWEST = 24  # distinct words: by less, nearly the same cannot be told
NEAR = 3  # bits
BANDS = 4  # of 16 bits: of at most 3 that differ, one band has none
LOST_CHARS = 500  # a page that says more than that is an article about it
LOST_TEXTS = 64  # ways that one host may have to say so

_WORDS = re.compile(r"\w+")
_NUMBERS = re.compile(r"\d+")
_TIMES = re.compile(r"\d(?<!\d\d)\d?[:：]\d{2}(?:[:：]\d{2})?(?!\d)")  # 9:30, 21:05:59
_TIME_SIGNS = [re.compile(sign + r"\d\d") for sign in ":："]  # a literal first is searched fast
_BANDS = struct.Struct(f"<{BANDS}H")
MAX_SENTENCES = 32  # sampled in a text
MIN_SENTENCE_CHARS = 12  # between two ends of sentences or lines
_ASCII_ENDS = ".!?;"
_SENTENCE_ENDS = _ASCII_ENDS + "。！？；"
MIX = 0x9E3779B97F4A7C15  # 2⁶⁴ divided by the golden ratio
_MASK = (1 << 64) - 1
_LOST = re.compile(
    r"^\W*(?:error\W*|http\W*)?404\b|\b(?:page|file|object|document|url|resource)\b.{0,30}\bnot"
    r"(?: be)? found\b|\bnot found\W*$|\b(?:page|file)\b.{0,20}\b(?:does not|doesn['’]t|no longer)"
    r" exist|^\W*(?:oops|sorry)\W*$"
    r"|(?:页面|网页|頁面|網頁|文章|内容|帖子|主题|商品|您访问的).{0,6}"
    r"(?:不存在|没有找到|未找到|找不到|无法找到|已(?:经)?(?:被)?删除)"
    r"|找不到.{0,6}(?:页面|网页|頁面|網頁|文件|内容)|^\W*(?:出错了|页面错误)\W*$",
    re.IGNORECASE,
)


def simhash(text: str, title: str = "") -> int:
    """64 bits of a text, 0 for one without a word; never 0 otherwise.

    title  tells texts of few words apart: photographs under the same links and nothing else

    Each bit is what the majority of the features has there.
    """
    words = _WORDS.findall(text[:MAX_CHARS])
    marks = set(map(crc32, map(str.encode, words)))
    if len(marks) < FEWEST:
        return _hash(_fold_space(text), _fold_space(title)) if marks else 0
    hashes = [_mixed(mark) for mark in sorted(marks)[:FEATURES]]
    return _set_in_most(hashes) or 1


def _mixed(mark: int) -> int:
    mixed = (mark + 1) * MIX & _MASK
    return (mixed ^ mixed >> 29) * MIX & _MASK


def _set_in_most(hashes: list[int]) -> int:
    """Return the bits that are set in more than half of these 64-bit numbers.

    All 64 are counted at once, as an adder of hardware does: what is left of a place after its
    pairs have been carried is a digit of every count.
    """
    majority = len(hashes) // 2 + 1
    digits = []
    while hashes:
        digit, carried = hashes.pop() if len(hashes) % 2 else 0, []
        for first, second in zip(hashes[::2], hashes[1::2], strict=True):
            differ = first ^ second
            carried.append(first & second | differ & digit)
            digit ^= differ
        digits.append(digit)
        hashes = carried
    above, level = 0, _MASK  # whose counts are above `least` so far, and equal to it
    for place in reversed(range(len(digits))):
        if majority >> place & 1:
            level &= digits[place]
        else:
            above |= level & digits[place]
            level &= ~digits[place]
    return above | level


def wording(text: str, title: str = "") -> int:
    """Return 64 bits of a text without its numbers and the words of its title, 0 if none is left.

    Pages of one template that differ only in a number, or repeat what was searched for, are equal.
    """
    words = _NUMBERS.sub("0", text[:MAX_CHARS])
    for word in _WORDS.findall(_NUMBERS.sub("0", title)):
        if len(word.encode()) > 3:  # a shorter one is part of many words
            words = words.replace(word, " ")
    return _hash(_fold_space(words)) if _WORDS.search(words) else 0


def text_digest(text: str) -> int:
    """Return a 64-bit digest of a text in which white space is folded in each line, never 0.

    Line breaks and times of day do not count, so that a clock on the page is no change.
    """
    has_time = any(sign.search(text) for sign in _TIME_SIGNS)
    return _hash(_fold_space(_TIMES.sub("", text)) if has_time else text.replace("\n", " "))


def sentence_sample(text: str) -> tuple[int, ...]:
    """Return 32-bit hashes of a quarter of the sentences of a text, the same ones in every text."""
    for end in _ASCII_ENDS if text.isascii() else _SENTENCE_ENDS:
        text = text.replace(end, "\n")
    sample: dict[int, None] = {}
    for line in text.split("\n"):
        sentence = line.lstrip()
        if len(sentence) < MIN_SENTENCE_CHARS:
            continue
        number = crc32(sentence.encode("utf-8", "replace"))
        if number & 3 == 0:
            sample[number] = None
            if len(sample) == MAX_SENTENCES:
                break
    return tuple(sample)


def digest_on_host(host: int, digest: int) -> int:
    """Return the 64-bit digest of a text for one host: equal texts of two hosts differ in it."""
    return digest ^ (host + 1) * MIX & _MASK


def _fold_space(text: str) -> str:
    return " ".join(text.split())


def _hash(text: str, title: str = "") -> int:
    digest = blake2b(f"{title}\n{text}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def looks_lost(title: str) -> bool:
    """Whether a title says "not found", in English or Chinese."""
    return _LOST.search(title) is not None


class NearDuplicates:
    """The texts of a crawl's relevant pages, and of each host's "not found" pages.

    28 bytes a text: for each band, those that have the same 16 bits there hang on each
    other, the latest first, beginning at `_latest`.
    """

    def __init__(self) -> None:
        self._latest = [array("i", [-1]) * (1 << 16) for _ in range(BANDS)]
        self._before = [array("i") for _ in range(BANDS)]
        self._hashes = array("Q")
        self._ids = array("I")
        self._lost: dict[str, list[int]] = {}

    def judge(self, url_id: int, host: str, page: Page) -> Page:
        """Return the page with its near-duplicates applied: not found, or not relevant again."""
        if page.is_soft_404 or self.is_lost(host, page.simhash):
            return structs.replace(page, is_soft_404=True, is_relevant=False)
        if not (page.simhash and page.is_relevant):
            return page
        original_id = self.find(page.simhash)
        if original_id is not None and original_id != url_id:
            return structs.replace(page, original_id=original_id, is_relevant=False)
        return page

    def remember(self, url_id: int, host: str, page: Page) -> None:
        """Know a page again that was judged."""
        if page.is_soft_404:
            self.add_lost(host, page.simhash)
        elif page.is_relevant:
            self.add(url_id, page.simhash)

    def find(self, simhash: int) -> int | None:
        """Return the id of the first page with nearly this text; None if there is none."""
        hashes, first = self._hashes, len(self._ids)
        for bits, latest, before in zip(_bands(simhash), self._latest, self._before, strict=True):
            at = latest[bits]
            while at >= 0:
                if at < first and (hashes[at] ^ simhash).bit_count() <= NEAR:
                    first = at
                at = before[at]
        return self._ids[first] if first < len(self._ids) else None

    def add(self, url_id: int, simhash: int) -> None:
        """Remember a page's text (0: it has none to speak of)."""
        if not simhash:
            return
        for bits, latest, before in zip(_bands(simhash), self._latest, self._before, strict=True):
            before.append(latest[bits])
            latest[bits] = len(self._ids)
        self._hashes.append(simhash)
        self._ids.append(url_id)

    def add_lost(self, host: str, simhash: int) -> None:
        """Remember what a host says when it does not find a page."""
        known = self._lost.setdefault(host, [])
        if simhash and simhash not in known and len(known) < LOST_TEXTS:
            known.append(simhash)

    def is_lost(self, host: str, simhash: int) -> bool:
        """Whether a page is nearly what its host has said to a page that it did not find."""
        known = self._lost.get(host)
        if not known or not simhash:
            return False
        return any((known_hash ^ simhash).bit_count() <= NEAR for known_hash in known)


def _bands(simhash: int) -> tuple[int, ...]:
    return _BANDS.unpack(simhash.to_bytes(8, "little"))
