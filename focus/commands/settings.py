"""Makes a `CrawlConfig` and `RunPaths` from the options of `focus crawl`.

click has merged flags, FOCUS_* variables, focus.toml and defaults before. Here seeds and topic are
read and checked, parameters are assigned to strategy or model, and the User-Agent is made.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from focus import __version__
from focus.commands.options.declared import fill_record
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RenderConfig,
    RunPaths,
)
from focus.documents.kinds import KIND_BY_MEDIA_TYPE, LIBRARIES
from focus.documents.ocr import check_ocr
from focus.errors import ConfigError, TopicError
from focus.learn.library import choose_terms
from focus.learn.memory_crawl import PageSource
from focus.learn.model_file import apply_model
from focus.rendering import usable
from focus.score.parameters import PublishedParams, default_params
from focus.score.relevance import RELEVANCE, Model, model_class
from focus.score.strategy import STRATEGIES, Strategy, strategy_class
from focus.topic.terms import LIBRARY, LLM
from focus.topic.topic import Topic, from_words, to_builtins
from focus.topic.topic_file import names_file, read_topic_file
from focus.urls.normal_form import seed_candidates, url_host

if TYPE_CHECKING:
    from focus.learn.llm import Endpoint
    from focus.session.judging import Judge

Params = dict[str, float]
LLM_KEY_VARIABLE = "FOCUS_LLM_KEY"
_LOOPBACK = re.compile(r"127\.|\[::1\]|localhost(?::|$)")


class CrawlPlan(msgspec.Struct, frozen=True):
    """What a command is to crawl.

    is_anonymous  whether the User-Agent contains no contact
    endpoint      language model to ask for terms before the crawl begins
    judge         decides about doubtful pages
    """

    config: CrawlConfig
    paths: RunPaths
    topic: Topic
    is_anonymous: bool
    endpoint: Endpoint | None = None
    judge: Judge | None = None

    @property
    def uses_network(self) -> bool:
        """Whether the crawl sends requests to other machines than this one."""
        if self.paths.archive is not None:
            return False
        proxy = self.config.fetch.connect_to
        hosts = (
            [proxy] if proxy else [url_host(seed_candidates(seed)[0]) for seed in self.config.seeds]
        )
        return not all(map(_LOOPBACK.match, hosts))


def plan_crawl(options: Mapping[str, Any]) -> CrawlPlan:
    """Return the crawl that these options describe. Raises ConfigError for invalid options."""
    if options["topic"] is None:
        raise TopicError("no topic; give one with --topic WORDS or --topic FILE.toml")
    topic_option = options["topic"]
    topic = topic_option if isinstance(topic_option, Topic) else read_topic(topic_option)
    seeds = _read_seeds(options["seed"], options["seeds_file"]) or topic.seeds
    if not seeds:
        raise ConfigError(
            "no URL to start from; give one, as in `focus crawl example.org --topic WORDS`"
        )
    for seed in seeds:
        seed_candidates(seed)
    paths = _run_paths(options)
    for out in (options["warc"], options["summary"], options["log_file"]):
        check_folder(out)
    config, topic = _crawl_config(options, topic, seeds)
    is_anonymous = not (options["user_agent"] or options["contact"])
    endpoint, judge = read_endpoint(options), read_judge(options)
    uses_terms = config.analysis.relevance == AnalysisConfig().relevance
    if judge is not None and not uses_terms:
        raise ConfigError("--judge needs the relevance model evidence")
    if config.terms == "none" or not uses_terms or LLM in topic.sources.values():
        endpoint = None
    if endpoint is not None and not config.terms:
        config = replace(config, terms=LLM)
    return CrawlPlan(config, paths, topic, is_anonymous, endpoint, judge)


# -- seeds and topic ----------------------------------------------------------------


def _read_seeds(typed_seeds: Sequence[str], file: Path | None) -> tuple[str, ...]:
    """Return the seeds of the command line, then those of the file, without repetitions."""
    for seed in typed_seeds:
        if "://" not in seed and Path(seed.strip()).is_file():
            raise ConfigError("seed {seed!r}: is a file; give it with --seeds-file", seed=seed)
    lines = [] if file is None else read_text(file, "seeds file").splitlines()
    file_lines = (line.partition(" #")[0].strip() for line in lines)
    seeds = (*typed_seeds, *(line for line in file_lines if line and not line.startswith("#")))
    if file is not None and not seeds:
        raise ConfigError("seeds file {file}: contains no seeds", file=file)
    return tuple(dict.fromkeys(seed.strip() for seed in seeds))


def read_topic(text: str) -> Topic:
    """Return the topic of --topic: from a file if the text names one, otherwise from words."""
    path = Path(text)
    if names_file(text) or (len(text) < 255 and path.is_file()):
        return read_topic_file(path)
    return from_words(text)


def read_endpoint(options: Mapping[str, Any]) -> Endpoint | None:
    """Return the endpoint of --llm, with its key; None without the option."""
    if not options["llm"]:
        return None
    from focus.learn.llm import Endpoint

    key = read_secret(options["llm_key_file"], LLM_KEY_VARIABLE) or ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the key for --llm is not one line of printable ASCII")
    return Endpoint(options["llm"], options["llm_model"] or "", key)


def read_judge(options: Mapping[str, Any]) -> Judge | None:
    """Return the judge of --judge; None without the option. Raises ConfigError if there is none."""
    if not options["judge"]:
        return None
    from focus.learn.judges import JUDGES

    return JUDGES.find(options["judge"])(read_endpoint(options))


def read_secret(file: Path | None, variable: str) -> str | None:
    """Return the first line of a file with a secret; without a file the value of a variable."""
    if file is None:
        return os.environ.get(variable)
    return read_text(file, "password file").partition("\n")[0].strip()


def read_text(path: Path, what: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises ConfigError if it cannot be read or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            "{what} {path}: cannot be read: {error}", what=what, path=path, error=error
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "{what} {path}: is not UTF-8 (byte {start})", what=what, path=path, start=error.start
        ) from None


# -- the configuration --------------------------------------------------------------


def _crawl_config(
    options: Mapping[str, Any], topic: Topic, seeds: tuple[str, ...]
) -> tuple[CrawlConfig, Topic]:
    """Return the settings of the crawl, and the topic with its related terms."""
    strategy = options["strategy"]
    strategy_type = strategy_class(strategy)
    published = options["as_published"]
    published_model = strategy_type.published_model if published else ""
    relevance = (
        options["relevance"] or published_model or topic.relevance or AnalysisConfig().relevance
    )
    strategy_params, model_params = split_params(
        options["param"], strategy, relevance, as_published=published
    )
    if published and strategy_type.published_topic == "keywords":
        topic = msgspec.structs.replace(topic, features={})
    terms = "none" if published else options["terms"]
    if terms == LIBRARY and (topic.terms or relevance != AnalysisConfig().relevance):
        terms = ""  # those of the topic file, which identify the crawl, or none
    topic = choose_terms(topic, terms) if terms else topic
    if not published:
        strategy_params = {**topic_params(topic, strategy_type), **strategy_params}
        model_params = {**topic_params(topic, model_class(relevance)), **model_params}
    bare_topic, trained = apply_model(topic, relevance, model_params)
    config = fill_record(CrawlConfig, options)
    agent = product_token(options["user_agent"])
    uses_proxy = options["proxy"] or options["connect_to"]
    config = replace(
        config,
        seeds=seeds,
        terms=terms if terms in (LIBRARY, "none") else "",
        params=strategy_params,
        agent=agent,
        fetch=replace(
            _fetch_config(options),
            max_raw_bytes=options["max_body"],
            concurrency=config.concurrency,
        ),
        politeness=replace(config.politeness, per_ip=0) if uses_proxy else config.politeness,
        analysis=replace(
            config.analysis,
            topic=to_builtins(bare_topic),
            relevance=relevance,
            params=model_params,
            trained=trained,
            as_published=config.as_published,
            agent=agent,
            documents=config.scope.documents,
            ocr=config.scope.ocr,
            hash_routes=config.render.mode != "never",
        ),
    )
    return config, topic


def _fetch_config(options: Mapping[str, Any]) -> FetchConfig:
    """Return the configuration of requests from the options."""
    if options["proxy"] and options["connect_to"]:
        raise ConfigError("--proxy and --connect-to exclude each other; give one of them")
    agent = make_user_agent(options["user_agent"], options["contact"])
    config = replace(fill_record(FetchConfig, options), user_agent=agent)
    if options.get("ocr"):
        check_ocr(options["ocr"], documents=options["documents"])
    if options.get("documents"):
        _check_documents()
        config = replace(config, content_types=(*config.content_types, *KIND_BY_MEDIA_TYPE))
    return config


def _check_documents() -> None:
    """Raise ConfigError if a library that reads documents is missing."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise ConfigError(
            "--documents needs {missing}: pip install 'focus-crawler[documents]'",
            missing=", ".join(missing),
        )


