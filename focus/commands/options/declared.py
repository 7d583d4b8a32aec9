"""Makes options from the settings that `focus.config` declares, and fills its records with them.

    DECLARED              all of them, in the order of the help
    declared_options(...) the options of a section, for a command
    fill_record(...)      a record with the values of the options
    changed_options(...)  the options that were set, as they would be typed, for the dry run

A setting's variable, its key in focus.toml and its row in docs/cli.md follow from the option.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

import click
import msgspec
from click.core import ParameterSource

from focus.commands.options.option import Decorator, option, variable_name
from focus.config import FILE_ONLY, RARE_OPTIONS, CrawlConfig, RunPaths, Setting
from focus.text.formatting import format_duration, format_size

Record = TypeVar("Record", bound=msgspec.Struct)

_UNITS = {"_bytes_s": "size", "_bytes": "size", "_s": "time"}
_TYPES = {int: "count", str: "text", Path: "file", bool: "flag"}


class Declared(NamedTuple):
    """A field that is an option; `type` is without None, and for a tuple the type of its items."""

    record: type[msgspec.Struct]
    field: str
    type: type
    is_many: bool
    default: Any
    setting: Setting

    @property
    def name(self) -> str:
        """The long name without dashes before it: `max-body`."""
        return self.setting.name or self.field.removesuffix(self._unit).replace("_", "-")

    @property
    def key(self) -> str:
        """The name of the parameter that a command gets: `max_body`."""
        return self.name.replace("-", "_")

    @property
    def environment_variable(self) -> str:
        """The environment variable of the option: `FOCUS_MAX_BODY`."""
        return variable_name(self.name)

    @property
    def kind(self) -> str:
        """How texts are read: a key of `value_types.KINDS`."""
        return self.setting.kind or _UNITS.get(self._unit) or _TYPES[self.type]

    @property
    def _unit(self) -> str:
        numbers = self.type in (int, float)
        return next((unit for unit in _UNITS if numbers and self.field.endswith(unit)), "")

    def option(self) -> Decorator:
        """Return the decorator that adds the option to a command."""
        setting, attributes = self.setting, dict[str, Any]()
        if self.type is bool:
            attributes["is_flag"] = True
        elif setting.choices:
            attributes["type"] = click.Choice(setting.choices)
        elif self.kind == "count":
            attributes |= {
                "kind": "count",
                "type": click.IntRange(setting.minimum, setting.maximum),
            }
        else:
            positive = "positive " if setting.minimum and self.kind in ("time", "size") else ""
            attributes["kind"] = positive + self.kind
        if setting.default_text:
            attributes["show_default"] = setting.default_text
        elif self.type is not bool and self.default not in (None, ()):
            attributes["default"] = self.as_typed(self.default)
        return option(
            f"--{self.name}",
            section=setting.section,
            variable=True,
            multiple=self.is_many,
            help=setting.help,
            is_rare=self.name in RARE_OPTIONS,
            **attributes,
        )

    def as_typed(self, value: Any) -> Any:
        """Return a value as it would be typed; None stays None."""
        if value is None or self.kind not in ("time", "size", "instant", "instant-end"):
            return value
        if "instant" in self.kind:
            return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%dT%H:%MZ}"
        return format_duration(value) if self.kind == "time" else format_size(int(value))


def _declare_fields(record: type[msgspec.Struct]) -> Iterator[Declared]:
    """Yield the options of a record and of the records in it, in the order of their fields."""
    for field in msgspec.structs.fields(record):
        if isinstance(field.default, msgspec.Struct):
            yield from _declare_fields(type(field.default))
        elif get_origin(field.type) is Annotated:
            kind, setting = get_args(field.type)
            item_type = next(
                item_type for item_type in (*get_args(kind), kind) if item_type is not type(None)
            )
            is_many = get_origin(kind) is tuple
            yield Declared(record, field.name, item_type, is_many, field.default, setting)


DECLARED = (*_declare_fields(CrawlConfig), *_declare_fields(RunPaths))


def declared_options(section: str) -> list[Decorator]:
    """Return the options of a section of the help, in its order."""
    return [
        declaration.option() for declaration in DECLARED if declaration.setting.section == section
    ]


def changed_options(ctx: click.Context, *, excluded: Container[str]) -> list[str]:
    """Return the declared options that were set, with their source: `--keep none (FOCUS_KEEP)`.

    Options of the command line have no source in the text; values of credentials are left out.
    """
    texts = []
    for declaration in DECLARED:
        source = ctx.get_parameter_source(declaration.key)
        if source in _SOURCES and declaration.key not in excluded and declaration.key in ctx.params:
            value = ctx.params[declaration.key]
            items = value if declaration.is_many else [declaration.as_typed(value)]
            text = re.sub(r"//[^/@]*@", "//", ",".join(map(str, items)))
            text = "…" if declaration.kind == "secret" else text
            source_text = _SOURCES[source].format(declaration.environment_variable)
            dashes = "" if declaration.setting.section == FILE_ONLY else "--"
            value_text = "" if declaration.type is bool else f" {text}"
            texts.append(f"{dashes}{declaration.name}{value_text}{source_text}")
    return texts


_SOURCES = {
    ParameterSource.COMMANDLINE: "",
    ParameterSource.ENVIRONMENT: " ({})",
    ParameterSource.DEFAULT_MAP: " (focus.toml)",
}


def fill_record(record: type[Record], options: Mapping[str, Any], **others: Any) -> Record:
    """Return a record with values of the options and `others`, and defaults."""
    values = dict(others)
    for field in msgspec.structs.fields(record):
        if isinstance(field.default, msgspec.Struct):
            values[field.name] = fill_record(type(field.default), options)
    for declaration in DECLARED:
        if declaration.record is record and (value := options.get(declaration.key)) is not None:
            turns_off = declaration.type is bool and declaration.default
            values[declaration.field] = not value if turns_off else value
    return record(**values)
