"""`focus topic new`, `show`, `test` and `suggest`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.crawl import llm_options
from focus.commands.example_pages import (
    KB,
    collect_examples,
    example_options,
    make_sources,
    open_knowledge_base,
    page_options,
    print_complaint,
)
from focus.commands.options.help import Group
from focus.commands.options.option import JSON, Command, option, print_json, print_lines, print_note
from focus.commands.options.value_types import MODEL, checked_type
from focus.errors import ConfigError, TopicError
from focus.i18n import say
from focus.text.formatting import format_count, printable
from focus.topic.terms import LIBRARY

if TYPE_CHECKING:
    from focus.learn.page_sources import PageSources, StoredCrawls
    from focus.learn.topic_building import SourcedPage
    from focus.score.statistics.expansion import TopicExpansion
    from focus.topic.topic import Topic

_ALL_MODELS = "all"  # all relevance models
TERMS = option(
    "--terms",
    default=LIBRARY,
    kind="terms",
    help="Related terms: library, none, or a file with one per line.",
)


def _parse_model(text: str) -> str:
    return text if text == _ALL_MODELS else MODEL.read(text)


@click.group(cls=Group)
def topic() -> None:
    """Make a topic file, test it on pages, add terms.

    \b
    Example:
        focus topic new football --keyword 足球 --keyword 英超:0.8 -o football.toml
        focus topic test football.toml https://sports.sina.com.cn/china/
        focus topic suggest football.toml --crawl latest
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
@option("--threshold", kind="relevance", help="Count pages above this relevance as relevant.")
@option(
    "--as-published",
    type=click.Choice(("p4", "p5")),
    help="Weight the words of the examples by a paper's formula: p4, (F/Z)·log(D/Di); p5, "
    "the improved TF-IDF. Document frequencies are those of the given pages.",
)
@KB
@TERMS
@llm_options
@option("-o", "--output", kind="file", show_default="NAME.toml", help="Write the topic to FILE.")
@option("--force", is_flag=True, help="Replace an existing file.")
@page_options
@click.pass_context
def new(ctx: click.Context, /, name: str, **options: Any) -> None:
    """Make a topic file of keywords and example pages.

    Words that occur in the examples and not in other pages become features for the models that
    compare vectors (cosine, euclid, adaptive). One example is enough. If most examples lack the
    keywords, the topic uses the model cosine. Pages given as URLs are read from --db or --archive,
    or else fetched. Read and edit the file before you use it.

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
        add_features,
        choose_model,
        uses_keywords,
    )

    target = options["output"] or Path(f"{name.replace('/', '_')}.toml")
    _check_output(target, force=options["force"])
    subject = _topic_from_options(name, options)
    paths = make_sources(ctx, options)
    on = collect_examples(options["example"], paths, subject)
    off = collect_pages(options["not_example"], paths, subject, print_complaint)
    if options["example"] and not on:
        raise ConfigError("none of the pages given with --example could be read")
    with ExitStack() as stack:
        base = open_knowledge_base(options["base"], stack)
        if base is not None:
            subject = add_aliases(subject, base, on)
        subject = choose_model(subject, on)
        if options["keyword"] and on and not uses_keywords(subject, on):
            raise ConfigError(
                "--keyword {word}: is on none of the example pages, by whose words pages are "
                "judged; leave it out, or give examples that have it",
                word=subject.keywords[0].text,
            )
        subject = add_features(subject, on, off, paper=options["as_published"] or "")
        subject = choose_terms(subject, options["terms"])
        subject = _add_llm_terms(subject, options)
        if base is not None:
            subject = add_kb_terms(subject, base)
    _write_topic(target, subject)
    print_lines(_created_lines(subject, target, on, off), err=True)


def _add_llm_terms(subject: Topic, options: dict[str, Any]) -> Topic:
    """Return the topic with the terms of the language model of --llm, if it is given."""
    from focus.commands.settings import read_endpoint

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

    The topic gets the related terms that a crawl would use. Pages are files, folders or URLs. Pages
    given as URLs are read from --db or --archive, or else fetched, with robots.txt and the
    private-network guard as in a crawl.

    \b
    Example:
        focus topic test football.toml page.html https://sports.sina.com.cn/china/
    """
    from focus.commands import topic_output
    from focus.commands.settings import read_topic
    from focus.learn.library import add_library_terms
    from focus.learn.page_sources import collect_pages
    from focus.learn.topic_building import ModelSet

    subject = add_library_terms(read_topic(file))
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


