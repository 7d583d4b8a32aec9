"""Checks the names that people choose, so that nobody passes for somebody else.

A name is compared in NFKC, whatever its case. By UTS 39 (Unicode Security Mechanisms) it is
"highly restrictive" (5.2): of one script, or Latin letters with Chinese, Japanese or Korean ones;
its digits are ASCII. Two names are alike when they have a skeleton in common (4): NFKC, and each
letter that looks like another one taken for that, before and after lower case. Python has neither
scripts nor confusables: a script is the first word of a letter's Unicode name, Latin letters are
those of European languages, Vietnamese and pinyin, and look-alikes are those of Cyrillic, Greek
and ASCII below, each as in confusables.txt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

LONGEST = 64
_NAME = re.compile(r"[\w.-]{2,40}")
_TOGETHER = tuple(
    frozenset(each.split())
    for each in ("LATIN CJK HIRAGANA KATAKANA", "LATIN CJK BOPOMOFO", "LATIN CJK HANGUL")
)
_SCRIPTS = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA"}
_LATIN = re.compile("[A-Za-zªºÀ-ÖØ-öø-ſƠơƯưǍ-ǜȘ-țẠ-ỹ]")

_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХЬабсԁеһіјкмнорԛѕтухԝьвг" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεικνορτυχω" "I01ıĸ",
    "ABESIJKMHOPCTYXbabcdehijkmhopqstyxwbbr" "ABEZHIKMNOPTYXabyeikvoptuxw" "lolik",
)  # fmt: skip


def tidy(name: str) -> str:
    """A name as it is kept."""
    return unicodedata.normalize("NFKC", name).strip()[:LONGEST]


def is_name(name: str) -> bool:
    """Whether a tidy name is of signs that a name may have."""
    return bool(_NAME.fullmatch(name)) and name.casefold() != "local"


def is_of_one_script(name: str) -> bool:
    """Whether it is of one script, or of those that are written together (UTS 39 5.2)."""
    scripts = {script(sign) for sign in name} - {""}
    return "?" not in scripts and (
        len(scripts) < 2 or any(scripts <= together for together in _TOGETHER)
    )


def script(sign: str) -> str:
    """`LATIN`, `CJK`, …; "" for what goes with all of them, "?" for what goes with none."""
    if sign in "_.-" or (sign.isascii() and sign.isdigit()):
        return ""
    first = unicodedata.name(sign, "?").split()[0]
    if unicodedata.category(sign) == "Nd" or (first == "LATIN" and not _LATIN.match(sign)):
        return "?"
    return _SCRIPTS.get(first, first)


def skeletons(name: str) -> set[str]:
    """What a name looks like. Worked: {"lvan", "ivan"} for "Ivan"."""
    return {_looks(name), _looks(tidy(name).casefold())}


def _looks(name: str) -> str:
    seen = tidy(name).translate(_ALIKE).casefold().translate(_ALIKE)
    return tidy(seen).replace("rn", "m")


def alike(name: str, others: Iterable[str]) -> bool:
    """Whether it may be taken for one of the others."""
    mine = skeletons(name)
    return any(mine & skeletons(each) for each in others)
