"""The locked libraries as a package takes them: which files of which wheels, and under which licences.

Standard library only. The wheels are read where they are installed: each has a list of its files, RECORD
(packaging.python.org, “Recording installed projects”). Of PySide6, which is a whole tool kit, a package takes
what the window imports, the plugins of a desktop, and the libraries that these are linked with. Of the other
wheels it takes all but tests, examples, headers and type stubs.
"""

from __future__ import annotations

import csv
import re
import subprocess
from dataclasses import dataclass
from email.parser import HeaderParser
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

#: What ui/ and pyqtgraph import of PySide6; tests/packaging compares it with what they really import.
QT_MODULES = ("QtCore", "QtDBus", "QtGui", "QtOpenGL", "QtOpenGLWidgets", "QtSvg", "QtTest", "QtWidgets")
#: Kinds of Qt's plugins (folders), and which of them.
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
#: Plugins whose libraries a desktop has or has not: without them Qt passes the plugin over.
OPTIONAL_PLUGINS = ("libqgtk3.so",)
#: Of every wheel but PySide6, these stay out.
_NEEDLESS = (
    "*.a", "*.h", "*.pc", "*.pxd", "*.pyi", "*.pyx", "*.pyc", "*/py.typed",
    "../*", "bin/*",
    "*/tests/*", "*/test/*", "numpy/f2py/*", "numpy/_pyinstaller/*", "numpy/conftest.py",
    "numpy/*/_examples/*", "numpy/_core/_*_tests.*.so",
    "pyqtgraph/examples/*",
)  # fmt: skip
#: What projects call their page.
_PAGES = {"homepage", "home", "source", "source code", "repository"}
#: Of the descriptions, the one that importlib.metadata reads stays.
_DESCRIPTION = "METADATA"


@dataclass(frozen=True)
class Wheel:
    """A library as it is installed.

    Attributes:
        name: as its project spells it.
        version: of the library.
        licence: as its metadata names it.
        home: its page, "" if it names none.
        files: relative to the folder that it is installed in.
        licence_files: those of them that have the text of a licence.
    """

    name: str
    version: str
    licence: str
    home: str
    files: tuple[str, ...]
    licence_files: tuple[str, ...]


def locked_names(requirements: Path) -> set[str]:
    """Return the names of a file of locked requirements, in their normal form."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==", requirements.read_text(), re.MULTILINE)
    return {_normal(name) for name in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wheels(site: Path, names: set[str]) -> list[Wheel]:
    """Return those libraries of a folder of installed ones that have these names, in order."""
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
    licence = str(head["License-Expression"] or head["License"] or "unknown")
    return Wheel(str(head["Name"]), str(head["Version"]), licence, home, files, licences)


def wanted(site: Path, found: list[Wheel]) -> list[str]:
    """Return what a package takes of these libraries, relative to their folder."""
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
    """Return what is taken of PySide6: modules, plugins, Qt's translations, and the libraries of these."""
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
