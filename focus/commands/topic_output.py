"""Shows topics, judgements and proposed keywords as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from focus.i18n import say, say_all
from focus.learn.topic_building import ModelJudgement, SourcedPage
from focus.score.relevance import relevance_threshold
from focus.score.relevance.evidence import Evidence
from focus.score.statistics.expansion import HostCounts, Proposal, TopicExpansion
from focus.text.formatting import format_count, format_percent, format_table, printable, truncate
from focus.topic.topic import Topic

_WORDS = 8  # matched words named for a part
_HOSTS = 3  # hosts named for a proposed word
_WIDTH = 60


# -- focus topic show ---------------------------------------------------------------


def topic_lines(topic: Topic, where: str) -> list[str]:
    """A topic with its words, their weights and where these came from."""
    own = topic.relevance or Evidence.name
    number = relevance_threshold(own, topic)
    threshold = (
        say("{threshold:g} (the model's)", threshold=number)
        if topic.threshold is None
        else f"{number:g}"
    )
    rows = [(say("relevance"), own + ("" if topic.relevance else say(" (the default)")))]
    rows += [(say("threshold"), threshold)]
    rows += [(say("learned"), printable(topic.model))] if topic.model else []
    rows += [(say("seed"), printable(seed)) for seed in topic.seeds]
    keywords = {each.text: each.weight for each in topic.keywords}
    lines = [f"{printable(topic.name)} ({where})", *format_table(rows)]
    lines += ["", format_count(len(keywords), "keyword"), *_words(keywords, topic, "given")]
    if topic.features:
        lines += [
            "",
            format_count(len(topic.features), "feature"),
            *_words(topic.features, topic, ""),
        ]
    if topic.narrower:
        lines += ["", format_count(len(topic.narrower), "narrower term")]
        lines += _words(topic.narrower, topic, "given")
    return lines


def _words(weights: Mapping[str, float], topic: Topic, otherwise: str) -> list[str]:
    rows = [
        (printable(word, 32), f"{weight:.4g}", printable(topic.sources.get(word, otherwise), 70))
        for word, weight in weights.items()
    ]
    return format_table(rows, right_aligned={1})


# -- focus topic test ---------------------------------------------------------------


def tested_lines(
    page: SourcedPage, opinions: Sequence[ModelJudgement], absent: Mapping[str, str]
) -> list[str]:
    """What each model says of a page, part by part."""
    lines = [printable(page.page.title or say("(no title)"), 96), f"  {printable(page.source, 94)}"]
    for each in opinions:
        verdict = say("relevant") if each.relevant else say("not relevant")
        sign = ">" if each.relevant else "≤"
        lines.append(f"  {each.model}: {verdict}, {each.relevance:.3f} {sign} {each.threshold:.4g}")
        lines += _parts(each) or [say("    no word of the topic is on it")]
    lines += [f"  {name}: {printable(why, 120)}" for name, why in absent.items()]
    return lines


def _parts(said: ModelJudgement) -> list[str]:
    rows = []
    for part, value in said.parts.items():
        weight = said.weights.get(part)
        share = "" if weight is None else f"× {weight:g} = {weight * value:+.2f}"
        found = ", ".join(said.matched.get(part, [])[:_WORDS])
        rows.append((printable(part, 24), f"{value:.3f}", share, printable(found, _WIDTH)))
    return format_table(rows, indent="    ", right_aligned={1}) if rows else []


def tested(
    page: SourcedPage, opinions: Sequence[ModelJudgement], absent: Mapping[str, str]
) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "page": page.source,
        "title": page.page.title,
        "models": {each.pop("model"): each for each in map(msgspec.to_builtins, opinions)},
        "absent": dict(absent),
    }


# -- focus topic expand -------------------------------------------------------------


def expansion_lines(found: TopicExpansion, *, explain: bool) -> list[str]:
    """The proposed words; with their evidence, and what was left out and why."""
    head = say(
        "compared {on} on topic with {off:,} others",
        on=format_count(found.on, "page"),
        off=found.off,
    )
    if not found.proposals:
        return [say("{head}: no further word speaks of the topic", head=head)]
    if not explain:
        rows = [(printable(each.word, 32), f"{each.weight:g}") for each in found.proposals]
        return [head, *format_table(rows, right_aligned={1})]
    titles = say_all(
        "word", "weight", "lift", "on", "off", "titles", "mostly at: on of on, off of off"
    )
    rows_full = [titles, *(_evidence(each, found) for each in found.proposals)]
    lines = [head, *format_table(rows_full, right_aligned={1, 2, 3, 4, 5})]
    if found.left_out:
        left = [(printable(word, 32), printable(why, 90)) for word, why in found.left_out]
        lines += ["", say("left out"), *format_table(left)]
    return lines


def _evidence(each: Proposal, found: TopicExpansion) -> tuple[str, ...]:
    return (
        printable(each.word, 32),
        f"{each.weight:g}",
        f"{each.lift:.0f}×",
        format_percent(each.on / found.on),
        format_percent(each.off / found.off) if found.off else "-",
        f"{each.titles:,}",
        truncate("; ".join(map(_host, each.hosts[:_HOSTS])), 90),
    )


def _host(at: HostCounts) -> str:
    name = printable(at.host, 30) or "files"
    return f"{name} {at.on}/{at.on_all}, {at.off}/{at.off_all}"
