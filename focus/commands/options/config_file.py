"""Finds focus.toml and makes its values the defaults of the command line.

    db = "football.db"            # for every command; relative to this file

    [crawl]                       # any option of `focus crawl`, by its long name
    seed = ["sports.sina.com.cn"]
    topic = "足球"
    delay = "2s"
    param = {gamma = 0.3}

The nearest one upward from the working directory holds, else the one in the user's
configuration folder. Its values become the defaults of the command line, so that
flags and FOCUS_* variables win. Each is read as if it had been typed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import msgspec
import platformdirs

from focus.errors import ConfigError
from focus.registry import check_removed

NAME = "focus.toml"
DATABASE = "focus.db"


class ConfigFile(msgspec.Struct, frozen=True):
    """A focus.toml as found. `local`: beside or above the working directory."""

    path: Path
    local: bool
    data: dict[str, Any]


def find(start: Path) -> ConfigFile | None:
    """The focus.toml for work in the folder `start`; None when there is none.

    ConfigError when it cannot be read or is no TOML.
    """
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return ConfigFile(folder / NAME, True, _read(folder / NAME))
    path = Path(platformdirs.user_config_dir("focus")) / NAME
    return ConfigFile(path, False, _read(path)) if path.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError("{path}: cannot be read: {error}", path=path, error=error) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "{path}: is not UTF-8 (byte {start})", path=path, start=error.start
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("{path}: is no TOML: {error}", path=path, error=error) from None


def database(found: ConfigFile | None) -> Path:
    """Where crawls are kept: as the file says, else beside it, else in the user's data folder."""
    if found is None:
        return Path(platformdirs.user_data_dir("focus")) / DATABASE
    said = found.data.get("db")
    if said is not None:
        if not isinstance(said, str) or not said:
            raise ConfigError("{path}: db must be the path of a file, in quotes", path=found.path)
        return found.path.parent / Path(said).expanduser()
    if found.local:
        return found.path.parent / DATABASE
    return Path(platformdirs.user_data_dir("focus")) / DATABASE


def defaults(
    found: ConfigFile | None, commands: Mapping[str, click.Command]
) -> dict[str, dict[str, Any]]:
    """What the file makes the defaults of each command, as click's `default_map`.

    `commands` are those that may have a table of their own. ConfigError names the file
    and the key for a key that no command knows and for a value that it cannot take.
    """
    if found is None:
        return {}
    _refuse_unknown(found, "", found.data, ["db", *commands])
    return {
        name: _table(found, name, command)
        for name, command in commands.items()
        if name in found.data
    }


def _table(found: ConfigFile, name: str, command: click.Command) -> dict[str, Any]:
    table = found.data[name]
    if not isinstance(table, dict):
        raise ConfigError("{path}: {name} must be a table: [{name}]", path=found.path, name=name)
    for key in table:
        check_removed(f"focus {name} --{key}")
    options = {
        max(p.opts, key=len).removeprefix("--"): p
        for p in command.params
        if isinstance(p, click.Option)
    }
    _refuse_unknown(
        found, f" in [{name}]", table, [*options, *(key.replace("-", "_") for key in options)]
    )
    return {
        option.name: _value(found, name, key, option, table[key])
        for key in table
        if (option := options[key.replace("_", "-")]).name is not None
    }


def _refuse_unknown(
    found: ConfigFile, where: str, table: Mapping[str, Any], known: list[str]
) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "see `focus crawl --help`"
            raise ConfigError(
                "{path}: unknown key {key!r}{where}; {hint}",
                path=found.path,
                key=key,
                where=where,
                hint=hint,
            )


def _value(found: ConfigFile, table: str, key: str, option: click.Option, value: Any) -> Any:
    """A TOML value in the form in which it would be typed, tried on the option."""
    where = f"{found.path}: {key} in [{table}]"
    if option.is_flag:
        if not isinstance(value, bool):
            raise ConfigError(
                "{where} must be true or false, not {value}", where=where, value=repr(value)
            )
        return value
    if isinstance(value, dict) and option.multiple:
        value = [f"{name}={number}" for name, number in value.items()]
    items = value if isinstance(value, list) and option.multiple else [value]
    typed = [_typed(found, where, option, item) for item in items]
    try:
        for text in typed:
            option.type.convert(text, option, None)
    except click.BadParameter as error:
        raise ConfigError("{where}: {what}", where=where, what=error.message) from None
    except ConfigError as error:
        raise ConfigError("{where}: {what}", where=where, what=error) from None
    return typed if option.multiple else typed[0]


def _typed(found: ConfigFile, where: str, option: click.Option, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        wanted = "text or a number, or a list of them" if option.multiple else "text or a number"
        raise ConfigError(
            "{where} must be {wanted}, not {value}",
            where=where,
            wanted=wanted,
            value=repr(value),
        )
    text = str(value)
    is_path = isinstance(option.type, click.Path) or text.endswith(".toml")
    if is_path and text != "-":
        return str(found.path.parent / Path(text).expanduser())
    return text
