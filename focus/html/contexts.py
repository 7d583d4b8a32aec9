"""Finds the words around each link."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from focus.html.dom import BODY, words_of

MAX_CONTEXT = 120
_CLIMB = 3
_BLOCK_CHARS = 20_000


class Contexts:
    """Finds the text around links; the text of each block is made once per page."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def of(self, node: LexborNode, anchor: str) -> str:
        """Text of the nearest ancestor that has more than the link, cut around the link.

        An anchor that occurs twice in its block is taken for the first one. "" when three
        ancestors hold nothing else: then the link stands alone.
        """
        block = node.parent
        for _ in range(_CLIMB):
            if block is None or block.tag_id == BODY:
                break
            text = self._text(block)
            if len(text) > len(anchor):
                return around(text, anchor)
            block = block.parent
        return ""

    def _text(self, block: LexborNode) -> str:
        text = self._texts.get(block.mem_id)
        if text is None:
            text = self._texts[block.mem_id] = words_of(block, _BLOCK_CHARS)
        return text


def around(text: str, anchor: str) -> str:
    """What stands before and after the anchor, together at most `MAX_CONTEXT` characters."""
    before, _, after = text.partition(anchor) if anchor else ("", "", text)
    room = MAX_CONTEXT - 1
    before = before[-max(room // 2, room - len(after)) :]
    return f"{before.strip()} {after[: room - len(before)].strip()}".strip()
