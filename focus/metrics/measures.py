"""Measures of a crawl's quality, one function each, with formula and source.

Inputs are in the order of the requests. Every request counts, including robots.txt, redirects and
failures.

    marks   True for a relevant page, False for a request without one, None if not judged
    order   key of the page that each request fetched
    curve   recall after 1, 2, … requests, as returned by `recall_curve`

Targets are the relevant pages that links lead to, seeds excluded (`oracle.reachable_targets`).
P1, P2, P3: the papers that docs/glossary.md lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Mark = bool | None


class Quality(NamedTuple):
    """Quality of a binary classifier against labels; each measure is in 0…1, 0.0 if undefined."""

    precision: float
    recall: float
    f1: float


def harvest_rate(marks: Iterable[Mark]) -> float:
    """Return the share of relevant pages among the judged requests (P1 5.2: precision).

    H = relevant / judged; None does not count. Pass all requests for the rate per request, or
    only labelled pages for the precision of the harvest. Returns 0.0 if nothing was judged.

    Example: True, False, None, True gives 2/3.
    """
    judged = [mark for mark in marks if mark is not None]
    return sum(judged) / len(judged) if judged else 0.0


def recall_curve(order: Iterable[Key], targets: Collection[Key], budget: int) -> list[float]:
    """Return the share of targets fetched after 1, 2, … `budget` requests (P2, P5: recall).

    R(k) = |{order_1 … order_k} ∩ targets| / |targets|; a page counts once. After the end of a
    crawl the curve stays flat. Without targets it is zero.

    Example: order a, x, b with targets {a, b, c, d} and budget 4 gives 1/4, 1/4, 1/2, 1/2.
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
    """Return the recall after k requests, usually |T| or 2|T| for targets T; R(0) = 0."""
    return curve[min(k, len(curve)) - 1] if curve and k > 0 else 0.0


def area_under_recall(curve: Sequence[float]) -> float:
    """Return the mean recall over the budget B: AUC = (1/B) · Σ R(k), k = 1…B.

    It says in one number how early targets are fetched. Example: 0, 1/2, 1/2, 1 gives 1/2.
    """
    return math.fsum(curve) / len(curve) if curve else 0.0


def share_of_oracle(curve: Sequence[float], oracle: Sequence[float]) -> float:
    """Return the area under a recall curve as a share of the oracle's, 0…1.

    `oracle` is the curve of `oracle.oracle_curve` for the same budget, which no crawl exceeds.
    Returns 0.0 if the oracle's area is 0. Example: areas 1/4 and 1/2 give 1/2.
    """
    assert len(curve) == len(oracle)
    best = area_under_recall(oracle)
    return area_under_recall(curve) / best if best else 0.0


def requests_to_recall(curve: Sequence[float], share: float) -> int | None:
    """Return the number of requests until recall reaches `share`, None if it never does.

    Usual shares are 0.5, 0.8 and 0.9. Example: 0, 1/2, 1/2, 1 with share 0.8 gives 4.
    """
    # Rounding may make the quotient slightly smaller than the share.
    return next((k for k, recall in enumerate(curve, 1) if recall >= share - 1e-12), None)


def count_relevant_hosts(
    order: Iterable[Key], targets: Collection[Key], get_host: Callable[[Key], str]
) -> int:
    """Return the number of hosts that targets were fetched from: the breadth of a harvest."""
    return len({get_host(page) for page in order if page in targets})


def cumulative_precision(marks: Sequence[Mark], size: int) -> list[float]:
    """Return the harvest rate since the start at the end of each round of `size` requests.

    This is P1's precision (5.2, figures 5-3 and 5-7). The last round may be shorter.

    Example: True, True, False, False, True with size 2 gives 1, 1/2, 3/5.
    """
    assert size > 0
    ends = [*range(size, len(marks), size), len(marks)] if marks else []
    return [harvest_rate(marks[:end]) for end in ends]


def mean_cumulative_precision(precisions: Sequence[float]) -> float:
    """Return the mean of the cumulative precisions of all rounds.

    This is P1's average precision (5.2), which is not the AP of ranked retrieval. P1 does not
    define it, but its tables 5-7 and 5-9 allow no other reading: its PageRank crawl has 102
    relevant pages of 1,000 and an average of 16.52 %, while the mean precision of single rounds
    would be 10.2 % in any order.

    Example: rounds with 2, 0 and 1 relevant of 2 have precisions 1, 1/2, 1/2, so the mean is 2/3.
    """
    return math.fsum(precisions) / len(precisions) if precisions else 0.0


def relevant_per_minute(relevant: int, elapsed_s: float) -> float:
    """Return the relevant pages per minute of crawling time (P1 equation 5-3: efficiency).

    Returns 0.0 if no time has passed. Example: 30 pages in 90 s give 20.
    """
    return relevant * 60.0 / elapsed_s if elapsed_s > 0 else 0.0


def classification_quality(pairs: Iterable[tuple[bool, Mark]]) -> Quality:
    """Return precision, recall and F1 of a relevance model against labels (P3 4.5).

    Each pair is (predicted, label); pairs without a label do not count.
    P = tp / (tp + fp), R = tp / (tp + fn), F = 2PR / (P + R) = 2tp / (2tp + fp + fn).

    Example: tp 2, fp 1, fn 3 give 2/3, 2/5, 1/2.
    """
    labelled = [(predicted, label) for predicted, label in pairs if label is not None]
    hits = sum(predicted and label for predicted, label in labelled)
    predicted_relevant = sum(predicted for predicted, _ in labelled)
    labelled_relevant = sum(label for _, label in labelled)
    return Quality(
        precision=hits / predicted_relevant if predicted_relevant else 0.0,
        recall=hits / labelled_relevant if labelled_relevant else 0.0,
        f1=2 * hits / (predicted_relevant + labelled_relevant)
        if predicted_relevant + labelled_relevant
        else 0.0,
    )