# -- suggest ------------------------------------------------------------------------


@topic.command(cls=Command)
@click.argument("file", metavar="FILE|WORDS")
@TERMS
@llm_options
@KB
@example_options
@option(
    "--limit",
    type=click.IntRange(1, 200),
    default=12,
    metavar="N",
    help="Propose at most N words from pages.",
)
@option(
    "--accept",
    multiple=True,
    metavar="TERM|all",
    show_default="all",
    help="Write only this term to the topic (repeatable).",
)
@option("--reject", multiple=True, metavar="TERM", help="Do not write this term (repeatable).")
@JSON
@option("-o", "--output", kind="file", help="Write the topic with the accepted terms to FILE.")
@option("--force", is_flag=True, help="Replace an existing file; the topic's own needs no --force.")
@page_options
@click.pass_context
def suggest(ctx: click.Context, /, file: str, **options: Any) -> None:
    """Propose other names and related terms of a topic.

    They come from the library of topics, and with their options from a language model, a knowledge
    base, a file of words, and pages: words that stand on pages that surely speak of the topic, and
    not on other pages of the same hosts. The pages are those of a crawl (--crawl or --db), or
    examples. With a crawl, the numbers of stored pages on which a term occurs, and of those that
    are relevant only with the suggestions, are shown.

    \b
    Example:
        focus topic suggest 足球 --crawl latest
        focus topic suggest football.toml --accept 越位 --accept "own goal" -o wide.toml
    """
    from focus.commands.settings import read_topic
    from focus.commands.topic_output import suggestion_lines
    from focus.learn.kb_terms import add_kb_terms
    from focus.learn.library import choose_terms, merge_library_terms
    from focus.learn.page_sources import collect_pages
    from focus.learn.suggestions import Effect, count_effect, keep_accepted, list_suggestions
    from focus.learn.topic_building import add_aliases, add_proposed_terms

    subject, terms = read_topic(file), options["terms"]
    if options["output"] is not None and options["output"] != Path(file):
        _check_output(options["output"], force=options["force"])
    paths = make_sources(ctx, options)
    on = collect_examples(options["example"], paths, subject)
    off = collect_pages(options["not_example"], paths, subject, print_complaint)
    with ExitStack() as stack:
        base = open_knowledge_base(options["base"], stack)
        named = subject if base is None else add_aliases(subject, base, on)
        wide = merge_library_terms(named) if terms == LIBRARY else named
        wide = choose_terms(wide, terms) if terms not in (LIBRARY, "none") else wide
        wide = wide if base is None else add_kb_terms(wide, base)
        wide = _add_llm_terms(wide, options)
        expansion = _propose_from_pages(named, paths, on, off, options)
        wide = wide if expansion is None else add_proposed_terms(wide, expansion)
    suggestions = list_suggestions(subject, wide)
    effect = Effect(suggestions, 0, 0)
    if paths.stored is not None and suggestions:
        effect = count_effect(subject, wide, suggestions, _read_stored_pages(paths.stored))
    chosen = keep_accepted(wide, suggestions, options["accept"], options["reject"])
    if options["as_json"]:
        print_json({**effect._asdict(), "expansion": expansion})
    else:
        print_lines(suggestion_lines(effect))
    if options["output"] is not None:
        _write_topic(options["output"], chosen)
        count = format_count(len(chosen.terms), "related term")
        print_note("Topic in {file}: {terms}", file=options["output"], terms=count)


def _propose_from_pages(
    subject: Topic,
    paths: PageSources,
    on: Sequence[SourcedPage],
    off: Sequence[SourcedPage],
    options: dict[str, Any],
) -> TopicExpansion | None:
    """Return the words that pages propose; None if the options name no pages."""
    from focus.learn.topic_building import propose_topic_keywords

    pages: Iterable[SourcedPage] = ()
    if paths.stored is not None:
        pages = _read_stored_pages(paths.stored)
    elif not on:
        return None
    expansion = propose_topic_keywords(subject, pages, limit=options["limit"], on=on, off=off)
    if not expansion.on:
        print_complaint(say("none of these pages is surely on topic, so they propose no word"))
    return expansion


def _read_stored_pages(stored: StoredCrawls) -> Iterator[SourcedPage]:
    """Yield the pages of the crawl that --db and --crawl name."""
    from focus.learn.topic_building import read_crawl_pages
    from focus.storage.reader import DatabaseReader

    with DatabaseReader(stored.db) as reader:
        yield from read_crawl_pages(reader, reader.crawl_id(stored.crawl))


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
