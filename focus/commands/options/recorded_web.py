"""The options that `focus compare` and `focus tune` share."""

from __future__ import annotations

from pathlib import Path

from focus.commands.options.option import option
from focus.commands.options.value_types import checked

WEB, HOW = "The web and its labels", "How"


def read_budget(text: str) -> str:
    """Requests, or so many times the targets."""
    from focus.evaluate.ground_truth import budget_of

    budget_of(text, 1)
    return text


def beside(folder: Path | None, *names: str) -> Path | None:
    """The first of these files that is in the folder."""
    found = (folder / name for name in names if folder and (folder / name).exists())
    return next(found, None)


ARCHIVE = option(
    "--archive",
    section=WEB,
    kind="file",
    required=True,
    help="The recorded web (.warc or .arc, plain, .gz or .zst).",
)
LABELS = option(
    "--labels",
    section=WEB,
    kind="file",
    show_default="labels.tsv.gz or labels.tsv beside the topics",
    help="Which page is about which topic: url, topic, 0 or 1.",
)
HUBS = option(
    "--hubs",
    section=WEB,
    kind="file",
    show_default="hubs.tsv beside the topics",
    help="Listing pages: counted neither way.",
)
ALIASES = option(
    "--aliases",
    section=WEB,
    kind="file",
    show_default="aliases.tsv beside the topics",
    help="URLs of one page: counted once.",
)
BUDGET = option(
    "--budget",
    section=HOW,
    type=checked(read_budget),
    default="3x",
    metavar="N|Nx",
    help="Requests per crawl, or times the relevant pages that can be reached, plus 20.",
)
JOBS = option("--jobs", section=HOW, kind="count", show_default="cores", help="Processes.")
