"""Turns the options of `focus crawl` into a `CrawlConfig` and `RunPaths`.

click has merged flags > FOCUS_* variables > focus.toml > defaults before; here seeds
and topic are read and checked, parameters find their owner, and the User-Agent is made.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from focus import __version__
from focus.commands.options.declared import filled
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RenderConfig,
    RunPaths,
)
from focus.documents.kinds import KIND_BY_MEDIA_TYPE, LIBRARIES
from focus.errors import ConfigError, TopicError
from focus.learn.memory_crawl import PageSource
from focus.learn.model_file import apply_model
from focus.registry import check_removed
from focus.rendering import usable
from focus.score.parameters import PublishedParams, default_params
from focus.score.relevance import RELEVANCE, Model, model_class
from focus.score.strategy import STRATEGIES, Strategy, strategy_class
from focus.topic.topic import Topic, from_words, to_builtins
from focus.topic.topic_file import read_topic_file
from focus.urls.normal_form import seed_candidates, url_host

Params = dict[str, float]
_LOOPBACK = re.compile(r"127\.|\[::1\]|localhost(?::|$)")


class CrawlOrder(msgspec.Struct, frozen=True):
    """A crawl as ordered. `anonymous`: the User-Agent names nobody to turn to."""

    config: CrawlConfig
    paths: RunPaths
    topic: Topic
    anonymous: bool

    @property
    def leaves_home(self) -> bool:
        """Whether it asks anything of machines other than this one."""
        if self.paths.archive is not None:
            return False
        to = self.config.fetch.connect_to
        hosts = [to] if to else [url_host(seed_candidates(seed)[0]) for seed in self.config.seeds]
        return not all(map(_LOOPBACK.match, hosts))


def order(options: Mapping[str, Any]) -> CrawlOrder:
    """The order that these options of `focus crawl` make; ConfigError for what makes no sense."""
    if options["topic"] is None:
        raise TopicError("no topic; give one with --topic WORDS or --topic FILE.toml")
    given = options["topic"]
    topic = given if isinstance(given, Topic) else read_topic(given)
    seeds = _seeds(options["seed"], options["seeds_file"]) or topic.seeds
    if not seeds:
        raise ConfigError("no seed; give a page to start from with --seed URL")
    for seed in seeds:
        seed_candidates(seed)
    paths = _places(options)
    for out in (options["warc"], options["report"], options["log_file"]):
        check_folder(out)
    config = _config(options, topic, seeds)
    anonymous = not (options["user_agent"] or options["contact"])
    return CrawlOrder(config, paths, topic, anonymous)


# -- seeds and topic ----------------------------------------------------------------


def _seeds(given: Sequence[str], file: Path | None) -> tuple[str, ...]:
    """Those given one by one, then the file's; each once."""
    lines = [] if file is None else read_text(file, "seeds file").splitlines()
    listed = (line.partition(" #")[0].strip() for line in lines)
    seeds = (*given, *(line for line in listed if line and not line.startswith("#")))
    if file is not None and not seeds:
        raise ConfigError("seeds file {file}: there is no seed in it", file=file)
    return tuple(dict.fromkeys(seed.strip() for seed in seeds))


def read_topic(text: str) -> Topic:
    """A topic out of what --topic was given: a file if it names one, else words."""
    path = Path(text)
    if text.endswith(".toml") or (len(text) < 255 and path.is_file()):
        return read_topic_file(path)
    return from_words(text)


def read_text(path: Path, what: str) -> str:
    """A file of the user's (- is the standard input), UTF-8; ConfigError if that fails."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            "{what} {path}: cannot be read: {error}",
            what=what,
            path=path,
            error=error,
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "{what} {path}: is not UTF-8 (byte {start})", what=what, path=path, start=error.start
        ) from None


# -- the configuration --------------------------------------------------------------


def _config(options: Mapping[str, Any], topic: Topic, seeds: tuple[str, ...]) -> CrawlConfig:
    strategy = options["strategy"]
    wanted = strategy_class(strategy)
    published = options["as_published"]
    theirs = wanted.published_model if published else ""
    relevance = options["relevance"] or theirs or topic.relevance or AnalysisConfig().relevance
    ours, models = split_params(options["param"], strategy, relevance, as_published=published)
    if published and wanted.published_topic == "keywords":
        topic = msgspec.structs.replace(topic, features={})
    if not published:
        ours = {**topic_params(topic, wanted), **ours}
        models = {**topic_params(topic, model_class(relevance)), **models}
    topic, trained = apply_model(topic, relevance, models)
    config = filled(CrawlConfig, options)
    agent = product(options["user_agent"])
    alone = options["proxy"] or options["connect_to"]
    return replace(
        config,
        seeds=seeds,
        params=ours,
        agent=agent,
        fetch=replace(
            _fetch(options),
            max_raw_bytes=options["max_body"],
            concurrency=config.concurrency,
        ),
        politeness=replace(config.politeness, per_ip=0) if alone else config.politeness,
        analysis=replace(
            config.analysis,
            topic=to_builtins(topic),
            relevance=relevance,
            params=models,
            trained=trained,
            as_published=config.as_published,
            agent=agent,
            documents=config.scope.documents,
            digests=config.refresh_s is not None,
        ),
    )


def _fetch(options: Mapping[str, Any]) -> FetchConfig:
    """How to ask, as far as it was said."""
    if options["proxy"] and options["connect_to"]:
        raise ConfigError("--proxy and --connect-to exclude each other; give one of them")
    agent = user_agent(options["user_agent"], options["contact"])
    config = replace(filled(FetchConfig, options), user_agent=agent)
    if options.get("documents"):
        _check_documents()
        config = replace(config, content_types=(*config.content_types, *KIND_BY_MEDIA_TYPE))
    return config


def _check_documents() -> None:
    """ConfigError where the libraries that read documents are missing."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise ConfigError(
            "--documents needs {missing}: pip install 'focus-crawler[documents]'",
            missing=", ".join(missing),
        )


