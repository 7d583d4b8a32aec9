"""Shark-Search: inherited relevance, anchor and the text around it (Hersovici 1998; P3)."""

from __future__ import annotations

from collections.abc import Sequence

from focus.records import Link
from focus.score.strategy.base import LinkEvidence, Parent, Strategy


class SharkSearch(Strategy):
    """priority(c) = γ·inherited(c) + (1 - γ)·(β·anchor + (1 - β)·context).

    inherited   δ·sim(u) if sim(u) > 0, else δ times what u inherited itself
    anchor      relevance of the anchor text
    context     1 if anchor > 0, else relevance of the text around the link

    A URL with several in-links keeps the largest priority and the largest inheritance.

    Example, δ = 0.5, β = 0.8, γ = 0.5, a page of relevance 0.6: a link without the keyword in a
    sentence with it gets 0.5·0.3 + 0.5·(0.2·1) = 0.25; with the keyword in its anchor 0.15 + 0.5·1
    = 0.65.
    """

    name = "shark-search"
    source = "Hersovici et al. 1998; P3 5.2.1"
    summary = "decayed relevance of the path, anchor and the text around it"
    defaults = {"delta": 0.5, "beta": 0.8, "gamma": 0.8}
    published = {"delta": 0.5, "beta": 0.8, "gamma": 0.5}
    width = 2
    contexts = True

    def evidence(self, parent: Parent, links: Sequence[Link]) -> Sequence[LinkEvidence | None]:
        p = self.params
        inherited = p["delta"] * (
            parent.relevance if parent.relevance > 0 else parent.link_evidence[1]
        )
        gamma, beta = p["gamma"], p["beta"]
        evidence = []
        for link in links:
            anchor = link.anchor_score
            context = 1.0 if anchor > 0.0 else link.context_score
            neighbourhood = beta * anchor + (1.0 - beta) * context
            evidence.append((gamma * inherited + (1.0 - gamma) * neighbourhood, inherited))
        return evidence

    def priority_parts(self, link_evidence: LinkEvidence) -> dict[str, float]:
        inherited = self.params["gamma"] * link_evidence[1]
        return {"inherit": inherited, "neighbourhood": link_evidence[0] - inherited}

    def priority(self, url_id: int, link_evidence: LinkEvidence) -> float:
        return link_evidence[0]
