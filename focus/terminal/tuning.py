"""Shows the result of `focus tune` on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from focus.evaluate.tuning_result import Tuned
from focus.i18n import say
from focus.text.formatting import count, table

_SHOWN = 8  # of the sets of values that were tried


def tuned_lines(tuned: Tuned) -> list[str]:
    """What was tried, what was best, and what that gains on the other half."""
    base, own = tuned.variant, set(tuned.confirm)
    lines = [_head(tuned)]
    if base.self_judged:
        lines.append(say("Note: self-judged: the model that guides the crawls also judges them"))
    names = [each.name for each in tuned.ranges]
    found = sorted(tuned.tried, key=lambda each: -each.auc)[:_SHOWN]
    rows = [("", *names, "AUC")]
    rows += [_row("", each.values, each.auc) for each in found]
    rows.append(_row(say("defaults"), tuned.defaults.values, tuned.defaults.auc))
    lines += table(rows, right=range(1, len(names) + 2))
    missing = len(found) < len(tuned.tried)
    if missing:
        lines.append(say("(the best {found} of {tried})", found=len(found), tried=len(tuned.tried)))
    lines += _confirmation(tuned)
    left_out = [name for name in tuned.train if tuned.halves != "topics" and name not in own]
    if left_out:
        lines.append(
            say("Note: too few seeds to confirm on: {left_out}", left_out=", ".join(left_out))
        )
    lines += [
        say(
            "Note: {count:,} {what}, e.g. {example}",
            count=remark.count,
            what=remark.what,
            example=remark.example,
        )
        for remark in tuned.remarks
    ]
    before = (
        say(" ({continued:,} of them done before)", continued=tuned.continued)
        if tuned.continued
        else ""
    )
    return [
        *lines,
        say(
            "{crawls}{before} in {seconds:,.0f} s",
            crawls=count(tuned.crawls, "crawl"),
            before=before,
            seconds=tuned.seconds,
        ),
    ]


def _head(tuned: Tuned) -> str:
    """What was tuned, and on what."""
    base = tuned.variant
    other = (
        say("{confirm} others", confirm=len(tuned.confirm))
        if tuned.halves == "topics"
        else say("other orders of seeds")
    )
    return say(
        "{strategy}, relevance {relevance}{mask}; {judge}: searched on {topics}, "
        "confirmed on {other}",
        strategy=base.strategy,
        relevance=base.relevance,
        mask="" if base.mask == "none" else say(", masked: {mask}", mask=base.mask),
        judge=tuned.judge,
        topics=count(len(tuned.train), "topic"),
        other=other,
    )


def _row(label: str, values: Mapping[str, float], auc: float) -> tuple[str, ...]:
    return (label, *(f"{value:.4g}" for value in values.values()), f"{auc:.4f}")


def _confirmation(tuned: Tuned) -> Iterable[str]:
    if tuned.best.values == tuned.defaults.values:
        yield say("The defaults are the best of these: there is nothing to confirm")
        return
    found = tuned.confirmed
    share = found.gain / found.auc_defaults if found.auc_defaults else 0.0
    chosen = " ".join(f"{name}={value:.4g}" for name, value in tuned.best.values.items())
    interval = say("no interval over {units}", units=count(found.units, found.unit))
    if found.low is not None and found.high is not None:
        ends = say("{low:+.4f} to {high:+.4f}", low=found.low, high=found.high)
        interval = say(
            "95 % interval {ends} over {units}", ends=ends, units=count(found.units, found.unit)
        )
    yield (
        say(
            "Confirmed: {chosen} has an AUC of {auc:.4f} against {auc_defaults:.4f} with the "
            "defaults: {gain:+.4f} ({share:+.1%}), {interval}; {wins} won, {losses} lost, "
            "{ties} equal",
            chosen=chosen,
            auc=found.auc,
            auc_defaults=found.auc_defaults,
            gain=found.gain,
            share=share,
            interval=interval,
            wins=found.wins,
            losses=found.losses,
            ties=found.ties,
        )
    )
    if found.low is not None and found.low <= 0 < found.gain:
        yield say("Note: the interval holds 0: the gain may be luck")
