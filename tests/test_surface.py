"""The count of what a checkout offers: what is gone is told, and what it counts."""

import ast

from tests.support import surface


def test_what_is_gone_is_told_before_the_counts() -> None:
    sizes = {"focus": {"lines": 10.0}}
    old = {
        "options": {"focus a": ["--x", "--y"], "focus b": []},
        "routes": ["/1 GET"],
        "names": ["A"],
        "sizes": sizes,
    }
    new = {"options": {"focus a": ["--x", "--z"]}, "routes": [], "names": [], "sizes": sizes}
    assert [*surface.compared(old, new)] == [
        "gone: focus a --y",
        "gone: focus b",
        "gone: /1 GET",
        "commands: 2 -> 1",
        "routes: 1 -> 0",
        "names: 1 -> 0",
        "options: 2 -> 2",
        "focus: lines: 10 -> 10",
    ]


def test_names_addresses_and_lengths_are_read_from_the_text() -> None:
    tree = ast.parse(
        'class A:\n    def b(self):\n        """Said."""\n        return 1\n'
        "    def _c(self): pass\n"
        'def _d(): pass\nROUTES = {"/a": ("GET POST", 1), "/b": (2, 3)}\n'
    )
    assert [*surface.public(tree)] == ["A", "A.b"]
    assert surface.routes([tree]) == ["/a GET POST"]
    assert surface.length(ast.parse(ast.unparse(tree)).body[0].body[0]) == 2  # type: ignore[attr-defined]
