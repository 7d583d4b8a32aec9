"""Main content: the worked numbers, and the parts around it on pages of many kinds."""

from hypothesis import given
from hypothesis import strategies as st

from focus.html.blocks import Block
from focus.html.main_content import main_blocks, main_text, select_main
from focus.html.parser import main_text_from_html
from tests.support.cases import cases

BLOCKS = st.lists(
    st.builds(
        lambda text, share: Block(text, round(share * len(text)), "p"),
        st.text(min_size=1, max_size=300),
        st.floats(0, 1),
    ),
    max_size=30,
)


def block(outside: int, inside: int) -> Block:
    return Block("x" * (outside + inside), inside, "p")


def select(blocks: list[Block]) -> list[Block]:
    select_main(blocks, [])
    return main_blocks(blocks)


def main_numbers(*sizes: tuple[int, int]) -> list[int]:
    """Return the numbers of the blocks of the main content."""
    blocks = [block(*size) for size in sizes]
    select(blocks)
    return [number for number, block in enumerate(blocks) if block.is_main]


def test_main_blocks_docstring_example() -> None:
    page = [(0, 30), (8, 0), (290, 5), (0, 60), (50, 0), (0, 40)]
    assert main_numbers(*page) == [1, 2]
    page[4] = (80, 0)
    assert main_numbers(*page) == [1, 2, 4]


def test_main_blocks_page_of_links_returns_titles() -> None:
    assert main_numbers(*[(0, 4)] * 6, *[(0, 30)] * 9, *[(0, 5)] * 20) == list(range(6, 15))


def test_main_blocks_menu_only_is_empty() -> None:
    assert main_numbers(*[(0, 6)] * 12) == []
    assert main_text([]) == ""


def test_main_blocks_short_text_is_kept_beside_few_titles() -> None:
    assert main_numbers((150, 0), *[(0, 4)] * 3, *[(0, 30)] * 5) == [0]


def test_main_blocks_ideographs_weigh_like_words() -> None:
    menu = [Block("首页", 2, "li"), Block("归档", 2, "li"), Block("关于", 2, "li")]
    titles = [Block("国足世预赛名单公布", 9, "li"), Block("英超第三轮综述", 7, "li")]
    assert select([*menu, *titles]) == titles


TEXT = "昨天晚上的比赛是今年的决赛，主队赢得了冠军，球迷们都很高兴。" * 9
ENGLISH = "The cup was won by the home team in front of all its supporters. " * 6


@cases(
    "page",
    "{text}<p>转载请注明出处</p><footer>© 2024 Powered by X</footer>",
    "<main>{text}</main><footer><p>page made in 0.023 s</p></footer><aside><p>ad</aside>",
    "<div class=content>{text}</div><div id=footer><p>made in 0.023 s, 37 readers online</div>",
    "<main>{text}</main><div role=contentinfo><p>37 readers online now</div>",
    "<article>{text}<figure><figcaption>A photo of it</figcaption></figure></article>",
    "<article><div class=byline><p>By Li Na, reporter</div>{text}</article>",
    "<div class=post-content>{text}</div><div id=comments><p>I was there. It was good.</div>",
    "{text}<h3>3 Comments</h3><p>I was there. It was good, as all of you can see here.",
    "{text}<h3>相关报道</h3><ul><li><a href=/1>国足名单</a><li><a href=/2>英超</a></ul>",
    "<h4>相关新闻</h4><ul><li><a href=/1>国足世预赛名单公布</a></ul>{text}",
    "{text}<p>责任编辑：李娜<p>来源：新华社<p>主办单位：某市体育局<p>版权所有 某报社",
    "{text}<form><p>姓名：<input><p>验证码：<input> 看不清？换一张</form>",
    "<div class='cookie-notice'><p>We use cookies for a better site.</div>{text}",
    "<div class=elementor-widget>{text}</div><div class='sr-only'>Skip to content</div>",
    "{text}<div class=related-posts><p>Another story of this site, with a sentence.</div>",
    "<p>上一篇：<a href=/1>国足世预赛名单公布</a></p>{text}<p>下一篇：<a href=/2>英超</a>",
)
def test_main_text_frame_of_an_article_is_left_out(page: str) -> None:
    for text in (TEXT, ENGLISH):
        main = main_text_from_html(f"<body>{page.format(text=f'<p>{text}</p>')}")
        assert main == text.strip()


