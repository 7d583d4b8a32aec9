"""Says in Chinese a line that was said in English, for people who read Chinese.

    said("schedule '61 * * * *': no cron expression (bad minute)")
    →  检查时间“61 * * * *”：不是有效的 cron 表达式（bad minute）

A line is a template with values, and a value may be such a line again. What a server or
the system said, and we do not know, stays as it is. tests/test_chinese.py holds that every
line that our modules can say has its words in chinese.tsv.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def _read() -> dict[str, str]:
    """Template of an English line -> of the Chinese one, `{0}` for the first value."""
    text = (files(__package__) / "chinese.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t", 1) for line in text.splitlines() if not line.startswith("#"))
    return dict(rows)


LINES = _read()

_JOINTS = (("; ", "；"), (": ", "："))
"""Between two lines that were put together."""


def said(line: str) -> str:
    """A line in Chinese, as far as we have words for it."""
    if (whole := LINES.get(line)) is not None:
        return whole
    for pattern, chinese in _patterns():
        if found := pattern.fullmatch(line):
            return chinese.format(*(_value(each) for each in found.groups()))
    for joint, ours in _JOINTS:
        first, between, rest = line.partition(joint)
        if between:
            return f"{said(first)}{ours}{said(rest)}"
    return line


def _value(text: str) -> str:
    """What stood in a template: quoted as Chinese is, or a line itself."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return f"“{text[1:-1]}”"
    return said(text)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The templates with values, those that say most first."""
    found = [
        (re.compile("(.*?)".join(map(re.escape, english.split("{}"))), re.DOTALL), chinese)
        for english, chinese in LINES.items()
        if "{}" in english
    ]
    return sorted(found, key=lambda each: -len(each[0].pattern.replace("(.*?)", "")))
