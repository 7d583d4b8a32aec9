"""The Chinese pages of docs/ say what the English ones say, as far as that can be counted.

Section by section they have the same headings, blocks of code (but for comments), figures, commands
and names, and as many paragraphs, items and rows: who changes one page is told which section of the
other to look at. Figures are written alike in both; a word stays a word (three, 三).
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FROM_COMMANDS = {"cli.md"}
"""Both made by docs/make_cli.py, which tests/test_docs.py holds."""

PAIRS = sorted({page.name for page in DOCS.glob("*.md")} - FROM_COMMANDS)

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$|((?:^    focus [^\n]*\n)+)", re.M | re.S)
_HEADING = re.compile(r"^(#+) ", re.M)
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)( ?(?:million\b|万))?")
_SCALE = {"million": 1_000_000, "万": 10_000}
_TICKED = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[!-~]+|(focus|make|python|systemctl|pip) [!-~][ -~]*|-[!-~ ]+")
"""A code without prose in it: what focus prints is Chinese on the Chinese page."""


def page_text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def sections(text: str) -> list[tuple[int, str]]:
    """(level of its heading, everything up to the next one) of each section."""
    hidden = _FENCE.sub(lambda match: re.sub("#", "\0", match[0]), text)
    starts = [match.start() for match in _HEADING.finditer(hidden)]
    return [
        (len(_HEADING.match(hidden, start)[1]), text[start:end])  # type: ignore[index]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]


def code(section: str) -> list[str]:
    """Its blocks of code, without comments."""
    blocks = [match[3] or match[4] for match in _FENCE.finditer(section)]
    return [re.sub(r"(^| +)#.*", "", block, flags=re.M) for block in blocks]


def figures(section: str) -> Counter[str]:
    """Its numbers outside blocks of code."""
    numbers = _NUMBER.findall(_FENCE.sub("", section))
    return Counter(
        str(round(float(digits.replace(",", "")) * _SCALE[unit.strip()])) if unit else digits
        for digits, unit in numbers
    )


def names(section: str) -> set[str]:
    """The commands, options, files and fields that it names."""
    ticked = _TICKED.findall(re.sub(r"\n *(?=\S)", " ", _FENCE.sub("\n\n", section)))
    return {item for item in ticked if _NAME.fullmatch(item)}


def shape(section: str) -> tuple[int, int, int]:
    """How many paragraphs, items of lists and rows of tables it has."""
    blocks = [block for block in re.split(r"\n\s*\n", _FENCE.sub("\n\n", section)) if block.strip()]
    items, rows = (re.findall(begins, section, re.M) for begins in (r"^(?:-|\d+\.) ", r"^\|"))
    return len(blocks), len(items), len(rows)


def differences(english: str, chinese: str) -> Iterator[str]:
    """What the one says and the other does not."""
    pairs = sections(english), sections(chinese)
    levels = [[level for level, _ in pair] for pair in pairs]
    if levels[0] != levels[1]:
        yield f"headings: {levels[0]} and {levels[1]}"
        return
    for (_, first), (_, second) in zip(*pairs, strict=True):
        title = first.partition("\n")[0]
        if code(first) != code(second):
            yield f"{title}: other code"
        if figures(first) != figures(second):
            less, more = figures(first) - figures(second), figures(second) - figures(first)
            yield f"{title}: figures {sorted(less)}, in Chinese {sorted(more)}"
        if names(first) != names(second):
            less, more = names(first) - names(second), names(second) - names(first)
            yield f"{title}: names {sorted(less)}, in Chinese {sorted(more)}"
        if shape(first) != shape(second):
            yield f"{title}: {shape(first)} paragraphs, items, rows; in Chinese {shape(second)}"


@pytest.mark.parametrize("name", PAIRS)
def test_translated_page_has_same_structure(name: str) -> None:
    assert (DOCS / "zh" / name).is_file(), f"docs/zh/{name} is missing"
    english = page_text(DOCS / name)
    wrong = list(differences(english, page_text(DOCS / "zh" / name)))
    assert not wrong, "\n".join(wrong)


def test_chinese_pages_have_english_originals() -> None:
    chinese = {page.name for page in (DOCS / "zh").glob("*.md")}
    assert chinese == {*PAIRS, *FROM_COMMANDS}


def test_chinese_pages_link_to_chinese_pages() -> None:
    wrong = [
        f"{page.name}: {target}"
        for page in (DOCS / "zh").glob("*.md")
        for target in re.findall(r"\]\(\.\./([\w-]+\.md)", page_text(page))
    ]
    assert set(wrong) == {"index.md: index.md"}
