"""Loads a package's HTML templates: escaped, strict, in the language of the reader."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from focus.i18n import load_catalogue, translate
from focus.text.formatting import printable


def make_environment(package: str) -> Environment:
    """Return the Jinja environment of the folder `templates` of a package.

    Values are escaped, and a missing one is an error. The variable `lang` of a template selects the
    message catalogue that `_` and `ngettext` use.
    """
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(_gettext, _ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.filters.update(printable=printable, translate=translate)
    environment.tests["web"] = _is_web
    return environment


@pass_context
def _gettext(context: Context, text: str) -> str:
    return load_catalogue(context["lang"]).gettext(text)


@pass_context
def _ngettext(context: Context, singular: str, plural: str, n: int) -> str:
    return load_catalogue(context["lang"]).ngettext(singular, plural, n)


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://"))
