"""Finds the words around each link."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from focus.html.dom import BODY, node_text

MAX_CONTEXT = 120
_MAX_ANCESTORS = 3
_MAX_BLOCK_CHARS = 20_000


class ContextReader:
    """Reads the text around links; the text of each block is made once per page."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def link_context(self, node: LexborNode, anchor: str) -> str:
        """Return the text of the nearest ancestor with more than the link, cut around the link.

        If the anchor occurs twice in its block, the first occurrence is used. Returns "" when three
        ancestors contain nothing but the link.
        """
        block = node.parent
        for _ in range(_MAX_ANCESTORS):
            if block is None or block.tag_id == BODY:
                break
            text = self._block_text(block)
            if len(text) > len(anchor):
                return text_around(text, anchor)
            block = block.parent
        return ""

    def _block_text(self, block: LexborNode) -> str:
        text = self._texts.get(block.mem_id)
        if text is None:
            text = self._texts[block.mem_id] = node_text(block, _MAX_BLOCK_CHARS)
        return text


def text_around(text: str, anchor: str) -> str:
    """Return the text before and after the anchor, together at most `MAX_CONTEXT` characters."""
    before, _, after = text.partition(anchor) if anchor else ("", "", text)
    room = MAX_CONTEXT - 1
    before = before[-max(room // 2, room - len(after)) :]
    return f"{before.strip()} {after[: room - len(before)].strip()}".strip()
