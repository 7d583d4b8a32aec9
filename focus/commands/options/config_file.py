"""Finds focus.toml and makes its values the defaults of the command line.

    db = "football.db"            # for every command; relative to this file

    [crawl]                       # any option of `focus crawl`, by its long name
    seed = ["sports.sina.com.cn"]
    topic = "足球"
    delay = "2s"
    param = {gamma = 0.3}

The nearest file upward from the working directory is used, otherwise the one in the user's
configuration folder. Its values become the defaults of the command line, so that flags and FOCUS_*
variables override them. Each value is read as if it had been typed.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import msgspec
import platformdirs

from focus.errors import ConfigError, refuse_deep_nesting
from focus.registry import RENAMED

NAME = "focus.toml"
DATABASE = "focus.db"


class ConfigFile(msgspec.Struct, frozen=True):
    """A focus.toml; `local` if it is in the working directory or above it."""

    path: Path
    is_local: bool
    data: dict[str, Any]


def find_config_file(start: Path | None = None) -> ConfigFile | None:
    """Return the focus.toml for work in the folder `start`, or None.

    By default it is the working directory, which may have been deleted or belong to another user.
    Raises ConfigError if the file cannot be read or is not TOML.
    """
    with contextlib.suppress(FileNotFoundError, PermissionError):
        start = start or Path.cwd()
        for folder in (start, *start.parents):
            if (folder / NAME).is_file():
                return ConfigFile(folder / NAME, True, _read_toml(folder / NAME))
    path = Path(platformdirs.user_config_dir("focus")) / NAME
    with contextlib.suppress(PermissionError):  # the home of another user
        return ConfigFile(path, False, _read_toml(path)) if path.is_file() else None
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with refuse_deep_nesting():
            return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError("{path}: cannot be read: {error}", path=path, error=error) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "{path}: is not UTF-8 (byte {start})", path=path, start=error.start
        ) from None
    except ValueError as error:
        raise ConfigError("{path}: is not valid TOML: {error}", path=path, error=error) from None


def database_path(config: ConfigFile | None) -> Path:
    """Return the path of the database: from the file, beside it, or in the user's data folder."""
    if config is None:
        return Path(platformdirs.user_data_dir("focus")) / DATABASE
    value = config.data.get("db")
    if value is not None:
        if not isinstance(value, str) or not value:
            raise ConfigError("{path}: db must be the path of a file, in quotes", path=config.path)
        return config.path.parent / Path(value).expanduser()
    if config.is_local:
        return config.path.parent / DATABASE
    return Path(platformdirs.user_data_dir("focus")) / DATABASE


def command_defaults(
    config: ConfigFile | None, commands: Mapping[str, click.Command]
) -> dict[str, dict[str, Any]]:
    """Return the defaults of each command that the file sets, as click's `default_map`.

    `commands` may have a table in the file. Raises ConfigError, with file and key, for an unknown
    key and for an invalid value.
    """
    if config is None:
        return {}
    crawl_options = [option for param in commands["crawl"].params for option in param.opts]
    for key in config.data:
        if key != "db" and f"--{key.replace('_', '-')}" in crawl_options:
            raise ConfigError(
                "{path}: {key!r} must stand below a line [crawl]", path=config.path, key=key
            )
    _check_keys(config, "", config.data, ["db", *commands])
    return {
        name: _table_defaults(config, name, command)
        for name, command in commands.items()
        if name in config.data
    }


def _table_defaults(config: ConfigFile, name: str, command: click.Command) -> dict[str, Any]:
    table = config.data[name]
    if not isinstance(table, dict):
        raise ConfigError("{path}: {name} must be a table: [{name}]", path=config.path, name=name)
    table = {
        RENAMED.get(f"focus {name} --{key}", str(key)).removeprefix("--"): value
        for key, value in table.items()
    }
    options = {
        max(p.opts, key=len).removeprefix("--"): p
        for p in command.params
        if isinstance(p, click.Option)
    }
    _check_keys(
        config, f" in [{name}]", table, [*options, *(key.replace("-", "_") for key in options)]
    )
    return {
        option.name: _option_value(config, name, key, option, table[key])
        for key in table
        if (option := options[key.replace("_", "-")]).name is not None
    }


def _check_keys(config: ConfigFile, where: str, table: Mapping[str, Any], known: list[str]) -> None:
    for key in table:
        if key not in known:
            suggestions = get_close_matches(key, known, 1)
            hint = (
                f"did you mean {suggestions[0]!r}?" if suggestions else "see `focus crawl --help`"
            )
            raise ConfigError(
                "{path}: unknown key {key!r}{where}; {hint}",
                path=config.path,
                key=key,
                where=where,
                hint=hint,
            )


def _option_value(
    config: ConfigFile, table: str, key: str, option: click.Option, value: Any
) -> Any:
    """Return a TOML value as text, as it would be typed, after testing it on the option."""
    where = f"{config.path}: {key} in [{table}]"
    if option.is_flag:
        if not isinstance(value, bool):
            raise ConfigError(
                "{where} must be true or false, not {value}", where=where, value=repr(value)
            )
        return value
    if isinstance(value, dict) and option.multiple:
        value = [f"{name}={number}" for name, number in value.items()]
    items = value if isinstance(value, list) and option.multiple else [value]
    texts = [_value_text(config, where, option, item) for item in items]
    try:
        for text in texts:
            option.type.convert(text, option, None)
    except click.BadParameter as error:
        raise ConfigError("{where}: {what}", where=where, what=error.message) from None
    except ConfigError as error:
        raise ConfigError("{where}: {what}", where=where, what=error) from None
    return texts if option.multiple else texts[0]


def _value_text(config: ConfigFile, where: str, option: click.Option, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        expected = "text or a number, or a list of them" if option.multiple else "text or a number"
        raise ConfigError(
            "{where} must be {wanted}, not {value}", where=where, wanted=expected, value=repr(value)
        )
    text = str(value)
    is_path = isinstance(option.type, click.Path) or text.endswith(".toml")
    if is_path and text != "-":
        return str(config.path.parent / Path(text).expanduser())
    return text