def make_user_agent(name: str | None, contact: str | None) -> str:
    """Return `focus/0.1.0 (focused crawler; +CONTACT)`, or the user's own name with the contact."""
    if name is None:
        return (
            f"focus/{__version__} (focused crawler; {f'+{contact}' if contact else 'no contact'})"
        )
    return f"{name} (+{contact})" if contact and contact not in name else name


def product_token(name: str | None) -> str:
    """Return a User-Agent's product token (RFC 9309 2.2.1), its name in robots.txt."""
    if name is None:
        return CrawlConfig().agent
    match = re.search(r"compatible; *([A-Za-z_-]+)", name) or re.search(r"[A-Za-z_-]+", name)
    return match[1 if match.lastindex else 0] if match else CrawlConfig().agent


def split_params(
    params: Iterable[tuple[str, float]],
    strategy: str,
    relevance: str,
    *,
    as_published: bool = False,
) -> tuple[Params, Params]:
    """Return the parameters of the strategy and those of the relevance model.

    A name belongs to each of them that has it; a prefix `strategy.` or `relevance.` selects one.
    Raises ConfigError for a name that neither has.
    """
    strategy_defaults = default_params(strategy_class(strategy), as_published=as_published)
    model_defaults = default_params(model_class(relevance), as_published=as_published)
    owners: dict[str, tuple[str, PublishedParams, Params]] = {
        "strategy": (strategy, strategy_defaults, {}),
        "relevance": (relevance, model_defaults, {}),
    }
    for name, value in params:
        prefix, dot, rest = name.partition(".")
        candidates = [prefix] if dot and prefix in owners else list(owners)
        bare_name = rest if dot and prefix in owners else name
        matching = [owner for owner in candidates if bare_name in owners[owner][1]]
        if not matching:
            raise ConfigError(
                _unknown_message(name, bare_name, [owners[owner][:2] for owner in candidates])
            )
        for owner in matching:
            owners[owner][2][bare_name] = value
    return owners["strategy"][2], owners["relevance"][2]


