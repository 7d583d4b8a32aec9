"""Files that a newcomer opens for a task: the table "Where to change what" of docs/design.md.

The table is the source: each file in back-ticks in its middle column is one to open (`NAME.py`
stands for the new one, or whichever it concerns). A task of LIMITS takes no more files than that.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOCUS = ROOT / "focus"
LIMITS = {
    "add a strategy": 4,
    "store one thing more of a page": 5,
    "add an option": 2,
    "add a channel": 3,
    "mend politeness, retries, robots.txt": 5,
    "understand `focus serve`": 12,
}
"""What the plan of the house allows."""
_IS_FILE = re.compile(r"\.py$|/$|^__init__$")


def tasks() -> dict[str, list[str]]:
    """Task -> the files to open for it, as the table names them."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.partition("## Where to change what")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|", table, re.M)[1:]
    named = {task: re.findall(r"`([^`]+)`", files) for task, files in rows}
    return {task: [*filter(_IS_FILE.search, names)] for task, names in named.items()}


def missing(name: str, before: str) -> str:
    """What is wrong with a name of the table; "" if it is there. `before`: the name before it."""
    if name == "__init__":
        place = (FOCUS / before).parent / "__init__.py"
    elif "NAME" in name:
        place = (FOCUS / name).parent
    else:
        place = next((at for at in (FOCUS / name, ROOT / name) if at.exists()), FOCUS / name)
    return "" if place.exists() else name


def test_every_file_of_the_table_exists() -> None:
    wrong = {
        task: [name for before, name in zip(["", *files], files, strict=False)
               if missing(name, before)]
        for task, files in tasks().items()
    }  # fmt: skip
    assert not {task: names for task, names in wrong.items() if names}


@pytest.mark.parametrize("task", LIMITS)
def test_a_task_takes_no_more_files_than_the_plan_allows(task: str) -> None:
    files = tasks()[task]
    assert 0 < len(files) <= LIMITS[task], files
    assert not any(name.endswith("/") for name in files), "name the files, not their folder"


if __name__ == "__main__":
    for task, files in tasks().items():
        print(f"{len(files):3} files  {task}: {', '.join(files)}")
