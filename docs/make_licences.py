"""Write docs/licences.md, docs/zh/licences.md and sbom.cdx.json from the installed packages.

Usage: make licences (it installs all extras at the versions of constraints.txt)

The pages list what focus, its extras and its development need. The SBOM (CycloneDX 1.6), which the
wheel holds, leaves out development. A package without a version in constraints.txt, or installed
in another version, is an error, so the same constraints give the same files.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import focus

ROOT = Path(__file__).parents[1]
PAGES = {"en": ROOT / "docs" / "licences.md", "zh": ROOT / "docs" / "zh" / "licences.md"}
SBOM = ROOT / "sbom.cdx.json"
TOOLS = {"dev", "docs"}
"""The extras for development."""

SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "The BSD 2-Clause License": "BSD-2-Clause",
    "MIT Licence": "MIT",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""How packages name a licence -> its SPDX identifier."""
FROM_LICENCE_FILES = {
    "cronsim": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "uvloop": "MIT OR Apache-2.0",
}
"""Packages whose metadata leaves open which licence they have."""
HOME_LABELS = (
    "homepage", "home page", "home", "source", "source code", "repository", "github", "code",
    "documentation",
)  # fmt: skip
"""Labels of a project's addresses, best first."""

TEXTS = {
    "en": """\
# Licences

The packages that focus needs, directly or through another package, on Linux with Python {python}:
the version that development, CI and the image install (`constraints.txt`), and the licence, as an
SPDX expression where the package states one. Packages that only other systems need may be missing.
`make licences` writes this page and `sbom.cdx.json`, the same list without development in
CycloneDX 1.6, which the wheel holds under `.dist-info/sboms/`. focus itself is under Apache-2.0 and
contains no code of these packages.

## focus and its extras

`focus`: always installed. Otherwise the extra that installs it, as in `focus-crawler[serve]`.

| package | version | licence | for |
|---|---|---|---|
{used}
## Development

Tests, linters and this documentation; not in the SBOM.

| package | version | licence | for |
|---|---|---|---|
{tools}""",
    "zh": """\
# 许可证

focus 直接或间接需要的包（Linux、Python {python}）：版本是开发、CI 和镜像所安装的\
（`constraints.txt`），许可证在包写明时用 SPDX 表达式。其他系统才需要的包可能不在内。\
`make licences` 生成本页和 `sbom.cdx.json`，后者是 CycloneDX 1.6 格式的同一份清单，不含开发用的包，\
在 wheel 的 `.dist-info/sboms/` 中。focus 本身的许可证是 Apache-2.0，不包含这些包的代码。

## focus 和 extra

`focus`：总会安装。其余写明由哪个 extra 安装，例如 `focus-crawler[serve]`。

| 包 | 版本 | 许可证 | 用于 |
|---|---|---|---|
{used}
## 开发

测试、代码检查和本文档；不在 SBOM 中。

| 包 | 版本 | 许可证 | 用于 |
|---|---|---|---|
{tools}""",
}


