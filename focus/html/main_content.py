"""Separates the main content of a page from the text of the site around it.

Three steps (`select_main`):

1. Parts that are not content are left out: navigation, footer, comments, captions…, by tag and by
   name (`page_parts`).
2. If an element encloses most of the remaining text (`<main>`, `<article>`, `article-body`), its
   blocks are the main content, without lists of links unless these are most of it.
3. Otherwise the main content is the run of blocks with the largest sum of weights. P3 3.3-3.4
   splits a page into blocks, drops links, navigation and version lines, keeps blocks with sentence
   punctuation and takes the heaviest part of the page. Here the weight of a block is its number of
   characters outside links minus those in links, and the run is found in one pass (Kadane). So a
   table of scores or a poem without a full stop is included, and a menu between two menus is not.

A page with hardly any text is an index page, whose links are its content. The links of a list are
titles, those of a menu are single words: there a block weighs its length minus `MENU_WORD_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate

from ahocorasick_rs import AhoCorasick
from selectolax.lexbor import LexborNode

from focus.html import page_parts
from focus.html.blocks import Block, BlockReader, Root
from focus.html.page_parts import excluded_parts

MAX_LINK_SHARE = 0.6  # of a block in the run; above it, a list of related pages
MAX_GAP = 400  # characters; maximum cost of one interruption, such as a table of contents
MIN_SENTENCE_CHARS = 40  # characters outside links of a sentence without punctuation
IMPRINT_COST = 40  # a copyright line ends the content unless much more text follows
MIN_TEXT_WEIGHT = 200  # a lighter text is replaced by a list of twice its weight
MENU_WORD_BYTES = 10  # UTF-8 bytes of a word in a menu: ten letters, three ideographs
MIN_ROOT_SHARES = {1: 0.6, 2: 0.3}  # of the remaining text, by certainty of the root
MIN_ROOT_SIZE = 500  # size of an article's text by schema.org
MIN_FORUM_NAMES = 5  # elements with the name of a forum on one of its pages
LINK_WORD_CHARS = 20  # link characters of a block that do not count in its size
MIN_REPEATED_CHARS = 200  # a block as long as this occurs once, except code and cells of tables
_MAX_IMPRINT = 200
_MAX_FRAME_CHARS = 60

_PUNCTUATION = re.compile("[，。？！；、,?!;]|[.](?=\\s|$)")
_IMPRINT = AhoCorasick(
    ["©", "copyright", "all rights reserved", "powered by", "theme by", "版权所有", "版權所有",
     "备案", "许可协议", "許可協議", "本站总访问", "本文链接", "转载请注明", "网站标识码",
     "公网安备", "icp备"]
)  # fmt: skip
_FRAME = re.compile(
    r"""[\W\d]*(?:(?P<line>
      (?:责任|責任|本文|值班|执行|网络)?
      (?:编辑|編輯|责编|責編|校对|校對|审核|審核|监制|监審)\s*[:：]
    | (?:信息|稿件|文章|内容)?(?:来源|來源)\s*[:：] | 作者\s*[:：]
    | (?:发布|發布|更新)(?:时间|日期)\s*[:：]
    | (?:主办|承办|协办|主管)(?:单位)?\s*[:：] | 技术支持\s*[:：] | 浏览(?:次数|量)
    | 点击(?:数|率)?\s*[:：] | 字号|字体\s*[:：] | 分享(?:到|至) | 扫一扫
    | (?:上|下)一篇\s*[:：] | 打印本?页?$ | 关闭窗口?$
    | (?:姓名|昵称|昵稱|邮箱|郵箱|网址|验证码|驗證碼|联系电话|评论内容|留言内容)\s*[*:：（(]
    | 看不清|换一张 | 匿名(?:发表|评论) | share\ (?:this|on)\b | filed\ under\b | posted\ in\b
    ) | (?P<related>
      (?:相关|相關|推荐|推薦|延伸|热门|熱門|更多|往期|猜你喜欢|为您推荐)
      (?:报道|報導|新闻|新聞|阅读|閱讀|链接|文章|推荐|资讯|内容|专题|视频|知识)*
    | related(?:\ (?:articles?|stories|posts?|news|content|links|reading|topics))?
    | you\ (?:may|might)\ also\ (?:like|enjoy|be\ interested\ in) | recommended(?:\ for\ you)?
    | (?:most|read)\ (?:read|popular|more|next) | trending(?:\ now)?
    | popular\ (?:posts|now|stories)
    | more\ (?:from|on|in|stories|news)\b.{0,30}
    )\W*$ | (?P<comments>
      (?:网友|全部|最新|精彩|热门|我要|发表|用户|文章)?(?:评论|評論|留言|跟贴)
      (?:列表|区|内容)?(?:\W*\d+\W*条?)?
    | leave\ a\ (?:reply|comment)(?:\ cancel\ reply)? | (?:post|add|write)\ a\ comment
    | (?:comments?|responses?|replies)(?:\W*\d+)? | join\ the\ (?:conversation|discussion)
    )\W*$)""",
    re.VERBOSE,
)


def read_blocks(body: LexborNode) -> tuple[list[Block], list[LexborNode]]:
    """Return the visible text under a node in blocks, and the first text node of each."""
    reader = BlockReader()
    blocks = reader.read(body)
    select_main(blocks, reader.roots, is_forum=reader.forum_names >= MIN_FORUM_NAMES)
    visible = [at for at, block in enumerate(blocks) if not block.parts & page_parts.INVISIBLE]
    return [blocks[at] for at in visible], [reader.start_nodes[at] for at in visible]


def select_main(blocks: Sequence[Block], roots: Sequence[Root], *, is_forum: bool = False) -> None:
    """Set `is_main` of the blocks of a page; clear `parts` that are the page as a whole."""
    sizes = []
    sums: dict[int, tuple[int, int]] = {}
    for block in blocks:
        own = size = len(block.text) - block.link_chars
        size += _title_chars(block)
        sizes.append(size)
        total = sums.get(block.parts, (0, 0))
        sums[block.parts] = (total[0] + own, total[1] + size)
    out = excluded_parts(sums, is_forum=is_forum)
    for at, block in enumerate(blocks):
        block.parts &= out
        if block.parts:
            block.is_main, sizes[at] = False, 0
    if sum(root.certainty == 3 for root in roots) > 2:  # several articles on an index page
        roots = [root for root in roots if root.certainty != 3]
    if is_forum:  # the elements that enclose one post each are no roots
        roots = [root for root in roots if root.certainty != 2]
    root = _narrowest_root(sizes, roots)
    candidates = blocks if root is None else blocks[root.start : root.end]
    candidates = [block for block in candidates if block.is_main]
    candidates = _without_frame(candidates, is_forum=is_forum)
    main = _heaviest_blocks(candidates) if root is None else _without_link_lists(candidates)
    for block in blocks:
        block.is_main = False
    for block in _without_repetitions(main):
        block.is_main = True


def _without_frame(blocks: Sequence[Block], *, is_forum: bool) -> list[Block]:
    """Return the blocks without those that their words show to be no content.

    These are lines such as 责任编辑：…, lists of links under 相关报道, and everything after the
    only heading of comments.
    """
    content: list[Block] = []
    comments_at: list[int] = []
    own_chars, is_related = 0, False
    for block in blocks:
        kind = _frame_kind(block.text) if len(block.text) <= _MAX_FRAME_CHARS else None
        is_related = kind == "related" or (is_related and block.is_linked)
        if is_related or kind == "line":
            continue
        if kind == "comments" and own_chars >= MIN_TEXT_WEIGHT:
            comments_at.append(len(content))
        own_chars += len(block.text) - block.link_chars
        content.append(block)
    return content[: comments_at[0]] if len(comments_at) == 1 and not is_forum else content


@lru_cache(maxsize=16384)
def _frame_kind(text: str) -> str | None:
    """Return what a line around the content is; the pages of a site repeat such lines."""
    match = _FRAME.match(text.lower())
    return match.lastgroup if match else None


def _narrowest_root(sizes: Sequence[int], roots: Sequence[Root]) -> Root | None:
    """Return the smallest root with enough of the remaining text."""
    sums = [0, *accumulate(sizes)]
    narrowest = None
    for root in roots:
        size = sums[root.end] - sums[root.start]
        min_size = (
            MIN_ROOT_SIZE if root.certainty == 3 else MIN_ROOT_SHARES[root.certainty] * sums[-1]
        )
        is_narrower = narrowest is None or root.end - root.start < narrowest.end - narrowest.start
        if size > min_size and is_narrower:
            narrowest = root
    return narrowest


def _without_link_lists(blocks: list[Block]) -> list[Block]:
    """Return the blocks that are not lists of links, or all if those have less than half."""
    own = [
        block
        for block in blocks
        if (
            block.link_chars <= MAX_LINK_SHARE * len(block.text)
            or block.tag in ("h1", "h2", "h3", "h4")
        )
        and not _is_imprint(block)
    ]
    return blocks if _total_size(blocks) > 2 * _total_size(own) else own


def _total_size(blocks: Iterable[Block]) -> int:
    """Return the number of characters, with the first ones of each block's links left out."""
    return sum(len(block.text) - block.link_chars + _title_chars(block) for block in blocks)


def _title_chars(block: Block) -> int:
    """Return the number of link characters beyond those of a word in a menu."""
    word_chars = LINK_WORD_CHARS if block.text.isascii() else LINK_WORD_CHARS // 3
    return max(0, block.link_chars - word_chars)


def _without_repetitions(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without long ones that occurred before, as pages for phones have them."""
    seen: set[str] = set()
    result = []
    for block in blocks:
        if len(block.text) < MIN_REPEATED_CHARS or block.tag in ("pre", "td"):
            result.append(block)
        elif block.text not in seen:
            seen.add(block.text)
            result.append(block)
    return result


def main_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks of the main content in document order; [] for a page without any."""
    return [block for block in blocks if block.is_main]


def main_text(blocks: Iterable[Block]) -> str:
    """Return the text of `main_blocks`, one line per block."""
    return "\n".join(block.text for block in main_blocks(blocks))


def _heaviest_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of the heaviest run; [] if there is none.

    Example, characters outside/in links: menu 0/30, heading 8/0, text 290/5, list of links
    0/60, text 50/0, menu 0/40. Sums: 0, 8, 293, 233, 283, 243: the result is heading and first
    text. With a second text of 80 characters the sum reaches 313, and both texts are in the
    result without the links between them. Nine links of 30 letters and nothing else are no text,
    but a list of weight 9·(30 - 10) = 180, so the result is the links.
    """
    imprints = [_is_imprint(block) for block in blocks]
    first, end, weight = _heaviest_run(
        blocks, [len(b.text) - 2 * b.link_chars for b in blocks], imprints
    )
    max_link_share = MAX_LINK_SHARE
    if weight < MIN_TEXT_WEIGHT:
        title_weights = [len(b.text.encode("utf-8", "replace")) - MENU_WORD_BYTES for b in blocks]
        run = _heaviest_run(blocks, title_weights, imprints)
        if run[2] > 2 * weight:
            first, end, max_link_share = run[0], run[1], 1.0
    return [
        block
        for block, imprint in zip(blocks[first:end], imprints[first:end], strict=True)
        if not imprint and block.link_chars <= max_link_share * len(block.text)
    ]


def _heaviest_run(
    blocks: Sequence[Block], weights: Iterable[int], imprints: Iterable[bool]
) -> tuple[int, int, int]:
    """Return start, end and sum of the run of blocks with the largest sum.

    Blocks between two sentences cost `MAX_GAP` together at most.
    """
    best = total = gap = 0
    first = end = start = 0
    for at, (weight, imprint) in enumerate(zip(weights, imprints, strict=True)):
        if total <= 0:
            total, start, gap = 0, at, 0
        if imprint:
            weight = -IMPRINT_COST
        if weight < 0:
            weight = max(weight, gap - MAX_GAP)
            gap -= weight
        elif gap and _is_sentence(blocks[at]):
            gap = 0
        total += weight
        if total > best:
            best, first, end = total, start, at + 1
    return first, end, best


def _is_sentence(block: Block) -> bool:
    own_chars = len(block.text) - block.link_chars
    return own_chars >= MIN_SENTENCE_CHARS or _PUNCTUATION.search(block.text) is not None


def _is_imprint(block: Block) -> bool:
    if len(block.text) > _MAX_IMPRINT:
        return False
    return bool(_IMPRINT.find_matches_as_strings(block.text.lower()))
