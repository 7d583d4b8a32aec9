"""Separates the main content of a page from the text of the site around it.

Four steps (`select_main`):

1. Parts that are not content are left out: navigation, footer, comments, captions…, by tag and by
   name (`page_parts`).
2. If a series of elements with the same name encloses most of the remaining text, as the posts of
   a forum do, their blocks are the main content.
3. If one element encloses most of it (`<main>`, `<article>`, `article-body`), its blocks are the
   main content, without lists of links unless these are most of it.
4. Otherwise the main content is the run of blocks with the largest sum of weights. P3 3.3-3.4
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
from itertools import accumulate, pairwise
from operator import itemgetter

from ahocorasick_rs import AhoCorasick
from selectolax.lexbor import LexborNode

from focus.html import page_parts
from focus.html.blocks import Block, BlockReader, Root
from focus.html.page_parts import excluded_parts

MAX_LINK_SHARE = 0.6  # of a block in the run; above it, a list of related pages
MAX_GAP = 400  # characters; maximum cost of one interruption, such as a table of contents
MIN_SENTENCE_CHARS = 40  # characters outside links of a sentence without punctuation
IMPRINT_COST = 40  # a copyright line ends the content unless much more text follows
MIN_TEXT_WEIGHT = 300  # a lighter text is replaced by a list of twice its size in bytes
MIN_COMMENTED_CHARS = 200  # outside links before a heading of comments
MENU_WORD_BYTES = 10  # UTF-8 bytes of a word in a menu: ten letters, three ideographs
MIN_ROOT_SHARES = {1: 0.6, 2: 0.3}  # of the remaining text, by certainty of the root
MIN_MARKED_CHARS = 50  # outside links in a root, beside which the links of an aside do not count
MIN_ROOT_SIZE = 500  # size of an article's text by schema.org
MIN_POSTS = {1: 5, 2: 2, 3: 5}  # of a series, by certainty of its roots
MIN_SERIES_SHARE = 0.4  # of the remaining text in the series
MAX_LEAD_SHARE = 0.12  # of the text before a series, compared with the text in it
MAX_POST_SHARE = 0.67  # of the longest post in the text of a series
MAX_POST_LINK_SHARE = 0.35  # of the characters of a series; above it, a list of cards
MIN_QUOTE_CHARS = 40  # a post is quoted once: by itself
LINK_WORD_CHARS = 10  # link characters of a block that do not count in its size
MAX_LISTS_RATIO = 1.4  # of the size with lists of links to that without; above it, they are content
MIN_TEASER_CHARS = 80  # of a sentence inside a link that is no title
MIN_REPEATED_CHARS = 200  # a block as long as this occurs once, except code and cells of tables
_HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
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
    | loading(?:\.\.\.|…)$
    ) | (?P<facet> [^\W\d][^()?!.:]{,30}\ \(\d{1,3}\)$
    ) | (?P<related>
      (?:相关|相關|推荐|推薦|延伸|热门|熱門|更多|往期|猜你喜欢|为您推荐)
      (?:报道|報導|新闻|新聞|阅读|閱讀|链接|文章|推荐|资讯|内容|专题|视频|知识)*
    | related(?:\ (?:articles?|stories|posts?|news|content|links|reading|topics))?
    | you\ (?:may|might)\ also\ (?:like|enjoy|be\ interested\ in) | recommended(?:\ for\ you)?
    | (?:most|read)\ (?:read|popular|more|next) | trending(?:\ now)?
    | popular\ (?:posts|now|stories)
    | more\ (?:from|on|in|stories|news)\b.{0,30} | latest\ (?:news|posts?|articles|stories)
    | (?:similar|recent(?:ly)?|frequently\ bought|customers?\ (?:who|also)|people\ also)\b.{0,30}
    | complete\ (?:the|your)\ (?:look|set) | (?:people|others)\ are\ (?:asking|buying)
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
    select_main(blocks, reader.roots)
    visible = [at for at, block in enumerate(blocks) if not block.parts & page_parts.INVISIBLE]
    return [blocks[at] for at in visible], [reader.start_nodes[at] for at in visible]


def select_main(blocks: Sequence[Block], roots: Sequence[Root]) -> None:
    """Set `is_main` of the blocks of a page; clear `parts` that are the page as a whole."""
    sizes = []
    sums: dict[int, tuple[int, int]] = {}
    for block in blocks:
        own = size = len(block.text) - block.link_chars
        if block.link_chars:  # most blocks have none
            size += _title_chars(block)
        sizes.append(size)
        total = sums.get(block.parts, (0, 0))
        sums[block.parts] = (total[0] + own, total[1] + size)
    out = excluded_parts(sums, has_marked_text=_has_marked_text(blocks, roots))
    for at, block in enumerate(blocks):
        block.parts &= out
        if block.parts:
            block.is_main, sizes[at] = False, 0
    if posts := _find_posts(blocks, sizes, roots):
        root: Root | None = posts[0]
        candidates = [block for post in posts for block in blocks[post.start : post.end]]
    else:
        root = _narrowest_root(sizes, roots)
        candidates = [*(blocks if root is None else blocks[root.start : root.end])]
    content, is_frame = _find_frame([block for block in candidates if block.is_main])
    select = _heaviest_blocks if root is None else _without_link_lists
    main = select(content, is_frame)
    for block in blocks:
        block.is_main = False
    for block in _without_repetitions(main, MIN_QUOTE_CHARS if posts else MIN_REPEATED_CHARS):
        block.is_main = True


def _has_marked_text(blocks: Sequence[Block], roots: Iterable[Root]) -> bool:
    """Return whether an element for the main content has a text of its own."""
    return any(
        sum(len(block.text) - block.link_chars for block in inside if not block.parts)
        >= MIN_MARKED_CHARS
        for inside in (blocks[root.start : root.end] for root in roots)
    )


def _find_frame(blocks: Sequence[Block]) -> tuple[Sequence[Block], list[bool]]:
    """Return the blocks before the comments, and whether the words of each show it to be a frame.

    These are lines such as 责任编辑：… and ©, lists of links under 相关报道, and the numbers of a
    filter: Wool (12). Comments follow the only heading of comments.
    """
    is_frame = _find_imprints(blocks)
    comments_at: list[int] = []
    own_chars, is_related = 0, False
    for at, block in enumerate(blocks):
        kind = _frame_kind(block.text) if len(block.text) <= _MAX_FRAME_CHARS else None
        is_related = kind == "related" or (is_related and block.is_linked)
        if is_related or kind == "line" or (kind == "facet" and not block.link_chars):
            is_frame[at] = True
        if kind == "comments" and own_chars >= MIN_COMMENTED_CHARS:
            comments_at.append(at)
        own_chars += len(block.text) - block.link_chars
    end = comments_at[0] if len(comments_at) == 1 else len(blocks)
    return blocks[:end], is_frame[:end]


@lru_cache(maxsize=16384)
def _frame_kind(text: str) -> str | None:
    """Return what a line around the content is; the pages of a site repeat such lines."""
    match = _FRAME.match(text.lower())
    return match.lastgroup if match else None


def _narrowest_root(sizes: Sequence[int], roots: Sequence[Root]) -> Root | None:
    """Return the smallest root with enough of the remaining text."""
    if sum(root.certainty == 3 for root in roots) > 2:  # several articles on an index page
        roots = [root for root in roots if root.certainty != 3]
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


def _find_posts(blocks: Sequence[Block], sizes: Sequence[int], roots: Sequence[Root]) -> list[Root]:
    """Return the elements that enclose one post each if the page is a series of posts, else [].

    Of series inside each other, such as posts and their texts, it is the narrowest one that has a
    text for each post, so that it has neither names of users nor signatures.
    """
    sums = [0, *accumulate(sizes)]
    groups: dict[str, list[Root]] = {}
    for root in roots:
        group = groups.setdefault(root.kind, [])
        if not group or group[-1].end <= root.start:
            group.append(root)
    series: list[tuple[int, list[Root]]] = []
    for group in groups.values():
        post_sizes = [sums[root.end] - sums[root.start] for root in group]
        size = sum(post_sizes)
        if (
            len(group) >= MIN_POSTS[group[0].certainty]
            and max(post_sizes) < MAX_POST_SHARE * size
            and sums[group[0].start] < MAX_LEAD_SHARE * size
            and size > MIN_SERIES_SHARE * sums[-1]
            and _link_share(blocks, group) < MAX_POST_LINK_SHARE
        ):
            series.append((size, group))
    largest_size, widest = max(series, key=itemgetter(0), default=(0, []))
    whole = (
        group
        for size, group in series
        if size >= (0.3 if len(group) >= len(widest) else 0.6) * largest_size
    )
    return min(whole, key=lambda group: sum(root.end - root.start for root in group), default=[])


def _link_share(blocks: Sequence[Block], roots: Iterable[Root]) -> float:
    """Return the share of the characters under some roots that are link text."""
    inside = [block for root in roots for block in blocks[root.start : root.end]]
    return sum(b.link_chars for b in inside) / max(1, sum(len(b.text) for b in inside))


def _without_link_lists(blocks: Sequence[Block], is_frame: Sequence[bool]) -> Sequence[Block]:
    """Return the blocks that are not lists of links, or all if the lists are much of the text."""
    blocks = [block for block, is_out in zip(blocks, is_frame, strict=True) if not is_out]
    own = _without_listed_links(blocks)
    return blocks if _total_size(blocks) > MAX_LISTS_RATIO * _total_size(own) else own


def _without_listed_links(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without those of links, except cells, sentences and headings above text."""
    is_listed = [
        block.link_chars > MAX_LINK_SHARE * len(block.text)
        and block.tag not in ("td", "th")
        and (len(block.text) < MIN_TEASER_CHARS or _PUNCTUATION.search(block.text) is None)
        for block in blocks
    ]
    return [
        block
        for block, (is_out, is_next_out) in zip(blocks, pairwise([*is_listed, True]), strict=True)
        if not is_out or (block.tag in _HEADING_TAGS and not is_next_out)
    ]


