"""`focus compare`: parses options, runs a comparison, prints a table."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import Command, option, print_lines, print_note
from focus.commands.options.value_types import checked_type
from focus.commands.progress_bar import show_progress
from focus.errors import ConfigError

if TYPE_CHECKING:
    from focus.evaluate.ground_truth import ComparisonSpec

_web_option = partial(option, section="The web and its labels")
_variant_option = partial(option, section="What is compared")
_run_option = partial(option, section="How")
DEFAULT_WIDTH = 160  # columns of a table that goes into a file or a pipe
_FORMS = click.Choice(["tuned", "published"])


def _parse_forms(text: str) -> tuple[str, ...]:
    forms = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not forms or set(forms) - set(_FORMS.choices):
        raise ConfigError("{text!r} is not tuned, published or tuned,published", text=text)
    return forms


def _check_budget(text: str) -> str:
    """Check a number of requests (`500`) or of requests per target (`3x`), and return the text."""
    from focus.evaluate.ground_truth import parse_budget

    parse_budget(text, 1)
    return text


def _first_existing(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that exists in the folder, or None."""
    return next((folder / name for name in names if (folder / name).exists()), None)


@click.command("compare", cls=Command)
@_web_option(
    "--archive",
    kind="file",
    required=True,
    help="The recorded web (.warc or .arc, plain, .gz or .zst).",
)
@_web_option(
    "--topics", kind="file", required=True, help="topics.json: a list of {name, keywords, seeds}."
)
@_web_option(
    "--labels",
    kind="file",
    show_default="labels.tsv.gz or labels.tsv beside the topics",
    help="Which page is about which topic: url, topic, 0 or 1 (tab-separated), or TREC's qrels.",
)
@_web_option(
    "--hubs",
    kind="file",
    show_default="hubs.tsv beside the topics",
    help="Listing pages: counted neither way.",
)
@_web_option(
    "--aliases",
    kind="file",
    show_default="aliases.tsv beside the topics",
    help="URLs of one page: counted once.",
)
@_web_option(
    "--judge", kind="model", metavar="MODEL", help="No labels: let this relevance model judge."
)
@_variant_option("--strategy", multiple=True, kind="strategy", help="Repeatable.")
@_variant_option("--all-strategies", is_flag=True, help="All of them.")
@_variant_option(
    "--relevance",
    multiple=True,
    kind="model",
    show_default="evidence; as published the paper's",
    help="The model that guides the crawls. Repeatable.",
)
@_variant_option(
    "--forms",
    type=checked_type(_parse_forms),
    default="tuned",
    metavar="FORMS",
    help="tuned, published, or tuned,published.",
)
@_variant_option("--as-published", is_flag=True, help="The same as --forms published.")
@_variant_option(
    "--param",
    multiple=True,
    kind="parameter",
    help="For all that have it, or for one: topic-pagerank.gamma=0.3. Repeatable.",
)
@_variant_option(
    "--mask",
    multiple=True,
    default=("none",),
    type=click.Choice(["none", "meta", "urls", "both"]),
    help="Hide meta keywords, or the words of URLs, from the crawls. Repeatable.",
)
@_variant_option(
    "--unrecorded",
    multiple=True,
    default=("ask",),
    type=click.Choice(["ask", "skip"]),
    help="Links that the recording cannot answer: ask, and get a 404, or skip them, which costs "
    "nothing; at hosts that are wholly recorded a 404 is true and stays. Repeatable.",
)
@_variant_option("--topic", multiple=True, metavar="NAME", help="Only this. Repeatable.")
@_variant_option(
    "--baseline",
    metavar="NAME",
    show_default="best-first, else the first",
    help="The strategy that the others are tested against; NAME/published for that form.",
)
@_run_option(
    "--budget",
    type=checked_type(_check_budget),
    default="3x",
    metavar="N|Nx",
    help="Requests per crawl, or times the relevant pages that can be reached, plus 20.",
)
@_run_option(
    "--seed-orders",
    kind="count",
    default=6,
    help="Crawls per topic, each with its seeds in another order.",
)
@_run_option("--concurrency", kind="count", default=1, help="Requests at once.")
@_run_option(
    "--eager",
    is_flag=True,
    help="Ask every host that is due, however poor its URLs (see focus crawl).",
)
@_run_option(
    "--delay",
    kind="positive time",
    default="1s",
    help="Between requests to a host, by the virtual clock.",
)
@_run_option("--jobs", kind="count", show_default="cores", help="Processes.")
@_run_option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    kind="folder",
    help="results.json, results.csv, report.html and the crawls themselves.",
)
@_run_option("--png", is_flag=True, help="Also the curves as PNG files (extra focus-crawler[png]).")
def compare_command(**options: Any) -> None:  # fmt: skip
    """Compare strategies on a recorded web, offline.

    Every strategy crawls the same pages with the same number of requests, and labels that
    no crawl sees tell how many relevant ones it found. The same command goes on with what
    was interrupted, and says the same twice.

    \b
    Example:
        focus compare --archive web.warc.zst --topics topics.json \\
            --strategy bfs --strategy best-first --strategy yield -o out/
    """
    from focus.commands.compare_output import comparison_lines
    from focus.evaluate.compare import run_comparison
    from focus.report.comparison import comparison_html, comparison_pictures
    from focus.report.pictures import check_png_support, render_png
    from focus.storage.whole_file import write_whole

    spec = _make_spec(options)
    if options["png"]:
        check_png_support()
    with show_progress("comparing") as move:
        comparison = run_comparison(spec, lambda what, done, total: move(done, total))
    write_whole(spec.out / "report.html", comparison_html(comparison).encode())
    pictures = comparison_pictures(comparison) if options["png"] else {}
    for name, drawing in pictures.items():
        write_whole(spec.out / f"{name}.png", render_png(drawing))
    width = (
        shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
        if sys.stdout.isatty()
        else DEFAULT_WIDTH
    )
    print_lines(comparison_lines(comparison, width=width))
    print_note("results.json, results.csv and report.html are in {folder}", folder=spec.out)


