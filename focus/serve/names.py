"""Checks the names of accounts, so that nobody can pass for somebody else.

A name is compared in NFKC, ignoring case. By UTS 39 (Unicode Security Mechanisms) it must be
"highly restrictive" (5.2): of one script, or Latin letters with Chinese, Japanese or Korean ones;
its digits are ASCII. Two names are confusable if they share a skeleton (4): NFKC, with each
letter replaced by the letter it looks like, before and after lower case. Python has neither scripts
nor confusables: a script is the first word of a letter's Unicode name, Latin letters are those of
European languages, Vietnamese and pinyin, and look-alikes are those of Cyrillic, Greek and ASCII
below, each as in confusables.txt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_LENGTH = 64
_NAME = re.compile(r"[\w.-]{2,40}")
_COMBINED_SCRIPTS = tuple(
    frozenset(scripts.split())
    for scripts in ("LATIN CJK HIRAGANA KATAKANA", "LATIN CJK BOPOMOFO", "LATIN CJK HANGUL")
)
_SCRIPTS = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA"}
_LATIN = re.compile("[A-Za-zªºÀ-ÖØ-öø-ſƠơƯưǍ-ǜȘ-țẠ-ỹ]")

_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХЬабсԁеһіјкмнорԛѕтухԝьвг" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεικνορτυχω" "I01ıĸ",
    "ABESIJKMHOPCTYXbabcdehijkmhopqstyxwbbr" "ABEZHIKMNOPTYXabyeikvoptuxw" "lolik",
)  # fmt: skip


def normalise_name(name: str) -> str:
    """Return a name in the form in which it is stored."""
    return unicodedata.normalize("NFKC", name).strip()[:MAX_LENGTH]


def is_valid_name(name: str) -> bool:
    """Return whether a normalised name has only allowed characters and an allowed length."""
    return bool(_NAME.fullmatch(name)) and name.casefold() != "local"


def is_single_script(name: str) -> bool:
    """Return whether a name is of one script, or of scripts that are used together (UTS 39 5.2)."""
    scripts = {letter_script(sign) for sign in name} - {""}
    return "?" not in scripts and (
        len(scripts) < 2 or any(scripts <= combined for combined in _COMBINED_SCRIPTS)
    )


def letter_script(sign: str) -> str:
    """Return the script of a letter, such as `LATIN` or `CJK`.

    The result is empty for signs that fit all scripts, and "?" for those that are not allowed.
    """
    if sign in "_.-" or (sign.isascii() and sign.isdigit()):
        return ""
    first = unicodedata.name(sign, "?").split()[0]
    if unicodedata.category(sign) == "Nd" or (first == "LATIN" and not _LATIN.match(sign)):
        return "?"
    return _SCRIPTS.get(first, first)


def skeletons(name: str) -> set[str]:
    """Return what a name looks like. Example: {"lvan", "ivan"} for "Ivan"."""
    return {_skeleton(name), _skeleton(normalise_name(name).casefold())}


def _skeleton(name: str) -> str:
    seen = normalise_name(name).translate(_LOOKALIKES).casefold().translate(_LOOKALIKES)
    return normalise_name(seen).replace("rn", "m")


def is_confusable(name: str, others: Iterable[str]) -> bool:
    """Return whether a name may be mistaken for one of the others."""
    own_skeletons = skeletons(name)
    return any(own_skeletons & skeletons(other_name) for other_name in others)
