"""Shows the result of `focus tune` on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from focus.evaluate.tuning_result import Tuned
from focus.text.formatting import count, table

_SHOWN = 8  # of the sets of values that were tried


def tuned_lines(tuned: Tuned) -> list[str]:
    """What was tried, what was best, and what that gains on the other half."""
    base, own = tuned.variant, set(tuned.confirm)
    topics = count(len(tuned.train), "topic")
    other = f"{len(tuned.confirm)} others" if tuned.halves == "topics" else "other orders of seeds"
    mask = "" if base.mask == "none" else f", masked: {base.mask}"
    lines = [
        f"{base.strategy}, relevance {base.relevance}{mask}; {tuned.judge}: "
        f"searched on {topics}, confirmed on {other}"
    ]
    if base.self_judged:
        lines.append("Note: self-judged: the model that guides the crawls also judges them")
    names = [each.name for each in tuned.ranges]
    found = sorted(tuned.tried, key=lambda each: -each.auc)[:_SHOWN]
    rows = [("", *names, "AUC")]
    rows += [_row("", each.values, each.auc) for each in found]
    rows.append(_row("defaults", tuned.defaults.values, tuned.defaults.auc))
    lines += table(rows, right=range(1, len(names) + 2))
    missing = len(found) < len(tuned.tried)
    if missing:
        lines.append(f"(the best {len(found)} of {len(tuned.tried)})")
    lines += _confirmation(tuned)
    left_out = [name for name in tuned.train if tuned.halves != "topics" and name not in own]
    if left_out:
        lines.append(f"Note: too few seeds to confirm on: {', '.join(left_out)}")
    lines += [
        f"Note: {remark.count:,} {remark.what}, e.g. {remark.example}" for remark in tuned.remarks
    ]
    before = f" ({tuned.continued:,} of them done before)" if tuned.continued else ""
    return [*lines, f"{count(tuned.crawls, 'crawl')}{before} in {tuned.seconds:,.0f} s"]


def _row(label: str, values: Mapping[str, float], auc: float) -> tuple[str, ...]:
    return (label, *(f"{value:.4g}" for value in values.values()), f"{auc:.4f}")


def _confirmation(tuned: Tuned) -> Iterable[str]:
    if tuned.best.values == tuned.defaults.values:
        yield "The defaults are the best of these: there is nothing to confirm"
        return
    found = tuned.confirmed
    share = found.gain / found.auc_defaults if found.auc_defaults else 0.0
    chosen = " ".join(f"{name}={value:.4g}" for name, value in tuned.best.values.items())
    interval = f"no interval over {count(found.units, found.unit)}"
    if found.low is not None and found.high is not None:
        ends = f"{found.low:+.4f} to {found.high:+.4f}"
        interval = f"95 % interval {ends} over {count(found.units, found.unit)}"
    yield (
        f"Confirmed: {chosen} has an AUC of {found.auc:.4f} against {found.auc_defaults:.4f} with "
        f"the defaults: {found.gain:+.4f} ({share:+.1%}), {interval}; "
        f"{found.wins} won, {found.losses} lost, {found.ties} equal"
    )
    if found.low is not None and found.low <= 0 < found.gain:
        yield "Note: the interval holds 0: the gain may be luck"
