"""The options that `focus compare` and `focus tune` share."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from focus.commands.options.option import option
from focus.commands.options.value_types import checked

web_option = partial(option, section="The web and its labels")
how_option = partial(option, section="How")


def read_budget(text: str) -> str:
    """Requests, or so many times the targets."""
    from focus.evaluate.ground_truth import budget_of

    budget_of(text, 1)
    return text


def beside(folder: Path | None, *names: str) -> Path | None:
    """The first of these files that is in the folder."""
    found = (folder / name for name in names if folder and (folder / name).exists())
    return next(found, None)


ARCHIVE = web_option(
    "--archive",
    kind="file",
    required=True,
    help="The recorded web (.warc or .arc, plain, .gz or .zst).",
)
LABELS = web_option(
    "--labels",
    kind="file",
    show_default="labels.tsv.gz or labels.tsv beside the topics",
    help="Which page is about which topic: url, topic, 0 or 1.",
)
HUBS = web_option(
    "--hubs",
    kind="file",
    show_default="hubs.tsv beside the topics",
    help="Listing pages: counted neither way.",
)
ALIASES = web_option(
    "--aliases",
    kind="file",
    show_default="aliases.tsv beside the topics",
    help="URLs of one page: counted once.",
)
BUDGET = how_option(
    "--budget",
    type=checked(read_budget),
    default="3x",
    metavar="N|Nx",
    help="Requests per crawl, or times the relevant pages that can be reached, plus 20.",
)
JOBS = how_option("--jobs", kind="count", show_default="cores", help="Processes.")
