"""Formats topics, judgements and proposed keywords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from focus.commands.dry_run import NO_TERMS
from focus.i18n import mark, say, say_all
from focus.learn.suggestions import Effect
from focus.learn.topic_building import ModelJudgement, SourcedPage
from focus.score.relevance import relevance_threshold
from focus.score.relevance.evidence import Evidence
from focus.text.formatting import format_count, format_table, printable
from focus.topic.topic import Topic

_MAX_WORDS = 8  # matched words shown per part
_WIDTH = 60


# -- focus topic show ---------------------------------------------------------------


def topic_lines(topic: Topic, where: str) -> list[str]:
    """Return a topic with its words, their weights and sources."""
    model = topic.relevance or Evidence.name
    number = relevance_threshold(model, topic)
    threshold = (
        say("{threshold:g} (the model's)", threshold=number)
        if topic.threshold is None
        else f"{number:g}"
    )
    rows = [(say("relevance"), model + ("" if topic.relevance else say(" (the default)")))]
    rows += [(say("threshold"), threshold)]
    rows += [(say("learned"), printable(topic.model))] if topic.model else []
    rows += [(say("seed"), printable(seed)) for seed in topic.seeds]
    keywords = {keyword.text: keyword.weight for keyword in topic.keywords}
    lines = [f"{printable(topic.name)} ({where})", *format_table(rows)]
    lines += ["", format_count(len(keywords), "keyword"), *_word_lines(keywords, topic, "given")]
    lines += ["", format_count(len(topic.terms), "related term")]
    lines += _word_lines(topic.terms, topic, "given") if topic.terms else [f"  {say(NO_TERMS)}"]
    if topic.features:
        lines += [
            "",
            format_count(len(topic.features), "feature"),
            *_word_lines(topic.features, topic, ""),
        ]
    return lines


def _word_lines(weights: Mapping[str, float], topic: Topic, otherwise: str) -> list[str]:
    rows = [
        (printable(word, 32), f"{weight:.4g}", printable(topic.sources.get(word, otherwise), 70))
        for word, weight in weights.items()
    ]
    return format_table(rows, right_aligned={1})


# -- focus topic test ---------------------------------------------------------------


def test_lines(
    page: SourcedPage, opinions: Sequence[ModelJudgement], absent: Mapping[str, str]
) -> list[str]:
    """Return the verdict of each model on a page, part by part."""
    lines = [printable(page.page.title or say("(no title)"), 96), f"  {printable(page.source, 94)}"]
    for opinion in opinions:
        verdict = say("relevant") if opinion.relevant else say("not relevant")
        sign = ">" if opinion.relevant else "≤"
        lines.append(
            f"  {opinion.model}: {verdict}, {opinion.relevance:.3f} {sign} {opinion.threshold:.4g}"
        )
        lines += _part_lines(opinion) or [say("    no word of the topic occurs")]
    lines += [f"  {name}: {printable(why, 120)}" for name, why in absent.items()]
    return lines


def _part_lines(opinion: ModelJudgement) -> list[str]:
    rows = []
    for part, value in opinion.parts.items():
        weight = opinion.weights.get(part)
        share = "" if weight is None else f"× {weight:g} = {weight * value:+.2f}"
        matched_words = ", ".join(opinion.matched.get(part, [])[:_MAX_WORDS])
        rows.append((printable(part, 24), f"{value:.3f}", share, printable(matched_words, _WIDTH)))
    return format_table(rows, indent="    ", right_aligned={1}) if rows else []


def test_result(
    page: SourcedPage, opinions: Sequence[ModelJudgement], absent: Mapping[str, str]
) -> dict[str, Any]:
    """Return the verdict of each model on a page as plain data."""
    return {
        "page": page.source,
        "title": page.page.title,
        "models": {
            opinion_fields.pop("model"): opinion_fields
            for opinion_fields in map(msgspec.to_builtins, opinions)
        },
        "absent": dict(absent),
    }


# -- focus topic suggest ------------------------------------------------------------


def suggestion_lines(effect: Effect) -> list[str]:
    """Return one line per suggested name or term, with its effect on stored pages if counted."""
    if not effect.suggestions:
        return [say("no source proposes a term; others are --llm URL, --kb FILE and --crawl ID")]
    titles, numbers = say_all("term", "role", "weight", "source"), {2}
    if effect.pages:
        titles, numbers = (*titles[:3], *say_all("pages", "newly relevant"), titles[3]), {2, 3, 4}
    rows = [
        (
            *(printable(s.term, 32), s.role, f"{s.weight:.4g}"),
            *((f"{s.pages:,}", f"{s.newly_relevant:,}") if effect.pages else ()),
            printable(s.source, 70),
        )
        for s in effect.suggestions
    ]
    lines = format_table([titles, *rows], right_aligned=numbers)
    if effect.pages:
        text = mark("with all of them {n:,} of {pages:,} stored pages become relevant")
        lines += ["", say(text, n=effect.newly_relevant, pages=effect.pages)]
    return lines
