"""Relevance by the places of keywords: title, meta keywords, anchors (P1 eq. 3-1…3-7)."""

from __future__ import annotations

from focus.score.relevance.base import Document, Judgement, Model
from focus.text.tokenisation import fold


class Position(Model):
    """relevance = N_t/S_t + β·B_k + α·N_l/S_l, in 0 … 1 + α + β (P1 eq. 3-1…3-7).

    N_t/S_t   share of matched tokens in the title
    B_k       1 if <meta name=keywords> contains a keyword, else 0
    N_l/S_l   share of matched tokens in all anchor texts of the page
    α, β      P1's Table 3-2 exchanges them; the equations and Table 5-3 are followed here

    Example, α = 0.25, β = 0.75: a title of 4 tokens with 1 match, a keyword in meta, 2 of 40 anchor
    tokens: 0.25 + 0.75 + 0.25·0.05 = 1.0125.
    """

    name = "position"
    source = "P1 eq. 3-1…3-7"
    defaults = {"alpha": 0.25, "beta": 0.75}

    def judge(self, page: Document) -> Judgement:
        share = self.matcher.token_counts
        title_hits, title_all = share[page.title]
        anchor_hits = anchor_all = 0
        for link in page.links:
            hits, tokens = share[link.anchor]
            anchor_hits += hits
            anchor_all += tokens
        matched = self.matched_keywords(title=fold(page.title), keywords=fold(page.keywords))
        parts = {
            "title": title_hits / title_all if title_all else 0.0,
            "keywords": self.params["beta"] * ("keywords" in matched),
            "anchors": self.params["alpha"] * anchor_hits / anchor_all if anchor_all else 0.0,
        }
        return Judgement(sum(parts.values()), parts, matched)