def _unknown_message(
    name: str, bare_name: str, candidates: list[tuple[str, PublishedParams]]
) -> str:
    suggestions = get_close_matches(
        bare_name, [known for _, names in candidates for known in names], 1, 0.5
    )
    hint = f"did you mean {suggestions[0]!r}? " if suggestions else ""
    known = "; ".join(f"{owner}: {', '.join(names) or 'none'}" for owner, names in candidates)
    return f"--param {name}: no such parameter; {hint}known: {known}"


def topic_params(topic: Topic, kind: type[Strategy] | type[Model]) -> Params:
    """Return the parameters that a topic file has for a strategy or model; --param overrides them.

    Raises ConfigError for an unknown strategy or model anywhere in the file, and for a parameter
    that its owner does not have.
    """
    for owner in topic.params:
        if owner not in STRATEGIES and owner not in RELEVANCE:
            suggestions = get_close_matches(owner, [*STRATEGIES, *RELEVANCE], 1, 0.5)
            hint = f"; did you mean {suggestions[0]!r}?" if suggestions else ""
            raise ConfigError(
                "topic {name!r}: [params.{owner}]: no strategy or relevance model has this "
                "name{hint}",
                name=topic.name,
                owner=owner,
                hint=hint,
            )
    params = topic.params.get(kind.name, {})
    unknown = sorted(set(params) - set(kind.defaults))
    if unknown:
        known = ", ".join(kind.defaults) or "none"
        raise ConfigError(
            "topic {name!r}: [params.{owner}]: unknown parameter {unknown!r}; known: {known}",
            name=topic.name,
            owner=kind.name,
            unknown=unknown[0],
            known=known,
        )
    return params


# -- places -------------------------------------------------------------------------


def _run_paths(options: Mapping[str, Any]) -> RunPaths:
    archive, warc = options["archive"], options["warc"]
    if archive is not None and warc is not None:
        raise ConfigError("--warc records network traffic; with --archive there is none")
    if archive is not None and not archive.is_file():
        raise ConfigError("--archive {archive}: there is no such file", archive=archive)
    db = Path(options["db"]).expanduser()
    if archive is not None and options["render"] not in (None, "never"):
        raise ConfigError(
            "--render needs the live web and --archive crawls a recorded one; give one of them"
        )
    kinds = tuple(chain.from_iterable(options["retry_failed"]))
    return fill_record(RunPaths, options, db=db, retry_failed=kinds)


def check_folder(path: Path | None) -> None:
    """Raise ConfigError before the work if the folder of an output file is missing."""
    if path is not None and not path.absolute().parent.is_dir():
        raise ConfigError(
            "{path}: there is no folder {parent}; create it first",
            path=path,
            parent=path.absolute().parent,
        )


def page_source(options: Mapping[str, Any], archive: Path | None = None) -> PageSource:
    """Return the source of single pages: the network as `network_options` say, or an archive."""
    fetch, politeness = _fetch_config(options), fill_record(PolitenessConfig, options)
    return PageSource(archive, fetch, politeness, product_token(options["user_agent"]))


def watch_source(options: Mapping[str, Any]) -> PageSource:
    """Return the source of watched sites. Raises ConfigError if --render is impossible."""
    render, browser = fill_record(RenderConfig, options), options["browser"]
    if render.mode != "never":
        usable(render, browser)
    source = page_source(options)
    judge, questions = read_judge(options), options["judge_questions"]
    return replace(source, render=render, browser=browser, judge=judge, judge_questions=questions)