class Package(NamedTuple):
    """A package, the groups (`focus` or extras) that install it, and what it needs itself."""

    name: str
    version: str
    licence: str
    home: str
    groups: set[str]
    needs: set[str]

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def groups() -> dict[str, list[Requirement]]:
    """Return the requirements of focus itself and of each extra, as in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = {"focus": project["dependencies"], **project["optional-dependencies"]}
    return {group: [Requirement(each) for each in needed] for group, needed in listed.items()}


def packages() -> dict[str, Package]:
    """Return all that focus, its extras and its development need, by normal name."""
    found: dict[str, Package] = {}
    pins = _pins()
    for group, requirements in groups().items():
        waiting = [each for each in requirements if _applies(each)]
        seen = set()
        while waiting:
            requirement = waiting.pop()
            name = canonicalize_name(requirement.name)
            if (key := (name, frozenset(requirement.extras))) in seen:
                continue
            seen.add(key)
            installed = _installed(name, pins)
            needs = list(_needs(installed, requirement.extras))
            package = found.setdefault(name, _package(name, installed))
            package.groups.add(group)
            package.needs.update(canonicalize_name(each.name) for each in needs)
            waiting += needs
    return dict(sorted(found.items()))


def _pins() -> dict[str, str]:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = (line.partition("==") for line in text.splitlines() if not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in lines}


def _applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _installed(name: str, pins: dict[str, str]) -> Distribution:
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed; run `make licences`")
    if installed.version != pins.get(name):
        sys.exit(f"{name} {installed.version}: constraints.txt has {pins.get(name, 'no version')}")
    return installed


def _needs(installed: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for text in installed.requires or ():
        requirement = Requirement(text)
        if any(_applies(requirement, extra) for extra in ("", *extras)):
            yield requirement


def _package(name: str, installed: Distribution) -> Package:
    licence = FROM_LICENCE_FILES.get(name) or _licence(installed)
    return Package(installed.name, installed.version, licence, _home(installed), set(), set())


def _licence(installed: Distribution) -> str:
    """Return the licence: an SPDX expression, or what the package says if that is none."""
    fields = installed.metadata
    classifiers = (each.rpartition(" :: ")[2] for each in fields.get_all("Classifier") or ())
    named = [each for each in classifiers if each in SPDX]
    said = fields["License-Expression"] or fields["License"] or "".join(named[:1])
    if not said or "\n" in said or len(named) > 1:
        sys.exit(f"{installed.name}: not one licence in its metadata; see FROM_LICENCE_FILES")
    said = SPDX.get(said, said)
    return canonicalize_license_expression(said) if _is_spdx(said) else said


def _is_spdx(licence: str) -> bool:
    try:
        canonicalize_license_expression(licence)
    except InvalidLicenseExpression:
        return False
    return True


def _home(installed: Distribution) -> str:
    """Return the home page, else where the source or the documentation is, else an empty text."""
    fields = installed.metadata
    labelled = (each.partition(", ") for each in fields.get_all("Project-URL") or ())
    urls = {label.lower().replace("-", " "): url for label, _, url in labelled}
    urls |= {"homepage": fields["Home-page"]} if fields["Home-page"] else {}
    return next((urls[label] for label in HOME_LABELS if label in urls), "")


def page(language: str, found: dict[str, Package]) -> str:
    """Return the whole page in a language."""
    used = "".join(_row(each) for each in found.values() if each.groups - TOOLS)
    tools = "".join(_row(each) for each in found.values() if not each.groups - TOOLS)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return TEXTS[language].format(used=used, tools=tools, python=python)


def _row(package: Package) -> str:
    name = f"[{package.name}]({package.home})" if package.home else package.name
    groups = {"focus"} & package.groups or package.groups - TOOLS or package.groups
    needed_by = ", ".join(f"`{each}`" for each in sorted(groups))
    return f"| {name} | {package.version} | {package.licence} | {needed_by} |\n"


def sbom(found: dict[str, Package]) -> str:
    """Return the bill of materials of focus with all extras for users, without a time stamp."""
    used = {name: each for name, each in found.items() if each.groups - TOOLS}
    itself = f"pkg:pypi/focus-crawler@{focus.__version__}"
    direct = {
        canonicalize_name(each.name)
        for group, requirements in groups().items()
        for each in requirements
        if group not in TOOLS
    }
    needs = {itself: direct, **{each.purl: each.needs for each in used.values()}}
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": itself,
                "name": "focus-crawler",
                "version": focus.__version__,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": itself,
            }
        },
        "components": [_component(each) for each in used.values()],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(used[name].purl for name in names if name in used)}
            for ref, names in needs.items()
        ],
    }
    return json.dumps(bill, indent=2, ensure_ascii=False) + "\n"


def _component(package: Package) -> dict[str, object]:
    licence = package.licence
    is_spdx = _is_spdx(licence)
    component: dict[str, object] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "scope": "required" if "focus" in package.groups else "optional",
        "licenses": [{"expression": licence} if is_spdx else {"license": {"name": licence}}],
        "purl": package.purl,
    }
    if package.home:
        component["externalReferences"] = [{"type": "website", "url": package.home}]
    return component


def main() -> None:
    """Write all three files."""
    found = packages()
    for language, path in PAGES.items():
        path.write_text(page(language, found), encoding="utf-8")
    SBOM.write_text(sbom(found), encoding="utf-8")


if __name__ == "__main__":
    main()
