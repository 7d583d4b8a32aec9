"""Reads a package's HTML templates: escaped, strict, in the reader's language."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from focus.i18n import load_catalogue, translate
from focus.text.formatting import printable


def environment(package: str) -> Environment:
    """The templates in a package's folder `templates`.

    Values are escaped, and one that is missing is an error. A template's `lang` is its language:
    `_` and `ngettext` ask the catalogue of that.
    """
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_callables(_gettext, _ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters.update(printable=printable, translate=translate)
    made.tests["web"] = _is_web
    return made


@pass_context
def _gettext(context: Context, text: str) -> str:
    return load_catalogue(context["lang"]).gettext(text)


@pass_context
def _ngettext(context: Context, one: str, many: str, n: int) -> str:
    return load_catalogue(context["lang"]).ngettext(one, many, n)


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://"))
