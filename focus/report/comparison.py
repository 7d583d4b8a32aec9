"""How does a comparison look to people? One HTML file: curves, tables, what went in.

Nothing in it is fetched from anywhere: style, script and SVG are inline, and fonts are
the reader's own, so that Chinese text shows as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from focus.compare.comparison import Comparison, Group, TopicFacts, Variant
from focus.compare.standings import MEASURES, TESTED, Standing, TopicScore
from focus.plain import count
from focus.report.charts import COLOURS, Frame, Series, chart, key

_LIGHT = ("#1f6fb4", "#d1581b", "#2b8a4b", "#b02a5b", "#6b4fb3", "#8a6d00", "#00808a", "#6b6b6b")
_DARK = ("#6db3f2", "#f59b63", "#68c98a", "#f083ab", "#b39df2", "#d9b93b", "#4fc7d1", "#b3b3b3")
_ORACLE = "oracle (no crawl exceeds it)"


def comparison_html(comparison: Comparison) -> str:
    """The whole page."""
    parts = [
        "<h1>Comparison of crawls</h1>",
        f"<p>{_summary(comparison)}</p>",
        *(f'<p class="warn">{text}</p>' for text in _warnings(comparison)),
        *(_group(comparison, group) for group in comparison.groups),
        "<h2>Topics</h2>",
        _topics(comparison.topics),
        "<h2>Variants</h2>",
        _variants(comparison),
        "<h2>What went in</h2>",
        _inputs(comparison),
        "<h2>Measures</h2>",
        _definitions(comparison),
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>focus compare</title><style>{_style()}</style></head>\n"
        f"<body>{body}\n<script>{_SCRIPT}</script></body></html>\n"
    )


def _summary(comparison: Comparison) -> str:
    settings, archive = comparison.settings, comparison.inputs["archive"]["name"]
    return escape(
        f"{archive}: {count(len(comparison.variants), 'variant')} on "
        f"{count(len(comparison.topics), 'topic')}, {count(settings['seed_orders'], 'seed order')} "
        f"each, budget {settings['budget']}, {count(settings['concurrency'], 'request')} at once. "
        f"Judged by {comparison.judge}. The topic is the unit of all means, intervals and tests."
    )


def _warnings(comparison: Comparison) -> Iterable[str]:
    if comparison.judge != "labels":
        yield (
            f"{escape(comparison.judge)}: a relevance model judges here, not labels. Crawls that "
            "the same model guided are marked self-judged; their figures flatter them."
        )
    for remark in comparison.remarks:
        yield escape(f"{remark.count:,} {remark.what}, e.g. {remark.example}")


# -- a group of variants --------------------------------------------------------------


def _group(comparison: Comparison, group: Group) -> str:
    mask = "" if group.mask == "none" else f", masked: {group.mask}"
    names = [_name(comparison, each) for each in group.standings]
    series = _series(comparison, group)
    ticks = [(share / 4, f"{25 * share} %") for share in range(5)]
    frame = Frame(
        width=860, height=400, x_label="requests, share of the budget", x_ticks=ticks,
        y_label="recall, mean over topics",
    )  # fmt: skip
    return "\n".join(
        [
            f"<section><h2>Relevance {escape(group.relevance)}{escape(mask)}</h2>",
            key(series),
            chart(frame, series, title="Recall over requests"),
            '<p class="note">Bands: bootstrap 95 % over topics, of the best variant and the '
            "baseline; of others when pointed at. A click on a name hides its line.</p>",
            "<h3>Over all topics</h3>",
            _ranking(comparison, group),
            "<h3>Against the baseline</h3>" if group.baseline else "",
            _tests(comparison, group) if group.baseline else "",
            "<h3>Topic by topic</h3>",
            _by_topic(comparison, group, names),
            "</section>",
        ]
    )


def _name(comparison: Comparison, standing: Standing) -> str:
    variant = comparison.variant(standing.variant)
    return variant.label + (" [self-judged]" if variant.self_judged else "")


def _series(comparison: Comparison, group: Group) -> list[Series]:
    best = max(group.standings, key=lambda each: each.measures["auc"].value or 0.0)
    strong = {best.variant, group.baseline}
    lines = [
        Series(_name(comparison, each), number, each.curve, each.band, each.variant in strong)
        for number, each in enumerate(group.standings)
    ]
    points = zip(*(topic.oracle for topic in comparison.topics), strict=True)
    oracle = [sum(point) / len(point) for point in points]
    return [*lines, Series(_ORACLE, -1, oracle)]


def _ranking(comparison: Comparison, group: Group) -> str:
    shown = (
        "recall_T", "recall_2T", "auc", "oracle_share", "harvest", "harvest_requests",
        "harvest_last", "hosts", "requests_50", "requests_80", "efficiency_per_min",
        "model_precision", "model_recall", "labelled", "unlabelled",
    )  # fmt: skip
    heads = ["variant", "auc 95 %", *(_head(name) for name in shown)]
    heads += ["auc w/o easiest", "ms/page"]
    rows = []
    for each in _ranked(group):
        auc, ms = each.measures["auc"], comparison.timing.ms_per_page[each.variant]
        cells = [_number(each.measures[name].value, name) for name in shown]
        ends = f"{_number(auc.low, 'auc')} – {_number(auc.high, 'auc')}"
        rows.append(
            [
                _name(comparison, each),
                ends,
                *cells,
                _number(auc.without_easiest, "auc"),
                f"{sum(ms):.1f}",
            ]
        )
    note = f"The easiest topic of this group is {group.easiest}. " if group.easiest else ""
    return _table(heads, rows) + (
        f'<p class="note">{escape(note)}Requests to a share: mean over topics, only where it was '
        "reached in every seed order. ms/page: CPU time of analysis and engine.</p>"
    )


def _tests(comparison: Comparison, group: Group) -> str:
    heads = [
        "variant",
        "measure",
        "ratio",
        "95 % of ratio",
        "p",
        "p (Holm)",
        "won",
        "lost",
        "drawn",
    ]
    rows = []
    for each in _ranked(group):
        for name in TESTED:
            if (v := each.versus.get(name)) is not None:
                ends = f"{_number(v.low, 'auc')} – {_number(v.high, 'auc')}"
                counted = [str(v.wins), str(v.losses), str(v.ties)]
                rows.append([_name(comparison, each), _head(name), _number(v.ratio, "auc"), ends,
                             f"{v.p:.4f}", f"{v.p_holm:.4f}", *counted])  # fmt: skip
    baseline = comparison.variant(str(group.baseline)).label
    return (
        f'<p class="note">Baseline: {escape(baseline)}. Paired Wilcoxon signed-rank test over '
        f"{count(len(comparison.topics), 'topic')}, two-sided; Holm over the variants of a measure."
        "</p>" + _table(heads, rows)
    )


def _by_topic(comparison: Comparison, group: Group, names: Sequence[str]) -> str:
    cards = []
    for number, facts in enumerate(comparison.topics):
        scores = [each.topics[number] for each in group.standings]
        cards.append(_card(facts, scores, names))
    heads = ["variant", *(facts.name for facts in comparison.topics)]
    rows = [
        [_name(comparison, each), *(_number(t.measures["auc"], "auc") for t in each.topics)]
        for each in _ranked(group)
    ]
    return f'<div class="cards">{"".join(cards)}</div><h3>auc by topic</h3>{_table(heads, rows)}'


def _card(facts: TopicFacts, scores: Sequence[TopicScore], names: Sequence[str]) -> str:
    ticks = [(share / 2, f"{facts.budget * share // 2:,}") for share in range(3)]
    frame = Frame(width=300, height=190, x_label="", x_ticks=ticks, left=30, bottom=22)
    lines = [Series(names[number], number, score.curve) for number, score in enumerate(scores)]
    lines.append(Series(_ORACLE, -1, facts.oracle))
    return (
        f"<figure><figcaption><b>{escape(facts.name)}</b> {count(facts.targets, 'target')}"
        f"</figcaption>{chart(frame, lines, title=f'Recall over requests, {facts.name}')}</figure>"
    )


def _ranked(group: Group) -> list[Standing]:
    return sorted(group.standings, key=lambda each: -(each.measures["auc"].value or 0.0))


# -- tables -------------------------------------------------------------------------


def _topics(topics: Sequence[TopicFacts]) -> str:
    heads = ["topic", "keywords", "seeds", "relevant", "targets", "pages that can be reached",
             "budget", "auc of the oracle"]  # fmt: skip
    return _table(
        heads,
        [
            [t.name, ", ".join(t.keywords), str(len(t.seeds)), str(t.relevant), str(t.targets),
             str(t.reachable_pages), str(t.budget), f"{t.oracle_auc:.3f}"]
            for t in topics
        ],
    )  # fmt: skip


def _variants(comparison: Comparison) -> str:
    def numbers(params: dict[str, float]) -> str:
        return " ".join(f"{name}={value:g}" for name, value in params.items())

    def row(v: Variant) -> list[str]:
        return [v.strategy, v.form, v.relevance, v.mask, numbers(v.params), numbers(v.model_params)]

    heads = ["strategy", "form", "relevance", "mask", "parameters", "set for the model"]
    return _table(heads, [row(each) for each in comparison.variants])


def _inputs(comparison: Comparison) -> str:
    timing = comparison.timing
    rows = [[what, each["name"], each["sha256"]] for what, each in comparison.inputs.items()]
    settings = ", ".join(f"{name} {value}" for name, value in comparison.settings.items())
    return (
        _table(["input", "name", "SHA-256"], rows)
        + f'<p class="note">Settings: {escape(settings)}. {timing.trials:,} crawls in '
        f"{timing.seconds:,.0f} s over {count(timing.jobs, 'worker')} "
        f"({timing.continued:,} done before); peak memory of one {timing.peak_rss_mb:,.0f} MB.</p>"
    )


def _definitions(comparison: Comparison) -> str:
    return _table(
        ["measure", "meaning"], [[_head(n), text] for n, text in comparison.measures.items()]
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th><button type="button">{escape(head)}</button></th>' for head in heads)
    lines = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _head(name: str) -> str:
    assert name in MEASURES
    return name.replace("_T", "@|T|").replace("_2T", "@2|T|").replace("_", " ")


_WHOLE = {"requests_50", "requests_80", "requests_90", "labelled", "unlabelled"}
_SHORT = {"hosts", "efficiency_per_min"}


def _number(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.0f}" if name in _WHOLE else f"{value:.1f}" if name in _SHORT else f"{value:.3f}"
    )


# -- looks --------------------------------------------------------------------------


def _style() -> str:
    light = "".join(f"--c{i}:{colour};" for i, colour in enumerate(_LIGHT[:COLOURS]))
    dark = "".join(f"--c{i}:{colour};" for i, colour in enumerate(_DARK[:COLOURS]))
    return (
        f":root{{color-scheme:light dark;--ink:#1d1f21;--paper:#fff;--soft:#5f666d;--rule:#dfe3e7;"
        f"--tint:#f4f6f8;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{--ink:#e6e8ea;--paper:#15181b;--soft:#9aa3ab;"
        f"--rule:#30363c;--tint:#1e2327;{dark}}}}}{_RULES}"
    )


_RULES = """
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1120px;
margin:0 auto;padding:24px 20px 60px}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:20px;margin:36px 0 8px;border-top:1px solid var(--rule);
padding-top:20px}h3{font-size:16px;margin:24px 0 6px}
.note,.tick{color:var(--soft)}.note{font-size:13px;margin:6px 0}
.warn{border-left:4px solid var(--c1);background:var(--tint);padding:6px 12px;margin:6px 0}
.chart{width:100%;height:auto;display:block}
.grid{stroke:var(--rule)}.mark{stroke:var(--soft)}.tick{fill:var(--soft);font-size:12px}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.band{opacity:0;pointer-events:none}.band.strong{opacity:.14}.band.on{opacity:.22}
.line.on{stroke-width:4}.off{display:none}
.key{display:flex;flex-wrap:wrap;gap:2px 6px;margin:6px 0}
button{font:inherit;color:inherit;background:none;border:0;cursor:pointer;padding:2px 4px}
.key button{display:inline-flex;align-items:center;gap:6px;border-radius:4px}
.key button:hover,.key button:focus-visible{background:var(--tint)}.key button.hidden{opacity:.4}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:14px}
figure{margin:0;border:1px solid var(--rule);border-radius:6px;padding:8px}
figcaption{font-size:13px;color:var(--soft)}figcaption b{color:var(--ink)}
.scroll{overflow-x:auto;margin:6px 0}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child,.text{text-align:left}
th button{font-weight:600;padding:0}
th[aria-sort=ascending] button::after{content:" ↑"}
th[aria-sort=descending] button::after{content:" ↓"}
tbody tr:hover{background:var(--tint)}
"""

_SCRIPT = """
const number = s => { const n = parseFloat(s.replace(/,/g, '')); return isNaN(n) ? null : n; };
for (const table of document.querySelectorAll('table')) {
  const rows = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const text = row => row.cells[column].textContent;
    if (rows.some(row => number(text(row)) === null && text(row) !== '–'))
      for (const row of [table.tHead.rows[0], ...rows]) row.cells[column].classList.add('text');
    head.firstChild.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') === 'descending';
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      rows.sort((a, b) => {
        const x = number(text(a)), y = number(text(b));
        const order = x === null || y === null
          ? (x === null) - (y === null) || text(a).localeCompare(text(b)) : x - y;
        return up || (x === null) !== (y === null) ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
for (const section of document.querySelectorAll('section')) {
  const of = n => section.querySelectorAll(`svg.chart [data-series="${n}"]`);
  for (const button of section.querySelectorAll('.key button')) {
    const n = button.dataset.series;
    button.addEventListener('click', () => {
      const hidden = button.classList.toggle('hidden');
      of(n).forEach(each => each.classList.toggle('off', hidden));
    });
    for (const [event, on] of [['pointerenter', true], ['pointerleave', false]])
      button.addEventListener(event, () => of(n).forEach(each => each.classList.toggle('on', on)));
  }
}
"""
