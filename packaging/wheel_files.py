"""Files of the bundled libraries: selects a package's files of the installed wheels, and their licenses.

Standard library only. Each installed wheel lists its files in RECORD (packaging.python.org, “Recording
installed projects”). From PySide6 a package takes the modules that the window imports, the plugins for a
desktop, and the libraries that these are linked with. From other wheels it takes everything except tests,
examples, headers and type stubs.
"""

from __future__ import annotations

import csv
import re
import subprocess
from dataclasses import dataclass
from email.parser import HeaderParser
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

#: Modules of PySide6 that ui/ and pyqtgraph import; a test in tests/packaging compares them with the imports.
QT_MODULES = ("QtCore", "QtDBus", "QtGui", "QtOpenGL", "QtOpenGLWidgets", "QtSvg", "QtTest", "QtWidgets")
#: Qt plugins of a package: paths below PySide6/Qt/plugins, as patterns.
QT_PLUGINS = (
    "iconengines/libqsvgicon.so",
    "imageformats/libqico.so",
    "imageformats/libqsvg.so",
    "platforminputcontexts/libcomposeplatforminputcontextplugin.so",
    "platforminputcontexts/libibusplatforminputcontextplugin.so",
    "platforms/libqoffscreen.so",
    "platforms/libqwayland*.so",
    "platforms/libqxcb.so",
    "platformthemes/*.so",
    "wayland-decoration-client/*.so",
    "wayland-graphics-integration-client/libqt-plugin-wayland-egl.so",
    "wayland-shell-integration/libxdg-shell.so",
    "xcbglintegrations/*.so",
)
#: Plugins whose libraries may be missing on a desktop; Qt skips such a plugin then.
OPTIONAL_PLUGINS = ("libqgtk3.so",)
#: Patterns of files that are left out, for every wheel except PySide6.
_NEEDLESS = (
    "*.a", "*.h", "*.pc", "*.pxd", "*.pyi", "*.pyx", "*.pyc", "*/py.typed",
    "../*", "bin/*",
    "*/tests/*", "*/test/*", "numpy/f2py/*", "numpy/_pyinstaller/*", "numpy/conftest.py",
    "numpy/*/_examples/*", "numpy/_core/_*_tests.*.so",
    "pyqtgraph/examples/*",
)  # fmt: skip
#: Labels of a project's home page in the field Project-URL, in lower case.
_PAGES = {"homepage", "home", "source", "source code", "repository"}
#: Licenses, as their files say, of projects whose metadata only names a family of licenses.
_LICENCES = {"colorama": "BSD-3-Clause"}
#: File of a .dist-info directory that importlib.metadata reads; a package takes no other one.
_DESCRIPTION = "METADATA"


@dataclass(frozen=True)
class Wheel:
    """Installed library.

    Attributes:
        name: name of the project, as its metadata spells it.
        version: version of the library.
        licence: license expression of its metadata, "unknown" for none.
        home: URL of its home page, "" for none.
        files: its files, relative to site-packages.
        licence_files: those of its files that contain a license text.
    """

    name: str
    version: str
    licence: str
    home: str
    files: tuple[str, ...]
    licence_files: tuple[str, ...]


def locked_names(requirements: Path) -> set[str]:
    """Return the normalized project names in a file of locked requirements (PEP 503)."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==", requirements.read_text(), re.MULTILINE)
    return {_normal(name) for name in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wheels(site: Path, names: set[str]) -> list[Wheel]:
    """Return the installed libraries with these names, sorted by name.

    Args:
        site: directory of the installed libraries (site-packages).
        names: normalized project names.
    """
    found = [_read(folder) for folder in site.glob("*.dist-info")]
    return sorted(
        (wheel for wheel in found if _normal(wheel.name) in names), key=lambda each: each.name.lower()
    )


def _read(info: Path) -> Wheel:
    head = HeaderParser().parsestr((info / _DESCRIPTION).read_text(encoding="utf-8"))
    with (info / "RECORD").open(encoding="utf-8", newline="") as lines:
        files = tuple(sorted(row[0] for row in csv.reader(lines)))
    licences = tuple(
        name
        for name in files
        if name.startswith(f"{info.name}/")
        and re.match(r"(LICEN[CS]E|COPYING|NOTICE)", PurePosixPath(name).name, re.IGNORECASE)
    )
    home = str(head.get("Home-page") or "")
    for entry in head.get_all("Project-URL") or ():
        label, _, address = str(entry).partition(",")
        if not home and label.strip().lower() in _PAGES:
            home = address.strip()
    name = str(head["Name"])
    licence = str(head["License-Expression"] or head["License"] or _LICENCES.get(name, "unknown"))
    return Wheel(name, str(head["Version"]), licence, home, files, licences)


def wanted(site: Path, found: list[Wheel]) -> list[str]:
    """Return the files of these libraries that a package contains, relative to ``site``."""
    taken: set[str] = set()
    for wheel in found:
        if _normal(wheel.name) == "pyside6-essentials":
            taken.update(_of_qt(site, wheel.files))
        else:
            taken.update(name for name in wheel.files if not any(fnmatch(name, each) for each in _NEEDLESS))
        taken = {name for name in taken if ".dist-info/" not in name or name.endswith(f"/{_DESCRIPTION}")}
        taken.update(name for name in wheel.files if name.endswith(f".dist-info/{_DESCRIPTION}"))
    return sorted(taken)


def _of_qt(site: Path, files: tuple[str, ...]) -> set[str]:
    """Return the files of PySide6 that a package contains: modules, plugins, translations and libraries.

    The libraries are those that the modules and plugins are linked with, recursively.
    """
    patterns = (
        "PySide6/*.py",
        "PySide6/libpyside6.abi3.so.*",
        "PySide6/Qt/translations/qtbase_*.qm",
        *(f"PySide6/{name}.abi3.so" for name in QT_MODULES),
        *(f"PySide6/Qt/plugins/{name}" for name in QT_PLUGINS),
    )
    taken = {
        name
        for name in files
        if name.startswith("PySide6/support/")
        or any(fnmatch(name, each) and name.count("/") == each.count("/") for each in patterns)
    }
    taken = {name for name in taken if not name.endswith((".pyc", ".pyi"))}
    libraries = {PurePosixPath(name).name: name for name in files if name.startswith("PySide6/Qt/lib/")}
    left = sorted(name for name in taken if ".so" in name)
    while left:
        needs = {libraries[need] for need in linked_with(site / left.pop()) if need in libraries}
        left += sorted(needs - taken)
        taken |= needs
    return taken


def linked_with(library: Path) -> list[str]:
    """Return the names of the libraries that a shared object is linked with (elf(5), DT_NEEDED)."""
    shown = subprocess.run(
        ["readelf", "--dynamic", "--wide", str(library)], check=True, capture_output=True, text=True
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]$", shown, re.MULTILINE)
