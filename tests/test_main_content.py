"""Main content: the worked numbers, and what real pages have around it."""

from hypothesis import given
from hypothesis import strategies as st

from focus.html.main_content import main_blocks, main_text
from focus.html.parser import Block, parse

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


def kept(*sizes: tuple[int, int]) -> list[int]:
    """Numbers of the blocks that are the page's own."""
    blocks = [block(*size) for size in sizes]
    own = main_blocks(blocks)
    return [at for at, one in enumerate(blocks) if any(one is each for each in own)]


def test_main_blocks_docstring_example() -> None:
    page = [(0, 30), (8, 0), (290, 5), (0, 60), (50, 0), (0, 40)]
    assert kept(*page) == [1, 2]
    page[4] = (80, 0)
    assert kept(*page) == [1, 2, 4]


def test_main_blocks_page_of_links_returns_titles() -> None:
    assert kept(*[(0, 4)] * 6, *[(0, 30)] * 9, *[(0, 5)] * 20) == list(range(6, 15))


def test_main_blocks_menu_only_is_empty() -> None:
    assert kept(*[(0, 6)] * 12) == []
    assert main_text([]) == ""


def test_main_blocks_short_text_is_kept_beside_few_titles() -> None:
    assert kept((150, 0), *[(0, 4)] * 3, *[(0, 30)] * 5) == [0]


def test_main_blocks_ideographs_weigh_like_words() -> None:
    menu = [Block("首页", 2, "li"), Block("归档", 2, "li"), Block("关于", 2, "li")]
    titles = [Block("国足世预赛名单公布", 9, "li"), Block("英超第三轮综述", 7, "li")]
    assert main_blocks([*menu, *titles, *menu]) == titles


def test_main_blocks_imprint_is_excluded() -> None:
    text = "一段正文，讲的是昨晚的比赛。" * 20
    html = f"<p>{text}</p><p>转载请注明出处</p><p>{text}</p><footer>© 2024 Powered by X</footer>"
    assert main_text(parse(html).extract_blocks()) == f"{text}\n{text}"


@given(BLOCKS)
def test_main_blocks_any_page_keeps_order(blocks: list[Block]) -> None:
    own = main_blocks(blocks)
    rest = iter(blocks)
    assert all(any(each is other for other in rest) for each in own)
