"""`focus research compare`: parses options, runs a comparison, prints a table."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import CRAWL, DB, Command, option, print_lines, print_note
from focus.commands.options.value_types import checked_type
from focus.commands.progress_bar import show_progress
from focus.errors import ConfigError

if TYPE_CHECKING:
    from focus.evaluate.ground_truth import ComparisonSpec

_web_option = partial(option, section="Web and labels")
_variant_option = partial(option, section="Comparison")
_run_option = partial(option, section="Method")
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
    show_default="the stored pages of a crawl",
    help="Recorded web (.warc, .warc.gz or .warc.zst).",
)
@DB
@CRAWL
@_web_option(
    "--topics",
    kind="file",
    show_default="with a crawl its topic and seeds",
    help="JSON file with a list of {name, keywords, seeds}.",
)
@_web_option(
    "--labels",
    kind="file",
    show_default="labels.tsv.gz or labels.tsv beside the topics",
    help="Labels: url, topic, 0 or 1 (tab-separated), or TREC's qrels.",
)
@_web_option(
    "--hubs",
    kind="file",
    show_default="hubs.tsv beside the topics",
    help="Index pages, which are not counted.",
)
@_web_option(
    "--aliases",
    kind="file",
    show_default="aliases.tsv beside the topics",
    help="URLs of the same page, which are counted once.",
)
@_web_option(
    "--judge", kind="model", metavar="MODEL", help="Use this relevance model in place of labels."
)
@_variant_option(
    "--strategy", multiple=True, kind="strategy", help="Compare this strategy (repeatable)."
)
@_variant_option("--all-strategies", is_flag=True, help="Compare all strategies.")
@_variant_option(
    "--relevance",
    multiple=True,
    kind="model",
    show_default="evidence, or the paper's as published",
    help="Relevance model of the crawls (repeatable).",
)
@_variant_option(
    "--forms",
    type=checked_type(_parse_forms),
    default="tuned",
    metavar="FORMS",
    help="Compare tuned or published forms, or both: tuned,published.",
)
@_variant_option("--as-published", is_flag=True, help="Same as --forms published.")
@_variant_option(
    "--param",
    multiple=True,
    kind="parameter",
    help="Set a parameter, such as gamma=0.3 or topic-pagerank.gamma=0.3 (repeatable).",
)
@_variant_option(
    "--mask",
    multiple=True,
    default=("none",),
    type=click.Choice(["none", "meta", "urls", "both"]),
    help="Hide meta keywords or words of URLs from the crawls (repeatable).",
)
@_variant_option(
    "--unrecorded",
    multiple=True,
    default=("ask",),
    type=click.Choice(["ask", "skip"]),
    help="Links missing in the recording: request them (404) or skip them (repeatable).",
)
@_variant_option(
    "--terms",
    default="library",
    kind="terms",
    help="Related terms of the topics: library, none, or a file with one per line.",
)
@_variant_option(
    "--topic", multiple=True, metavar="NAME", help="Compare only this topic (repeatable)."
)
@_variant_option(
    "--baseline",
    metavar="NAME",
    show_default="best-first, else the first",
    help="Strategy to test the others against; NAME/published for that form.",
)
@_run_option(
    "--budget",
    type=checked_type(_check_budget),
    default="3x",
    metavar="N|Nx",
    help="Requests per crawl: a number, or a multiple of the reachable relevant pages (plus 20).",
)
@_run_option(
    "--seed-orders",
    kind="count",
    default=6,
    help="Crawls per topic, each with another order of the seeds.",
)
@_run_option("--concurrency", kind="count", default=1, help="Requests at the same time.")
@_run_option("--eager", is_flag=True, help="Do not hold back poor URLs, as in focus crawl.")
@_run_option(
    "--delay",
    kind="positive time",
    default="1s",
    help="Time between requests to a host, by a virtual clock.",
)
@_run_option("--jobs", kind="count", show_default="cores", help="Number of processes.")
@_run_option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    kind="folder",
    help="Folder for results.json, results.csv, report.html and the crawls.",
)
def compare_command(**options: Any) -> None:  # fmt: skip
    """Compare strategies on a recorded web, offline.

    Each strategy crawls the same pages with the same number of requests. Labels that the crawls
    cannot see determine how many relevant pages it found. The same command continues after an
    interruption and gives the same results again.

    Without --archive the pages are those of a crawl in the database, with its topic and seeds. The
    labels are those of `focus label`; without any, the relevance model of the crawl judges. The
    files are written to FOLDER.

    \b
    Example:
        focus research compare --strategy bfs --strategy yield -o out/
        focus research compare --archive web.warc.zst --topics topics.json \\
            --strategy bfs --strategy best-first --strategy yield -o out/
    """
    from focus.commands.compare_output import comparison_lines
    from focus.evaluate.compare import run_comparison
    from focus.report.comparison import comparison_html
    from focus.storage.whole_file import write_whole

    if options["archive"] is None:
        _use_crawl(options)
    elif options["topics"] is None:
        raise ConfigError("--archive needs --topics FILE")
    spec = _make_spec(options)
    with show_progress("comparing") as progress:
        comparison = run_comparison(spec, progress)
    write_whole(spec.out / "report.html", comparison_html(comparison).encode())
    print_lines(comparison_lines(comparison))
    print_note("results.json, results.csv and report.html are in {folder}", folder=spec.out)


_SPEC_FIELDS = (
    "archive", "topics", "judge", "terms", "budget", "seed_orders", "concurrency", "eager",
)  # fmt: skip
"""Options with the names of fields of `ComparisonSpec`."""


def _use_crawl(options: dict[str, Any]) -> None:
    """Set the options of web and labels to files made from a crawl in the database."""
    from focus.evaluate.own_crawl import write_inputs

    file_options = [name for name in ("topics", "labels", "hubs", "aliases") if options[name]]
    if file_options:
        raise ConfigError("--{option} needs --archive FILE", option=file_options[0])
    folder = options["output"]
    inputs = write_inputs(options["db"].expanduser(), options["crawl"], folder / "crawl")
    options |= {"archive": inputs.archive, "topics": inputs.topics, "labels": inputs.labels}
    if options["judge"]:
        options["labels"] = None
    elif inputs.labels is None:
        options["judge"] = inputs.relevance
        print_note(
            "There are no labels of `focus label`: {model} judges, as it did the crawl",
            model=inputs.relevance,
        )
    if inputs.seeds == 1:
        options["seed_orders"] = 1  # there is one order only


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
                "--baseline {baseline}: is not one of the compared strategies", baseline=baseline
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
