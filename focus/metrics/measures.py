"""Measures of a crawl's quality, one function each, with formula and source.

Three kinds of input, all in the order of the requests (every request counts, also
robots.txt, redirects and failures):

    marks   True = relevant page, False = a request without one, None = not judged
    order   what each request fetched (any key), to be held against a set of targets
    curve   recall after 1, 2, … requests, as `recall_curve` gives it

The targets are the relevant pages that can be reached, seeds excluded (`oracle`).
P1, P2, P3: the papers that docs/glossary.md lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Mark = bool | None


class Quality(NamedTuple):
    """Measures of a yes/no judge against labels; each 0…1, 0.0 where it is undefined."""

    precision: float
    recall: float
    f1: float


def harvest_rate(marks: Iterable[Mark]) -> float:
    """Share of relevant pages among all that was judged (P1 5.2 calls it precision).

    H = relevant / judged; None does not count. Pass every request for the rate per
    request, or labelled pages only for the precision of the harvest.
    Worked number: True False None True -> 2/3. 0.0 of nothing.
    """
    judged = [mark for mark in marks if mark is not None]
    return sum(judged) / len(judged) if judged else 0.0


def recall_curve(order: Iterable[Key], targets: Collection[Key], budget: int) -> list[float]:
    """Share of the targets fetched after 1, 2, … `budget` requests (P2, P5: recall).

    R(k) = |{order_1 … order_k} ∩ targets| / |targets|; a page counts once. After the
    end of a crawl the curve stays flat. Worked number: order a x b with targets
    {a, b, c, d} and budget 4 -> 1/4, 1/4, 1/2, 1/2. Zero without targets.
    """
    missing = set(targets)
    total, curve = len(missing), []
    pages = iter(order)
    for _ in range(budget):
        for page in pages:
            missing.discard(page)
            break
        curve.append((total - len(missing)) / total if total else 0.0)
    return curve


def recall_at(curve: Sequence[float], k: int) -> float:
    """Recall after k requests; usual are k = |T| and 2|T|, T the targets. R(0) = 0."""
    return curve[min(k, len(curve)) - 1] if curve and k > 0 else 0.0


def area_under_recall(curve: Sequence[float]) -> float:
    """Mean recall over the budget B: AUC = (1/B) · Σ R(k), k = 1…B.

    One number for how early targets come. Worked number: 0, 1/2, 1/2, 1 -> 1/2.
    """
    return math.fsum(curve) / len(curve) if curve else 0.0


def share_of_oracle(curve: Sequence[float], oracle: Sequence[float]) -> float:
    """Area under a recall curve as a share of the oracle's over the same budget, 0…1.

    `oracle` comes from `oracle.oracle_curve`, which no crawl exceeds. Worked number:
    areas 1/4 and 1/2 -> 1/2. 0.0 where the oracle finds nothing.
    """
    assert len(curve) == len(oracle)
    best = area_under_recall(oracle)
    return area_under_recall(curve) / best if best else 0.0


def requests_to(curve: Sequence[float], share: float) -> int | None:
    """Requests spent until recall reaches `share` (usual .5, .8, .9); None if never.

    Worked number: 0, 1/2, 1/2, 1 with share .8 -> 4.
    """
    # A target count over their number may fall a rounding short of the share itself.
    return next((k for k, recall in enumerate(curve, 1) if recall >= share - 1e-12), None)


def relevant_hosts(
    order: Iterable[Key], targets: Collection[Key], host_of: Callable[[Key], str]
) -> int:
    """Number of different hosts that targets were fetched from: breadth of a harvest."""
    return len({host_of(page) for page in order if page in targets})


def precision_so_far(marks: Sequence[Mark], size: int) -> list[float]:
    """Harvest rate of all that was fetched, at the end of each round of `size` requests.

    P1's precision (5.2, figures 5-3 and 5-7). The last round may be shorter; it counts by what
    is in it. Worked number: True True False False True with size 2 -> 1, 1/2, 3/5.
    """
    assert size > 0
    ends = [*range(size, len(marks), size), len(marks)] if marks else []
    return [harvest_rate(marks[:end]) for end in ends]


def average_precision(so_far: Sequence[float]) -> float:
    """Mean of the precisions so far of all rounds (P1 5.2; not the AP of ranked retrieval).

    P1's tables 5-7 and 5-9 can be nothing else: its PageRank crawl has 102 relevant pages of
    1,000 and an average of 16.52 %, while ten rounds of 100 have 10.2 % on average, whatever
    their order. Worked number: rounds of 2, 0 and 1 relevant of 2: so far 1, 1/2, 1/2 -> 2/3.
    """
    return math.fsum(so_far) / len(so_far) if so_far else 0.0


def efficiency_per_min(relevant: int, elapsed_s: float) -> float:
    """Relevant pages per minute of crawling time (P1 equation 5-3).

    Worked number: 30 pages in 90 s -> 20. 0.0 when no time has passed.
    """
    return relevant * 60.0 / elapsed_s if elapsed_s > 0 else 0.0


def judge_quality(pairs: Iterable[tuple[bool, Mark]]) -> Quality:
    """Precision, recall and F of a relevance model against labels (P3 4.5).

    Each pair is (what the judge says, label); without a label it does not count.
    P = tp / (tp + fp), R = tp / (tp + fn), F = 2PR / (P + R) = 2tp / (2tp + fp + fn).
    Worked number: tp 2, fp 1, fn 3 -> 2/3, 2/5, 1/2.
    """
    labelled = [(said, label) for said, label in pairs if label is not None]
    hits = sum(said and label for said, label in labelled)
    said_yes = sum(said for said, _ in labelled)
    are_yes = sum(label for _, label in labelled)
    return Quality(
        precision=hits / said_yes if said_yes else 0.0,
        recall=hits / are_yes if are_yes else 0.0,
        f1=2 * hits / (said_yes + are_yes) if said_yes + are_yes else 0.0,
    )