def _total_size(blocks: Iterable[Block]) -> int:
    """Return the number of characters, with the first ones of each block's links left out."""
    return sum(len(block.text) - block.link_chars + _title_chars(block) for block in blocks)


def _title_chars(block: Block) -> int:
    """Return the number of link characters beyond those of a word in a menu."""
    word_chars = LINK_WORD_CHARS if block.text.isascii() else LINK_WORD_CHARS // 3
    return max(0, block.link_chars - word_chars)


def _without_repetitions(blocks: Sequence[Block], min_chars: int) -> list[Block]:
    """Return the blocks without long ones that occurred before, as pages for phones have them."""
    seen: set[str] = set()
    result = []
    for block in blocks:
        if len(block.text) < min_chars or block.tag in ("pre", "td"):
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


def _heaviest_blocks(blocks: Sequence[Block], is_frame: Sequence[bool]) -> Sequence[Block]:
    """Return the blocks of the heaviest run; [] if there is none.

    Example, characters outside/in links: menu 0/30, heading 8/0, text 290/5, list of links
    0/60, text 50/0, menu 0/40. Sums: 0, 8, 293, 233, 283, 243: the result is heading and first
    text. With a second text of 80 characters the sum reaches 313, and both texts are in the
    result without the links between them. Nine links of 30 letters and nothing else are no text,
    but a list of weight 9·(30 - 10) = 180, so the result is the links.
    """
    first, end, weight = _heaviest_run(
        blocks, [len(b.text) - 2 * b.link_chars for b in blocks], is_frame
    )
    is_list = False
    if weight < MIN_TEXT_WEIGHT:
        sizes = [len(b.text.encode("utf-8", "replace")) for b in blocks]
        run = _heaviest_run(blocks, [size - MENU_WORD_BYTES for size in sizes], is_frame)
        is_list = run[2] > 2 * sum(sizes[first:end])
        first, end = run[:2] if is_list else (first, end)
    run_blocks = [blocks[at] for at in range(first, end) if not is_frame[at]]
    return run_blocks if is_list else _without_listed_links(run_blocks)


def _heaviest_run(
    blocks: Sequence[Block], weights: Iterable[int], is_frame: Iterable[bool]
) -> tuple[int, int, int]:
    """Return start, end and sum of the run of blocks with the largest sum.

    Blocks between two sentences cost `MAX_GAP` together at most.
    """
    best = total = gap = 0
    first = end = start = 0
    for at, (weight, is_out) in enumerate(zip(weights, is_frame, strict=True)):
        if total <= 0:
            total, start, gap = 0, at, 0
        if is_out:
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


def _find_imprints(blocks: Sequence[Block]) -> list[bool]:
    """Return whether each block is a copyright line or the like; most pages have none."""
    texts = [block.text if len(block.text) <= _MAX_IMPRINT else "" for block in blocks]
    if not _IMPRINT.find_matches_as_indexes("\n".join(texts).lower()):
        return [False] * len(texts)
    return [bool(_IMPRINT.find_matches_as_indexes(text.lower())) for text in texts]
