"""What the measuring scripts share: options read off the docstring, tables, figures as JSON."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r"\[[^][]*\]…?|--\S+ \S+|\S+")
_PATHS = {"ARCHIVE", "TOPICS", "LABELS", "ALIASES", "DATABASE", "FILE", "FOLDER", "PYTHON", "DIR"}


def read_options(doc: str | None, given: Sequence[str] | None = None, **hidden: Any) -> Any:
    """What was typed, by the usage lines of a script's docstring (those from "python" on).

    [--pages 20] [--delay 0.5] [--mode run]   an option with its default, which is its type
    [--only this|that]                        one of these, or ""
    [--json FILE] [--names NAME] [--count N]  no default: a path or None, "", a number or None
    [--topic NAME]… [--gz] --amqp URL         may be repeated; a flag; must be given
    FOLDER [ALIASES] [TRIAL …] [-- OPTION …]  in this order; the last are given.options

    `hidden` are options that nobody types: their types, or False for a flag.
    """
    head, *usage = re.split(r"^ +python (?:-m )?\S+", doc or "", maxsplit=1, flags=re.M)
    parser = argparse.ArgumentParser(description=head.strip(), epilog=(doc or "").strip())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    line = usage[0].partition("\n\n")[0] if usage else ""
    for token in _TOKEN.findall(line):
        if not token.startswith("[-- "):
            _declare(parser, token)
    for name, kind in hidden.items():
        how = {"action": "store_true"} if kind is False else {"type": kind}
        parser.add_argument(f"--{name.replace('_', '-')}", help=argparse.SUPPRESS, **how)
    typed = list(sys.argv[1:] if given is None else given)
    split = typed.index("--") if "[-- " in line and "--" in typed else len(typed)
    found = parser.parse_args(typed[:split])
    found.options = typed[split + 1 :]
    return found


def _declare(parser: argparse.ArgumentParser, token: str) -> None:
    inner, is_many = token.strip("[]").split(), "…" in token.strip("…")
    name, value = inner[0].rstrip("]"), inner[1].rstrip("]") if len(inner) > 1 else ""
    if not name.startswith("--"):
        many = "*" if is_many else "?" if token.startswith("[") else None
        parser.add_argument(name.lower(), nargs=many, type=_kind(name))
    elif not value:
        parser.add_argument(name, action="store_true")
    elif "|" in value:
        parser.add_argument(name, choices=value.split("|"), default="")
    elif token.endswith("…"):
        parser.add_argument(name, action="append", default=[])
    else:
        fallback = None if _kind(value) in (Path, int) else ""
        default = fallback if value.isupper() else _kind(value)(value)
        many = "+" if is_many else None
        parser.add_argument(
            name, type=_kind(value), default=default, nargs=many, required=token[0] != "["
        )


def _kind(value: str) -> type:
    """The type of a default, or of what stands for a value."""
    if value in _PATHS or "/" in value:
        return Path
    if re.fullmatch(r"\d+|N", value):
        return int
    return float if re.fullmatch(r"\d+\.\d+", value) else str


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, the first column to the left; floats with three digits."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def tell(told: object, file: Path | None, *, quiet: bool = False) -> None:
    """Print figures as JSON, unless `quiet`; into a file as well, if there is one."""
    text = json.dumps(told, ensure_ascii=False, indent=1)
    if not quiet:
        print(text)
    if file:
        file.write_text(text + "\n", encoding="utf-8")