def test_main_text_short_article_beside_cloud_of_tags_is_its_text() -> None:
    tags = "<h3>Tags</h3>" + "".join(f"<a href=/{n}>tag number {n}</a> " for n in range(200))
    page = f"<aside>{tags}</aside><article><p>{TEXT[:60]}</p></article><aside>{tags}</aside>"
    assert main_text_from_html(page) == TEXT[:60].strip()


def test_main_text_names_of_a_framework_are_no_parts() -> None:
    page = "".join(f"<div class='caption box'><p>{n} {ENGLISH}</div>" for n in range(5))
    assert main_text_from_html(page).count("home team") == 30


def test_main_text_series_of_posts_is_their_texts() -> None:
    post = (
        "<div class=row><h4><a href=/u{n}>user {n}</a></h4><dl><dt>Joined<dd>May {n}, 2020</dl>"
        "<article class='message m{n}'><p>Post {n}. {text}</p><p>{quote}</p></article>"
        "<div class=signature><p>All is well, says {n}.</div></div>"
    )
    page = "".join(post.format(n=n, text=ENGLISH, quote=f"Post 0. {ENGLISH}") for n in range(6))
    assert main_text_from_html(f"<main><h1>Cup</h1>{page}</main>").splitlines() == [
        f"Post {n}. {ENGLISH}".strip() for n in range(6)
    ]


def test_main_text_filter_and_fallback_of_video_are_left_out() -> None:
    facets = "".join(f"<li>Wool {kind} ({kind})</li>" for kind in range(10, 30))
    video = "<video>Your browser does not support the video tag.</video>"
    page = f"<main><ul>{facets}</ul>{video}<p>{ENGLISH}</p></main>"
    assert main_text_from_html(page) == ENGLISH.strip()


def test_main_text_comments_in_code_stay() -> None:
    code = "<pre><span class=comment># the loop</span>\nfor x in y:</pre>"
    page = f"<main><p>{ENGLISH}</p>{code}<p>{TEXT}</p></main>"
    assert "# the loop for x in y:" in main_text_from_html(page)


def test_main_text_index_page_keeps_titles_of_entries() -> None:
    entry = "<article><h2><a href=/{n}>Match number {n}</a></h2><p>{text}</p></article>"
    page = "".join(entry.format(n=n, text=ENGLISH[:130]) for n in range(5))
    assert main_text_from_html(f"<main>{page}</main>").count("Match number") == 5


def test_main_text_list_of_cards_keeps_title_and_sentence() -> None:
    card = "<li><a href=/{n}><h3>Match number {n} of the cup</h3><p>{text}</p></a></li>"
    cards = "".join(card.format(n=n, text=ENGLISH[:90]) for n in range(12))
    page = f"<nav><a href=/>Home</a></nav><main><p>{ENGLISH}</p><ul>{cards}</ul></main>"
    text = main_text_from_html(page)
    assert text.count("Match number") == 12 and "Home" not in text


def test_main_text_long_block_repeated_for_phones_occurs_once() -> None:
    page = f"<main><p>{ENGLISH}</p><p>short line</p><p>{ENGLISH}</p><p>short line</p></main>"
    assert main_text_from_html(page).splitlines() == [ENGLISH.strip(), "short line", "short line"]


@given(BLOCKS)
def test_select_main_any_page_keeps_order(blocks: list[Block]) -> None:
    own = select(blocks)
    rest = iter(blocks)
    assert all(any(block is candidate for candidate in rest) for block in own)
