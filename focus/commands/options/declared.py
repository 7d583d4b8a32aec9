"""Makes options of the settings that `focus.config` declares, and fills its records with them.

    DECLARED          all of them, in the order of the help
    declared(...)     those of a section, for a command
    filled(...)       a record of what was typed
    said(...)         what was set, as it would be typed, for the dry run

A setting's variable, its key in focus.toml and its row in docs/cli.md follow from the option.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

import click
import msgspec
from click.core import ParameterSource

from focus.commands.options.option import Decorator, option
from focus.config import FILE_ONLY, CrawlConfig, RunPaths, Setting
from focus.text.formatting import format_duration, format_size

Record = TypeVar("Record", bound=msgspec.Struct)

_UNITS = {"_bytes_s": "size", "_bytes": "size", "_s": "time"}
_TYPES = {int: "count", float: "number", str: "text", Path: "file", bool: "flag"}


class Declared(NamedTuple):
    """A field that is an option; `type` without None, that of the items of a tuple."""

    record: type[msgspec.Struct]
    field: str
    type: type
    is_many: bool
    default: Any
    setting: Setting

    @property
    def name(self) -> str:
        """The long name, without dashes before it: `max-body`."""
        return self.setting.name or self.field.removesuffix(self._unit).replace("_", "-")

    @property
    def key(self) -> str:
        """What commands get it by: `max_body`."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable that sets it, too: `FOCUS_MAX_BODY`."""
        return "FOCUS_" + self.key.upper()

    @property
    def kind(self) -> str:
        """How texts are read, a key of `value_types.KINDS`."""
        return self.setting.kind or _UNITS.get(self._unit) or _TYPES[self.type]

    @property
    def _unit(self) -> str:
        numbers = self.type in (int, float)
        return next((unit for unit in _UNITS if numbers and self.field.endswith(unit)), "")

    def option(self) -> Decorator:
        """The option, for click."""
        setting, how = self.setting, dict[str, Any]()
        if self.type is bool:
            how["is_flag"] = True
        elif setting.choices:
            how["type"] = click.Choice(setting.choices)
        elif self.kind == "count":
            how |= {"kind": "count", "type": click.IntRange(setting.minimum, setting.maximum)}
        else:
            positive = "positive " if setting.minimum and self.kind in ("time", "size") else ""
            how["kind"] = positive + self.kind
        if setting.default_text:
            how["show_default"] = setting.default_text
        elif self.type is not bool and self.default not in (None, ()):
            how["default"] = self.typed(self.default)
        return option(
            f"--{self.name}",
            section=setting.section,
            variable=True,
            multiple=self.is_many,
            help=setting.help,
            **how,
        )

    def typed(self, value: Any) -> Any:
        """A value as it would be typed; None stays None."""
        if value is None or self.kind not in ("time", "size"):
            return value
        return format_duration(value) if self.kind == "time" else format_size(int(value))


def _declared(record: type[msgspec.Struct]) -> Iterator[Declared]:
    """The options of a record and of those within it, in the order of their fields."""
    for field in msgspec.structs.fields(record):
        if isinstance(field.default, msgspec.Struct):
            yield from _declared(type(field.default))
        elif get_origin(field.type) is Annotated:
            kind, setting = get_args(field.type)
            item = next(each for each in (*get_args(kind), kind) if each is not type(None))
            is_many = get_origin(kind) is tuple
            yield Declared(record, field.name, item, is_many, field.default, setting)


DECLARED = (*_declared(CrawlConfig), *_declared(RunPaths))


def declared(section: str) -> list[Decorator]:
    """The options of a section of the help, in its order."""
    return [each.option() for each in DECLARED if each.setting.section == section]


def said(ctx: click.Context, *, but: Container[str]) -> list[str]:
    """The declared options that were set, but for some, and by what: `--keep none (FOCUS_KEEP)`.

    What was typed at the command line needs no source; credentials are left out.
    """
    found = []
    for each in DECLARED:
        source = ctx.get_parameter_source(each.key)
        if source in _SOURCES and each.key not in but and each.key in ctx.params:
            value = ctx.params[each.key]
            items = value if each.is_many else [each.typed(value)]
            text = re.sub(r"//[^/@]*@", "//", ",".join(map(str, items)))
            text = "…" if each.kind == "secret" else text
            by = _SOURCES[source].format(each.variable)
            dashes = "" if each.setting.section == FILE_ONLY else "--"
            found.append(f"{dashes}{each.name}{'' if each.type is bool else f' {text}'}{by}")
    return found


_SOURCES = {
    ParameterSource.COMMANDLINE: "",
    ParameterSource.ENVIRONMENT: " ({})",
    ParameterSource.DEFAULT_MAP: " (focus.toml)",
}


def filled(record: type[Record], options: Mapping[str, Any], **others: Any) -> Record:
    """A record of what was typed, and of `others`; what was not said is as by default."""
    values = dict(others)
    for field in msgspec.structs.fields(record):
        if isinstance(field.default, msgspec.Struct):
            values[field.name] = filled(type(field.default), options)
    for each in DECLARED:
        if each.record is record and (value := options.get(each.key)) is not None:
            turns_off = each.type is bool and each.default
            values[each.field] = not value if turns_off else value
    return record(**values)
