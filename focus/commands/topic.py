"""`focus topic new`, `show`, `test` and `expand`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.example_pages import (
    KB,
    example_options,
    make_sources,
    open_knowledge_base,
    page_options,
    print_complaint,
)
from focus.commands.llm import llm_options, read_endpoint
from focus.commands.options.help import Group
from focus.commands.options.option import (
    JSON,
    Command,
    add_options,
    option,
    print_json,
    print_lines,
    print_note,
)
from focus.commands.options.value_types import MODEL, checked_type
from focus.commands.progress_bar import show_progress
from focus.errors import ConfigError, TopicError
from focus.i18n import say
from focus.text.formatting import format_count, printable
from focus.topic.terms import LIBRARY

if TYPE_CHECKING:
    from focus.learn.memory_crawl import PageSource
    from focus.learn.page_sources import PageSources
    from focus.learn.topic_building import SourcedPage
    from focus.topic.topic import Topic

PILOT_REQUESTS = 300  # requests of a pilot crawl by default
_ALL_MODELS = "all"  # all relevance models
LLM_OPTIONS = add_options(llm_options(section="Options"))


def _parse_model(text: str) -> str:
    return text if text == _ALL_MODELS else MODEL.read(text)


@click.group(cls=Group)
def topic() -> None:
    """Make a topic file, try it on pages, and widen it.

    \b
    Example:
        focus topic new football --keyword 足球 --keyword 英超:0.8 -o football.toml
        focus topic test football.toml https://sports.sina.com.cn/china/
        focus topic expand football.toml --explain
    """


# -- new ----------------------------------------------------------------------------


@topic.command(cls=Command)
@click.argument("name")
@option(
    "--keyword",
    multiple=True,
    metavar="WORD[:WEIGHT]",
    show_default="the name",
    help="Word or phrase of the topic, with a weight in (0, 1], 1 by default (repeatable).",
)
@option("--seed", multiple=True, metavar="URL", help="URL from which crawls start (repeatable).")
@example_options
@option("--relevance", kind="model", metavar="MODEL", help="Use this relevance model.")
@option("--threshold", kind="number", help="Count pages above this relevance as relevant.")
@option(
    "--as-published",
    type=click.Choice(("p4", "p5")),
    help="Weight the words of the examples by a paper's formula: p4, (F/Z)·log(D/Di); p5, "
    "the improved TF-IDF. Document frequencies are those of the given pages.",
)
@KB
@option(
    "--terms",
    default=LIBRARY,
    metavar="TEXT",
    help="Related terms: library, none, or a file with one per line.",
)
@LLM_OPTIONS
@option("-o", "--output", kind="file", show_default="NAME.toml", help="Write the topic to FILE.")
@option("--force", is_flag=True, help="Replace an existing file.")
@page_options
@click.pass_context
def new(ctx: click.Context, /, name: str, **options: Any) -> None:
    """Make a topic file of keywords and example pages.

    The words that the examples have in common, and others have not, become features for the
    models that compare vectors (cosine, euclid, adaptive); one page is enough to begin. If the
    keywords are not on most of the examples, cosine judges the pages of the topic. Pages
    of URLs come from --db or --archive, if given, else from the network. The file is meant to
    be read and changed.

    \b
    Example:
        focus topic new football --keyword 足球 --keyword 英超:0.8 \\
            --seed sports.sina.com.cn --example pages/ -o football.toml
    """
    from focus.learn.kb_terms import add_kb_terms
    from focus.learn.library import choose_terms
    from focus.learn.page_sources import collect_pages
    from focus.learn.topic_building import (
        add_aliases,
        add_entity_features,
        add_features,
        choose_model,
    )

    target = options["output"] or Path(f"{name.replace('/', '_')}.toml")
    _check_output(target, force=options["force"])
    subject = _topic_from_options(name, options)
    paths = make_sources(ctx, options)
    on = collect_pages(options["example"], paths, subject, print_complaint)
    off = collect_pages(options["not_example"], paths, subject, print_complaint)
    if options["example"] and not on:
        raise ConfigError("none of the pages given with --example could be read")
    with ExitStack() as stack:
        base = open_knowledge_base(options["base"], stack)
        if base is not None:
            subject = add_aliases(subject, base, on)
        subject = choose_model(subject, on)
        subject = add_features(subject, on, off, paper=options["as_published"] or "")
        if base is not None and on:
            subject = add_entity_features(subject, base, on)
        subject = choose_terms(subject, options["terms"])
        subject = _add_llm_terms(subject, options)
        if base is not None:
            subject = add_kb_terms(subject, base)
    _write_topic(target, subject)
    print_lines(_created_lines(subject, target, on, off), err=True)


def _add_llm_terms(subject: Topic, options: dict[str, Any]) -> Topic:
    """Return the topic with the terms of the language model of --llm, if it is given."""
    endpoint = read_endpoint(options)
    if endpoint is None:
        return subject
    import asyncio

    from focus.learn.llm import add_llm_terms, propose_terms

    return add_llm_terms(subject, asyncio.run(propose_terms(subject, endpoint)))


def _topic_from_options(name: str, options: dict[str, Any]) -> Topic:
    """Return the topic that the options of `focus topic new` describe."""
    import msgspec

    from focus.topic.topic import from_words
    from focus.urls.normal_form import seed_candidates

    words_topic = from_words("\n".join(options["keyword"]) if options["keyword"] else name)
    for seed in options["seed"]:
        seed_candidates(seed)
    return msgspec.structs.replace(
        words_topic,
        name=name,
        keywords=tuple({keyword.text: keyword for keyword in words_topic.keywords}.values()),
        seeds=tuple(dict.fromkeys(options["seed"])),
        relevance=options["relevance"],
        threshold=options["threshold"],
    )


def _created_lines(
    subject: Topic, target: Path, on: Sequence[SourcedPage], off: Sequence[SourcedPage]
) -> Iterable[str]:
    words = format_count(len(subject.keywords), "keyword")
    if on:
        features = format_count(len(subject.features), "feature")
        words += f", {features} of {format_count(len(on), 'example')}"
        words += f" and {len(off):,} others" if off else ""
    words += f", {format_count(len(subject.terms), 'related term')}" if subject.terms else ""
    yield f"Topic {printable(subject.name)} in {target}: {words}"
    if subject.relevance == "cosine" and on:
        yield say(
            "Pages are compared with the words of the examples (relevance = cosine); "
            "--not-example pages make that more exact"
        )
    seed = "" if subject.seeds else " --seed URL"
    yield f"Use it: focus crawl --topic {target}{seed}"


# -- show ---------------------------------------------------------------------------


@topic.command(cls=Command)
@click.argument("file", metavar="FILE|WORDS")
@JSON
def show(file: str, as_json: bool) -> None:
    """Show a topic: its words with their weights and sources.

    The related terms are those that `focus crawl` would use.

    \b
    Example:
        focus topic show football.toml
    """
    from focus.commands.settings import read_topic
    from focus.learn.library import add_library_terms

    subject = add_library_terms(read_topic(file))
    if as_json:
        from focus.topic.topic import to_builtins

        print_json(to_builtins(subject))
        return
    from focus.commands.topic_output import topic_lines

    print_lines(topic_lines(subject, file if file.endswith(".toml") else "words"))


# -- test ---------------------------------------------------------------------------


@topic.command(cls=Command)
@click.argument("file", metavar="FILE|WORDS")
@click.argument("pages", metavar="URL|HTML...", nargs=-1, required=True)
@option(
    "--relevance",
    multiple=True,
    type=checked_type(_parse_model),
    shell_complete=MODEL.complete,
    metavar="MODEL|all",
    show_default="the topic's",
    help="Judge by this model, or by all (repeatable).",
)
@JSON
@page_options
@click.pass_context
def test(ctx: click.Context, /, file: str, pages: tuple[str, ...], **options: Any) -> None:
    """Explain how relevant pages are, part by part.

    Pages are files, folders or URLs; those of URLs come from --db or --archive, if given, else
    from the network, where robots.txt and the refusal of private addresses hold as in a crawl.

    \b
    Example:
        focus topic test football.toml page.html https://sports.sina.com.cn/china/
    """
    from focus.commands import topic_output
    from focus.commands.settings import read_topic
    from focus.learn.page_sources import collect_pages
    from focus.learn.topic_building import ModelSet

    subject = read_topic(file)
    names = list(dict.fromkeys(options["relevance"]))
    bench = ModelSet(subject, list(MODEL.names()) if _ALL_MODELS in names else names)
    pages_found = collect_pages(pages, make_sources(ctx, options), subject, print_complaint)
    if not pages_found:
        raise ConfigError("no pages to judge")
    results = [(page, bench.judge(page.page), bench.absent) for page in pages_found]
    if options["as_json"]:
        print_json([topic_output.test_result(*result) for result in results])
        return
    for number, result in enumerate(results):
        print_lines([""] * (number > 0) + topic_output.test_lines(*result))


# -- expand -------------------------------------------------------------------------


@topic.command(cls=Command)
@click.argument("file", metavar="FILE|WORDS")
@option(
    "--seed",
    multiple=True,
    metavar="URL",
    help="URL from which the pilot crawl starts (repeatable).",
)
@example_options
@option(
    "--pilot",
    kind="count",
    show_default=f"{PILOT_REQUESTS} with --archive, else none",
    help="Compare the pages of a pilot crawl with N requests.",
)
@option(
    "--limit", type=click.IntRange(1, 200), default=12, metavar="N", help="Propose at most N words."
)
@option(
    "--max-weight",
    type=click.FloatRange(0.01, 1),
    default=0.15,
    metavar="NUMBER",
    help="Maximum weight of a proposed word.",
)
@option(
    "--explain",
    is_flag=True,
    help="Also show the evidence, and the rejected words with the reasons.",
)
@JSON
@option(
    "-o",
    "--output",
    kind="file",
    help="Write the topic with the proposed words to FILE.",
)
@option("--force", is_flag=True, help="Replace an existing file; the topic's own needs no --force.")
@KB
@page_options
@click.pass_context
def expand(ctx: click.Context, /, file: str, **options: Any) -> None:
    """Propose further keywords, with the evidence for them.

    Pages that the topic's words surely speak of are compared with such that they do not, host
    by host; words that stand on the first and not on the others are proposed. No label is
    needed. The pages are those of a crawl in the database, of a pilot crawl (--archive,
    --pilot), or examples.

    \b
    Example:
        focus crawl --topic football.toml --max-pages 500
        focus topic expand football.toml --explain -o wide.toml
    """
    from focus.commands.settings import read_topic
    from focus.learn.kb_terms import add_kb_terms
    from focus.learn.page_sources import collect_pages
    from focus.learn.topic_building import (
        add_aliases,
        add_proposed_terms,
        propose_topic_keywords,
    )

    subject = read_topic(file)
    if options["output"] is not None and options["output"] != Path(file):
        _check_output(options["output"], force=options["force"])
    paths = make_sources(ctx, options)
    on = collect_pages(options["example"], paths, subject, print_complaint)
    off = collect_pages(options["not_example"], paths, subject, print_complaint)
    limits = {name: options[name] for name in ("limit", "max_weight")}
    with ExitStack() as stack:
        base = open_knowledge_base(options["base"], stack)
        if base is not None:
            keyword_count, subject = len(subject.keywords), add_aliases(subject, base, on)
            added = format_count(len(subject.keywords) - keyword_count, "other name")
            print_note("{things} from {file}", things=added, file=options["base"])
        judged_pages = _read_judged_pages(subject, paths, options, stack)
        expansion = propose_topic_keywords(subject, judged_pages, **limits, on=on, off=off)
        if base is not None:
            subject = add_kb_terms(subject, base)
    wide = add_proposed_terms(subject, expansion)
    if options["as_json"]:
        print_json(expansion)
    else:
        from focus.commands.topic_output import expansion_lines

        print_lines(expansion_lines(expansion, explain=options["explain"]))
    if options["output"] is not None:
        _write_topic(options["output"], wide)
        terms = format_count(len(wide.terms), "related term")
        print_note("Topic in {file}: {terms}", file=options["output"], terms=terms)


def _read_judged_pages(
    subject: Topic, paths: PageSources, options: dict[str, Any], stack: ExitStack
) -> Iterable[SourcedPage]:
    """Return the pages to search for keywords, besides examples."""
    from focus.learn.topic_building import read_crawl_pages
    from focus.storage.reader import DatabaseReader

    if paths.stored is None and (options["archive"] is not None or options["pilot"]):
        return _read_pilot_pages(subject, paths.web, options)
    if paths.stored is None and options["example"]:
        return ()
    reader = stack.enter_context(DatabaseReader(Path(options["db"]).expanduser()))
    crawl = paths.stored.crawl if paths.stored is not None else "latest"
    return read_crawl_pages(reader, reader.crawl_id(crawl))


def _read_pilot_pages(
    subject: Topic, web: PageSource, options: dict[str, Any]
) -> Iterable[SourcedPage]:
    import asyncio

    from focus.learn.memory_crawl import crawl_briefly
    from focus.learn.topic_building import make_sourced_page

    seeds = list(options["seed"] or subject.seeds)
    if not seeds:
        raise ConfigError("no seed for the pilot crawl; give one with --seed URL")
    requests = options["pilot"] or PILOT_REQUESTS
    done = 0
    with show_progress("Pilot crawl") as progress:

        def watch(event: object) -> None:
            nonlocal done
            done += 1
            progress(done, requests)

        crawl_result = asyncio.run(
            crawl_briefly(subject, seeds, web, requests=requests, observe=watch)
        )
    for seed, why in crawl_result.failures.items():
        print_complaint(f"{seed}: {why}")
    print_note("Pilot crawl: {pages}", pages=format_count(len(crawl_result.pages), "page"))
    return (make_sourced_page(page.url, page.html) for page in crawl_result.pages)


# -- shared -------------------------------------------------------------------------


def _check_output(path: Path, *, force: bool) -> None:
    """Raise ConfigError for an output file that may not be written, before the work is done."""
    from focus.commands.settings import check_folder

    if path.exists() and not force:
        raise ConfigError("{path}: already exists; give another -o FILE, or --force", path=path)
    check_folder(path)


def _write_topic(path: Path, subject: Topic) -> None:
    """Write a topic file completely or not at all."""
    from focus.storage.whole_file import write_whole
    from focus.topic.topic import from_toml
    from focus.topic.topic_file import to_toml

    text = to_toml(_with_relative_model(subject, path))
    try:
        from_toml(text, str(path))
    except TopicError as error:
        raise ConfigError(
            "{path}: the topic cannot be written as TOML: {error}", path=path, error=error
        ) from None
    write_whole(path, text.encode())


def _with_relative_model(subject: Topic, path: Path) -> Topic:
    """Return the topic with the path of its model file relative to the topic file."""
    if subject.model is None:
        return subject
    import msgspec

    folder = path.absolute().parent
    name = Path(os.path.relpath(Path(subject.model).absolute(), folder)).as_posix()
    return msgspec.structs.replace(subject, model=name)