_SPEC_FIELDS = ("archive", "topics", "judge", "budget", "seed_orders", "concurrency", "eager")
"""Options with the names of fields of `ComparisonSpec`."""


def _make_spec(options: dict[str, Any]) -> ComparisonSpec:
    from focus.evaluate.ground_truth import ComparisonSpec
    from focus.evaluate.variants import list_variants
    from focus.score.strategy import STRATEGIES

    strategies = list(STRATEGIES) if options["all_strategies"] else list(options["strategy"])
    if not strategies:
        raise ConfigError("nothing to compare; give --strategy NAME or --all-strategies")
    if options["judge"] and options["labels"]:
        raise ConfigError("--labels and --judge exclude each other; give one of them")
    forms = ("published",) if options["as_published"] else options["forms"]
    baseline = options["baseline"] or (
        "best-first" if "best-first" in strategies else strategies[0]
    )
    name, _, form = baseline.partition("/")
    if name not in strategies or (form or "tuned") not in forms:
        if options["baseline"]:
            raise ConfigError(
                "--baseline {baseline}: is not among the strategies compared", baseline=baseline
            )
        baseline = f"{name}/{forms[0]}"
    folder, judged = options["topics"].parent, options["judge"]
    return ComparisonSpec(
        **{name: options[name] for name in _SPEC_FIELDS},
        labels=options["labels"]
        or (None if judged else _first_existing(folder, "labels.tsv.gz", "labels.tsv")),
        hubs=options["hubs"] or (None if judged else _first_existing(folder, "hubs.tsv")),
        aliases=options["aliases"] or _first_existing(folder, "aliases.tsv"),
        variants=tuple(
            list_variants(
                strategies,
                forms=forms,
                relevance=options["relevance"],
                masks=options["mask"],
                unrecorded=options["unrecorded"],
                params=options["param"],
                judge=judged,
            )
        ),
        topic_names=options["topic"],
        delay_s=options["delay"],
        baseline=baseline,
        jobs=options["jobs"] or os.cpu_count() or 1,
        out=options["output"],
    )