def user_agent(name: str | None, contact: str | None) -> str:
    """`focus/0.1.0 (focused crawler; +CONTACT)`, or the user's own with the contact added."""
    if name is None:
        return (
            f"focus/{__version__} (focused crawler; {f'+{contact}' if contact else 'no contact'})"
        )
    return f"{name} (+{contact})" if contact and contact not in name else name


def product(name: str | None) -> str:
    """The product token (RFC 9309 2.2.1) of a User-Agent: what robots.txt calls us."""
    if name is None:
        return CrawlConfig().agent
    match = re.search(r"compatible; *([A-Za-z_-]+)", name) or re.search(r"[A-Za-z_-]+", name)
    return match[1 if match.lastindex else 0] if match else CrawlConfig().agent


def split_params(
    given: Iterable[tuple[str, float]],
    strategy: str,
    relevance: str,
    *,
    as_published: bool = False,
) -> tuple[Params, Params]:
    """The numbers for the strategy and those for the relevance model.

    A name goes to whichever knows it, to both if both do; `strategy.` or `relevance.`
    before it makes that plain. ConfigError for a name that neither knows.
    """
    ours = default_params(strategy_class(strategy), as_published=as_published)
    models = default_params(model_class(relevance), as_published=as_published)
    owners: dict[str, tuple[str, PublishedParams, Params]] = {
        "strategy": (strategy, ours, {}),
        "relevance": (relevance, models, {}),
    }
    for name, value in given:
        prefix, dot, rest = name.partition(".")
        asked = [prefix] if dot and prefix in owners else list(owners)
        bare = rest if dot and prefix in owners else name
        knowing = [owner for owner in asked if bare in owners[owner][1]]
        if not knowing:
            raise ConfigError(_unknown(name, bare, [owners[owner][:2] for owner in asked]))
        for owner in knowing:
            owners[owner][2][bare] = value
    return owners["strategy"][2], owners["relevance"][2]


def _unknown(name: str, bare: str, asked: list[tuple[str, PublishedParams]]) -> str:
    near = get_close_matches(bare, [known for _, names in asked for known in names], 1, 0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = "; ".join(f"{owner}: {', '.join(names) or 'none'}" for owner, names in asked)
    return f"--param {name}: no such parameter; {hint}known: {known}"


def topic_params(topic: Topic, kind: type[Strategy] | type[Model]) -> Params:
    """The numbers that a topic file has for a strategy or model; --param goes before them.

    ConfigError for an owner that nobody knows, here or elsewhere in the file, and for a
    number that its owner does not have.
    """
    for owner in topic.params:
        if owner not in STRATEGIES and owner not in RELEVANCE:
            check_removed(f"strategy {owner}")
            near = get_close_matches(owner, [*STRATEGIES, *RELEVANCE], 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(
                "topic {name!r}: [params.{owner}] is of no strategy or relevance model{hint}",
                name=topic.name,
                owner=owner,
                hint=hint,
            )
    found = topic.params.get(kind.name, {})
    unknown = sorted(set(found) - set(kind.defaults))
    if unknown:
        known = ", ".join(kind.defaults) or "none"
        raise ConfigError(
            "topic {name!r}: [params.{owner}] has no {unknown!r}; known: {known}",
            name=topic.name,
            owner=kind.name,
            unknown=unknown[0],
            known=known,
        )
    return found


# -- places -------------------------------------------------------------------------


def _places(options: Mapping[str, Any]) -> RunPaths:
    archive, warc = options["archive"], options["warc"]
    if archive is not None and warc is not None:
        raise ConfigError("--warc records the network; with --archive there is nothing to record")
    if archive is not None and not archive.is_file():
        raise ConfigError("--archive {archive}: there is no such file", archive=archive)
    db = Path(options["db"]).expanduser()
    if archive is not None and options["render"] not in (None, "never"):
        raise ConfigError(
            "--render has the scripts of pages ask the live web, and --archive is to crawl a "
            "recorded one; give one of them"
        )
    kinds = tuple(chain.from_iterable(options["retry_failed"]))
    return filled(RunPaths, options, db=db, retry_failed=kinds)


def check_folder(path: Path | None) -> None:
    """Raise ConfigError before the work if the folder of an output file is missing."""
    if path is not None and not path.absolute().parent.is_dir():
        raise ConfigError(
            "{path}: there is no folder {parent}; make it first",
            path=path,
            parent=path.absolute().parent,
        )


def web_of(options: Mapping[str, Any], archive: Path | None = None) -> PageSource:
    """How to ask for single pages, as `network_options` say, or whom: a recorded web."""
    fetch, politeness = _fetch(options), filled(PolitenessConfig, options)
    return PageSource(archive, fetch, politeness, product(options["user_agent"]))


def watched_web(options: Mapping[str, Any]) -> PageSource:
    """How to visit sites that are watched; ConfigError where --render cannot be done."""
    render, browser = filled(RenderConfig, options), options["browser"]
    if render.mode != "never":
        if options["amqp"]:
            raise ConfigError(
                "--render needs a browser, and workers of a cluster have none; visit the sites "
                "that need one by a `focus watch run` without --amqp"
            )
        usable(render, browser)
    return msgspec.structs.replace(web_of(options), render=render, browser=browser)
