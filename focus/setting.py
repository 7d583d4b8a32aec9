"""Declares an option of `focus crawl` at the field of `focus.config` that it fills.

    max_body_bytes: Annotated[int, Setting(SERVER, "The largest page taken.")] = 10485760

makes `--max-body SIZE` with this help under "What a server may do", the variable `FOCUS_MAX_BODY`,
`max-body` in focus.toml, a row in docs/cli.md and a part of the dry run. The long name is the
field's without the unit, the type follows from the field's and the unit, the default is the
field's. A flag turns a field on that is off, or off that is on. Options stand in the help by
section, and in a section in the order of the records, outer fields where they stand.
`commands/options/declared.py` makes options of these.
"""

from __future__ import annotations

import msgspec

WHAT, FAR, FAST = "What to crawl", "How far", "How fast"
SERVER, NETWORK, OUTPUT = "What a server may do", "How to ask", "Output"
SESSION, SCRIPTS = "As whom to ask", "Pages made by scripts"
FILE = "Only in focus.toml"


class Setting(msgspec.Struct, frozen=True):
    """The part of an option that its field lacks, over name, type and default.

    section    of the help; `FILE` for a setting that is no option of the command line, only of
               focus.toml and its variable
    help       what it means; a word in brackets at its end is what `focus status` calls a failure
               or drop by this limit
    name       the long name, where it is not the field's
    kind       how texts are read (a key of `KINDS`), where the field does not say it
    low, high  bounds of a number, time or size; a time or size of low 1 must be over 0
    choices    the only texts that will do
    shown      in place of the default, where that depends on others
    """

    section: str
    help: str
    name: str = ""
    kind: str = ""
    low: int = 1
    high: int | None = None
    choices: tuple[str, ...] = ()
    shown: str = ""
