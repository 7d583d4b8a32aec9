"""Helpers of the scripts: options declared in the docstring, Markdown tables, JSON output."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r"\[[^][]*\]…?|--\S+ \S+|\S+")
_PATHS = set("ARCHIVE TOPICS LABELS ALIASES DATABASE FILE FOLDER KIT PYTHON DIR".split())


def read_options(doc: str | None, arguments: Sequence[str] | None = None, **hidden: Any) -> Any:
    """Parse the command line by the usage lines of a script's docstring (from "python" on).

    [--pages 20] [--delay 0.5] [--mode run]   options with a default, whose type is theirs
    [--only this|that]                        one of these values, by default ""
    [--json FILE] [--names NAME] [--count N]  no default: a path or None, "", a number or None
    [--topic NAME]… [--gz] --amqp URL         repeatable; a flag; required
    FOLDER [ALIASES] [TRIAL …] [-- OPTION …]  positional; the last are `options` of the result

    `hidden` has the types of options for the script's own subprocesses, or False for a flag.
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
    typed = list(sys.argv[1:] if arguments is None else arguments)
    split = typed.index("--") if "[-- " in line and "--" in typed else len(typed)
    options = parser.parse_args(typed[:split])
    options.options = typed[split + 1 :]
    return options


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
    """Return the type of a default value or of a placeholder."""
    if value in _PATHS or "/" in value:
        return Path
    if re.fullmatch(r"\d+|N", value):
        return int
    return float if re.fullmatch(r"\d+\.\d+", value) else str


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table with a left-aligned first column and floats with three digits."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write_figures(figures: object, file: Path | None, *, quiet: bool = False) -> None:
    """Print figures as JSON unless `quiet`, and write them to `file` if there is one."""
    text = json.dumps(figures, ensure_ascii=False, indent=1)
    if not quiet:
        print(text)
    if file:
        file.write_text(text + "\n", encoding="utf-8")
